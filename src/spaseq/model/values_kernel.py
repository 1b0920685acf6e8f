"""Decoding plain literals in bulk, straight from the bytes of the arena.

The kernel takes integers, decimals and doubles of up to 18 digits and leaves every other literal with a
datatype `PENDING`, for `spaseq.model.values.value_of` to decide.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.jit import Int, kernel
from spaseq.model.values import Kind

_IRI: Final = np.uint8(Kind.IRI)
_BLANK: Final = np.uint8(Kind.BLANK)
_STRING: Final = np.uint8(Kind.STRING)
_LANG: Final = np.uint8(Kind.LANG)
_INTEGER: Final = np.uint8(Kind.INTEGER)
_DECIMAL: Final = np.uint8(Kind.DECIMAL)
_DOUBLE: Final = np.uint8(Kind.DOUBLE)
_PENDING: Final = np.uint8(Kind.PENDING)
_LONGEST_FRACTION: Final = 22
_POWERS: Final = np.array([10.0**i for i in range(_LONGEST_FRACTION + 1)])
_TENS: Final = np.array([10**i for i in range(19)], np.int64)


def _tail(name: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(f'"^^<http://www.w3.org/2001/XMLSchema#{name}>'.encode(), np.uint8)


_INTEGER_TAIL: Final = _tail("integer")
_DECIMAL_TAIL: Final = _tail("decimal")
_DOUBLE_TAIL: Final = _tail("double")


@kernel
def _ends_with(buffer: npt.NDArray[np.uint8], start: Int, end: Int, tail: npt.NDArray[np.uint8]) -> bool:
    size = len(tail)
    if end - start <= size:
        return False
    at = size - 1  # the ends differ most, so compare backwards
    while at >= 0 and buffer[end - size + at] == tail[at]:
        at -= 1
    return at < 0


@kernel
def decode_values(
    buffer: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    first: Int,
    stop: Int,
    kind: npt.NDArray[np.uint8],
    number: npt.NDArray[np.float64],
    exact: npt.NDArray[np.bool_],
    integer: npt.NDArray[np.int64],
    integral: npt.NDArray[np.bool_],
    instant: npt.NDArray[np.int64],
    zoned: npt.NDArray[np.bool_],
) -> None:
    """Fill the value columns for the ids ``first : stop``."""
    for known in range(first, stop):
        start, end = starts[known], starts[known + 1]
        number[known] = np.nan
        exact[known] = False
        integer[known] = 0
        integral[known] = False
        instant[known] = 0
        zoned[known] = False
        lead, last = buffer[start], buffer[end - 1]
        if lead == 60:  # <
            kind[known] = _IRI
        elif lead == 95:  # _
            kind[known] = _BLANK
        elif last == 34:  # "
            kind[known] = _STRING
        elif last != 62:  # >
            kind[known] = _LANG
        elif _ends_with(buffer, start, end, _INTEGER_TAIL):
            _decode_number(
                buffer,
                start + 1,
                end - len(_INTEGER_TAIL),
                known,
                _INTEGER,
                kind,
                number,
                exact,
                integer,
                integral,
            )
        elif _ends_with(buffer, start, end, _DECIMAL_TAIL):
            _decode_number(
                buffer,
                start + 1,
                end - len(_DECIMAL_TAIL),
                known,
                _DECIMAL,
                kind,
                number,
                exact,
                integer,
                integral,
            )
        elif _ends_with(buffer, start, end, _DOUBLE_TAIL):
            _decode_number(
                buffer,
                start + 1,
                end - len(_DOUBLE_TAIL),
                known,
                _DOUBLE,
                kind,
                number,
                exact,
                integer,
                integral,
            )
        else:
            kind[known] = _PENDING


@kernel
def _decode_number(
    buffer: npt.NDArray[np.uint8],
    start: Int,
    end: Int,
    known: Int,
    asked: np.uint8,
    kind: npt.NDArray[np.uint8],
    number: npt.NDArray[np.float64],
    exact: npt.NDArray[np.bool_],
    integer: npt.NDArray[np.int64],
    integral: npt.NDArray[np.bool_],
) -> None:
    """Digits with an optional sign and point, at most 18 of them; anything else stays pending."""
    kind[known] = _PENDING
    at = start
    negative = buffer[at] == 45
    if negative or buffer[at] == 43:
        at += 1
    whole = np.int64(0)
    digits = 0
    fraction = -1
    while at < end:
        byte = buffer[at]
        if byte == 46 and fraction < 0 and asked != _INTEGER:
            fraction = 0
        elif 48 <= byte <= 57 and digits < 18:
            whole = whole * 10 + np.int64(byte - 48)
            digits += 1
            if fraction >= 0:
                fraction += 1
        else:
            return
        at += 1
    if digits == 0:
        return
    # Below 2**53 over a power of ten up to 10**22 the division is the correctly rounded value.
    if whole >= 9007199254740992 and (fraction > 0 or asked == _DOUBLE):
        return
    signed = -whole if negative else whole
    value = np.float64(signed)
    is_integral = True
    if fraction > 0:
        value = value / _POWERS[fraction]
        is_integral = whole % _TENS[fraction] == 0
        signed = signed // _TENS[fraction] if is_integral else np.int64(0)
    if negative and whole == 0 and asked == _DOUBLE:
        value = np.float64(-0.0)
    kind[known] = asked
    number[known] = value
    integral[known] = is_integral
    integer[known] = signed
    if asked == _DOUBLE:
        exact[known] = True
    elif is_integral:
        exact[known] = np.int64(value) == signed
    else:
        exact[known] = _dyadic(whole, fraction)


@kernel
def _dyadic(whole: Int, fraction: Int) -> bool:
    """Whether whole / 10**fraction, with whole below 2**53, is a binary fraction: five divides it out."""
    for _ in range(fraction):
        if whole % 5 != 0:
            return False
        whole //= 5
    return True
