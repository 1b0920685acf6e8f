"""Instants and durations; no clock is read here."""

from spaseq.temporal.durations import parse_duration
from spaseq.temporal.instants import (
    TIME_UNITS,
    TimeUnit,
    format_instant,
    from_datetime,
    parse_instant,
    to_datetime,
)

__all__ = [
    "TIME_UNITS",
    "TimeUnit",
    "format_instant",
    "from_datetime",
    "parse_duration",
    "parse_instant",
    "to_datetime",
]
