"""From a function's name to its kernel."""

from __future__ import annotations

from collections.abc import Sequence

from spaseq.algebra.expressions import Term
from spaseq.columnar.kernels.cache import RowFunction
from spaseq.columnar.kernels.exact import FUNCTIONS, ask_numbers
from spaseq.columnar.kernels.oracle import ask
from spaseq.columnar.kernels.strings import STRINGS, TermFunction
from spaseq.columnar.kernels.terms import TERMS

NATIVE = {**STRINGS, **TERMS}
"""Kernels written in Python, by name."""


def kernel(name: str, constants: Sequence[Term | None], base: str | None = None) -> RowFunction:
    """The kernel of a built-in (by name) or cast (by IRI).

    ``constants`` holds the arguments that are the same in every row, None where a column stands; the rows
    given to the kernel have the other arguments only.
    """
    native = NATIVE.get(name)
    if native is not None:
        return _native(native, constants)
    called = f"<{name}>" if ":" in name else name
    if name in FUNCTIONS and len(constants) == 1:
        given = () if constants[0] is None else (constants[0],)
        return lambda rows: ask_numbers(name, f"{called}(?a0)", [given or row for row in rows])
    columns = iter(range(len(constants)))
    arguments = ", ".join(f"?a{next(columns)}" if term is None else str(term) for term in constants)
    return lambda rows: ask(f"{called}({arguments})", rows, base)


def _native(function: TermFunction, constants: Sequence[Term | None]) -> RowFunction:
    if all(term is None for term in constants):
        return lambda rows: [function(*row) for row in rows]

    def apply(rows: Sequence[tuple[Term, ...]]) -> list[Term | None]:
        answers = []
        for row in rows:
            given = iter(row)
            answers.append(function(*(next(given) if term is None else term for term in constants)))
        return answers

    return apply


_COLUMNAR = frozenset(
    {
        "BOUND", "IF", "COALESCE", "SAMETERM", "ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC",
        "NOW", "RAND", "UUID", "STRUUID", "BNODE",
    }
)  # fmt: skip


def by_oracle(name: str) -> bool:
    """True if pyoxigraph computes the function: it has no kernel of its own."""
    return name not in NATIVE and name not in _COLUMNAR
