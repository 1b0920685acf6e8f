"""Integers and decimals of any size, as XML Schema has them.

pyoxigraph computes with 64 bits and 18 fractional digits, and answers with an error beyond. So operators and functions
of numbers go through `computed`, which asks it first and computes with fractions where it fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, floor, isfinite, trunc
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Store

from spaseq.algebra.expressions import Term
from spaseq.settings import settings
from spaseq.temporal.instants import INTEGER_RANGES, XSD

COMPUTED: Final = "urn:spaseq:computed:"
OPERATORS: Final = {
    "=": "equal", "!=": "unequal", "<": "less", ">": "greater", "<=": "at-most", ">=": "at-least",
    "+": "plus", "-": "minus", "*": "times", "/": "over",
}  # fmt: skip
CASTS: Final = tuple(XSD + name for name in ("integer", "decimal", "double", "float", "boolean"))
FUNCTIONS: Final = ("ABS", "CEIL", "FLOOR", "ROUND", "ISNUMERIC")

_TRUTHS: Final[dict[str, Callable[[Fraction, Fraction], bool]]] = {
    "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
}  # fmt: skip
_SPELLED = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_HALF: Final = Fraction(1, 2)


def name_of(operator: str) -> str:
    """The IRI under which pyoxigraph finds an operator or a function computed here."""
    return COMPUTED + OPERATORS.get(operator, operator)


def functions() -> dict[NamedNode, Callable[..., Term | None]]:
    """Everything that `name_of` names, and the two readings of a term as a truth and as something to sort by."""
    named = {name_of(name): partial(computed, name) for name in (*OPERATORS, *CASTS, *FUNCTIONS)}
    return {NamedNode(iri): function for iri, function in named.items()} | {
        NamedNode(name_of("test")): tested,
        NamedNode(name_of("order")): sortable,
    }


def computed(name: str, *terms: Term) -> Term | None:
    """The value of an operator, a function or a cast; None is an error."""
    if any(isinstance(term, BlankNode) for term in terms):
        return Literal(False) if name == "ISNUMERIC" else _by_identity(name, terms[0] == terms[-1])
    answer = asked(_question(name, len(terms)), *terms)
    numbers = [exact(term) for term in terms]
    if name == "ISNUMERIC":
        return Literal(True) if numbers[0] is not None else answer
    if answer is not None:
        return answer
    known = [number for number in numbers if number is not None]
    if len(known) == len(terms):
        return _beyond(name, known)
    if name in (XSD + "integer", XSD + "decimal"):
        return _read(name, terms[0])
    return asked(_question(name, len(terms)), *promoted(terms)) if known else None


def _by_identity(name: str, same: bool) -> Term | None:
    """A comparison with a blank node, as pyoxigraph compares nodes: only with itself is there an order."""
    if name in ("=", "!="):
        return Literal(same == (name == "="))
    return Literal(name in ("<=", ">=")) if same and name in ("<", ">", "<=", ">=") else None


@lru_cache(maxsize=100_000)
def asked(question: str, *terms: Term) -> Term | None:
    """The value of an expression over ``?a0``, ``?a1`` by pyoxigraph."""
    names = " ".join(f"?a{number}" for number in range(len(terms)))
    values = " ".join(map(str, terms))
    text = f"SELECT ({question} AS ?r) WHERE {{ VALUES ({names}) {{ ({values}) }} }}"
    results = Store().query(text)
    assert isinstance(results, QuerySolutions)
    return next(iter(results))["r"]  # type: ignore[no-any-return]


def _question(name: str, count: int) -> str:
    if name in OPERATORS:
        return f"(?a0 {name} ?a1)" if count == 2 else f"({name} ?a0)"
    return f"<{name}>(?a0)" if ":" in name else f"{name}(?a0)"


# --- numbers as fractions -----------------------------------------------------------------------


def exact(term: Term) -> tuple[str, Fraction] | None:
    """An integer or a decimal with the name of its type; None for any other term."""
    if not isinstance(term, Literal) or len(term.value) > settings().number_digits:
        return None
    kind = "integer" if term.datatype.value in INTEGER_RANGES else term.datatype.value.removeprefix(XSD)
    if kind not in ("integer", "decimal") or not _SPELLED.match(term.value):
        return None
    return None if kind == "integer" and "." in term.value else (kind, Fraction(term.value.rstrip(".")))


def spelled(kind: str, number: Fraction) -> Literal:
    """A number in its canonical spelling."""
    places = next(n for n in range(10_000) if 10**n % number.denominator == 0)
    digits = str(abs(trunc(number * 10**places))).rjust(places + 1, "0")
    text = digits[: len(digits) - places] + ("." + digits[len(digits) - places :] if places else "")
    return Literal(("-" if number < 0 else "") + text, datatype=NamedNode(XSD + kind))


def promoted(terms: Sequence[Term]) -> list[Term]:
    """The terms with floats or doubles for exact numbers, as other terms among them ask for."""
    kinds = {term.datatype.value for term in terms if isinstance(term, Literal)}
    kind = "float" if XSD + "float" in kinds and XSD + "double" not in kinds else "double"
    return [term if exact(term) is None else _rounded(term, kind) for term in terms]


def _rounded(term: Term, kind: str) -> Literal:
    return Literal(str(float(term.value)), datatype=NamedNode(XSD + kind))


def _beyond(name: str, numbers: list[tuple[str, Fraction]]) -> Term | None:
    kind, first = numbers[0]
    if len(numbers) == 2:
        return _binary(
            name, "decimal" if "decimal" in (kind, numbers[1][0]) else "integer", first, numbers[1][1]
        )
    match name:
        case "ABS":
            return spelled(kind, abs(first))
        case "CEIL":
            return spelled(kind, Fraction(ceil(first)))
        case "FLOOR":
            return spelled(kind, Fraction(floor(first)))
        case "ROUND":
            return spelled(kind, Fraction(floor(first + _HALF)))
        case "+" | "-":
            return spelled(kind, first if name == "+" else -first)
        case _:
            return _cast(name, first)


def _binary(name: str, kind: str, a: Fraction, b: Fraction) -> Term | None:
    if name in _TRUTHS:
        return Literal(_TRUTHS[name](a, b))
    if name == "/":
        return None if b == 0 else spelled("decimal", quotient(a, b))
    return spelled(kind, a + b if name == "+" else a - b if name == "-" else a * b)


def quotient(a: Fraction, b: Fraction) -> Fraction:
    """A division, cut off behind 18 fractional digits."""
    return Fraction(trunc(a / b * 10**18), 10**18)


def _cast(name: str, number: Fraction) -> Term | None:
    match name.removeprefix(XSD):
        case "integer":
            return spelled("integer", Fraction(trunc(number)))
        case "decimal":
            return spelled("decimal", number)
        case "boolean":
            return Literal(number != 0)
        case _:
            return asked(f"<{name}>(?a0)", _rounded(spelled("decimal", number), "double"))


def _read(name: str, term: Term) -> Term | None:
    """A cast of a text or of a double to an integer or a decimal."""
    if not isinstance(term, Literal) or term.language is not None:
        return None
    if term.datatype.value == XSD + "string":
        number = exact(Literal(term.value, datatype=NamedNode(name)))
        return None if number is None else _cast(name, number[1])
    rounded = nearest(term)
    return None if rounded is None or not isfinite(rounded) else _cast(name, Fraction(rounded))


def nearest(term: Term) -> float | None:
    """The number of a float or a double."""
    if not isinstance(term, Literal) or term.datatype.value not in (XSD + "float", XSD + "double"):
        return None
    as_double = asked(f"<{XSD}double>(?a0)", term)
    return None if as_double is None else float(as_double.value)


# --- numbers as truths, in order, in groups ---------------------------------------------------------


def tested(term: Term) -> Term:
    """A term whose effective boolean value pyoxigraph knows."""
    number = exact(term)
    return term if number is None else Literal(number[1] != 0)


def sortable(term: Term) -> Term:
    """A term that pyoxigraph sorts as the number it is."""
    number = exact(term)
    return term if number is None or asked("(?a0 + 0)", term) is not None else _rounded(term, "double")


def sizes(terms: Sequence[Term]) -> list[Fraction | float] | None:
    """The numbers of terms, comparable; None if there is something else among them."""
    numbers = [exact(term) for term in terms]
    found = [nearest(t) if n is None else n[1] for t, n in zip(terms, numbers, strict=True)]
    known = [number for number in found if number is not None and number == number]
    return known if len(known) == len(terms) else None


def total(name: str, terms: Sequence[Term]) -> Term | None:
    """SUM or AVG of terms; None is an error."""
    if any(isinstance(term, BlankNode) for term in terms):
        return None
    found = sizes(terms)
    if found is not None and any(map(_is_double, terms)) and all(map(isfinite, found)):
        return _summed_doubles(name, [float(number) for number in found])
    answer = _summed(name, terms)
    if answer is not None or found is None:
        return answer
    numbers = [number for number in map(exact, terms) if number is not None]
    if len(numbers) < len(terms):
        return _summed(name, promoted(terms))
    kind = "decimal" if any(kind == "decimal" for kind, _ in numbers) else "integer"
    added = sum((number for _, number in numbers), Fraction())
    if name == "SUM":
        return spelled(kind, added)
    return spelled("decimal", quotient(added, Fraction(len(numbers))))


def _is_double(term: Term) -> bool:
    return isinstance(term, Literal) and term.datatype.value == XSD + "double"


def _summed_doubles(name: str, numbers: Sequence[float]) -> Term | None:
    """The exact sum, rounded once, so that no order matters."""
    exact_sum = sum(map(Fraction, numbers), Fraction())
    try:
        added = float(exact_sum)
        text = str(added if name == "SUM" else added / len(numbers))
    except OverflowError:
        text = "INF" if exact_sum > 0 else "-INF"
    return asked("(?a0 + 0e0)", Literal(text, datatype=NamedNode(XSD + "double")))


def _summed(name: str, terms: Sequence[Term]) -> Term | None:
    values = " ".join(map(str, terms))
    results = Store().query(f"SELECT ({name}(?v) AS ?r) WHERE {{ VALUES ?v {{ {values} }} }}")
    assert isinstance(results, QuerySolutions)
    return next(iter(results))["r"]  # type: ignore[no-any-return]
