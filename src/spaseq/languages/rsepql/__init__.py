"""Continuous SPARQL over windows: RSP-QL, C-SPARQL and the window clauses of RSEP-QL (semantics 3)."""
