"""What the automaton asks of an expression evaluator. The planner passes one in; this package imports none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from spaseq.algebra.expressions import Expression
from spaseq.automaton.tables import Ints

Mask = npt.NDArray[np.bool_]


class Evaluator(Protocol):
    """Exact SPARQL over columns of ids; 0 is unbound and, in a result, an error."""

    def holds(self, expression: Expression, columns: Mapping[str, Ints], count: int) -> Mask:
        """Where a condition is true."""
        ...

    def values(self, expression: Expression, columns: Mapping[str, Ints], count: int) -> Ints:
        """The ids of an expression's values."""
        ...

    def aggregate(self, name: str, separator: str | None, terms: list[int]) -> int:
        """SUM, AVG, MIN, MAX or GROUP_CONCAT of a bag of terms."""
        ...

    def encode(self, number: int) -> int:
        """The id of an integer."""
        ...

    def encode_instant(self, instant: int) -> int:
        """The id of an ``xsd:dateTime``."""
        ...
