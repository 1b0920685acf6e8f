"""Validating and normalising terms, once per distinct term, where a kernel inserts them.

pyoxigraph decides what is valid: what it certainly accepts passes here, literals with another spelling of
their characters are rewritten to its canonical one, and all the rest is `DOUBT`, for pyoxigraph to decide.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.arena import (
    PADDING,
    Bytes,
    Terms,
    append_term,
    equal_bytes,
    find_slot,
    hash_bytes,
    low_bytes,
)
from spaseq.model.jit import Int, inlined, lean, load8, load64

DOUBT: Final = -1
ROOM: Final = -2
"""The dictionary must grow before this term fits."""

_PLAIN: Final = 0
_REWRITE: Final = 1
_LOW: Final = np.uint64(0xFFFFFFFF)
_ONES: Final = np.uint64(0x0101010101010101)
_TOPS: Final = np.uint64(0x8080808080808080)
_SPACES: Final = np.uint64(0x2020202020202020)
_SLASHES: Final = np.uint64(0x5C5C5C5C5C5C5C5C)
_DELETES: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_AMPERSANDS: Final = np.uint64(0x2626262626262626)
_CLOSERS: Final = np.uint64(0x3E3E3E3E3E3E3E3E)
_TICKS: Final = np.uint64(0x6060606060606060)
_TWOS: Final = np.uint64(0x0202020202020202)
_FIVES: Final = np.uint64(0x0505050505050505)
_LETTERS: Final = np.uint64(0x6161616161616161)
_SEVEN: Final = np.uint64(0x00FFFFFFFFFFFFFF)
_HTTP: Final = np.uint64(int.from_bytes(b"http://", "little"))
_STRING: Final = np.frombuffer(b'"^^<http://www.w3.org/2001/XMLSchema#string>' + bytes(16), np.uint8)
_STRING_SIZE: Final = len(_STRING) - 16
_STRING_END: Final = np.uint64(int.from_bytes(b"#string>", "little"))
_LANGUAGE_END: Final = np.uint64(int.from_bytes(b"gString>", "little"))
_HEX: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)


def _iri_table() -> npt.NDArray[np.uint8]:
    """0: fine in an IRI, 1: look closer, 2: never."""
    table = np.full(256, 2, np.uint8)
    for char in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/?":
        table[char] = 0
    table[ord("%")] = table[ord("#")] = 1
    table[128:] = 1
    return table


def _hex_table() -> npt.NDArray[np.int64]:
    table = np.full(256, -1, np.int64)
    for value, char in enumerate(b"0123456789abcdef"):
        table[char] = table[ord(chr(char).upper())] = value
    return table


def _host_table() -> npt.NDArray[np.bool_]:
    table = np.zeros(256, np.bool_)
    for char in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.":
        table[char] = True
    return table


_IRI: Final = _iri_table()
_HOST: Final = _host_table()
_DIGITS: Final = _hex_table()


@lean
def character(address: Int, stop: Int) -> Int:
    """The code point of a well-formed UTF-8 sequence of two to four bytes times 8 plus its length, or -1."""
    lead = np.int64(load8(address))
    if 0xC2 <= lead <= 0xDF:
        size, code, least = 2, lead & 0x1F, 0x80
    elif 0xE0 <= lead <= 0xEF:
        size, code, least = 3, lead & 0x0F, 0x800
    elif 0xF0 <= lead <= 0xF4:
        size, code, least = 4, lead & 0x07, 0x10000
    else:
        return -1
    if address + size > stop:
        return -1
    for i in range(1, size):
        byte = np.int64(load8(address + i))
        if byte & 0xC0 != 0x80:
            return -1
        code = (code << 6) | (byte & 0x3F)
    if code < least or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return -1
    return code * 8 + size


@lean
def _international(code: Int) -> bool:
    """Whether a character is one of RFC 3987's ``ucschar``."""
    if code < 0x10000:
        return bool(0xA0 <= code <= 0xD7FF or 0xF900 <= code <= 0xFDCF or 0xFDF0 <= code <= 0xFFEF)
    return bool(code & 0xFFFF <= 0xFFFD and code < 0xE0000)


