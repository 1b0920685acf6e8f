"""From a function's name to its kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spaseq.algebra.expressions import Term
from spaseq.columnar.kernels.cache import RowFunction
from spaseq.columnar.kernels.exact import FUNCTIONS, ask_numbers
from spaseq.columnar.kernels.oracle import ask
from spaseq.columnar.kernels.strings import STRINGS, TERMS, TermFunction, check_length
from spaseq.settings import limit_reached, settings

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
    asked = f"{called}({arguments})"
    if name in ("REPLACE", "ENCODE_FOR_URI"):
        return lambda rows: _lengthening(asked, rows, constants)
    return lambda rows: ask(asked, rows, base)


def _lengthening(
    asked: str, rows: Sequence[tuple[Term, ...]], constants: Sequence[Term | None]
) -> list[Term | None]:
    """A function of pyoxigraph whose strings may be longer than its arguments.

    REPLACE may put the replacement in the place of every character; what may need far too much is not tried.
    """
    for row in rows if len(constants) > 2 else ():
        given = iter(row)
        text, _, replacement, *_ = (next(given) if term is None else term for term in constants)
        most = (len(text.value) + 1) * (len(replacement.value) + 1)
        if most > 16 * settings().max_string_length:
            raise limit_reached(f"REPLACE may compute {most:,} characters", "max_string_length")
    answers = ask(asked, rows)
    for answer in answers:
        check_length(0 if answer is None else len(answer.value))
    return answers


def _native(function: TermFunction, constants: Sequence[Term | None]) -> RowFunction:
    if all(term is None for term in constants):
        return lambda rows: (function(*row) for row in rows)

    def apply(rows: Sequence[tuple[Term, ...]]) -> Iterator[Term | None]:
        for row in rows:
            given = iter(row)
            yield function(*(next(given) if term is None else term for term in constants))

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
