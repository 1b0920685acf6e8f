"""Rows of an events DataFrame as batches of ids (docs/how-to/use-spark.md).

A row is an event: its time and its triples, as N-Triples terms or as a serialised graph. A row whose column ``promise``
is true is no event but a promise: nothing before its time will come on its stream; without time it says that the stream has
ended. Any other row without triples (NULL) is bad input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import NamedNode, RdfFormat, Triple, parse

from spaseq.errors import InvalidArgument
from spaseq.io.assemble import RawEvent
from spaseq.io.bad_input import BadInput, OnBad, excerpt
from spaseq.io.encode import encode_events
from spaseq.io.options import ReadOptions
from spaseq.model.batch import EventBatch, concat
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.ordered import each_once
from spaseq.model.terms import Term
from spaseq.settings import settings
from spaseq.spark.job import SEVERAL
from spaseq.spark.sources.graph_values import events_of_value
from spaseq.spark.sources.value_lines import lexed_values
from spaseq.temporal.instants import FIRST_INSTANT, FOREVER, LAST_INSTANT

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_NO_TIME: Final = "the row has no time"
_OUTSIDE: Final = "the time of the row lies outside the years 1 to 9999"
ENDED: Final = FOREVER
"""How far a stream has come that has ended."""

_PLAIN = re.compile(
    r'(?:"[^"\\\x00-\x1f\x7f\ufffe\uffff]*")?(?:(?:\A|(?<=")\^\^)<([^\x00-\x20<>"{}|^`\\]*)>)?'
)
"""Terms whose text is canonical if their IRI is one: they need not be parsed."""
_PARSED: Final = ("#string>", "angString>")
"""How datatypes end that are not written, or that a literal cannot have."""


@dataclass(slots=True)
class Promises:
    """How far the streams of a task have come: by stream, no event before this time will follow."""

    times: dict[int, int] = field(default_factory=dict)

    def keep(self, stream: int, time: int | None) -> None:
        """Keep how far a stream has come; None means that it has ended."""
        self.times[stream] = max(self.times.get(stream, -ENDED), ENDED if time is None else time)


class EventRows:
    """Reads Arrow batches with the columns ``time``, ``triples`` or ``value``, and perhaps ``graph``, ``start``, ``stream``,
    ``promise``.

    Where the columns ``origin`` and ``position`` say where rows come from, such as a partition of Kafka and an offset, bad
    rows are reported by them.
    """

    def __init__(
        self,
        streams: tuple[str, ...],
        stream: int | dict[str, int],
        syntax: str | None,
        dictionary: TermDictionary,
        options: ReadOptions,
        on_bad: OnBad,
        source: str,
    ) -> None:
        self._streams, self._stream, self._syntax = streams, stream, syntax
        self._dictionary, self._options, self._on_bad, self._source = dictionary, options, on_bad, source
        self._known: dict[str, int] = {}
        self.promises = Promises()
        self.rows = 0
        self._given, self._first = pa.record_batch({}), 0

    def batches(self, batch: pa.RecordBatch) -> Iterator[tuple[EventBatch, Longs]]:
        """Events and the ordinals of the rows they stand in, one batch per stream that occurs."""
        first, self.rows = self.rows, self.rows + batch.num_rows
        self._given, self._first = batch, first
        numbers = self._numbers(batch, first)
        for stream in each_once(numbers[numbers >= 0]).tolist():
            rows = np.flatnonzero(numbers == stream)
            part = batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))
            rows = self._with_payload(part, rows, stream, first)
            if len(rows) < part.num_rows:
                part = batch.take(pa.array(rows))
            if len(rows):
                read = self._triples if "triples" in batch.schema.names else self._values
                events, places = read(part, stream, rows + first)
                if "start" in batch.schema.names:
                    events, places = self._begun(events, places, batch.column("start"), first)
                if len(events):
                    yield events, places

    def _numbers(self, batch: pa.RecordBatch, first: int) -> Ints:
        """The stream of every row; negative where no query declares it."""
        if isinstance(self._stream, int):
            return np.full(batch.num_rows, self._stream, np.int32)
        names = batch.column("stream").to_pylist()
        other = self._stream.get(EVERY_STREAM, -1)  # of a query that reads whatever it is given
        numbers = np.array([self._stream.get(name, other) for name in names], np.int32)
        for row in np.flatnonzero(numbers < 0).tolist():
            if names[row] is None:
                self._bad("the row names no stream", first + row, "")
            elif numbers[row] == SEVERAL:
                reason = f"the row names the stream `{names[row]}`, which is another one in each query: name it by its IRI"
                self._bad(reason, first + row, "")
        return numbers

    def _with_payload(
        self, part: pa.RecordBatch, rows: npt.NDArray[np.intp], stream: int, first: int
    ) -> npt.NDArray[np.intp]:
        """The rows that are events; promises are kept, and what is neither is bad."""
        name = "triples" if "triples" in part.schema.names else "value"
        empty = part.column(name).is_null().to_numpy(zero_copy_only=False)
        promise = np.zeros(part.num_rows, np.bool_)
        if "promise" in part.schema.names:
            promise = part.column("promise").fill_null(False).to_numpy(zero_copy_only=False)
        if not empty.any() and not promise.any():
            return rows
        times = part.column("time").to_pylist() if "time" in part.schema.names else [None] * part.num_rows
        for row in np.flatnonzero(promise & empty).tolist():
            self.promises.keep(stream, times[row])
        for row in np.flatnonzero(empty & ~promise).tolist():
            self._bad(
                f"the row has no `{name}` (NULL); a row that is a promise needs a column `promise` that is true",
                first + int(rows[row]),
                "",
            )
        for row in np.flatnonzero(promise & ~empty).tolist():
            reason = f"the row is a promise, which carries no event, but its `{name}` is not NULL"
            self._bad(reason, first + int(rows[row]), "")
        kept: npt.NDArray[np.intp] = rows[~empty & ~promise]
        return kept

    def _begun(
        self, events: EventBatch, places: Longs, column: pa.Array, first: int
    ) -> tuple[EventBatch, Longs]:
        """The events with the starts of their rows; one that begins after its time is bad, one without start an instant."""
        given = column.take(pa.array(places - first))
        missing = given.is_null().to_numpy(zero_copy_only=False)
        starts = np.where(missing, events.times, given.fill_null(0).to_numpy(zero_copy_only=False))
        late = starts > events.times
        for event in np.flatnonzero(late).tolist():
            self._bad("the start of the row is after its time", int(places[event]), "")
        kept = np.flatnonzero(~late & (starts >= FIRST_INSTANT))
        for event in np.flatnonzero(~late & (starts < FIRST_INSTANT)).tolist():
            self._bad("the start of the row lies outside the years 1 to 9999", int(places[event]), "")
        return replace(events, starts=starts.astype(np.int64)).take(kept), places[kept]

    # --- a serialised graph per row -------------------------------------------------------------

    def _values(self, part: pa.RecordBatch, stream: int, places: Longs) -> tuple[EventBatch, Longs]:
        if self._syntax is None:
            raise InvalidArgument("a `value` column needs `format=`, the syntax of its graphs")
        known = part.column("time") if "time" in part.schema.names else None
        here = np.arange(part.num_rows)
        if known is not None:
            fits = pc.and_(pc.greater_equal(known, FIRST_INSTANT), pc.less_equal(known, LAST_INSTANT))
            here = np.flatnonzero(fits.fill_null(False).to_numpy(zero_copy_only=False))
        rows = pa.array(here)
        found = lexed_values(
            part.column("value").take(rows),
            None if known is None else known.take(rows),
            self._syntax, self._dictionary, self._options, self._streams[stream], stream,
        )  # fmt: skip
        if found is None:
            return self._one_by_one(part, stream, places)
        done = here[found[1]]
        batch = replace(found[0], sources=(self._source,), positions=places[done])
        left = np.setdiff1d(np.arange(part.num_rows), done)
        if not len(left):
            return batch, places[done]
        more, origin = self._one_by_one(part.take(pa.array(left)), stream, places[left])
        return concat([batch, more]), np.concatenate([places[done], origin])

    def _one_by_one(self, part: pa.RecordBatch, stream: int, places: Longs) -> tuple[EventBatch, Longs]:
        assert self._syntax is not None
        known = "time" in part.schema.names
        times = part.column("time").to_pylist() if known else [None] * part.num_rows
        events: list[RawEvent] = []
        origin: list[int] = []
        for place, time, value in zip(places.tolist(), times, part.column("value").to_pylist(), strict=True):
            data = value.encode() if isinstance(value, str) else value
            if known and not (time is not None and FIRST_INSTANT <= time <= LAST_INSTANT):
                self._bad(_NO_TIME if time is None else _OUTSIDE, place, data.decode("utf-8", "replace"))
                continue
            for found in events_of_value(
                data, self._syntax, time, self._options, f"{self._source} row {place}"
            ):
                if isinstance(found, BadInput):
                    source, position = self._origin(place)
                    placed = found
                    if source != self._source:
                        placed = replace(found, source=source, position=position)
                    self._on_bad(replace(placed, carried=carried_by(self._given, place - self._first)))
                else:
                    events.append(found)
                    origin.append(place)
        batch = encode_events(
            events, self._source, self._streams[stream], stream, self._dictionary, self._options
        )
        return batch, np.array(origin, np.int64)

    # --- a list of terms per row ----------------------------------------------------------------

    def _triples(self, part: pa.RecordBatch, stream: int, places: Longs) -> tuple[EventBatch, Longs]:
        lists = part.column("triples")
        offsets = lists.offsets.to_numpy().astype(np.int64)
        structs = lists.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        offsets = offsets - offsets[0]
        event = np.repeat(np.arange(len(lists)), np.diff(offsets))
        times, bad = self._times(part)
        columns = []
        # Fields by place: s, p, o.
        for field_number, position in enumerate(("subject", "predicate", "object")):
            ids, wrong = self._encoded(structs.field(field_number), position)
            ids[structs.is_null().to_numpy(zero_copy_only=False)] = 0
            for row in np.flatnonzero(ids == 0).tolist():
                place = int(event[row])
                bad.setdefault(place, wrong.get(row, f"a triple has no {position}"))
            columns.append(ids)
        for place, reason in sorted(bad.items()):
            self._bad(reason, int(places[place]), str(lists[place].as_py()))
        names = self._names(part, bad, places)
        self._localise(columns, event, names, times, stream)
        return self._batch(columns, event, times, names, stream, places, bad)

    def _times(self, part: pa.RecordBatch) -> tuple[Longs, dict[int, str]]:
        column = part.column("time")
        missing = column.is_null().to_numpy(zero_copy_only=False)
        times = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        outside = (times < FIRST_INSTANT) | (times > LAST_INSTANT)
        bad = dict.fromkeys(np.flatnonzero(outside).tolist(), _OUTSIDE)
        bad |= dict.fromkeys(np.flatnonzero(missing).tolist(), _NO_TIME)
        return np.where(outside, 0, times), bad

    def _encoded(self, texts: pa.Array, position: str) -> tuple[Ints, dict[int, str]]:
        """The ids of a column of terms, 0 where there is none, and why. Blank nodes get negative ids."""
        encoded = texts.dictionary_encode()
        known, reasons = [], {}
        for number, text in enumerate(encoded.dictionary.to_pylist()):
            try:
                known.append(self._id(text, position))
            except ValueError as error:
                known.append(0)
                reasons[number] = str(error)
        indices = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        ids = np.where(indices >= 0, np.array([*known, 0], np.int32)[indices], 0).astype(np.int32)
        if not reasons:
            return ids, {}
        return ids, {
            row: reasons[int(indices[row])]
            for row in np.flatnonzero(ids == 0).tolist()
            if int(indices[row]) in reasons
        }

    def _id(self, text: str, position: str) -> int:
        if text[:1] == '"' and position != "object":
            raise ValueError(f"a {position} cannot be a literal: {text}")
        if text[:2] == "_:" and position == "predicate":
            raise ValueError(f"a predicate cannot be a blank node: {text}")
        known = self._known.get(text)
        if known is None:
            canonical = canonical_term(text)
            known = self._dictionary.encode_text(canonical)
            known = -known if canonical[:2] == "_:" else known
            if len(self._known) > settings().cached_instants:
                self._known.clear()
            self._known[text] = known
        return known

    def _names(self, part: pa.RecordBatch, bad: dict[int, str], places: Longs) -> Ints:
        """The ids of the graphs' names, 0 where there is none; blank ones negative."""
        if "graph" not in part.schema.names or not self._options.keep_names:
            return np.zeros(part.num_rows, np.int32)
        column = part.column("graph")
        ids, wrong = self._encoded(column, "subject")
        for row, reason in wrong.items():
            if row not in bad:
                bad[row] = reason
                self._bad(reason, int(places[row]), "")
        return ids

    def _localise(self, columns: list[Ints], event: Longs, names: Ints, times: Longs, stream: int) -> None:
        """Blank nodes are local to their event: give each event its own."""
        blank = (columns[0] < 0) | (columns[2] < 0)
        rows_of: dict[int, list[int]] = {}
        for row in np.flatnonzero(blank).tolist():
            rows_of.setdefault(int(event[row]), []).append(row)
        dictionary = self._dictionary
        for place in sorted(rows_of.keys() | set(np.flatnonzero(names < 0).tolist())):
            rows = np.array(rows_of.get(place, []), np.int64)
            used = {int(-i) for column in (columns[0], columns[2]) for i in column[rows].tolist() if i < 0}
            written = dictionary.ntriples(abs(int(names[place]))) if names[place] else ""
            if names[place] < 0:
                used.add(int(-names[place]))
            labels = {known: dictionary.ntriples(known)[2:] for known in used}
            scope = dictionary.blank_scope(self._streams[stream], int(times[place]), written, labels.values())
            local = {known: dictionary.encode_blank(label, scope) for known, label in labels.items()}
            for column in (columns[0], columns[2]):
                column[rows] = [local[-i] if i < 0 else i for i in column[rows].tolist()]
            if names[place] < 0:
                names[place] = local[int(-names[place])]

    def _batch(
        self,
        columns: list[Ints],
        event: Longs,
        times: Longs,
        names: Ints,
        stream: int,
        places: Longs,
        bad: dict[int, str],
    ) -> tuple[EventBatch, Longs]:
        """The good events, each triple of an event once."""
        order = np.lexsort((columns[2], columns[1], columns[0], event))
        owner, cells = event[order], [column[order] for column in columns]
        fresh = np.ones(len(order), np.bool_)
        if len(order):
            fresh[1:] = owner[1:] != owner[:-1]
            for cell in cells:
                fresh[1:] |= cell[1:] != cell[:-1]
        offsets = np.searchsorted(owner[fresh], np.arange(len(times) + 1)).astype(np.int64)
        batch = EventBatch(
            cells[0][fresh],
            cells[1][fresh],
            cells[2][fresh],
            offsets,
            times,
            np.full(len(times), stream, np.int16),
            names,
            (self._source,),
            np.zeros(len(times), np.int32),
            places,
        )
        if not bad:
            return batch, places
        good = np.setdiff1d(np.arange(len(times)), np.array(sorted(bad)))
        return batch.take(good), places[good]

    def _bad(self, reason: str, place: int, text: str) -> None:
        carried = carried_by(self._given, place - self._first)
        self._on_bad(BadInput(reason, *self._origin(place), "event", excerpt(text), carried=carried))

    def _origin(self, place: int) -> tuple[str, int]:
        """Where a row comes from, as far as it is known."""
        names, row = self._given.schema.names, place - self._first
        if "origin" not in names:
            return self._source, place
        position = self._given.column("position")[row].as_py() if "position" in names else None
        return self._given.column("origin")[
            row
        ].as_py() or self._source, place if position is None else position


