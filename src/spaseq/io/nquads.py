"""Large N-Quads inputs: the byte kernel on the hot path, pyoxigraph for whatever it stops at."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from spaseq.io.assemble import instant_of, unreadable
from spaseq.io.bad_input import BadInput, OnBad, excerpt, fail
from spaseq.io.blank_kernel import SCOPE_SIZE, event_keys, scope_blanks
from spaseq.io.encode import encode_events
from spaseq.io.layouts import Clues
from spaseq.io.line_kernel import SPANS
from spaseq.io.line_reader import assemble
from spaseq.io.lines import End, PieceResult, check_length, parse_line
from spaseq.io.nquads_kernel import lex_events
from spaseq.io.nquads_state import (
    BLANK,
    EVENT_COLUMNS,
    FULL,
    INSIDE,
    LABELS_FULL,
    LAST,
    NAME,
    NAME_END,
    NAME_START,
    POSITION,
    STAMP_LINE,
    STAMP_START,
    STATE,
    STOPPED,
    TIME,
    Columns,
    LexerSettings,
    LexerState,
)
from spaseq.io.nquads_terms import COLUMNS
from spaseq.io.options import ReadOptions
from spaseq.io.sources import ByteReader
from spaseq.io.stamp_kernel import ELSEWHERE
from spaseq.model.arena import PADDING, SECRET, Arena
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import settings

Bytes = npt.NDArray[np.uint8]

_SCALES: Final = {"s": 6, "ms": 3, "us": 0, "ns": -3}
_FEED: Final = 10
_WORTHWHILE: Final = 2
"""The kernel stops too soon if it reads less than this many times what pyoxigraph was given last."""
_SHORTEST_LINE: Final = 15
"""No quad is written in fewer bytes."""


class NQuadsReader:
    """Reads one source piece by piece into batches over a dictionary in its arena tier."""

    def __init__(
        self,
        source: str,
        stream: str,
        index: int,
        dictionary: TermDictionary,
        options: ReadOptions,
        on_bad: OnBad,
        per_event: int = 0,
        clues: Clues | None = None,
    ) -> None:
        self._source = source
        self._clues = clues
        self._per_event = per_event
        self._stream = stream
        self._index = index
        self._dictionary = dictionary
        self._options = options
        self._on_bad = on_bad
        self._arena = dictionary.promote()
        self._labels = _fresh_labels()
        self._generation = dictionary.generation
        self._settings = self._current_settings()
        self._columns = _columns_for(0)
        self._patience = settings().plain_bytes
        self._line = 1

    def _current_settings(self) -> LexerSettings:
        options = self._options
        predicate = _padded(f"<{options.timestamp_predicate}>".encode())
        scale = _SCALES[options.time_unit]
        long_line = settings().long_line_bytes
        return LexerSettings(
            predicate, scale, options.keep_names, self._needed(), self._per_event, long_line, SECRET
        )

    def _needed(self) -> npt.NDArray[np.bool_]:
        """For every predicate id whether a query mentions it; empty if all matter."""
        if self._options.needed_predicates is None:
            return np.zeros(0, np.bool_)
        ids = self._dictionary.encode_texts([f"<{iri}>" for iri in sorted(self._options.needed_predicates)])
        needed = np.zeros(max(ids, default=0) + 1, np.bool_)
        needed[ids] = True
        return needed

    def read(self, head: bytes, reader: ByteReader) -> Iterator[EventBatch]:
        """All events of a source, of which ``head`` has been read already.

        What is not settled at the end of a piece moves to the front and is read again with more behind it.
        """
        expected = reader.left
        size = self._options.chunk_bytes
        if expected is not None:  # a small file needs no large buffer
            size = min(size, expected + len(head) + 1)
        size = max(size, len(head) + 1)
        data = np.empty(size + PADDING, np.uint8)
        data[: len(head)] = np.frombuffer(head, np.uint8)
        filled = len(head)
        while True:
            filled += reader.fill(data.data[filled:size])
            end = End(reader.damage) if filled < size else None
            data[filled : filled + PADDING] = 0
            settled = 0
            for batch, reached in self._piece(data, filled, end):
                settled = reached
                if batch is not None and len(batch):
                    yield batch
            if end is not None:
                return
            left = data[settled:filled]
            if len(left) > size // 2:
                self._check_line(left)
                size *= 2
                bigger = np.empty(size + PADDING, np.uint8)
                bigger[: len(left)] = left
                data = bigger
            else:
                data[: len(left)] = left.copy()
            filled = len(left)

    def _check_line(self, data: Bytes) -> None:
        """See to it that the last line of what must be read again is not too long."""
        block = settings().scanned_bytes
        for end in range(len(data), 0, -block):
            feeds = np.flatnonzero(data[max(end - block, 0) : end] == _FEED)
            if len(feeds):
                begin = max(end - block, 0) + int(feeds[-1]) + 1
                check_length(
                    len(data) - begin, self._source, self._line + int(np.count_nonzero(data == _FEED))
                )
                return
        check_length(len(data), self._source, self._line)

    def _piece(self, data: Bytes, size: int, end: End | None) -> Iterator[tuple[EventBatch | None, int]]:
        """Batches of a piece of input, each with the offset up to which everything is settled."""
        whole = end is not None and end.damage is None
        at = 0
        while True:
            batch, used, stopped = self._lex(data, at, size, whole)
            # More is handed to pyoxigraph if the kernel stops again soon: to start it costs something too.
            soon = stopped and used - at < _WORTHWHILE * self._patience
            self._patience = 2 * self._patience if soon else settings().plain_bytes
            at = used
            yield batch, at
            if not stopped and (whole or end is None):
                return
            step = self._plain(data, at, size, end)
            at, self._line = at + step.consumed, self._line + step.lines
            yield self._encoded(step), at
            if at >= size or step.consumed == 0:
                return

    def _plain(self, data: Bytes, at: int, size: int, end: End | None) -> PieceResult:
        """Some lines by pyoxigraph: as few as settle something."""
        options, taken = self._options, self._patience
        while True:
            whole = at + taken >= size
            piece = data[at : min(at + taken, size)].tobytes()
            step = assemble(piece, self._line, end if whole else None, options, self._source, self._per_event)
            if step.consumed or whole:
                return step
            taken *= 2

    def _encoded(self, step: PieceResult) -> EventBatch | None:
        for bad in step.bad:
            self._on_bad(bad)
        if not step.events:
            return None
        if self._clues is not None:
            self._clues.see(step.events)
        return encode_events(
            step.events, self._source, self._stream, self._index, self._dictionary, self._options
        )

    # --- the kernel -------------------------------------------------------------------------------

    def _lex(self, data: Bytes, at: int, size: int, final: bool) -> tuple[EventBatch, int, bool]:
        """Run the kernel from an offset on; the batch, how far it is settled, and whether it stopped early."""
        rows = (size - at) // _SHORTEST_LINE + 2
        if len(self._columns.subjects) < rows:
            self._columns = _columns_for(rows)
        if self._generation != self._dictionary.generation:  # compacted between two batches
            self._generation = self._dictionary.generation
            self._settings = self._current_settings()
        arena = self._arena
        while True:
            state = cast("LexerState", np.zeros(1, STATE).view(np.recarray)[0])
            lex_events(
                data, at, size, final, self._settings, arena.terms, self._labels.terms, self._columns, state
            )
            if state.status == FULL:
                arena.reserve(max(len(arena), settings().arena_terms), max(int(arena.counts[1]), size))
            elif state.status == LABELS_FULL:
                self._labels = _fresh_labels(
                    4 * (len(self._labels) + 1), 4 * int(self._labels.counts[1]) + size
                )
            else:
                break
        count = int(state.events)
        good = self._read_stamps(data, size, count)
        if self._clues is not None:
            events = self._columns.events[:count]
            for event in events[(events[:, INSIDE] == 1) & (events[:, TIME] != ELSEWHERE)]:
                name = data[event[NAME_START] : event[NAME_END]].tobytes()
                self._clues.see_inside(name, int(event[TIME]))
        if len(self._labels):
            self._scope(data, count)
            self._labels = _fresh_labels()
        batch = self._batch(count, int(state.triples))
        self._line += int(state.lines)
        return batch if good is None else batch.take(good), int(state.consumed), state.status == STOPPED

    def _read_stamps(self, data: Bytes, size: int, count: int) -> npt.NDArray[np.int64] | None:
        """Read the timestamps that the kernel left; the ordinals of good events, None if all are."""
        events = self._columns.events
        left = np.flatnonzero(events[:count, TIME] == ELSEWHERE)
        if not len(left):
            return None
        bad: list[int] = []
        for row in left.tolist():
            event = events[row]
            line = _line_around(data, int(event[STAMP_START]), size)
            name = data[event[NAME_START] : event[NAME_END]].tobytes().decode()
            quad = parse_line(line)[0]
            try:
                event[TIME] = instant_of(quad.object, self._options.time_unit)
                continue
            except ValueError as error:
                reason = unreadable(name or "the event", str(error))
            position = self._line + int(event[STAMP_LINE])
            self._on_bad(BadInput(reason, self._source, position, "line", excerpt(str(quad))))
            event[BLANK] = 0
            bad.append(row)
        return np.delete(np.arange(count, dtype=np.int64), bad) if bad else None

    def _scope(self, data: Bytes, count: int) -> None:
        """Give blank nodes to their events."""
        columns, labels, arena = self._columns, self._labels, self._arena
        rows = np.flatnonzero(columns.events[:count, BLANK])
        if not len(rows):
            return
        keys, scopes = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        stream = np.frombuffer(self._stream.encode(), np.uint8)
        event_keys(data, stream, columns, count, keys, np.zeros(24, np.uint8))
        triples = int(columns.events[count - 1, LAST])
        blanks = int(np.count_nonzero(columns.subjects[:triples] < 0)) + count
        blanks += int(np.count_nonzero(columns.objects[:triples] < 0))
        longest = int(np.diff(labels.starts[1 : len(labels) + 2]).max()) + SCOPE_SIZE
        arena.reserve(blanks, blanks * longest)
        following = self._dictionary.next_scope
        scopes[rows] = np.fromiter(map(following, keys[rows].tolist()), np.uint64, len(rows))
        out = np.zeros(longest + PADDING, np.uint8)
        row = 0
        while row < count:
            row = int(scope_blanks(arena.terms, labels.terms, columns, row, count, scopes, out))
            if row < count:
                scopes[row] = following(int(keys[row]))

    def _batch(self, count: int, triples: int) -> EventBatch:
        columns = self._columns
        events = columns.events[:count]
        offsets = np.zeros(count + 1, np.int64)
        offsets[1:] = events[:, LAST]
        return EventBatch(
            columns.subjects[:triples].copy(),
            columns.predicates[:triples].copy(),
            columns.objects[:triples].copy(),
            offsets,
            events[:, TIME].copy(),
            np.full(count, self._index, np.int16),
            events[:, NAME].astype(np.int32) if self._options.keep_names else np.zeros(count, np.int32),
            (self._source,),
            np.zeros(count, np.int32),
            events[:, POSITION] + self._line,
        )


def _padded(data: bytes) -> Bytes:
    return np.frombuffer(data + bytes(PADDING), np.uint8)


def _line_around(data: Bytes, at: int, size: int) -> bytes:
    """The line in which an offset lies."""
    start, stop = at, at
    while start > 0 and data[start - 1] not in (10, 13):
        start -= 1
    while stop < size and data[stop] not in (10, 13):
        stop += 1
    return data[start:stop].tobytes()


def _fresh_labels(terms: int = 0, size: int = 0) -> Arena:
    return Arena(max(terms, settings().arena_terms // 16 + 1), max(size, settings().arena_bytes // 64 + 1))


def _columns_for(rows: int) -> Columns:
    """Room for so many triples and as many events; untouched room costs nothing."""
    return Columns(
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty((rows, EVENT_COLUMNS), np.int64),
        np.zeros(SPANS, np.int64),
        np.zeros(6, np.int64),
        np.zeros((settings().compared_triples, COLUMNS), np.int64),
        np.zeros(COLUMNS, np.int64),
        np.zeros(settings().rewritten_bytes, np.uint8),
        np.empty(1 << max(6, (2 * rows).bit_length()), np.int64),
    )


def read_nquads(
    head: bytes,
    reader: ByteReader,
    source: str,
    stream: str,
    index: int,
    dictionary: TermDictionary,
    options: ReadOptions,
    on_bad: OnBad,
    per_event: int = 0,
    clues: Clues | None = None,
) -> Iterator[EventBatch]:
    """The events of one N-Quads source, of which ``head`` has been read already.

    With ``per_event`` it is N-Triples, of which so many make an event. ``clues`` receive what shows the layout.
    """
    kernel = NQuadsReader(source, stream, index, dictionary, options, on_bad, per_event, clues)
    return kernel.read(head, reader)


_SAMPLE: Final = (
    b'_:b <urn:p> "x"@en <urn:g> .\n'
    b'<urn:g> <http://www.w3.org/ns/prov#generatedAtTime> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
)


def warm_up() -> None:
    """Compile the kernels, or load them from the disk, so that the first large input does not wait."""
    empty = ByteReader(cast("io.FileIO", io.BytesIO()), iter(()))
    options = ReadOptions()
    for _ in read_nquads(_SAMPLE, empty, "", "urn:s", 0, TermDictionary(), options, fail):
        pass
