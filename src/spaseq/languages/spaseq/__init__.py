"""SPAseq: from the abstract syntax to the event algebra, with every check on the way."""

from spaseq.languages.registry import Language
from spaseq.languages.spaseq.query import compile_text, lower

LANGUAGE = Language("spaseq", (".spaseq",), frozenset(("SEQ", "GPM")), compile_text)

__all__ = ["LANGUAGE", "lower"]
