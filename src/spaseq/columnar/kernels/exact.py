"""Integers and decimals of any size, as XML Schema has them: what pyoxigraph leaves as an error is computed here.

Its integers have 64 bits, its decimals 18 fractional digits and about 20 others. A row with numbers beyond that, or
whose result is, comes here: exact numbers are Python's decimals, a number among floats or doubles is rounded to
one of them as the numeric tower asks, and against anything else its size does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import isfinite
from operator import eq, ge, gt, le, lt, ne
from typing import Final

import numpy as np
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.expressions import Term
from spaseq.algebra.functions import XSD
from spaseq.columnar.kernels.cache import FunctionCache, RowFunction
from spaseq.columnar.kernels.oracle import aggregate, ask
from spaseq.columnar.kernels.spelling import double_text
from spaseq.columnar.table import Ids
from spaseq.model.values import Kind, is_beyond, literal_value
from spaseq.settings import limit_reached, settings

Exact = tuple[Kind, Decimal]
"""INTEGER or DECIMAL, and the number."""

_PRECISE: Final = Context(prec=1_000_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_DIVIDED: Final = 18
"""Fractional digits of a quotient, as pyoxigraph has them."""

_COMPARISONS: Final[dict[str, Callable[[Decimal, Decimal], bool]]] = {
    "=": eq, "!=": ne, "<": lt, ">": gt, "<=": le, ">=": ge,
}  # fmt: skip
_NUMERIC: Final = {XSD + "float": Kind.FLOAT, XSD + "double": Kind.DOUBLE}

FUNCTIONS: Final = frozenset(
    [
        "ABS",
        "CEIL",
        "FLOOR",
        "ROUND",
        *(XSD + t for t in ("integer", "decimal", "double", "float", "boolean")),
    ]
)
"""Functions of one number, and casts, that have exact values here."""


def ask_numbers(
    name: str, question: str, rows: Sequence[tuple[Term, ...]], base: str | None = None
) -> list[Term | None]:
    """Like `ask`, for an operator or function of numbers with this name: its errors are looked at again."""
    answers = ask(question, rows, base)
    for place, answer in enumerate(answers):
        if answer is None:
            answers[place] = _again(name, question, rows[place])
    return answers


def _again(name: str, question: str, row: tuple[Term, ...]) -> Term | None:
    exact = [exact_number(term) for term in row]
    known = [number for number in exact if number is not None]
    if len(known) == len(row):
        return _computed(name, known)
    if name in (XSD + "integer", XSD + "decimal"):
        return _read(name, row[0])
    if not any(_is_beyond(term) for term in row):
        return None
    return ask(question, [_promoted(row)])[0]


def exact_number(term: Term) -> Exact | None:
    """An integer or a decimal; None for any other term."""
    if not isinstance(term, Literal) or term.language is not None:
        return None
    kind = literal_value(term.value, term.datatype.value).kind
    return (kind, Decimal(term.value)) if kind in (Kind.INTEGER, Kind.DECIMAL) else None


def _is_beyond(term: Term) -> bool:
    """True for a number that pyoxigraph cannot hold."""
    exact = exact_number(term)
    return exact is not None and is_beyond(exact[0], term.value)


def _promoted(row: Sequence[Term]) -> tuple[Term, ...]:
    """The row with numbers that pyoxigraph can hold: floats among floats, doubles otherwise."""
    kinds = {_NUMERIC.get(term.datatype.value) for term in row if isinstance(term, Literal)}
    kind = "float" if Kind.FLOAT in kinds and Kind.DOUBLE not in kinds else "double"
    return tuple(_rounded(term, kind) if exact_number(term) else term for term in row)


def _rounded(term: Term, kind: str) -> Literal:
    number = float(Decimal(term.value))
    if kind == "float":
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
    return Literal(double_text(number), datatype=NamedNode(XSD + kind))


# --- operators and functions --------------------------------------------------------------------


def _computed(name: str, numbers: list[Exact]) -> Term | None:
    if name in _COMPARISONS:
        (_, left), (_, right) = numbers
        return Literal(_COMPARISONS[name](left, right))
    if name.startswith(XSD):
        return _cast(name, numbers[0][1])
    if len(numbers) == 2:
        return _arithmetic(name, *numbers)
    kind, number = numbers[0]
    match name:
        case "-":
            number = _PRECISE.minus(number)
        case "ABS":
            number = number.copy_abs()
        case "CEIL":
            number = number.to_integral_value(ROUND_CEILING, _PRECISE)
        case "FLOOR":
            number = number.to_integral_value(ROUND_FLOOR, _PRECISE)
        case "ROUND":
            number = _PRECISE.add(number, Decimal("0.5")).to_integral_value(ROUND_FLOOR, _PRECISE)
    return _spelled(kind, number)


def _arithmetic(name: str, left: Exact, right: Exact) -> Term | None:
    kind, a, b = max(left[0], right[0]), left[1], right[1]
    match name:
        case "+":
            return _spelled(kind, _PRECISE.add(a, b))
        case "-":
            return _spelled(kind, _PRECISE.subtract(a, b))
        case "*":
            return _spelled(kind, _PRECISE.multiply(a, b))
        case _:
            return None if b == 0 else _spelled(Kind.DECIMAL, _quotient(a, b))


def _quotient(a: Decimal, b: Decimal) -> Decimal:
    return _PRECISE.divide_int(a.scaleb(_DIVIDED, _PRECISE), b).scaleb(-_DIVIDED, _PRECISE)


def _cast(name: str, number: Decimal) -> Term | None:
    match name.removeprefix(XSD):
        case "integer":
            return _spelled(Kind.INTEGER, number.to_integral_value(ROUND_DOWN, _PRECISE))
        case "decimal":
            return _spelled(Kind.DECIMAL, number)
        case "double" | "float":
            return ask(f"<{name}>(?a0)", [(_rounded(Literal(str(number)), "double"),)])[0]
        case "boolean":
            return Literal(number != 0)
        case _:
            return None


def _read(name: str, term: Term) -> Term | None:
    """A cast of something else: a text that spells such a number, a double beyond pyoxigraph's decimals."""
    if not isinstance(term, Literal) or term.language is not None:
        return None
    if term.datatype.value == XSD + "string":
        spelled = exact_number(Literal(term.value, datatype=NamedNode(name)))
        return None if spelled is None else _cast(name, spelled[1])
    value = literal_value(term.value, term.datatype.value)
    if value.kind not in (Kind.FLOAT, Kind.DOUBLE) or not np.isfinite(value.number):
        return None
    return _cast(name, Decimal(value.number))


