"""SPAseq: from the abstract syntax to the event algebra, with every check on the way."""

from spaseq.lowering.spaseq.query import Lowered, lower

__all__ = ["Lowered", "lower"]