@inlined
def _plain_iri(word: np.uint64) -> bool:
    """Whether eight bytes are letters, digits and other characters that are fine anywhere in a path."""
    low = word | (word - _AMPERSANDS)  # below "&", or not ASCII
    angles = (word | _TWOS) ^ _CLOSERS
    folded = word | _SPACES
    brackets = (folded + _FIVES) & ~(folded + _ONES)  # [ \\ ] ^ { | } ~
    ticks = folded ^ _TICKS  # ` and @
    odd = low | brackets | (word + _ONES) | ((angles - _ONES) & ~angles) | ((ticks - _ONES) & ~ticks)
    return bool((odd & _TOPS) == np.uint64(0))


@lean
def _authority_end(address: Int, stop: Int) -> Int:
    """The end of a host and an optional port; 0 if there is anything else, such as a user's name."""
    at = address
    while _HOST[load8(at)]:
        at += 1
    if at == stop or load8(at) == 47:
        return at
    at = address
    port = False
    while at < stop and load8(at) != 47 and load8(at) != 63 and load8(at) != 35:
        if load8(at) == 64 or (port and not 48 <= load8(at) <= 57):
            return 0
        port = port or load8(at) == 58
        if load8(at) < 128 and _IRI[load8(at)] != 0:
            return 0
        if load8(at) >= 128:
            found = character(at, stop)
            if found < 0 or not _international(found >> 3):
                return 0
            at += found & 7
        else:
            at += 1
    return at


@lean
def good_iri(address: Int, stop: Int) -> bool:
    """Whether ``<…>`` is certainly an absolute IRI."""
    at = address + 1
    stop -= 1
    if (load64(at) & _SEVEN) != _HTTP:
        lead = load8(at) | 32
        if not 97 <= lead <= 122:
            return False
        while True:  # the scheme
            byte = load8(at)
            if byte == 58:
                break
            if not (97 <= (byte | 32) <= 122 or 48 <= byte <= 57 or byte == 43 or byte == 45 or byte == 46):
                return False
            at += 1
    else:
        at += 4
    if load8(at + 1) == 47 and load8(at + 2) == 47:
        at = _authority_end(at + 3, stop)
        if at == 0:
            return False
    fragments = 0
    while at < stop:
        word = load64(at)
        if at + 8 > stop:  # what lies behind the end is as good as a letter
            word = low_bytes(word, stop - at) | (_LETTERS << np.uint64(8 * (stop - at)))
        if _plain_iri(word):
            at += 8
            continue
        byte = load8(at)
        kind = _IRI[byte]
        if kind == 2:
            return False
        if byte == 37:
            if _DIGITS[load8(at + 1)] < 0 or _DIGITS[load8(at + 2)] < 0:
                return False
        elif byte == 35:
            fragments += 1
            if fragments > 1:
                return False
        elif kind == 1:
            found = character(at, stop)
            if found < 0 or not _international(found >> 3):
                return False
            at += (found & 7) - 1
        at += 1
    return True


@lean
def _language(address: Int, stop: Int) -> Int:
    """A language tag of two or three letters with at most two more parts; 1 if it has capitals."""
    capitals = 0
    part = size = digits = 0
    for at in range(address, stop + 1):
        byte = load8(at) if at < stop else np.uint8(45)
        if byte == 45:
            if (part == 0 and (size < 2 or size > 3)) or (part == 1 and (size < 2 or size > 4)):
                return DOUBT
            if (part == 2 and size != 2) or part > 2 or (digits != 0 and (digits != 3 or size != 3)):
                return DOUBT
            part += 1
            size = digits = 0
        else:
            if part > 0 and 48 <= byte <= 57:
                digits += 1
            elif not 97 <= (byte | 32) <= 122:
                return DOUBT
            if 65 <= byte <= 90:
                capitals = 1
            size += 1
    if part == 3 and stop - address < 10:
        return DOUBT
    return capitals


