"""Lengths and instants as queries over windows write them (semantics 3.1). A number without unit is seconds."""

from __future__ import annotations

import re
from decimal import ROUND_FLOOR, Decimal
from typing import Final

from spaseq.temporal.instants import XSD, format_instant, parse_date_time, parse_duration, parse_instant

UNITS: Final[dict[str, int]] = {
    name: microseconds
    for names, microseconds in (
        ("MS MILLISECOND MILLISECONDS", 1_000),
        ("S SECOND SECONDS", 1_000_000),
        ("M MINUTE MINUTES", 60_000_000),
        ("H HOUR HOURS", 3_600_000_000),
        ("D DAY DAYS", 86_400_000_000),
    )
    for name in names.split()
}
"""Microseconds in a unit, by its name in upper case."""

CALENDAR_UNITS: Final = ("MONTH", "MONTHS", "YEAR", "YEARS")
"""Units that are read only to be refused."""
_DIFFER: Final = "years and months differ in length"
_LONGEST: Final = 2**62
_CALENDAR = re.compile(r"-?P[0-9]*[YM]|-?P[0-9]+Y?[0-9]*M", re.IGNORECASE)


def read_length(number: str, unit: str) -> int:
    """So many units in microseconds, cut off downwards; a `ValueError` says why not."""
    if unit.upper() in CALENDAR_UNITS:
        raise ValueError(_DIFFER)
    amount = Decimal(number)
    if amount and amount.adjusted() > 20:
        raise ValueError("it is too long")
    exact = amount * UNITS[unit.upper()]
    if exact > _LONGEST:
        raise ValueError("it is too long")
    return int(exact.to_integral_value(ROUND_FLOOR))


def read_duration(text: str) -> int:
    """An xsd:dayTimeDuration in microseconds, negative if it has a sign; a `ValueError` says why not.

    >>> read_duration("PT1M30S"), read_duration("-PT1S")
    (90000000, -1000000)
    """
    if _CALENDAR.match(text):
        raise ValueError(_DIFFER)
    negative = text.startswith("-")
    if text[negative : negative + 1] not in ("P", "p"):
        raise ValueError("a duration is written PT10S")
    try:
        length = parse_duration(text[negative:])
    except ValueError:
        raise ValueError("a duration is written PT10S or P1DT12H") from None
    return -length if negative else length


def read_instant(text: str, datatype: str) -> int:
    """The instant of a literal or number in microseconds; a `ValueError` says why there is none."""
    return parse_date_time(text) if datatype == XSD + "string" else parse_instant(text, datatype, "s")


def format_length(microseconds: int) -> str:
    """A length in the largest unit of which it is a whole number, else in decimal seconds.

    >>> format_length(1_500_000), format_length(5), format_length(7_200_000_000)
    ('1500ms', '0.000005s', '2h')
    """
    for unit in ("D", "H", "M", "S", "MS"):
        if microseconds % UNITS[unit] == 0:
            return f"{microseconds // UNITS[unit]}{unit.lower()}"
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{seconds}.{rest:06d}".rstrip("0") + "s"


def format_moment(instant: int) -> str:
    """An instant as a query has it."""
    return f'"{format_instant(instant)}"'
