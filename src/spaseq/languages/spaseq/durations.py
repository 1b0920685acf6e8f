"""Units of time as queries write them."""

from __future__ import annotations

from typing import Final

_MICROSECONDS: Final = {
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
}
MAX_DURATION: Final = 2**62
"""The longest window or gap in microseconds (about 146,000 years): instants are int64."""


def microseconds(size: int, unit: str) -> int:
    """A number of units, named in the singular, in microseconds."""
    return size * _MICROSECONDS[unit]