@lean
def _escaped(address: Int, stop: Int) -> Int:
    """The character that four or eight hexadecimal digits behind a backslash stand for, -1 if there is none."""
    size = 4 if load8(address + 1) == 117 else 8
    if address + 2 + size > stop:
        return -1
    code = np.int64(0)
    for at in range(address + 2, address + 2 + size):
        digit = _DIGITS[load8(at)]
        if digit < 0:
            return -1
        code = code * 16 + digit
    return -1 if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else code


@lean
def _body_state(address: Int, stop: Int) -> Int:
    """Whether the characters between the quotes of a literal are canonical, must be rewritten, or doubtful."""
    state = _PLAIN
    at = address
    while at < stop:
        word = load64(at)
        slashes = word ^ _SLASHES
        deletes = word ^ _DELETES
        odd = (word | (word - _SPACES)) & _TOPS
        odd |= (((slashes - _ONES) & ~slashes) | ((deletes - _ONES) & ~deletes)) & _TOPS
        if odd == np.uint64(0) and at + 8 <= stop:
            at += 8
            continue
        byte = load8(at)
        if byte == 92:
            escape = load8(at + 1)
            if escape == 117 or escape == 85:  # \\u \\U
                if _escaped(at, stop) < 0:
                    return DOUBT
                state = _REWRITE
                at += 4 if escape == 117 else 8
            elif escape == 39:
                state = _REWRITE
            elif not (escape == 34 or escape == 92 or escape == 110 or escape == 114 or escape == 116
                      or escape == 98 or escape == 102):  # fmt: skip
                return DOUBT
            at += 2
        elif byte >= 128:
            found = character(at, stop)
            if found < 0:
                return DOUBT
            if found >> 3 == 0xFFFE or found >> 3 == 0xFFFF:
                state = _REWRITE
            at += found & 7
        elif byte == 13:
            return DOUBT
        else:
            if byte < 32 or byte == 127:
                state = _REWRITE
            at += 1
    return state


@lean
def _put(out: Bytes, at: Int, code: Int) -> Int:
    """Write a character as pyoxigraph spells it inside a literal; the new end."""
    short: Int = 0
    if code == 8:
        short = 98
    elif code == 9:
        short = 116
    elif code == 10:
        short = 110
    elif code == 12:
        short = 102
    elif code == 13:
        short = 114
    elif code == 34 or code == 92:
        short = np.int64(code)
    if short:
        out[at], out[at + 1] = 92, short
        return at + 2
    if code < 32 or code == 127 or code == 0xFFFE or code == 0xFFFF:
        out[at], out[at + 1] = 92, 117
        for i in range(4):
            out[at + 2 + i] = _HEX[(code >> (12 - 4 * i)) & 15]
        return at + 6
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | (code >> 6)
        out[at + 1] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | (code >> 12)
        out[at + 1] = 0x80 | ((code >> 6) & 0x3F)
        out[at + 2] = 0x80 | (code & 0x3F)
        return at + 3
    out[at] = 0xF0 | (code >> 18)
    out[at + 1] = 0x80 | ((code >> 12) & 0x3F)
    out[at + 2] = 0x80 | ((code >> 6) & 0x3F)
    out[at + 3] = 0x80 | (code & 0x3F)
    return at + 4


@lean
def _rewrite(address: Int, stop: Int, close: Int, out: Bytes) -> Int:
    """Write the canonical text of a literal; its length, or `DOUBT`."""
    if 6 * (stop - address) + 16 > len(out):
        return DOUBT
    out[0] = 34
    end: Int = 1
    at = address + 1
    while at < close:
        byte = np.int64(load8(at))
        if byte == 92:
            escape = load8(at + 1)
            if escape == 117 or escape == 85:
                end = _put(out, end, _escaped(at, close))
                at += 6 if escape == 117 else 10
            elif escape == 39:
                end = _put(out, end, 39)
                at += 2
            else:
                out[end], out[end + 1] = 92, escape
                end += 2
                at += 2
        elif byte >= 128:
            found = character(at, close)
            end = _put(out, end, found >> 3)
            at += found & 7
        else:
            end = _put(out, end, byte)
            at += 1
    for tail in range(close, stop):
        byte = np.int64(load8(tail))
        if load8(close + 1) == 64 and 65 <= byte <= 90:  # capitals of a language tag
            byte += 32
        out[end] = byte
        end += 1
    return end


