"""The registry of SPARQL 1.1 functions: what exists, how many arguments it takes, where it is defined.

Every row must be implemented: a test walks the registry and fails if a function has no kernel. ``volatile``
marks functions whose value is not determined by their arguments; such a call is never cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from spaseq.algebra.expressions import Call, Exists, Expression, FunctionCall, walk

_SPARQL: Final = "https://www.w3.org/TR/sparql11-query/#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True, slots=True)
class Function:
    """One function; ``maximum`` is None if it takes any number of arguments from ``minimum`` on."""

    name: str
    minimum: int
    maximum: int | None
    anchor: str
    volatile: bool = False

    @property
    def spec(self) -> str:
        """The address of its definition."""
        return _SPARQL + self.anchor


def _of(count: int, *names: str) -> list[Function]:
    return [Function(name, count, count, f"func-{name.lower()}") for name in names]


_DECLARED: Final = [
    # functional forms
    Function("BOUND", 1, 1, "func-bound"),
    Function("IF", 3, 3, "func-if"),
    Function("COALESCE", 0, None, "func-coalesce"),
    Function("SAMETERM", 2, 2, "func-sameTerm"),
    # terms
    Function("ISIRI", 1, 1, "func-isIRI"),
    Function("ISURI", 1, 1, "func-isIRI"),
    Function("ISBLANK", 1, 1, "func-isBlank"),
    Function("ISLITERAL", 1, 1, "func-isLiteral"),
    Function("ISNUMERIC", 1, 1, "func-isNumeric"),
    *_of(1, "STR", "LANG", "DATATYPE"),
    Function("IRI", 1, 1, "func-iri"),
    Function("URI", 1, 1, "func-iri"),
    Function("BNODE", 0, 1, "func-bnode", volatile=True),
    *_of(2, "STRDT", "STRLANG"),
    Function("UUID", 0, 0, "func-uuid", volatile=True),
    Function("STRUUID", 0, 0, "func-struuid", volatile=True),
    # strings
    *_of(1, "STRLEN", "UCASE", "LCASE"),
    Function("SUBSTR", 2, 3, "func-substr"),
    *_of(2, "STRSTARTS", "STRENDS", "CONTAINS", "STRBEFORE", "STRAFTER"),
    Function("ENCODE_FOR_URI", 1, 1, "func-encode"),
    Function("CONCAT", 0, None, "func-concat"),
    Function("LANGMATCHES", 2, 2, "func-langMatches"),
    Function("REGEX", 2, 3, "func-regex"),
    Function("REPLACE", 3, 4, "func-replace"),
    # numbers
    *_of(1, "ABS", "ROUND", "CEIL", "FLOOR"),
    Function("RAND", 0, 0, "idp2130040", volatile=True),
    # dates and times
    Function("NOW", 0, 0, "func-now", volatile=True),
    *_of(1, "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"),
    # hashes
    *_of(1, "MD5", "SHA1", "SHA256", "SHA384", "SHA512"),
]

BUILT_INS: Final = {function.name: function for function in _DECLARED}
"""Built-in functions by upper-case name."""

CASTS: Final = {
    XSD + name: Function(f"xsd:{name}", 1, 1, "FunctionMapping")
    for name in (
        "string", "boolean", "integer", "decimal", "float", "double", "dateTime",
        "date", "time", "duration", "dayTimeDuration", "yearMonthDuration",
        "gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay",
    )
}  # fmt: skip
"""Constructor functions by IRI: SPARQL's own and the further ones that pyoxigraph has."""


@lru_cache(maxsize=4096)
def is_volatile(expression: Expression) -> bool:
    """True if the expression may differ between two evaluations on one solution; EXISTS is not looked into."""
    return any(
        isinstance(node, Call) and node.name in BUILT_INS and BUILT_INS[node.name].volatile
        for node in walk(expression)
    )


@lru_cache(maxsize=4096)
def reads_times(expression: Expression) -> bool:
    """True if the expression asks when a triple came: `timestamp` of continuous queries; EXISTS is not looked into."""
    return any(isinstance(node, Call) and node.name == "TIMESTAMP" for node in walk(expression))


@lru_cache(maxsize=4096)
def has_exists(expression: Expression) -> bool:
    """True if a pattern is evaluated inside the expression."""
    return any(isinstance(node, Exists) for node in walk(expression))


def known_function(call: FunctionCall) -> bool:
    """True if the IRI names a function there is."""
    return getattr(call.function.term, "value", "") in CASTS
