"""The built-in functions that the grammar knows: names and how many arguments each takes (SPARQL 1.1, 17.4)."""

from __future__ import annotations

ANY = 1_000_000
"""More arguments than any call has."""

_BY_COUNT: dict[tuple[int, int], str] = {
    (0, 0): "RAND NOW UUID STRUUID",
    (0, 1): "BNODE",
    (0, ANY): "CONCAT COALESCE",
    (
        1,
        1,
    ): "STR LANG DATATYPE BOUND IRI URI ABS CEIL FLOOR ROUND STRLEN UCASE LCASE ENCODE_FOR_URI YEAR MONTH "
    "DAY HOURS MINUTES SECONDS TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512 ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC",
    (2, 2): "LANGMATCHES CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER STRLANG STRDT SAMETERM",
    (2, 3): "REGEX SUBSTR",
    (3, 3): "IF",
    (3, 4): "REPLACE",
}

ARGUMENTS: dict[str, tuple[int, int]] = {
    name: count for count, names in _BY_COUNT.items() for name in names.split()
}
"""Fewest and most arguments of each built-in function, by upper-case name."""

AGGREGATES = ("SUM", "MIN", "MAX", "AVG", "SAMPLE")
"""The set functions of one plain argument; COUNT and GROUP_CONCAT have their own grammar."""


def argument_words(name: str) -> str:
    """How many arguments a function takes, in words.

    >>> argument_words("SUBSTR")
    '2 or 3 arguments'
    """
    least, most = ARGUMENTS[name]
    if least == most:
        return {0: "no arguments", 1: "1 argument"}.get(least, f"{least} arguments")
    return f"{least} or {most} arguments"
