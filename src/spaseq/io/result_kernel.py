"""Matches as JSON lines, straight from the bytes of the term dictionary: no Python object per match or term.

It writes the terms that can be copied as they are. A term with an escape or a control character, and an
instant that has no four-digit year, make it give up; `spaseq.io.result_json` then writes the batch its own way.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.arena import PADDING, Bytes, Longs, copy_bytes, low_bytes
from spaseq.model.jit import Int, lean, load8, load64
from spaseq.temporal.instants import FIRST_INSTANT, LAST_INSTANT

GAVE_UP: Final = -1
"""What `write_lines` answers if the batch holds something it cannot write."""

(
    HEAD,
    START,
    BINDINGS,
    END,
    IRI,
    LITERAL,
    DATATYPE,
    LANGUAGE,
    BLANK,
    QUOTE_BRACE,
    BRACE,
    COMMA,
    KEYS,
) = range(13)
"""The constant pieces of a line, by number; behind `KEYS` come the names of the variables."""

PIECES: Final = (
    b'","start":"',
    b'","bindings":{',
    b"}}\n",
    b'{"type":"uri","value":"',
    b'{"type":"literal","value":',
    b',"datatype":"',
    b',"xml:lang":"',
    b'{"type":"bnode","value":"',
    b'"}',
    b"}",
    b",",
)
"""Those between the head, which names the query, and the keys."""

MOST_AROUND: Final = 64
"""No term has more bytes of JSON around it than this."""
MOST_INSTANTS: Final = 64
"""Two instants take less than this."""

_DAY: Final = 86_400_000_000
_QUOTE, _MINUS, _POINT, _COLON, _LESS = 34, 45, 46, 58, 60
_T, _Z, _CARET, _UNDERSCORE = 84, 90, 94, 95
_ONES: Final = np.uint64(0x0101010101010101)
_TOPS: Final = np.uint64(0x8080808080808080)
_SPACES: Final = np.uint64(0x2020202020202020)
_SLASHES: Final = np.uint64(0x5C5C5C5C5C5C5C5C)


@lean
def _put(pieces: Bytes, ends: Longs, number: Int, out: Bytes, at: Int) -> Int:
    """Write a constant piece; gives the place after it."""
    begin: Int = ends[number]
    length: Int = ends[number + 1] - begin
    copy_bytes(pieces.ctypes.data + begin, out.ctypes.data + at, length)
    return at + length


@lean
def _plain(begin: Int, end: Int) -> bool:
    """Whether JSON writes these bytes as they are: none is a control character or a backslash. Eight are looked at at a time."""
    for address in range(begin, end, 8):
        word = load64(address)
        if end - address < 8:
            word = low_bytes(word, end - address) | (_SPACES << np.uint64(8 * (end - address)))
        slashes = word ^ _SLASHES
        odd = ((word - _SPACES) & ~word) | ((slashes - _ONES) & ~slashes)
        if odd & _TOPS != np.uint64(0):
            return False
    return True


@lean
def _digits(out: Bytes, at: Int, value: Int, count: Int) -> Int:
    """Write a number with so many digits; gives the place after it."""
    for place in range(at + count - 1, at - 1, -1):
        out[place] = 48 + value % 10
        value //= 10
    return at + count


@lean
def _instant(out: Bytes, at: Int, instant: Int) -> Int:
    """Write an instant as `spaseq.temporal.instants.format_instant` does; gives the place after it."""
    days, rest = instant // _DAY, instant % _DAY
    shifted = days + 719_468
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    part = (5 * of_year + 2) // 153
    month = part + 3 if part < 10 else part - 9
    seconds, fraction = rest // 1_000_000, rest % 1_000_000
    at = _digits(out, at, year_of_era + era * 400 + (1 if month <= 2 else 0), 4)
    out[at] = _MINUS
    at = _digits(out, at + 1, month, 2)
    out[at] = _MINUS
    at = _digits(out, at + 1, of_year - (153 * part + 2) // 5 + 1, 2)
    out[at] = _T
    at = _digits(out, at + 1, seconds // 3600, 2)
    out[at] = _COLON
    at = _digits(out, at + 1, seconds // 60 % 60, 2)
    out[at] = _COLON
    at = _digits(out, at + 1, seconds % 60, 2)
    if fraction != 0:
        count = 6
        while fraction % 10 == 0:
            fraction //= 10
            count -= 1
        out[at] = _POINT
        at = _digits(out, at + 1, fraction, count)
    out[at] = _Z
    return at + 1


@lean
def _literal(pieces: Bytes, ends: Longs, begin: Int, end: Int, out: Bytes, at: Int) -> Int:
    """Write a literal of canonical N-Triples; `GAVE_UP` if it cannot be copied."""
    close = end - 1
    while load8(close) != _QUOTE:
        close -= 1
    at = _put(pieces, ends, LITERAL, out, at)
    copy_bytes(begin, out.ctypes.data + at, close + 1 - begin)
    at += close + 1 - begin
    if close + 1 == end:
        return _put(pieces, ends, BRACE, out, at)
    if load8(close + 1) == _CARET:
        at = _put(pieces, ends, DATATYPE, out, at)
        begin, end = close + 4, end - 1
    else:
        at = _put(pieces, ends, LANGUAGE, out, at)
        begin = close + 2
        for address in range(begin, end - 1):
            if load8(address) == _MINUS and load8(address + 1) == _MINUS:  # a base direction
                return GAVE_UP
    copy_bytes(begin, out.ctypes.data + at, end - begin)
    return _put(pieces, ends, QUOTE_BRACE, out, at + end - begin)


@lean
def _term(pieces: Bytes, ends: Longs, begin: Int, end: Int, out: Bytes, at: Int) -> Int:
    """Write a term; gives the place after it, `GAVE_UP` if it cannot be copied."""
    if not _plain(begin, end):
        return GAVE_UP
    first = load8(begin)
    if first == _QUOTE:
        return _literal(pieces, ends, begin, end, out, at)
    if first == _LESS and load8(begin + 1) != _LESS:
        number, skip, tail = IRI, 1, 1
    elif first == _UNDERSCORE:
        number, skip, tail = BLANK, 2, 0
    else:
        return GAVE_UP
    at = _put(pieces, ends, number, out, at)
    length = end - begin - skip - tail
    copy_bytes(begin + skip, out.ctypes.data + at, length)
    return _put(pieces, ends, QUOTE_BRACE, out, at + length)


@lean
def write_lines(
    buffer: Bytes,
    starts: Longs,
    ids: npt.NDArray[np.int32],
    times: Longs,
    begins: Longs,
    pieces: Bytes,
    ends: Longs,
    out: Bytes,
    line_ends: Longs,
) -> Int:
    """Write a line per row of ``ids`` and note where each ends; gives the number of bytes, or `GAVE_UP`. The caller has made room."""
    base = buffer.ctypes.data
    at: Int = np.int64(0)
    front: Int = np.int64(0)
    length: Int = np.int64(0)
    for row in range(len(times)):
        if row > 0 and times[row] == times[row - 1] and begins[row] == begins[row - 1]:
            copy_bytes(
                out.ctypes.data + front, out.ctypes.data + at, length
            )  # it begins like the line before
            front = at
            at += length
        else:
            if times[row] > LAST_INSTANT or begins[row] < FIRST_INSTANT:
                return GAVE_UP
            front = at
            at = _put(pieces, ends, HEAD, out, at)
            at = _instant(out, at, times[row])
            at = _put(pieces, ends, START, out, at)
            at = _instant(out, at, begins[row])
            at = _put(pieces, ends, BINDINGS, out, at)
            length = at - front
        bound = 0
        for column in range(ids.shape[1]):
            known = ids[row, column]
            if known == 0:
                continue
            if bound > 0:
                at = _put(pieces, ends, COMMA, out, at)
            bound += 1
            at = _put(pieces, ends, KEYS + column, out, at)
            at = _term(pieces, ends, base + starts[known], base + starts[known + 1], out, at)
            if at == GAVE_UP:
                return GAVE_UP
        at = _put(pieces, ends, END, out, at)
        line_ends[row] = at
    return at


def column_lines(
    buffer: Bytes,
    starts: Longs,
    ids: npt.NDArray[np.int32],
    times: Longs,
    begins: Longs,
    head: bytes,
    keys: list[bytes],
) -> tuple[memoryview, Longs] | None:
    """The lines of a batch, and where each ends; None if it holds something that must be written with more care."""
    parts = [head, *PIECES, *keys]
    ends = np.cumsum([0, *(len(part) for part in parts)])
    pieces = np.frombuffer(b"".join(parts) + bytes(PADDING), np.uint8)
    around = sum(map(len, PIECES[:3])) + len(head) + MOST_INSTANTS + sum(map(len, keys))
    size = len(times) * (around + MOST_AROUND * len(keys))
    size += int((starts[ids + 1] - starts[ids]).sum())
    out = np.empty(size + PADDING, np.uint8)
    # One layout of arrays, one compiled kernel.
    instants = np.ascontiguousarray(times), np.ascontiguousarray(begins)
    line_ends = np.empty(len(times), np.int64)
    used = write_lines(buffer, starts, np.ascontiguousarray(ids), *instants, pieces, ends, out, line_ends)
    return None if used == GAVE_UP else (out[:used].data.toreadonly(), line_ends)
