"""Terms of a dictionary as Arrow text and as arrays, without a Python object per term where the dictionary allows it."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spaseq.model.dictionary import TermDictionary
from spaseq.model.packing import Arrays, Damaged
from spaseq.model.terms import check_terms

Ints = npt.NDArray[np.int32]


def texts_of(dictionary: TermDictionary, ids: npt.NDArray[np.integer]) -> pa.LargeStringArray:
    """The N-Triples texts of some ids."""
    if not dictionary.promoted:
        return pa.array([dictionary.ntriples(known) for known in ids.tolist()], pa.large_string())
    arena = dictionary.promote()
    count = len(arena) + 1
    offsets, data = pa.py_buffer(arena.starts[: count + 1]), pa.py_buffer(arena.buffer)
    everything = pa.LargeStringArray.from_buffers(count, offsets, data)
    return everything.take(pa.array(ids))


def encode_terms(dictionary: TermDictionary, texts: pa.LargeStringArray) -> Ints:
    """The ids of terms: entry ``n`` is that of term number ``n``, entry 0 is unbound."""
    ids = np.zeros(len(texts) + 1, np.int32)
    if not dictionary.promote_for(len(texts)):
        ids[1:] = dictionary.encode_texts(texts.to_pylist())
    elif len(texts):
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        bytes_ = data[int(ends[0]) : int(ends[-1])].to_pybytes() if data is not None else b""
        ids[1:] = dictionary.promote().encode_packed(bytes_, ends[1:] - ends[0])
    return ids


def packed_terms(texts: pa.LargeStringArray) -> Arrays:
    """Terms as arrays: their ends, and their bytes."""
    if not len(texts):
        return {"ends": np.zeros(0, np.int64), "texts": np.zeros(0, np.uint8)}
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    size = int(ends[-1] - ends[0])
    body = np.frombuffer(data, np.uint8, size, int(ends[0])) if size else np.zeros(0, np.uint8)
    return {"ends": ends[1:] - ends[0], "texts": body}


_USUAL: Final = (
    r"^(<([a-z][a-z0-9+]*://[A-Za-z0-9.-]+|urn:[a-z]+:)(/[A-Za-z0-9._~/-]*)?(#[A-Za-z0-9._~/-]*)?>"
    r'|"[ !#-\[\]-~]*"(\^\^<http://www\.w3\.org/2001/XMLSchema#[a-zA-Z]+>)?)$'
)
"""Terms that are certainly ones: plain IRIs, literals without escapes."""


def unusual_terms(body: bytes, offsets: npt.NDArray[np.int64]) -> list[int]:
    """Of some texts the numbers of those that must be parsed to see whether they are terms."""
    texts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(body)]
    )
    usual = pc.match_substring_regex(texts, _USUAL).to_numpy(zero_copy_only=False)
    return np.flatnonzero(~usual).tolist()


def unpacked_terms(arrays: Arrays) -> pa.LargeStringArray:
    """The terms that `packed_terms` wrote, checked."""
    ends, body = arrays["ends"], arrays["texts"]
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    if (np.diff(offsets) < 0).any() or int(offsets[-1]) != len(body):
        raise Damaged("a term is cut off")
    texts = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(body.tobytes()))
    texts.validate(full=True)
    check_terms(texts.to_pylist())
    return texts
