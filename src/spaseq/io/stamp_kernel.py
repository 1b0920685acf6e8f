"""Reading timestamps straight from bytes: they are nearly all distinct, so they get no dictionary entry.

The forms that streams use are read here; any other literal is `ELSEWHERE`, for
`spaseq.temporal.instants.parse_instant` to read.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.io.line_kernel import find_quote
from spaseq.model.arena import equal_bytes
from spaseq.model.jit import Int, lean, load8
from spaseq.temporal.instants import FIRST_INSTANT, LAST_INSTANT

ELSEWHERE: Final = np.iinfo(np.int64).min

_DAY: Final = 86_400_000_000
_MONTH_DAYS: Final = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)
_TENS: Final = np.array([10**i for i in range(19)], np.int64)


def _datatype(name: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(f"<http://www.w3.org/2001/XMLSchema#{name}>".encode() + bytes(16), np.uint8)


_DATE_TIME: Final = _datatype("dateTime")
_STAMP: Final = _datatype("dateTimeStamp")
_INTEGER: Final = _datatype("integer")
_LONG: Final = _datatype("long")
_DECIMAL: Final = _datatype("decimal")
_DOUBLE: Final = _datatype("double")


@lean
def _is(address: Int, stop: Int, datatype: npt.NDArray[np.uint8]) -> bool:
    size = len(datatype) - 16
    return stop - address == size and equal_bytes(address, datatype.ctypes.data, size)


@lean
def _number(address: Int, count: Int) -> Int:
    """The value of some digits, -1 if they are not digits."""
    value = np.int64(0)
    for at in range(address, address + count):
        digit = np.int64(load8(at)) - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@lean
def _days(year: Int, month: Int, day: Int) -> Int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar."""
    shifted = year - (1 if month <= 2 else 0)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@lean
def _date_time(address: Int, stop: Int, needs_zone: bool) -> Int:
    """``YYYY-MM-DDThh:mm:ss`` with an optional fraction and zone."""
    if stop - address < 19:
        return ELSEWHERE
    year, month, day = _number(address, 4), _number(address + 5, 2), _number(address + 8, 2)
    hour, minute, second = _number(address + 11, 2), _number(address + 14, 2), _number(address + 17, 2)
    if (
        load8(address + 4) != 45
        or load8(address + 7) != 45
        or load8(address + 10) != 84
        or load8(address + 13) != 58
        or load8(address + 16) != 58
        or year < 1
        or day < 1
        or not 1 <= month <= 12
        or not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59)
    ):
        return ELSEWHERE
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _MONTH_DAYS[month - 1] + (1 if month == 2 and leap else 0):
        return ELSEWHERE
    at = address + 19
    fraction = np.int64(0)
    if at < stop and load8(at) == 46:
        at += 1
        weight = np.int64(100_000)
        first = at
        while at < stop and 48 <= load8(at) <= 57:
            fraction += weight * (np.int64(load8(at)) - 48)
            weight //= 10
            at += 1
        if at == first:
            return ELSEWHERE
    offset: Int = np.int64(0)
    if at == stop:
        if needs_zone:
            return ELSEWHERE
    elif not (load8(at) == 90 and at + 1 == stop):
        hours, minutes = _number(at + 1, 2), _number(at + 4, 2)
        sign = load8(at)
        if at + 6 != stop or load8(at + 3) != 58 or (sign != 43 and sign != 45):
            return ELSEWHERE
        if hours < 0 or minutes < 0 or minutes > 59 or hours > 13:
            return ELSEWHERE
        offset = (hours * 60 + minutes) * 60_000_000
        if sign == 45:
            offset = -offset
    seconds = (hour * 60 + minute) * 60 + second
    return _days(year, month, day) * _DAY + seconds * 1_000_000 + fraction - offset


@lean
def _plain_number(address: Int, stop: Int, scale: Int, pointed: bool) -> Int:
    """Digits with an optional sign and, in a decimal, a point; ``scale`` is the unit's power of ten in µs."""
    at = address
    negative = load8(at) == 45
    if negative or load8(at) == 43:
        at += 1
    value = np.int64(0)
    digits = 0
    fraction = -1
    while at < stop:
        byte = load8(at)
        if byte == 46 and pointed and fraction < 0:
            fraction = 0
        elif 48 <= byte <= 57 and digits < 18:
            value = value * 10 + (np.int64(byte) - 48)
            digits += 1
            if fraction >= 0:
                fraction += 1
        else:
            return ELSEWHERE
        at += 1
    if digits == 0:
        return ELSEWHERE
    if negative:
        value = -value
    power = scale - max(fraction, 0)
    if power >= 0:
        if abs(value) > LAST_INSTANT // _TENS[power]:
            return ELSEWHERE
        return np.int64(value * _TENS[power])
    return np.int64(value // _TENS[-power])


@lean
def read_stamp(address: Int, stop: Int, scale: Int) -> Int:
    """The instant of a good literal, or `ELSEWHERE`."""
    close = find_quote(address + 1, stop)  # if it is escaped, no datatype follows that ends the literal
    if load8(close + 1) != 94:
        return ELSEWHERE
    datatype = close + 3
    instant: Int = ELSEWHERE
    if _is(datatype, stop, _DATE_TIME):
        instant = _date_time(address + 1, close, False)
    elif _is(datatype, stop, _INTEGER) or _is(datatype, stop, _LONG):
        instant = _plain_number(address + 1, close, scale, False)
    elif _is(datatype, stop, _STAMP):
        instant = _date_time(address + 1, close, True)
    elif _is(datatype, stop, _DECIMAL) or _is(datatype, stop, _DOUBLE):
        instant = _plain_number(address + 1, close, scale, True)
    if instant < FIRST_INSTANT or instant > LAST_INSTANT:
        return ELSEWHERE
    return instant