def _spelled(kind: Kind, number: Decimal) -> Literal:
    """The canonical spelling, as pyoxigraph has it."""
    digits = format(number, "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    if len(digits) > settings().number_digits:
        raise limit_reached(f"an expression computes a number of {len(digits):,} digits", "number_digits")
    name = "integer" if kind == Kind.INTEGER else "decimal"
    return Literal("0" if digits == "-0" else digits, datatype=NamedNode(XSD + name))


# --- many numbers -------------------------------------------------------------------------------


def aggregate_numbers(name: str, groups: Sequence[Sequence[Term]]) -> list[Term | None]:
    """SUM or AVG of each group of terms; None is an error."""
    answers = aggregate(f"{name}(?a0)", groups)
    for place, terms in enumerate(groups):
        if any(isinstance(term, Literal) and term.datatype.value == XSD + "double" for term in terms):
            doubles = _doubles(terms)
            if doubles is not None:
                answers[place] = _summed_doubles(name, doubles)
    for place, answer in enumerate(answers):
        if answer is None:
            answers[place] = _aggregated(name, groups[place])
    return answers


def _doubles(terms: Sequence[Term]) -> list[float] | None:
    """Numbers as doubles; None if there is something else among them, or something that is not finite."""
    if not _are_numbers(terms):
        return None
    found = [_nearest(term) for term in terms]
    return found if all(map(isfinite, found)) else None


def _summed_doubles(name: str, numbers: Sequence[float]) -> Term:
    """The exact sum, rounded once: it does not depend on the order of the numbers."""
    exact = sum(map(Fraction, numbers), Fraction())
    try:
        added = float(exact)
    except OverflowError:
        added = float("inf") if exact > 0 else float("-inf")
    text = double_text(added if name == "SUM" else added / len(numbers))
    return Literal(text, datatype=NamedNode(XSD + "double"))


def _aggregated(name: str, terms: Sequence[Term]) -> Term | None:
    exact = [exact_number(term) for term in terms]
    known = [number for number in exact if number is not None]
    if len(known) < len(terms):
        return aggregate(f"{name}(?a0)", [_promoted(terms)])[0] if _are_numbers(terms) else None
    kind, total = Kind.INTEGER, Decimal(0)
    for own, number in known:
        kind, total = max(kind, own), _PRECISE.add(total, number)
    if name == "SUM":
        return _spelled(kind, total)
    return _spelled(Kind.DECIMAL, _quotient(total, Decimal(len(known))))


def sorted_numbers(terms: Sequence[Term]) -> list[int] | None:
    """The positions of numbers in ascending order; None if there is something else, or not a number, among them."""
    if not _are_numbers(terms):
        return None
    exact = [exact_number(term) for term in terms]
    keys = [_nearest(t) if e is None else e[1] for t, e in zip(terms, exact, strict=True)]
    return None if any(key != key for key in keys) else sorted(range(len(keys)), key=keys.__getitem__)


def _nearest(term: Term) -> float:
    assert isinstance(term, Literal)
    return literal_value(term.value, term.datatype.value).number


def _are_numbers(terms: Sequence[Term]) -> bool:
    return all(
        isinstance(term, Literal) and literal_value(term.value, term.datatype.value).kind.numeric
        for term in terms
    )


def arithmetic(op: str, left: Ids, right: Ids, cache: FunctionCache) -> Ids:
    """``left op right`` for every row; op is one of ``+ - * /``."""
    return cache.apply(("op", op), _binary(op), [left, right], len(left))


def signed(op: str, operand: Ids, cache: FunctionCache) -> Ids:
    """Unary ``+`` and ``-``."""
    return cache.apply(
        ("sign", op), lambda rows: ask_numbers(op, f"({op} ?a0)", rows), [operand], len(operand)
    )


def _binary(op: str) -> RowFunction:
    return _sum if op == "+" else lambda rows: ask_numbers(op, f"(?a0 {op} ?a1)", rows)


def _sum(rows: Sequence[tuple[Term, ...]]) -> list[Term | None]:
    """Addition in whichever order it works.

    pyoxigraph adds a duration to a date-time but not the reverse, and swaps the operands of ``+`` as the
    names of variables happen to hash; so both orders are asked.
    """
    answers = ask_numbers("+", "(?a0 + ?a1)", rows)
    failed = [place for place, answer in enumerate(answers) if answer is None]
    if failed:
        for place, answer in zip(failed, ask("(?a0 + ?a1)", [rows[p][::-1] for p in failed]), strict=True):
            answers[place] = answer
    return answers
