"""EP-SPARQL's evaluation: solutions with intervals, joined over time, and rules (semantics 2).

Solutions that end at an instant follow from what ends there or before, so nothing is ever taken back: views are given what ends in
some stretch of time, and give the solutions that end in it.
"""
