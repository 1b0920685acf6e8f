"""The nouns: terms, graph events, the term dictionary, batches of events, tables of mappings."""