def carried_by(rows: pa.RecordBatch, row: int) -> dict[str, str] | None:
    """The columns that a row carries for the user; None if none are asked for."""
    if "carried" not in rows.schema.names:
        return None
    found: dict[str, str] = json.loads(rows.column("carried")[row].as_py())
    return found


def graph_texts(rows: pa.RecordBatch) -> list[str]:
    """What rows of events say: values as they are, triples as N-Quads."""
    if "triples" not in rows.schema.names:
        values = rows.column("value").to_pylist()
        return [each if isinstance(each, str) else each.decode("utf-8", "replace") for each in values]
    names: list[str | None] = [None] * rows.num_rows
    if "graph" in rows.schema.names:
        names = rows.column("graph").to_pylist()
    return [
        "".join(f"{' '.join(triple.values())} {f'{name} ' if name else ''}.\n" for triple in graph)
        for graph, name in zip(rows.column("triples").to_pylist(), names, strict=True)
    ]


def canonical_term(text: str) -> str:
    """The canonical N-Triples text of a term; a `ValueError` says what is wrong with it."""
    found = _PLAIN.fullmatch(text)
    if text and found is not None and not text.endswith(_PARSED):
        with suppress(ValueError):  # the parser says what is wrong
            if found[1] is not None:
                NamedNode(found[1])
            return text
    return str(_parsed(text))


def _parsed(text: str) -> Term:
    try:
        quads = list(parse(f"<urn:s> <urn:p> {text} .".encode(), format=RdfFormat.N_TRIPLES))
    except SyntaxError as error:
        raise ValueError(f"`{excerpt(text)}` is not a term in N-Triples syntax: {error.msg}") from None
    if len(quads) != 1 or isinstance(quads[0].object, Triple):
        raise ValueError(f"`{excerpt(text)}` is not one RDF term")
    term: Term = quads[0].object
    return term
