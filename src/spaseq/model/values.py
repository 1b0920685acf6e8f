"""Value columns: what the literals of a dictionary stand for, decoded once per distinct term.

Filters then are array arithmetic. Which lexical forms have a value follows pyoxigraph
(semantics 0), except that integers and decimals have any size; the ranges of derived integer types are not
enforced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from math import isfinite
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
import numpy.typing as npt

from spaseq.model.dictionary import TermDictionary
from spaseq.model.ordered import each_once
from spaseq.model.terms import term_of
from spaseq.settings import settings
from spaseq.temporal.instants import INTEGER_RANGES, XSD, parse_date, parse_date_time

if TYPE_CHECKING:
    from spaseq.model.arena import Arena


class Kind(IntEnum):
    """What sort of term an id stands for; INVALID is an ill-typed literal of a known datatype."""

    UNBOUND = 0
    IRI = 1
    BLANK = 2
    STRING = 3
    LANG = 4
    BOOLEAN = 5
    INTEGER = 6
    DECIMAL = 7
    FLOAT = 8
    DOUBLE = 9
    DATETIME = 10
    DATE = 11
    TIME = 12
    DURATION = 13
    DAY_TIME_DURATION = 14
    YEAR_MONTH_DURATION = 15
    OTHER = 16
    INVALID = 17
    PENDING = 255

    @property
    def numeric(self) -> bool:
        """True for the four steps of SPARQL's numeric tower."""
        return Kind.INTEGER <= self <= Kind.DOUBLE


@dataclass(frozen=True, slots=True)
class Value:
    """One row of the value columns."""

    kind: Kind
    number: float = float("nan")
    exact: bool = False
    integer: int = 0
    integral: bool = False
    instant: int = 0
    zoned: bool = False


_PLAIN: Final = {XSD + "string": Kind.STRING}
_OTHERS: Final = {
    XSD + "time": Kind.TIME,
    XSD + "duration": Kind.DURATION,
    XSD + "yearMonthDuration": Kind.YEAR_MONTH_DURATION,
}
_BOOLEANS: Final = {"true": 1, "1": 1, "false": 0, "0": 0}
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)\Z", re.IGNORECASE
)
_DAY_TIME = re.compile(
    r"(-?)P(?=.)(?:([0-9]+)D)?(?:T(?=.)(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]+))?S)?)?\Z"
)
_YEAR_MONTH = re.compile(r"-?P(?=.)(?:[0-9]+Y)?(?:[0-9]+M)?\Z")
_DURATION = re.compile(
    r"-?P(?=.)(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?=.)(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?\Z"
)
_TIME = re.compile(
    r"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?)"
    r"(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?\Z"
)
_SHAPES: Final = {
    Kind.TIME: _TIME,
    Kind.DURATION: _DURATION,
    Kind.YEAR_MONTH_DURATION: _YEAR_MONTH,
}
_INVALID: Final = Value(Kind.INVALID)


def value_of(text: str) -> Value:
    """The value of a term, given its canonical N-Triples text."""
    if text[0] == "<":
        return Value(Kind.IRI)
    if text[0] == "_":
        return Value(Kind.BLANK)
    close = text.rindex('"')
    tail = text[close + 1 :]
    if not tail:
        return Value(Kind.STRING)
    if tail[0] == "@":
        return Value(Kind.LANG)
    lexical = text[1:close] if "\\" not in text else term_of(text).value
    return literal_value(lexical, tail[3:-1])


def literal_value(lexical: str, datatype: str) -> Value:
    """The value of a literal with a datatype."""
    if datatype in INTEGER_RANGES:
        return _integer(lexical)
    if not datatype.startswith(XSD):
        return Value(Kind.OTHER)
    match datatype[len(XSD) :]:
        case "decimal":
            return _decimal(lexical)
        case "double":
            return _double(lexical)
        case "float":
            return _float(lexical)
        case "boolean":
            truth = _BOOLEANS.get(lexical)
            return _INVALID if truth is None else Value(Kind.BOOLEAN, float(truth), True, truth, True)
        case "dateTime" | "dateTimeStamp":
            return _moment(lexical, Kind.DATETIME)
        case "date":
            return _moment(lexical, Kind.DATE)
        case "dayTimeDuration":
            return _day_time(lexical)
        case _:
            kind = _OTHERS.get(datatype)
            if kind is None:
                return Value(_PLAIN.get(datatype, Kind.OTHER))
            return Value(kind) if _SHAPES[kind].match(lexical) else _INVALID


