"""TALLY: how many solutions a graph pattern has in every window, by the value of a variable."""

from spaseq.languages.tally.query import compile_text

from spaseq.languages.registry import Language

LANGUAGE = Language("tally", (".tally",), frozenset(("TALLY",)), compile_text)
