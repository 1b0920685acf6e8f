"""EP-SPARQL: SPARQL over triples that hold for an interval, with joins over time and rules (semantics 2)."""
