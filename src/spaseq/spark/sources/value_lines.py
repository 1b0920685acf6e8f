"""Values of N-Quads or N-Triples by the compiled lexer: all rows of an Arrow batch as one text.

Between two rows stands an event of ours, so that nothing of one row is taken for the other's. A row of which this makes
exactly one event and nothing bad is done; all others are left to be read one by one, which also says what is wrong with them.
"""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.io.sources import ByteReader
from spaseq.model.batch import EventBatch, concat
from spaseq.model.dictionary import TermDictionary
from spaseq.operators.term_texts import packed_terms

Longs = npt.NDArray[np.int64]

_INTEGER: Final = "^^<http://www.w3.org/2001/XMLSchema#integer>"
_ROW: Final = "<urn:spaseq:row>"
_LAST_OF_LINE: Final = r"\.[ \t]*(\n|$)"
_NAME: Final = r"(?P<name><[^<>\"\s]+>)[ \t]*\.\s*$"
"""The last term of a text, if it is an IRI."""


def lexed_values(
    values: pa.Array,
    times: pa.Array | None,
    syntax: str,
    dictionary: TermDictionary,
    options: ReadOptions,
    stream: str,
    index: int,
) -> tuple[EventBatch, Longs] | None:
    """The events of the rows that the lexer can read, and the ordinals of these rows; None: none of them.

    ``times`` are those of the rows in microseconds; without them events have theirs inside.
    """
    if syntax not in ("nquads", "ntriples") or not _worthwhile(values, dictionary, options):
        return None
    texts = values.cast(pa.large_binary())
    plain = pc.invert(pc.match_substring(texts, "\r"))
    if syntax == "ntriples":  # blank nodes are named after their graph, and ours is none
        plain = pc.and_(plain, pc.invert(pc.match_substring(texts, "_:")))
    usable = np.flatnonzero(plain.to_numpy(zero_copy_only=False))
    texts = texts.take(pa.array(usable))
    if times is not None:
        texts = _timed(texts, times.take(pa.array(usable)), syntax, options)
        options = replace(options, time_unit="us")
    lines = pc.add(pc.count_substring(texts, "\n"), 1).to_numpy(zero_copy_only=False).astype(np.int64)
    data = packed_terms(_joined(texts, _between(options)))["texts"].tobytes()
    first = np.cumsum(lines + 2) - lines - 1  # the line on which every row begins
    bad: list[BadInput] = []
    found = _read(data, options, dictionary, stream, index, bad)
    if found is None:
        return None
    assert found.positions is not None
    row = np.searchsorted(first, found.positions, "right") - 1
    own = found.positions < first[row] + lines[row]
    wrong = np.searchsorted(first, [each.position for each in bad], "right") - 1
    good = np.bincount(row[own], minlength=len(texts)) == 1
    good[np.clip(wrong, 0, None)] = False
    kept = np.flatnonzero(own & good[row])
    batch = found.take(kept)
    if syntax == "ntriples":
        batch = replace(batch, names=np.zeros(len(batch), np.int32))
    return batch, usable[row[kept]]


def _worthwhile(values: pa.Array, dictionary: TermDictionary, options: ReadOptions) -> bool:
    """True if the kernels are loaded, or there is enough to load them for."""
    ready = dictionary.promoted or "spaseq.io.nquads_kernel" in sys.modules
    return len(values) > 0 and (ready or values.nbytes >= options.interpreted_bytes)


def _timed(texts: pa.Array, times: pa.Array, syntax: str, options: ReadOptions) -> pa.Array:
    """Every text after a line that says its time."""
    names: pa.Array | str = _ROW
    if syntax == "ntriples":
        texts = pc.replace_substring_regex(texts, _LAST_OF_LINE, f" {_ROW} .\\1")
    else:
        names = pc.struct_field(pc.extract_regex(texts, _NAME), "name").fill_null(_ROW.encode())
    known = times.cast(pa.large_string()).cast(pa.large_binary())
    return _joined(names, f' <{options.timestamp_predicate}> "', known, f'"{_INTEGER} .\n', texts)


def _joined(*parts: pa.Array | str) -> pa.LargeBinaryArray:
    """Texts side by side, row by row; some are the same for all rows."""
    kind = pa.large_binary()
    given = [pa.scalar(part.encode(), kind) if isinstance(part, str) else part.cast(kind) for part in parts]
    return pc.binary_join_element_wise(*given, pa.scalar(b"", kind))


def _between(options: ReadOptions) -> str:
    """The end of a row's last line, and an event of two lines."""
    name = "<urn:spaseq:between>"
    return (
        f'\n{name} <{options.timestamp_predicate}> "0"{_INTEGER} .\n{name} <urn:spaseq:is> {name} {name} .\n'
    )


def _read(
    data: bytes,
    options: ReadOptions,
    dictionary: TermDictionary,
    stream: str,
    index: int,
    bad: list[BadInput],
) -> EventBatch | None:
    """All events of a text as one batch."""
    from spaseq.io.nquads import read_nquads

    nothing = ByteReader(cast("io.FileIO", io.BytesIO()), iter(()))
    whole = replace(options, chunk_bytes=len(data) + 1)
    found = list(read_nquads(data, nothing, "", stream, index, dictionary, whole, bad.append))
    return concat(found) if found else None
