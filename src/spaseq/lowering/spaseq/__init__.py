"""SPAseq: from the abstract syntax to the event algebra, with every check on the way."""

from spaseq.lowering.languages import Language
from spaseq.lowering.spaseq.query import compile_text, lower

LANGUAGE = Language("spaseq", (".spaseq",), frozenset(("SEQ", "GPM")), compile_text)

__all__ = ["LANGUAGE", "lower"]