def _integer(lexical: str) -> Value:
    if not _INTEGER.match(lexical) or len(lexical) > settings().number_digits:
        return _INVALID
    if is_beyond(Kind.INTEGER, lexical):
        return Value(Kind.INTEGER, float(Decimal(lexical)))
    number = int(lexical)
    return Value(Kind.INTEGER, float(number), int(float(number)) == number, number, True)


def _decimal(lexical: str) -> Value:
    if not _DECIMAL.match(lexical) or len(lexical) > settings().number_digits:
        return _INVALID
    if is_beyond(Kind.DECIMAL, lexical):
        return Value(Kind.DECIMAL, float(Decimal(lexical)))
    whole, _, fraction = lexical.lstrip("+-").partition(".")
    fraction = fraction.rstrip("0")
    scaled = int((whole or "0") + fraction.ljust(18, "0"))
    scaled = -scaled if lexical[0] == "-" else scaled
    number = float(Decimal(scaled).scaleb(-18)) if len(fraction) else float(scaled // 10**18)
    exact = _is_exactly(number, scaled)
    integral = not fraction and -(2**63) <= scaled // 10**18 < 2**63
    return Value(Kind.DECIMAL, number, exact, scaled // 10**18 if integral else 0, integral)


def is_beyond(kind: Kind, lexical: str) -> bool:
    """True if pyoxigraph cannot hold an integer, in 64 bits, or a decimal, in 128 with 18 fractional digits."""
    whole, _, fraction = lexical.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if kind is Kind.INTEGER:
        return len(whole) > 19 or int(whole or 0) >= 2**63 + lexical.startswith("-")
    return len(fraction) > 18 or len(whole) > 21 or int((whole or "0") + fraction.ljust(18, "0")) >= 2**127


def _is_exactly(number: float, scaled: int) -> bool:
    above, below = number.as_integer_ratio()
    return above * 10**18 == scaled * below


def _double(lexical: str) -> Value:
    if not _DOUBLE.match(lexical):
        return _INVALID
    number = float(lexical)
    integral = isfinite(number) and number.is_integer() and -(2.0**63) <= number < 2.0**63
    return Value(Kind.DOUBLE, number, True, int(number) if integral else 0, integral)


def _float(lexical: str) -> Value:
    if not _DOUBLE.match(lexical):
        return _INVALID
    with np.errstate(over="ignore"):
        number = float(np.float32(lexical))
    integral = isfinite(number) and number.is_integer() and -(2.0**63) <= number < 2.0**63
    return Value(Kind.FLOAT, number, True, int(number) if integral else 0, integral)


def _moment(lexical: str, kind: Kind) -> Value:
    """A date-time or a date; outside the years 1 to 9999 it has a value, but none that fits a column."""
    try:
        instant = parse_date_time(lexical) if kind is Kind.DATETIME else parse_date(lexical)
    except ValueError as error:
        return Value(kind) if "outside the years" in str(error) else _INVALID
    zoned = lexical[-1] == "Z" or (lexical[-3] == ":" and lexical[-6] in "+-")
    fraction = re.search(r"\.([0-9]+)", lexical)
    exact = fraction is None or not fraction[1][6:].strip("0")
    return Value(kind, exact=exact, instant=instant, zoned=zoned)


def _day_time(lexical: str) -> Value:
    """A duration of fixed length, in microseconds."""
    found = _DAY_TIME.match(lexical)
    if found is None or len(lexical) > 60:
        return _INVALID
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:5])
    digits = found[6] or ""
    length = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    length = length * 1_000_000 + int((digits + "000000")[:6])
    if length >= 2**63:
        return Value(Kind.DAY_TIME_DURATION)
    exact = not digits[6:].strip("0")
    return Value(Kind.DAY_TIME_DURATION, exact=exact, instant=-length if found[1] else length)


