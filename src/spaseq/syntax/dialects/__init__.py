"""The languages over the SPARQL core, one module each; `spaseq.syntax.dialects.base` says what a dialect is."""
