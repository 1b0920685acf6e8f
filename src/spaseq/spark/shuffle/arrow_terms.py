"""Terms of a dictionary as Arrow text, without a Python object per term where the dictionary allows it."""

from __future__ import annotations

import re
import zlib
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spaseq.model.dictionary import TermDictionary
from spaseq.model.ordered import each_once
from spaseq.operators.term_texts import texts_of

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
_Scalar = TypeVar("_Scalar", bound=np.generic)

_PLACE: Final = re.compile(r"-t\d+(?:x\d+)+$")
"""What `Place.label` appends."""
_SCOPE: Final = re.compile(r"-e[0-9a-f]{16}$")
"""What `spaseq.model.terms.scoped_label` appends."""
_KNOWN_EVERYWHERE: Final = re.compile(r"-k\d+$")
"""How the blank nodes of background graphs end; they are the same in every process."""


def local_texts(dictionary: TermDictionary, ids: npt.NDArray[np.integer], place: str) -> pa.LargeStringArray:
    """The same, with blank nodes of events marked by where they were read.

    Workers count repeated events apart from each other, so equal labels of two workers may be two nodes.
    """
    texts = texts_of(dictionary, ids)
    if not _blank(dictionary, ids).any():
        return texts
    marked = [
        text if not text.startswith("_:") or _KNOWN_EVERYWHERE.search(text) else f"{text}{place}"
        for text in texts.to_pylist()
    ]
    return pa.array(marked, pa.large_string())


def as_written(dictionary: TermDictionary, ids: npt.NDArray[np.integer]) -> pa.LargeStringArray:
    """The texts of terms of events, blank nodes with the labels they had in their files."""
    texts = texts_of(dictionary, ids)
    if not pc.any(pc.starts_with(texts, "_:")).as_py():
        return texts
    written = [_SCOPE.sub("", text) if text.startswith("_:") else text for text in texts.to_pylist()]
    return pa.array(written, pa.large_string())


def without_place(text: str) -> str:
    """A label as the other engine prints it: without the mark of the worker that read it."""
    return _PLACE.sub("", text) if text.startswith("_:") else text


def _blank(dictionary: TermDictionary, ids: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Which ids are those of blank nodes."""
    if dictionary.promoted:
        arena = dictionary.promote()
        blank: npt.NDArray[np.bool_] = (arena.buffer[arena.starts[ids]] == ord("_")) & (ids != 0)
        return blank
    known = {i: i != 0 and dictionary.ntriples(i).startswith("_:") for i in set(ids.tolist())}
    return np.array([known[i] for i in ids.tolist()], np.bool_)


def shown_ids(dictionary: TermDictionary, ids: Ints) -> Ints:
    """A column of ids with those of labels as they leave for the user in place of marked ones."""
    blank = _blank(dictionary, ids)
    if not blank.any():
        return ids
    marked, place = np.unique(ids[blank], return_inverse=True)
    shown_ = [dictionary.encode_text(without_place(dictionary.ntriples(i))) for i in marked.tolist()]
    found = ids.copy()
    found[blank] = np.array(shown_, np.int32)[place]
    return found


def shown(texts: pa.Array) -> pa.Array:
    """A column of terms, null where unbound, as it leaves for the user."""
    if not pc.any(pc.starts_with(texts, "_:")).as_py():
        return texts
    return pa.array([None if text is None else without_place(text) for text in texts.to_pylist()], texts.type)


def text_hash(text: bytes) -> int:
    """A hash of a term that is the same in every process."""
    return zlib.crc32(text) | (zlib.crc32(text, 0x9E3779B9) << 32)


class KeyHashes:
    """The hash of every term of a dictionary, computed once per term that serves as a key."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self._hashes: Words = np.zeros(0, np.uint64)
        self._known: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._generation = dictionary.generation

    def of(self, ids: Ints) -> Words:
        """The hashes of these ids, the same in every process; that of no term is 0."""
        if self._generation != self._dictionary.generation:
            self._hashes, self._known = np.zeros(0, np.uint64), np.zeros(0, np.bool_)
            self._generation = self._dictionary.generation
        size = len(self._dictionary) + 1
        if len(self._known) < size:
            room = max(size, 2 * len(self._known))
            self._hashes, self._known = _grown(self._hashes, room), _grown(self._known, room)
            self._known[0] = True
        fresh = each_once(ids[~self._known[ids]])
        if len(fresh):
            texts = texts_of(self._dictionary, fresh).to_pylist()
            # Labels of blank nodes depend on the worker, so all of them are one key.
            self._hashes[fresh] = [1 if text[0] == "_" else text_hash(text.encode()) for text in texts]
            self._known[fresh] = True
        return self._hashes[ids]


def _grown(array: npt.NDArray[_Scalar], size: int) -> npt.NDArray[_Scalar]:
    bigger = np.zeros(size, array.dtype)
    bigger[: len(array)] = array
    return bigger
