"""Whole graphs as canonical N-Triples, and from there as columns of ids without an object per triple."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from pyoxigraph import RdfFormat, Triple, parse, serialize

from spaseq.columnar.table import Ids
from spaseq.errors import InvalidArgument
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import settings

_BLANK: Final = re.compile(rb"^_:(\S+)(?= )|(?<= )_:(\S+)(?= \.$)", re.MULTILINE)


def as_ntriples(triples: Iterable[Triple]) -> bytes:
    """Triples as lines of canonical N-Triples."""
    lines = serialize(triples, format=RdfFormat.N_TRIPLES)
    assert lines is not None  # it is only where an output is given
    return lines


def from_ntriples(lines: bytes) -> frozenset[Triple]:
    """The triples of such lines."""
    return frozenset(quad.triple for quad in parse(lines, format=RdfFormat.N_TRIPLES))


def with_blanks(lines: bytes, suffix: str) -> bytes:
    r"""The lines with every blank node's label lengthened.

    >>> with_blanks(b'_:a <urn:p> _:b .\n<urn:s> <urn:p> "_:c ." .\n', "-1")
    b'_:a-1 <urn:p> _:b-1 .\n<urn:s> <urn:p> "_:c ." .\n'
    """
    if b"_:" not in lines:
        return lines
    return _BLANK.sub(rb"_:\1\2" + suffix.encode(), lines)


def encoded_graphs(graphs: Sequence[bytes], dictionary: TermDictionary) -> EventBatch:
    """Graphs in canonical N-Triples as a batch of events without time: event ``i`` is graph ``i``."""
    if any(b"<<" in lines for lines in graphs):
        _refuse_triple_terms(graphs)
    large = sum(map(len, graphs)) >= settings().compiled_graph_bytes or dictionary.promoted
    parts = [(_by_kernel if large else _by_split)(lines, dictionary) for lines in graphs]
    columns = np.concatenate([np.zeros((0, 3), np.int32), *parts])
    count = len(graphs)
    return EventBatch(
        np.ascontiguousarray(columns[:, 0]),
        np.ascontiguousarray(columns[:, 1]),
        np.ascontiguousarray(columns[:, 2]),
        np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.int16),
        np.zeros(count, dtype=np.int32),
    )


def _by_split(lines: bytes, dictionary: TermDictionary) -> Ids:
    """The triples as rows of ids; each distinct term is looked up once."""
    # Neither subject nor predicate holds a blank, so two cuts give the terms; the line ends with " .".
    triples = [line[:-2].split(" ", 2) for line in dict.fromkeys(lines.decode().split("\n")) if line]
    distinct = list(dict.fromkeys(text for triple in triples for text in triple))
    known = dict(zip(distinct, dictionary.encode_texts(distinct), strict=True))
    return np.array([[known[text] for text in triple] for triple in triples], np.int32).reshape(-1, 3)


def _by_kernel(lines: bytes, dictionary: TermDictionary) -> Ids:
    rows = dictionary.promote().encode_lines(lines)
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return rows[fresh]


def _refuse_triple_terms(graphs: Sequence[bytes]) -> None:
    for lines in graphs:
        for line in lines.decode().split("\n"):
            value = line[:-2].split(" ", 2)[-1]
            if value.startswith("<<"):
                raise InvalidArgument(f"a triple term is not supported: {value}")
