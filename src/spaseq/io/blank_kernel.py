"""Blank nodes of events that the kernel read: each label becomes a term of its event's own scope.

The same labels as `spaseq.model.terms.scoped_label` and the same keys as `event_key`, on bytes.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from spaseq.io.nquads_state import BLANK, FIRST, FIRST_LABEL, LAST, NAME, NAME_END, NAME_START, TIME, Columns
from spaseq.model.arena import Bytes, Terms, Words, encode_bytes, find_bytes
from spaseq.model.jit import Int, inlined, lean

SCOPE_SIZE: Final = 18
"""Bytes that a scope adds to a label."""

_PRIME: Final = np.uint64(0x100000001B3)
_OFFSET: Final = np.uint64(0xCBF29CE484222325)
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)


@inlined
def _mixed(key: np.uint64, byte: np.uint8) -> np.uint64:
    return (key ^ np.uint64(byte)) * _PRIME


@lean
def event_keys(data: Bytes, stream: Bytes, columns: Columns, count: Int, keys: Words, digits: Bytes) -> None:
    """The key of every event that has blank nodes: of its stream, its instant and its graph's name."""
    prefix = _OFFSET
    for byte in stream:
        prefix = _mixed(prefix, byte)
    prefix = _mixed(prefix, np.uint8(10))
    for i in range(count):
        row = columns.events[i]
        if row[BLANK] == 0:
            continue
        key = prefix
        time = row[TIME]
        if time < 0:
            key = _mixed(key, np.uint8(45))
            time = -time
        size = 0
        while size == 0 or time > 0:
            digits[size] = 48 + time % 10
            time //= 10
            size += 1
        for at in range(size - 1, -1, -1):
            key = _mixed(key, digits[at])
        key = _mixed(key, np.uint8(10))
        for at in range(row[NAME_START], row[NAME_END]):
            key = _mixed(key, data[at])
        keys[i] = key


@inlined
def _spell(labels: Terms, label: Int, scope: np.uint64, out: Bytes) -> Int:
    """Write a scoped label; its length."""
    start = labels.starts[label]
    size = labels.starts[label + 1] - start
    for i in range(size):
        out[i] = labels.buffer[start + i]
    out[size], out[size + 1] = 45, 101
    for i in range(16):
        out[size + 2 + i] = _HEX[np.int64(scope >> np.uint64(60 - 4 * i)) & 15]
    return np.int64(size + SCOPE_SIZE)


@inlined
def _is_taken(terms: Terms, labels: Terms, known: Int, scope: np.uint64, out: Bytes) -> bool:
    if known >= FIRST_LABEL:
        return False
    size = _spell(labels, FIRST_LABEL - known, scope, out)
    return bool(find_bytes(terms, out.ctypes.data, size) != 0)


@inlined
def _scoped(terms: Terms, labels: Terms, known: Int, scope: np.uint64, out: Bytes) -> Int:
    """The id of a blank node as a term of a scope; any other id as it is."""
    if known >= FIRST_LABEL:
        return known
    size = _spell(labels, FIRST_LABEL - known, scope, out)
    return encode_bytes(terms, out.ctypes.data, size)


@lean
def scope_blanks(
    terms: Terms, labels: Terms, columns: Columns, first: Int, count: Int, scopes: Words, out: Bytes
) -> Int:
    """Scope the blank nodes of events; stops at, and returns, the first whose labels are taken.

    They are taken if another event has them. The caller has made room.
    """
    for i in range(first, count):
        row = columns.events[i]
        if row[BLANK] == 0:
            continue
        scope = scopes[i]
        taken = _is_taken(terms, labels, row[NAME], scope, out)
        for at in range(row[FIRST], row[LAST]):
            taken = taken or _is_taken(terms, labels, np.int64(columns.subjects[at]), scope, out)
            taken = taken or _is_taken(terms, labels, np.int64(columns.objects[at]), scope, out)
        if taken:
            return i
        for at in range(row[FIRST], row[LAST]):
            columns.subjects[at] = _scoped(terms, labels, np.int64(columns.subjects[at]), scope, out)
            columns.objects[at] = _scoped(terms, labels, np.int64(columns.objects[at]), scope, out)
        row[NAME] = _scoped(terms, labels, row[NAME], scope, out)
    return count
