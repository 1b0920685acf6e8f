"""Instants and durations as int64 microseconds since the Unix epoch, UTC (semantics 0, "Time").

Everything here is a pure function of its arguments: no clock is read.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from math import floor
from typing import Final, Literal, TypeAlias

from spaseq.errors import InvalidArgument, described
from spaseq.temporal.durations import parse_duration as parse_duration

TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
"""The unit of a numeric timestamp, as the user states it."""

TIME_UNITS: Final[tuple[TimeUnit, ...]] = ("s", "ms", "us", "ns")

XSD: Final = "http://www.w3.org/2001/XMLSchema#"

INTEGER_RANGES: Final[dict[str, tuple[int | None, int | None]]] = {
    XSD + "integer": (None, None),
    XSD + "long": (-(2**63), 2**63 - 1),
    XSD + "int": (-(2**31), 2**31 - 1),
    XSD + "short": (-(2**15), 2**15 - 1),
    XSD + "byte": (-(2**7), 2**7 - 1),
    XSD + "nonNegativeInteger": (0, None),
    XSD + "positiveInteger": (1, None),
    XSD + "nonPositiveInteger": (None, 0),
    XSD + "negativeInteger": (None, -1),
    XSD + "unsignedLong": (0, 2**64 - 1),
    XSD + "unsignedInt": (0, 2**32 - 1),
    XSD + "unsignedShort": (0, 2**16 - 1),
    XSD + "unsignedByte": (0, 2**8 - 1),
}
"""``xsd:integer`` and the types derived from it, with their least and greatest value."""

FIRST_INSTANT: Final = -62_135_596_800_000_000
"""0001-01-01T00:00:00Z, the earliest instant that is read."""

LAST_INSTANT: Final = 253_402_300_799_999_999
"""9999-12-31T23:59:59.999999Z, the latest instant that is read."""

BEFORE_ALL: Final = -(2**63)
"""Before every instant: how far time has come when nothing is known."""

FOREVER: Final = 2**63 - 1
"""After every instant: how far time has come when the input has ended."""

_PLAUSIBLE: Final = (788_918_400_000_000, 2_208_988_800_000_000)
"""1995-01-01 and 2040-01-01, between which most data is from."""
_SCALES: Final[dict[str, int]] = {"s": 6, "ms": 3, "us": 0, "ns": -3}
_DAY: Final = 86_400_000_000
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_DATE = r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})"
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_DATE_TIME = re.compile(_DATE + r"T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?" + _ZONE + r"\Z")
_DATE_ONLY = re.compile(_DATE + _ZONE + r"\Z")
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a day of the proleptic Gregorian calendar."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _civil_from_days(days: int) -> tuple[int, int, int]:
    """The year, month and day that lie so many days after 1970-01-01."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def _days(year: int, month: int, day: int, lexical: str) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_DAYS[month - 1] + (month == 2 and leap):
        raise ValueError(f"`{lexical}` names a day that is not in the calendar")
    if not 1 <= year <= 9999:
        raise ValueError(f"`{lexical}` lies outside the years 1 to 9999")
    return days_from_civil(year, month, day)


def _zone(text: str | None, lexical: str) -> int:
    """The offset of a zone in microseconds; no zone means UTC."""
    if text is None or text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:6])
    if minutes > 59 or hours * 60 + minutes > 14 * 60:
        raise ValueError(f"`{lexical}` has a time zone beyond 14:00")
    offset = (hours * 60 + minutes) * 60_000_000
    return -offset if text[0] == "-" else offset


def _in_range(instant: int, lexical: str) -> int:
    if not FIRST_INSTANT <= instant <= LAST_INSTANT:
        raise ValueError(f"`{_short(lexical)}` lies outside the years 1 to 9999")
    return instant


def _short(lexical: str) -> str:
    return lexical if len(lexical) <= 60 else lexical[:57] + "..."


def parse_date_time(lexical: str) -> int:
    """The instant of an ``xsd:dateTime``; digits beyond microseconds are cut off.

    >>> parse_date_time("1970-01-01T01:00:20.5000009+01:00")
    20500000
    """
    found = _DATE_TIME.match(lexical)
    if found is None:
        raise ValueError(f"`{_short(lexical)}` is not an xsd:dateTime")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction = int(((found[7] or "") + "000000")[:6])
    midnight = (hour, minute, second) == (24, 0, 0) and not int(found[7] or 0)
    if minute > 59 or second > 59 or (hour > 23 and not midnight):
        raise ValueError(f"`{_short(lexical)}` names a time that is not on the clock")
    seconds = hour * 3600 + minute * 60 + second
    instant = _days(year, month, day, _short(lexical)) * _DAY + seconds * 1_000_000 + fraction
    return _in_range(instant - _zone(found[8], _short(lexical)), lexical)


def parse_date(lexical: str) -> int:
    """The first instant of an ``xsd:date``."""
    found = _DATE_ONLY.match(lexical)
    if found is None:
        raise ValueError(f"`{_short(lexical)}` is not an xsd:date")
    days = _days(int(found[1]), int(found[2]), int(found[3]), _short(lexical))
    return _in_range(days * _DAY - _zone(found[4], _short(lexical)), lexical)


