"""Answers as Arrow rows: terms in N-Triples syntax, instants in microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import Triple

from spaseq.model.dictionary import TermDictionary
from spaseq.model.matches import Numbering, match_identity
from spaseq.model.terms import term_of
from spaseq.operators.answers import Answers, answer_keys, constructed, solution_labels
from spaseq.operators.term_texts import texts_of
from spaseq.spark.job import Job, Task
from spaseq.spark.output.across_buckets import COUNTED, NUMBERED, label_of
from spaseq.spark.schemas import ARROW_TRIPLES, EQUAL, INSTANT, SPREAD
from spaseq.spark.shuffle.arrow_terms import shown, text_hash, without_place
from spaseq.spark.shuffle.carried import unpacked
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.temporal.instants import FOREVER

Longs = npt.NDArray[np.int64]

_FIELDS = [("step", pa.string()), ("stream", pa.string()), ("time", INSTANT), ("graph", pa.string())]
_EVENT = pa.list_(pa.struct(_FIELDS))
_CARRYING = pa.list_(pa.struct([*_FIELDS, ("carried", pa.map_(pa.string(), pa.string()))]))


class AnswerTaker(Protocol):
    """Takes the answers of one query in one bucket, in the order in which they are certain."""

    def take(self, answers: Answers, dictionary: TermDictionary) -> Iterator[pa.RecordBatch]:
        """What leaves the sequence stage for some answers."""
        ...

    def count(self, instants: Longs, many: Longs, dictionary: TermDictionary) -> Iterator[pa.RecordBatch]:
        """What leaves it for something that the query counts over all buckets."""
        ...

    def close(self) -> Iterator[pa.RecordBatch]:
        """What leaves it when there are no more."""
        ...


class TaskAnswers(Protocol):
    """Takes the answers of one task."""

    def taker(self, query: int, bucket: int) -> AnswerTaker:
        """What takes the answers of one query in one bucket."""
        ...

    def promise(self, time: int) -> Iterator[pa.RecordBatch]:
        """What says that no answer before a time will follow, if anybody asks; at the end of time, none at all."""
        ...

    def close(self) -> None:
        """Nothing follows."""
        ...


class AnswerForm(Protocol):
    """What becomes of answers: rows, or lines in files (`spaseq.spark.output.line_files.LineFiles`)."""

    def opened(self, job: Job, place: TaskPlace) -> TaskAnswers:
        """What takes the answers of one task."""
        ...


@dataclass(frozen=True, slots=True)
class RowForm:
    """Answers as rows.

    ``together`` gives the columns that all queries of a job share, otherwise those of this query alone. With ``promises`` graphs have a
    column ``promise``, and a row in which it is true says how far time has come.
    """

    together: bool
    promises: bool = False

    def opened(self, job: Job, place: TaskPlace) -> TaskRows:
        """What turns the answers of one task into rows."""
        return TaskRows(self, job, f"-b{place.batch}" if job.streaming else "")


@dataclass(frozen=True, slots=True)
class TaskRows:
    """Turns the answers of one task into rows; ``place`` makes labels of new blank nodes unique."""

    form: RowForm
    job: Job
    place: str

    def taker(self, query: int, bucket: int) -> AnswerRows:
        """What turns the answers of one query in one bucket into rows."""
        form = self.form
        return AnswerRows(self.job, query, bucket, self.place, together=form.together, promises=form.promises)

    def promise(self, time: int) -> Iterator[pa.RecordBatch]:
        """The row that promises that no graph before a time will follow."""
        if not self.form.promises:
            return
        job = self.job
        told = pa.array([None if time >= FOREVER else time], INSTANT)
        columns: dict[str, pa.Array] = {}
        if job.compares:
            columns |= {SPREAD: pa.array([0], pa.int32()), EQUAL: pa.nulls(1, pa.string())}
        columns |= {"time": told, **_start(job.tasks[0], pa.nulls(1, INSTANT))}
        columns["triples"] = pa.nulls(1, ARROW_TRIPLES)
        if job.provenance:
            events = pa.nulls(1, _CARRYING if job.carries else _EVENT)
            columns |= {"match": pa.nulls(1, pa.string()), "events": events}
        yield pa.RecordBatch.from_pydict({**columns, "promise": pa.array([True])})

    def close(self) -> None:
        """Rows have left as they came."""


def _start(task: Task, start: pa.Array) -> dict[str, pa.Array]:
    """The column of the starts of graphs, if they hold for an interval."""
    return {"start": start} if task.program.query.form.lasting else {}


class AnswerRows:
    """Turns the answers of one query in one bucket into rows; ``place`` makes labels of new blank nodes unique."""

    def __init__(
        self, job: Job, query: int, bucket: int, place: str, *, together: bool, promises: bool = False
    ) -> None:
        self._job, self._query, self._bucket, self._place = job, query, bucket, place
        self._task = job.tasks[query]
        self._together, self._promises = together, promises
        self._normal_text = self._task.program.query.normal_text if job.provenance else ""
        self._compares = job.compares
        self._numbered_later = job.numbers_at_the_end(self._task)
        self._serial = 0
        self._numbering = Numbering()

    def count(self, instants: Longs, many: Longs, dictionary: TermDictionary) -> Iterator[pa.RecordBatch]:
        """Rows that are no answers: an instant, and in place of its start how many there were."""
        nothing = np.zeros(len(instants), np.int32)
        columns = dict.fromkeys(self._task.program.answer_variables, nothing)
        yield self._rows(
            Answers(instants, many, columns, [], dictionary.generation), dictionary, counted=True
        )

    def take(self, answers: Answers, dictionary: TermDictionary) -> Iterator[pa.RecordBatch]:
        """The rows of some answers."""
        yield self._rows(answers, dictionary)
        self._serial += len(answers)

    def _rows(self, answers: Answers, dictionary: TermDictionary, *, counted: bool = False) -> pa.RecordBatch:
        dictionary.require(answers.generation)
        form = self._task.program.query.form.kind
        triples = None
        if form == "construct" and self._task.program.query.form.continuous:
            answers, identities, triples = self._evaluation_graphs(answers, dictionary)
        elif counted:
            identities = [""] * len(answers)
        else:
            identities = self._identities(answers, dictionary)
        time, start = pa.array(answers.time, INSTANT), pa.array(answers.start, INSTANT)
        columns: dict[str, pa.Array] = {}
        exact = {name: _texts(dictionary, ids) for name, ids in answers.columns.items()}
        texts = {name: shown(text) for name, text in exact.items()}
        if self._compares:
            columns |= self._route(answers, list(exact.values()), identities, counted=counted)
        if form == "construct" and triples is None:
            triples = self._triples(answers, dictionary, identities)
        truth = pa.array(answers.truths, pa.bool_())
        if self._together:
            columns["query"] = pa.array([self._task.name] * len(answers), pa.string())
            columns |= {"time": time, "start": start}
            columns["bindings"] = _maps(texts, len(answers), wanted=form == "select")
            columns["triples"] = triples if triples is not None else pa.nulls(len(answers), ARROW_TRIPLES)
            columns["boolean"] = truth if form == "ask" else pa.nulls(len(answers), pa.bool_())
        elif form == "construct":
            columns |= {"time": time, **_start(self._task, start), "triples": triples}
        else:
            columns |= {"time": time, "start": start}
            # Columns are found by place, so that no variable's name can get in the way of another column.
            columns |= {f"?{name}": text for name, text in texts.items()}
            if form == "ask":
                columns["boolean"] = truth
        if self._job.provenance:
            columns["match"] = pa.array(identities, pa.string())
            columns["events"] = self._events(answers, dictionary)
        if self._promises:
            columns["promise"] = pa.repeat(pa.scalar(False), len(answers))
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def close(self) -> Iterator[pa.RecordBatch]:
        """Nothing follows the last row."""
        yield from ()

    def _route(
        self, answers: Answers, texts: list[pa.Array], identities: list[str], *, counted: bool
    ) -> dict[str, pa.Array]:
        """Where equal answers, and the counts of one instant, meet; those that are not compared stay where they are."""
        if not counted and not self._task.is_distinct and not self._numbered_later:
            here = pa.array(np.full(len(answers), self._bucket, np.int32))
            return {SPREAD: here, EQUAL: pa.nulls(len(answers), pa.string())}
        if counted:
            equal = [f"{COUNTED}{self._query} {time}" for time in answers.time.tolist()]
        elif self._numbered_later:
            equal = [f"{NUMBERED}{key}" for key in identities]
        elif self._task.is_ask:
            equal = [f"{self._query}"] * len(answers)
        else:
            rows = zip(answers.time.tolist(), *(text.to_pylist() for text in texts), strict=True)
            equal = [f"{self._query} " + " ".join(str(cell) for cell in row) for row in rows]
        places = [text_hash(text.encode()) % self._job.buckets for text in equal]
        return {SPREAD: pa.array(places, pa.int32()), EQUAL: pa.array(equal, pa.string())}

    def _identities(self, answers: Answers, dictionary: TermDictionary) -> list[str]:
        """The identities of answers, or their keys if equal ones may lie elsewhere; those of an instant may come in pieces."""
        if not self._job.provenance:
            return []
        program = self._task.program
        keys = answer_keys(
            program, answers, self._normal_text, lambda term: without_place(dictionary.ntriples(term))
        )
        if self._numbered_later:
            return [key.hex() for key in keys]
        return [
            match_identity(key, self._numbering.next(time, key))
            for time, key in zip(answers.time.tolist(), keys, strict=True)
        ]

    def _events(self, answers: Answers, dictionary: TermDictionary) -> pa.Array:
        streams, carries = self._task.program.streams, self._job.carries
        rows = [
            [
                {
                    "step": step,
                    "stream": streams[stream],
                    "time": time,
                    **_named(graph, dictionary, carries=carries),
                }
                for step, stream, time, graph, _ in events
            ]
            for events in answers.events or [()] * len(answers)
        ]
        return pa.array(rows, _CARRYING if carries else _EVENT)

    def _triples(self, answers: Answers, dictionary: TermDictionary, identities: list[str]) -> pa.Array:
        graphs = [
            self._graph(answers, row, self._label(row, identities), dictionary) for row in range(len(answers))
        ]
        return pa.array([_written(graph) for graph in graphs], ARROW_TRIPLES)

    def _evaluation_graphs(
        self, answers: Answers, dictionary: TermDictionary
    ) -> tuple[Answers, list[str], pa.Array]:
        """One answer per evaluation of a continuous query, or per interval, whose graph is not empty: the template over all its solutions."""
        groups = answers.by_evaluation()
        first = answers.take(np.array([rows[0] for rows in groups], np.intp))
        identities = self._identities(first, dictionary)
        graphs = []
        for place, rows in enumerate(groups):
            label = self._label(place, identities)
            own = solution_labels(answers, rows, lambda term: without_place(dictionary.ntriples(term)))
            parts = [
                self._graph(answers, row, f"{label}-{each}", dictionary)
                for row, each in zip(rows.tolist(), own, strict=True)
            ]
            graphs.append(frozenset[Triple]().union(*parts))
        kept = [place for place, graph in enumerate(graphs) if graph]
        return (
            first.take(np.array(kept, np.intp)),
            [identities[place] for place in kept] if identities else [],
            pa.array([_written(graphs[place]) for place in kept], ARROW_TRIPLES),
        )

    def _label(self, row: int, identities: list[str]) -> str:
        """What keeps the blank nodes of a template apart."""
        if identities:
            return label_of(identities[row])
        return f"{self._query}-{self._bucket}-{self._serial + row}{self._place}"

    def _graph(self, answers: Answers, row: int, label: str, dictionary: TermDictionary) -> frozenset[Triple]:
        bindings = {
            name: term_of(without_place(dictionary.ntriples(int(ids[row]))))
            for name, ids in answers.columns.items()
            if ids[row]
        }
        return constructed(self._task.program, bindings, label)


def _named(name: int, dictionary: TermDictionary, *, carries: bool) -> dict[str, object]:
    """The name of an event, and what its row carries."""
    text = dictionary.ntriples(name) if name else None
    carried = None
    if carries and text is not None:
        text, carried = unpacked(text)
    graph = None if text is None else without_place(text)
    return {"graph": graph, "carried": list((carried or {}).items())} if carries else {"graph": graph}


def _written(graph: frozenset[Triple]) -> list[dict[str, str]]:
    return [{"s": str(t.subject), "p": str(t.predicate), "o": str(t.object)} for t in graph]


def _texts(dictionary: TermDictionary, ids: npt.NDArray[np.int32]) -> pa.Array:
    """The texts of a column; unbound is null."""
    bound = ids != 0
    if bound.all():
        return texts_of(dictionary, ids).cast(pa.string())
    texts = pa.nulls(len(ids), pa.string())
    if bound.any():
        texts = pc.replace_with_mask(
            texts, pa.array(bound), texts_of(dictionary, ids[bound]).cast(pa.string())
        )
    return texts


def _maps(texts: dict[str, pa.Array], count: int, *, wanted: bool) -> pa.Array:
    """A map per row from variables to terms; unbound ones are absent."""
    kind = pa.map_(pa.string(), pa.string())
    if not wanted:
        return pa.nulls(count, kind)
    lists = {name: text.to_pylist() for name, text in texts.items()}
    rows = [
        [(name, cells[row]) for name, cells in lists.items() if cells[row] is not None]
        for row in range(count)
    ]
    return pa.array(rows, kind)
