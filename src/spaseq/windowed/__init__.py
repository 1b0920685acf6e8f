"""Continuous queries over windows, maintained incrementally (semantics 3; SPECTRA).

Events become evaluations with the contents of every window (`evaluations`), contents become triples that come and go
(`contents`), patterns become views that follow them (`views`), and the changes of the last view are what is reported (`report`).
"""