def _parse_number(lexical: str, datatype: str, unit: TimeUnit) -> int:
    name = datatype.removeprefix(XSD)
    shape = _INTEGER if datatype in INTEGER_RANGES else _DECIMAL if name == "decimal" else _DOUBLE
    if shape.match(lexical) is None:
        raise ValueError(f"`{_short(lexical)}` is not an xsd:{name} with an instant as its value")
    try:
        number = Decimal(lexical)
    except InvalidOperation:  # an exponent beyond what Decimal can hold
        raise ValueError(f"`{_short(lexical)}` is out of range") from None
    if number and number.adjusted() > 24:
        raise ValueError(f"`{_short(lexical)}` lies outside the years 1 to 9999")
    if datatype in INTEGER_RANGES:
        least, greatest = INTEGER_RANGES[datatype]
        if (least is not None and number < least) or (greatest is not None and number > greatest):
            raise ValueError(f"`{_short(lexical)}` is out of range for xsd:{name}")
    return _in_range(_floor(number, unit), lexical)


def _floor(number: Decimal, unit: TimeUnit) -> int:
    """A number of units in whole microseconds, cut off downwards like the fraction of a date-time."""
    if number and number.adjusted() < -30:
        return 0 if number > 0 else -1
    exact = Context(prec=len(number.as_tuple().digits) + 40)
    return floor(number.scaleb(_SCALES[unit], exact))


def parse_instant(lexical: str, datatype: str, unit: TimeUnit = "ms") -> int:
    """The instant a literal stands for, in microseconds; a `ValueError` says why it stands for none.

    >>> parse_instant("20000", XSD + "integer", "ms")
    20000000
    """
    if datatype in (XSD + "dateTime", XSD + "dateTimeStamp"):
        if datatype.endswith("Stamp") and lexical[-1:] != "Z" and lexical[-6:-5] not in ("+", "-"):
            raise ValueError(f"`{_short(lexical)}` is an xsd:dateTimeStamp without time zone")
        return parse_date_time(lexical)
    if datatype == XSD + "date":
        return parse_date(lexical)
    if datatype in INTEGER_RANGES or datatype in (XSD + "decimal", XSD + "double", XSD + "float"):
        return _parse_number(lexical, datatype, unit)
    raise ValueError(f"a timestamp is a date-time, a date or a number, not a <{datatype}>")


def mistaken_units(unit: TimeUnit) -> dict[TimeUnit, tuple[int, int]]:
    """For every longer unit the instants from 1995 to 2040 in that unit, as they come out when they are read in ``unit``.

    Epoch seconds of today that are read as milliseconds lie in January 1970:

    >>> [format_instant(instant) for instant in mistaken_units("ms")["s"]]
    ['1970-01-10T03:08:38.4Z', '1970-01-26T13:36:28.8Z']
    """
    longer = TIME_UNITS[: TIME_UNITS.index(unit)]
    return {
        other: (_PLAUSIBLE[0] // factor, _PLAUSIBLE[1] // factor)
        for other in longer
        for factor in (10 ** (_SCALES[other] - _SCALES[unit]),)
    }


@lru_cache(maxsize=4096)  # the events of matches have few different times for long
def format_instant(instant: int) -> str:
    """An instant as results have it: UTC with ``Z``, a fraction only where it is not zero.

    >>> format_instant(20_000_000), format_instant(-1)
    ('1970-01-01T00:00:20Z', '1969-12-31T23:59:59.999999Z')
    """
    days, rest = divmod(instant, _DAY)
    year, month, day = _civil_from_days(days)
    seconds, fraction = divmod(rest, 1_000_000)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    shown = f"{year:04d}" if year >= 0 else f"-{-year:04d}"
    return f"{shown}-{month:02d}-{day:02d}T{clock}{tail}Z"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_datetime(instant: int) -> datetime:
    """An instant as an aware `datetime` in UTC, which ends with the year 9999; windows and answers may not."""
    try:
        return _EPOCH + timedelta(microseconds=instant)
    except OverflowError:
        raise InvalidArgument(
            f"{format_instant(instant)} lies outside the years 1 to 9999, and no datetime can say that; it is {instant} microseconds "
            "after 1970"
        ) from None


def from_datetime(moment: datetime) -> int:
    """The instant of a `datetime`; one without zone is taken as UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    difference = aware - _EPOCH
    return (difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds


def as_duration(given: object, what: str) -> int:
    """A duration in microseconds, as text or as a number."""
    if not isinstance(given, (str, int)) or isinstance(given, bool):
        raise InvalidArgument(
            f"the {what} is a text such as `5s` or a number of microseconds, not {described(given)}"
        )
    try:
        found = parse_duration(given) if isinstance(given, str) else given
    except ValueError as error:
        raise InvalidArgument(f"the {what} cannot be read: {error}") from None
    if not 0 <= found <= LAST_INSTANT:
        raise InvalidArgument(f"the {what} is a duration of 0 to {LAST_INSTANT} microseconds, not {given!r}")
    return found
