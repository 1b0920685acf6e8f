"""Instants: every lexical form of semantics 0, its borders, and printing."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.errors import InvalidArgument
from spaseq.temporal.durations import parse_duration
from spaseq.temporal.instants import (
    FIRST_INSTANT,
    LAST_INSTANT,
    XSD,
    TimeUnit,
    format_instant,
    from_datetime,
    parse_instant,
    to_datetime,
)


@pytest.mark.parametrize(
    ("lexical", "datatype", "unit", "expected"),
    [
        ("1970-01-01T00:00:20Z", "dateTime", "ms", 20_000_000),
        ("1970-01-01T00:00:20", "dateTime", "ms", 20_000_000),
        ("1970-01-01T00:00:00.1234569Z", "dateTime", "ms", 123_456),
        ("1969-12-31T23:59:59.9999999Z", "dateTime", "ms", -1),
        ("1970-01-01T02:00:00+02:00", "dateTimeStamp", "ms", 0),
        ("1969-12-31T24:00:00Z", "dateTime", "ms", 0),
        ("1970-01-02", "date", "ms", 86_400_000_000),
        ("1970-01-01-01:00", "date", "ms", 3_600_000_000),
        ("20", "integer", "s", 20_000_000),
        ("+20", "long", "ms", 20_000),
        ("-1", "integer", "ns", -1),
        ("1999", "unsignedShort", "ns", 1),
        ("1.5", "decimal", "ms", 1500),
        ("1.0007E3", "double", "s", 1_000_700_000),
        (".5", "decimal", "s", 500_000),
        ("1." + "1" * 5000, "decimal", "s", 1_111_111),
        ("-0." + "0" * 5000 + "1", "decimal", "s", -1),
        ("5e-324", "double", "s", 0),
        ("0001-01-01T00:00:00Z", "dateTime", "ms", FIRST_INSTANT),
        ("9999-12-31T23:59:59.999999Z", "dateTime", "ms", LAST_INSTANT),
    ],
)
def test_each_readable_form_gives_its_instant(
    lexical: str, datatype: str, unit: TimeUnit, expected: int
) -> None:
    """Date-times, dates and numbers in their unit become microseconds."""
    assert parse_instant(lexical, XSD + datatype, unit) == expected


@pytest.mark.parametrize(
    ("lexical", "datatype", "reason"),
    [
        ("10000-01-01T00:00:00Z", "dateTime", "outside the years"),
        ("0000-01-01T00:00:00Z", "dateTime", "outside the years"),
        ("0001-01-01T00:00:00+01:00", "dateTime", "outside the years"),
        ("2023-02-29T00:00:00Z", "dateTime", "calendar"),
        ("2023-02-28T24:00:01Z", "dateTime", "clock"),
        ("2023-02-28T00:00:60Z", "dateTime", "clock"),
        ("2023-02-28T00:00:00+14:01", "dateTime", "14:00"),
        ("2023-02-28T00:00:00", "dateTimeStamp", "without time zone"),
        ("yesterday", "dateTime", "not an xsd:dateTime"),
        (" 1970-01-01T00:00:00Z", "dateTime", "not an xsd:dateTime"),
        ("1e3", "decimal", "not an xsd:decimal"),
        ("1.0", "integer", "not an xsd:integer"),
        ("INF", "double", "not an xsd:double"),
        ("1e999999999999999999999", "double", "ou"),
        ("9" * 5000, "integer", "outside the years"),
        ("9223372036854775807", "long", "outside the years"),
        ("300", "unsignedByte", "out of range"),
        ("2020-01-01T00:00:00Z", "string", "not a <"),
    ],
)
def test_an_unreadable_form_says_why(lexical: str, datatype: str, reason: str) -> None:
    """Each unreadable timestamp raises a ValueError whose text names the cause."""
    with pytest.raises(ValueError, match=reason):
        parse_instant(lexical, XSD + datatype, "ms")


@given(st.integers(FIRST_INSTANT, LAST_INSTANT))
def test_printing_and_reading_an_instant_are_inverse(instant: int) -> None:
    """`format_instant` is exact for every instant of the years 1 to 9999."""
    text = format_instant(instant)
    assert parse_instant(text, XSD + "dateTime", "ms") == instant
    assert from_datetime(to_datetime(instant)) == instant
    assert text.startswith(to_datetime(instant).strftime("%Y").zfill(4))


def test_an_instant_that_no_datetime_can_say_is_told_as_a_sentence() -> None:
    """Windows over the last events of the year 9999 end later."""
    with pytest.raises(InvalidArgument, match=r"10000-01-01T00:00:00Z lies outside the years 1 to 9999"):
        to_datetime(LAST_INSTANT + 1)


def test_a_fraction_is_printed_only_where_it_is_not_zero() -> None:
    """Trailing zeros of the fraction are trimmed."""
    assert format_instant(20_500_000) == "1970-01-01T00:00:20.5Z"
    assert format_instant(0) == "1970-01-01T00:00:00Z"


def test_an_instant_beyond_the_years_that_are_read_still_prints() -> None:
    """The end of a window may lie beyond year 9999; printing it must not fail."""
    assert format_instant(LAST_INSTANT + 1) == "10000-01-01T00:00:00Z"


def test_a_datetime_without_zone_is_utc() -> None:
    """Aware and naive datetimes agree where the zone is UTC."""
    zone = timezone(timedelta(hours=2))
    assert from_datetime(datetime(1970, 1, 1, 0, 0, 1)) == 1_000_000  # noqa: DTZ001
    assert from_datetime(datetime(1970, 1, 1, 2, tzinfo=zone)) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5s", 5_000_000),
        ("500ms", 500_000),
        ("10 minutes", 600_000_000),
        ("PT5S", 5_000_000),
        ("0", 0),
        ("P1DT2H", 93_600_000_000),
        ("1.5h", 5_400_000_000),
        ("7us", 7),
        ("PT0.5S", 500_000),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, expected: int) -> None:
    """Short, long and ISO spellings give microseconds."""
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "5", "s", "-5s", "5 parsecs", "P", "PT", "P1M", "P1DT", "9" * 30 + "d"])
def test_a_text_that_is_no_duration_is_refused(text: str) -> None:
    """The error shows the text."""
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)