class ValueColumns:
    """The values of all terms of a dictionary, indexed by id; `extend` decodes what is new.

    ``number`` is the nearest float64 (NaN where there is none) and ``exact`` says that it, or ``instant``,
    is the value itself. ``integer`` holds where ``integral`` is true. ``instant`` is microseconds since
    the epoch for date-times and dates, microseconds for day-time durations; ``zoned`` says that a time
    zone was written.
    """

    __slots__ = ("_done", "_generation", "_pending", "dictionary", "exact", "instant", "integer", "integral", "kind",
                 "number", "zoned")  # fmt: skip

    def __init__(self, dictionary: TermDictionary) -> None:
        self.dictionary = dictionary
        self._start(0)

    def _start(self, size: int) -> None:
        self._generation = self.dictionary.generation
        self._done = 1
        self._pending = False
        """Whether the values of some terms were not asked for yet, and are not decoded."""
        self.kind: npt.NDArray[np.uint8] = np.zeros(size + 1, np.uint8)
        self.number: npt.NDArray[np.float64] = np.full(size + 1, np.nan)
        self.exact: npt.NDArray[np.bool_] = np.zeros(size + 1, np.bool_)
        self.integer: npt.NDArray[np.int64] = np.zeros(size + 1, np.int64)
        self.integral: npt.NDArray[np.bool_] = np.zeros(size + 1, np.bool_)
        self.instant: npt.NDArray[np.int64] = np.zeros(size + 1, np.int64)
        self.zoned: npt.NDArray[np.bool_] = np.zeros(size + 1, np.bool_)

    def __len__(self) -> int:
        """How many ids have been decoded."""
        return self._done - 1

    def extend(self, needed: npt.NDArray[np.int32] | None = None) -> ValueColumns:
        """Decode the terms that came since the last time; only the ids that are needed, if these are known, and those of plain forms."""
        if self._generation != self.dictionary.generation:
            self._start(len(self.dictionary))
        first, last = self._done, len(self.dictionary)
        if last >= first:
            self._grow(last + 1)
            if self.dictionary.promoted:
                self._extend_by_kernel(self.dictionary.promote(), first, last)
            else:
                for known, text in enumerate(self.dictionary.texts(first), first):
                    self._set(known, value_of(text))
            self._done = last + 1
        if self._pending:
            self._decode_pending(needed)
        return self

    def _decode_pending(self, needed: npt.NDArray[np.int32] | None) -> None:
        """Decode rare forms one by one."""
        if needed is None:
            pending = np.flatnonzero(self.kind[: self._done] == Kind.PENDING)
            self._pending = False
        else:
            pending = each_once(needed[self.kind[needed] == Kind.PENDING])
        for known in pending.tolist():
            self._set(known, value_of(self.dictionary.ntriples(known)))

    def _extend_by_kernel(self, arena: Arena, first: int, last: int) -> None:
        """Decode plain literals in bulk; the rare forms that the kernel leaves pending wait."""
        from spaseq.model.values_kernel import decode_values

        decode_values(
            arena.buffer, arena.starts, first, last + 1, self.kind, self.number, self.exact, self.integer,
            self.integral, self.instant, self.zoned,
        )  # fmt: skip
        self._pending |= bool((self.kind[first : last + 1] == Kind.PENDING).any())

    def _set(self, known: int, value: Value) -> None:
        self.kind[known] = value.kind
        self.number[known] = value.number
        self.exact[known] = value.exact
        self.integer[known] = value.integer
        self.integral[known] = value.integral
        self.instant[known] = value.instant
        self.zoned[known] = value.zoned

    def _grow(self, size: int) -> None:
        if size <= len(self.kind):
            return
        room = max(size, 2 * len(self.kind), settings().initial_values)
        self.kind = _grown(self.kind, room)
        self.number = _grown(self.number, room)
        self.exact = _grown(self.exact, room)
        self.integer = _grown(self.integer, room)
        self.integral = _grown(self.integral, room)
        self.instant = _grown(self.instant, room)
        self.zoned = _grown(self.zoned, room)

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a `compact` of the dictionary without decoding anything again."""
        kept = np.flatnonzero(mapping[: self._done])
        rows = np.concatenate([np.zeros(1, np.int64), kept])
        self.kind, self.number, self.exact = self.kind[rows], self.number[rows], self.exact[rows]
        self.integer, self.integral = self.integer[rows], self.integral[rows]
        self.instant, self.zoned = self.instant[rows], self.zoned[rows]
        self._done = len(rows)
        self._generation = self.dictionary.generation


_Scalar = TypeVar("_Scalar", bound=np.generic)


def _grown(array: npt.NDArray[_Scalar], size: int) -> npt.NDArray[_Scalar]:
    bigger = np.full(size, array[0])
    bigger[: len(array)] = array
    return bigger