@inlined
def _insert(terms: Terms, slot: Int, address: Int, length: Int, mixed: np.uint64) -> Int:
    """Append a new term if there is room for it."""
    if (
        terms.counts[0] + 2 >= len(terms.starts)
        or terms.counts[1] + length + PADDING > len(terms.buffer)
        or 2 * (terms.counts[0] + 1) > len(terms.table)
    ):
        return ROOM
    return append_term(terms, slot, address, length, mixed)


@inlined
def encode_iri(terms: Terms, address: Int, stop: Int, good: bool) -> Int:
    """The id of an IRI; `DOUBT` or `ROOM` if it is new and cannot be inserted. ``good`` says that it was looked at."""
    length = stop - address
    mixed = hash_bytes(terms, address, length)
    slot = find_slot(terms, address, length, mixed)
    if terms.table[slot] != np.uint64(0):
        return np.int64(terms.table[slot] & _LOW)
    if not (good or good_iri(address, stop)):
        return DOUBT
    return _insert(terms, slot, address, length, mixed)


@inlined
def encode_label(terms: Terms, address: Int, stop: Int) -> Int:
    """The id of a blank node's label; `ROOM` if it is new and cannot be inserted."""
    length = stop - address
    mixed = hash_bytes(terms, address, length)
    slot = find_slot(terms, address, length, mixed)
    if terms.table[slot] != np.uint64(0):
        return np.int64(terms.table[slot] & _LOW)
    return _insert(terms, slot, address, length, mixed)


@lean
def literal_state(address: Int, stop: Int, close: Int) -> Int:
    """Whether a literal with this closing quote is canonical (0), must be rewritten (1), or is doubtful."""
    state = _body_state(address + 1, close)
    if state == DOUBT or close + 1 == stop:
        return state
    if load8(close + 1) == 64:
        capitals = _language(close + 2, stop)
        return DOUBT if capitals == DOUBT else max(state, capitals)
    return state if good_datatype(close + 3, stop) else DOUBT


@lean
def good_language(address: Int, stop: Int) -> bool:
    """Whether a language tag is certainly one."""
    return bool(_language(address, stop) != DOUBT)


@lean
def good_body(address: Int, close: Int) -> bool:
    """Whether what stands between the quotes of a literal is certainly fine."""
    return bool(_body_state(address + 1, close) != DOUBT)


@lean
def good_datatype(address: Int, stop: Int) -> bool:
    """Whether an IRI is certainly one and may be a datatype: language strings have a tag instead."""
    return bool(load64(stop - 8) != _LANGUAGE_END and good_iri(address, stop))


@inlined
def encode_literal(terms: Terms, address: Int, stop: Int, close: Int, scratch: Bytes) -> Int:
    """The id of a literal with this closing quote; `DOUBT` or `ROOM` if it is new and cannot be inserted."""
    if (
        stop - close == _STRING_SIZE
        and load64(stop - 8) == _STRING_END
        and equal_bytes(close, _STRING.ctypes.data, _STRING_SIZE)
    ):
        stop = close + 1  # a plain literal is a string
    length = stop - address
    mixed = hash_bytes(terms, address, length)
    slot = find_slot(terms, address, length, mixed)
    if terms.table[slot] != np.uint64(0):
        return np.int64(terms.table[slot] & _LOW)
    state = literal_state(address, stop, close)
    if state == DOUBT:
        return DOUBT
    if state == _REWRITE:
        length = _rewrite(address, stop, close, scratch)
        if length == DOUBT:
            return DOUBT
        address = scratch.ctypes.data
        mixed = hash_bytes(terms, address, length)
        slot = find_slot(terms, address, length, mixed)
        if terms.table[slot] != np.uint64(0):
            return np.int64(terms.table[slot] & _LOW)
    return _insert(terms, slot, address, length, mixed)
