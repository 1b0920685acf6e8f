"""Durations as users write them, in microseconds: ``5s``, ``10 minutes``, ``PT5S``."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_UNITS: Final[dict[str, int]] = {
    name: microseconds
    for names, microseconds in (
        ("us µs μs microsecond microseconds", 1),
        ("ms millisecond milliseconds", 1_000),
        ("s sec second seconds", 1_000_000),
        ("m min minute minutes", 60_000_000),
        ("h hour hours", 3_600_000_000),
        ("d day days", 86_400_000_000),
    )
    for name in names.split()
}
_PLAIN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµμ]+)\Z")
_ISO = re.compile(
    r"P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?\Z", re.IGNORECASE
)
MAX_DURATION: Final = 2**62
"""The longest window or gap in microseconds (about 146,000 years): instants are int64."""


def parse_duration(text: str) -> int:
    """A duration in microseconds; a `ValueError` shows the text and what is accepted.

    >>> parse_duration("500ms"), parse_duration("10 minutes"), parse_duration("PT5S")
    (500000, 600000000, 5000000)
    """
    cleaned = text.strip()
    iso = _ISO.match(cleaned)
    if iso is not None and any(iso.groups()) and not cleaned.upper().endswith("T"):
        days, hours, minutes, seconds = (Decimal(part or 0) for part in iso.groups())
        amount = ((days * 24 + hours) * 60 + minutes) * 60_000_000 + seconds * 1_000_000
    else:
        plain = _PLAIN.match(cleaned)
        unit = _UNITS.get(plain[2].lower()) if plain is not None else None
        if cleaned == "0":
            amount = Decimal(0)
        elif plain is None or unit is None:
            raise ValueError(
                f"`{text}` is not a duration; write for example `5s`, `500ms`, `10 minutes` or `PT5S`"
            )
        else:
            amount = Decimal(plain[1]) * unit
    if amount > MAX_DURATION:
        raise ValueError(f"`{text}` is too long a duration")
    return int(amount)


_SHOWN: Final = (
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
)


def format_duration(microseconds: int) -> str:
    """A duration as `parse_duration` reads it, in the largest unit of which it is a whole number.

    >>> format_duration(86_400_000_000), format_duration(1_500_000), format_duration(0)
    ('1d', '1500ms', '0s')
    """
    if microseconds == 0:
        return "0s"
    for name, size in _SHOWN:
        if microseconds % size == 0:
            return f"{microseconds // size}{name}"
    return f"{microseconds}us"


def canonical_duration(microseconds: int) -> str:
    """A duration as the canonical text of an ``xsd:duration``.

    >>> canonical_duration(0), canonical_duration(93_784_500_000)
    ('PT0S', 'P1DT2H3M4.5S')
    """
    minutes, rest = divmod(microseconds, 60_000_000)
    days, minutes = divmod(minutes, 24 * 60)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest // 1_000_000}.{rest % 1_000_000:06d}".rstrip("0").removesuffix(".") if rest else "0"
    parts = ((days, "D"), (hours, "H"), (minutes, "M"))
    day, *time = (f"{number}{unit}" if number else "" for number, unit in parts)
    clock = "".join(time) + ("" if seconds == "0" else f"{seconds}S")
    return f"P{day}" + (f"T{clock}" if clock else "") if day or clock else "PT0S"


def microseconds(size: int, unit: str) -> int:
    """A number of units, as queries name them in the singular: ``MINUTE``."""
    return size * _UNITS[unit.lower()]
