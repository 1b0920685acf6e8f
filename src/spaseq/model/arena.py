"""The arena tier of the term dictionary: terms as bytes in one buffer, found by an open-addressing hash.

Kernels insert into it directly, so the lexer encodes terms without making a Python object. Term ``i`` is
``buffer[starts[i] : starts[i + 1]]``, its canonical N-Triples text. A slot of ``table`` holds the upper
half of a hash and an id; 0 is free. ``counts`` is ``[next id, bytes used, seed, key]``.

The hash is keyed by two random numbers of the process: a file cannot be made so that all its terms hash to one slot.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from spaseq.model.jit import Int, folded, inlined, lean, load64, same128, store64
from spaseq.settings import settings

PADDING: Final = 16
"""Bytes that must follow every buffer a kernel reads, since it reads eight at a time."""

_FINISHER: Final = np.uint64(0xD6E8FEB86659FD93)
_LOW: Final = np.uint64(0xFFFFFFFF)
_HIGH: Final = np.uint64(0xFFFFFFFF00000000)

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
_Scalar = TypeVar("_Scalar", bound=np.generic)


@inlined
def low_bytes(word: np.uint64, count: Int) -> np.uint64:
    """The lowest ``count`` bytes of a word, 0 < count <= 8."""
    return word & (np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 8 * count))


@inlined
def equal_bytes(one: Int, other: Int, length: Int) -> bool:
    """Whether the bytes at two addresses are the same; the last ones are compared first, since IRIs begin alike."""
    if length > 16:
        last = length - 16
        if not same128(one + last, other + last):
            return False
        at = 0
        while at < last:
            if not same128(one + at, other + at):
                return False
            at += 16
        return True
    if length > 8:
        last = length - 8
        return bool(load64(one) == load64(other) and load64(one + last) == load64(other + last))
    return length == 0 or low_bytes(load64(one) ^ load64(other), length) == np.uint64(0)


@inlined
def copy_bytes(source: Int, target: Int, length: Int) -> None:
    """Copy some bytes, eight at a time; up to seven more than asked are written."""
    for at in range(0, length, 8):
        store64(target + at, load64(source + at))


class Terms(NamedTuple):
    """The arrays of an arena as kernels take them."""

    buffer: Bytes
    starts: Longs
    table: Words
    counts: Longs


SECRET: Final = np.frombuffer(os.urandom(16), np.int64) | 1
"""The seed and the key of all hashes of this process. An argument of kernels, since compiled ones are kept on disk."""


@inlined
def hash_bytes(terms: Terms, address: Int, length: Int) -> np.uint64:
    """A 64-bit hash of some bytes: every word is multiplied by the key, and both halves of the product count.

    Without the upper half the effect of a word's highest bits would not depend on the key.
    """
    seed, key = np.uint64(terms.counts[2]), np.uint64(terms.counts[3])
    mixed = seed ^ np.uint64(length)
    left = length
    while left > 8:
        mixed = folded(mixed ^ load64(address), key)
        address += 8
        left -= 8
    if left > 0:
        mixed = folded(mixed ^ low_bytes(load64(address), left), key)
    return folded(mixed ^ seed, _FINISHER)


@inlined
def find_slot(terms: Terms, address: Int, length: Int, mixed: np.uint64) -> Int:
    """The slot of a term, or the free slot where it belongs."""
    mask = np.uint64(len(terms.table) - 1)
    slot = mixed & mask
    tag = mixed & _HIGH
    base = terms.buffer.ctypes.data
    while True:
        entry = terms.table[slot]
        if entry == np.uint64(0):
            return np.int64(slot)
        if (entry & _HIGH) == tag:
            known = np.int64(entry & _LOW)
            start = terms.starts[known]
            if terms.starts[known + 1] - start == length and equal_bytes(base + start, address, length):
                return np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@inlined
def append_term(terms: Terms, slot: Int, address: Int, length: Int, mixed: np.uint64) -> Int:
    """Put a new term into a free slot; the caller has reserved space."""
    new: Int = terms.counts[0]
    used = terms.counts[1]
    copy_bytes(address, terms.buffer.ctypes.data + used, length)
    terms.counts[0] = new + 1
    terms.counts[1] = used + length
    terms.starts[new + 1] = used + length
    terms.table[slot] = (mixed & _HIGH) | np.uint64(new)
    return new


@lean
def encode_bytes(terms: Terms, address: Int, length: Int) -> Int:
    """The id of a term, inserted if it is new; the caller has reserved space."""
    mixed = hash_bytes(terms, address, length)
    slot = find_slot(terms, address, length, mixed)
    entry = terms.table[slot]
    if entry != np.uint64(0):
        return np.int64(entry & _LOW)
    return append_term(terms, slot, address, length, mixed)


@inlined
def find_bytes(terms: Terms, address: Int, length: Int) -> Int:
    """The id of a term, 0 if it is not here."""
    return np.int64(terms.table[find_slot(terms, address, length, hash_bytes(terms, address, length))] & _LOW)


# What Python calls takes plain arrays: numba recognises those far faster than a named tuple.


@lean
def _find(buffer: Bytes, starts: Longs, table: Words, counts: Longs, text: Bytes) -> Int:
    return find_bytes(Terms(buffer, starts, table, counts), text.ctypes.data, len(text) - PADDING)


@lean
def _encode(buffer: Bytes, starts: Longs, table: Words, counts: Longs, text: Bytes) -> Int:
    return encode_bytes(Terms(buffer, starts, table, counts), text.ctypes.data, len(text) - PADDING)


@lean
def _encode_all(
    buffer: Bytes,
    starts: Longs,
    table: Words,
    counts: Longs,
    texts: Bytes,
    ends: Longs,
    ids: npt.NDArray[np.int32],
) -> None:
    terms = Terms(buffer, starts, table, counts)
    address = texts.ctypes.data
    begin = np.int64(0)
    for i in range(len(ends)):
        ids[i] = encode_bytes(terms, address + begin, ends[i] - begin)
        begin = ends[i]


_BLANK: Final = np.uint8(32)
_BREAK: Final = np.uint8(10)


@lean
def _encode_lines(
    buffer: Bytes,
    starts: Longs,
    table: Words,
    counts: Longs,
    lines: Bytes,
    ids: npt.NDArray[np.int32],
) -> None:
    terms = Terms(buffer, starts, table, counts)
    address = lines.ctypes.data
    at = np.int64(0)
    for row in range(len(ids)):
        for column in range(2):
            begin = at
            while lines[at] != _BLANK:
                at += 1
            ids[row, column] = encode_bytes(terms, address + begin, at - begin)
            at += 1
        begin = at
        while lines[at] != _BREAK:
            at += 1
        ids[row, 2] = encode_bytes(terms, address + begin, at - 2 - begin)
        at += 1


@lean
def _rehash(terms: Terms, count: Int) -> None:
    base = terms.buffer.ctypes.data
    mask = np.uint64(len(terms.table) - 1)
    for known in range(1, count):
        mixed = hash_bytes(terms, base + terms.starts[known], terms.starts[known + 1] - terms.starts[known])
        slot = mixed & mask
        while terms.table[slot] != np.uint64(0):
            slot = (slot + np.uint64(1)) & mask
        terms.table[slot] = (mixed & _HIGH) | np.uint64(known)


@lean
def _keep(terms: Terms, kept: Longs, smaller: Terms) -> None:
    used = np.int64(0)
    for i in range(len(kept)):
        for at in range(terms.starts[kept[i]], terms.starts[kept[i] + 1]):
            smaller.buffer[used] = terms.buffer[at]
            used += 1
        smaller.starts[i + 2] = used


class Arena:
    """The arrays of the arena tier, and their capacity.

    Kernels take `terms`; before they insert, `reserve` makes space, which may replace the arrays.
    """

    __slots__ = ("buffer", "counts", "starts", "table")

    def __init__(self, terms: int | None = None, size: int | None = None) -> None:
        terms = settings().arena_terms if terms is None else terms
        size = settings().arena_bytes if size is None else size
        self.buffer: Bytes = np.zeros(size + PADDING, np.uint8)
        self.starts: Longs = np.zeros(terms + 2, np.int64)
        self.table: Words = np.zeros(_table_size(terms), np.uint64)
        self.counts: Longs = np.array([1, 0, *SECRET], np.int64)

    def __len__(self) -> int:
        return int(self.counts[0]) - 1

    @property
    def terms(self) -> Terms:
        """The arrays, for kernels."""
        return Terms(self.buffer, self.starts, self.table, self.counts)

    def reserve(self, terms: int, size: int) -> None:
        """Reserve space for so many more terms of so many more bytes."""
        count, used = int(self.counts[0]), int(self.counts[1])
        if count + terms >= 2**31:
            raise MemoryError("the term dictionary is full: more than 2,147,483,647 distinct terms are alive")
        if used + size + PADDING > len(self.buffer):
            self.buffer = _grown(self.buffer, max(2 * len(self.buffer), used + size + PADDING), used)
        if count + terms + 1 > len(self.starts):
            self.starts = _grown(self.starts, max(2 * len(self.starts), count + terms + 1), count + 1)
        if _table_size(count + terms) > len(self.table):
            self.table = np.zeros(_table_size(count + terms), np.uint64)
            _rehash(self.terms, count)

    def encode_all(self, texts: Iterable[bytes]) -> npt.NDArray[np.int32]:
        """The ids of many terms, new ones inserted."""
        known = list(texts)
        ends = np.cumsum([len(text) for text in known], dtype=np.int64)
        return self.encode_packed(b"".join(known), ends)

    def encode_packed(self, texts: bytes, ends: Longs) -> npt.NDArray[np.int32]:
        """The ids of many terms, whose texts stand one after the other and end at these offsets."""
        self.reserve(len(ends), len(texts))
        ids = np.zeros(len(ends), np.int32)
        _encode_all(self.buffer, self.starts, self.table, self.counts, _padded(texts), ends, ids)
        return ids

    def encode_lines(self, lines: bytes) -> npt.NDArray[np.int32]:
        """The ids of triples in canonical N-Triples, a row per line.

        Neither subject nor predicate holds a blank, and every line ends with a blank, a dot and a line break.
        """
        pieces = []
        for begin, end in pairwise(_cuts(lines)):
            ids = np.zeros((lines.count(b"\n", begin, end), 3), np.int32)
            self.reserve(3 * len(ids), end - begin)
            piece = _padded(lines[begin:end])
            _encode_lines(self.buffer, self.starts, self.table, self.counts, piece, ids)
            pieces.append(ids)
        return np.concatenate([np.zeros((0, 3), np.int32), *pieces])

    def encode(self, text: bytes) -> int:
        """The id of a term, inserted if it is new."""
        self.reserve(1, len(text))
        return int(_encode(self.buffer, self.starts, self.table, self.counts, _padded(text)))

    def find(self, text: bytes) -> int:
        """The id of a term, 0 if it is not here."""
        return int(_find(self.buffer, self.starts, self.table, self.counts, _padded(text)))

    def text(self, known: int) -> bytes:
        """The canonical N-Triples text of a term."""
        return self.buffer[self.starts[known] : self.starts[known + 1]].tobytes()

    def keep(self, kept: Longs) -> None:
        """Drop every term but these (ascending ids), which get the ids 1, 2, …"""
        sizes = self.starts[kept + 1] - self.starts[kept]
        smaller = Arena(
            max(2 * len(kept), settings().arena_terms), max(2 * int(sizes.sum()), settings().arena_bytes)
        )
        _keep(self.terms, kept, smaller.terms)
        smaller.counts[:2] = [len(kept) + 1, int(sizes.sum())]
        _rehash(smaller.terms, len(kept) + 1)
        self.buffer, self.starts = smaller.buffer, smaller.starts
        self.table, self.counts = smaller.table, smaller.counts


def _cuts(lines: bytes) -> list[int]:
    """Offsets that cut lines into pieces of about a size, so that no space is reserved for terms that are known."""
    size = settings().chunk_bytes
    cuts = [0]
    while cuts[-1] < len(lines):
        end = lines.find(b"\n", cuts[-1] + size)
        cuts.append(len(lines) if end < 0 else end + 1)
    return cuts


def _table_size(terms: int) -> int:
    """A power of two that stays at most half full."""
    return 1 << (2 * terms + 2).bit_length()


def _grown(array: npt.NDArray[_Scalar], size: int, used: int) -> npt.NDArray[_Scalar]:
    bigger = np.zeros(size, array.dtype)
    bigger[:used] = array[:used]
    return bigger


def _padded(text: bytes) -> Bytes:
    return np.frombuffer(text + bytes(PADDING), np.uint8)
