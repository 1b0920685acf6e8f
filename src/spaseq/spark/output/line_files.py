"""The lines of the output, made by the workers: files in order of time, which the driver merges.

Answers that leave as JSON lines need not be rows first. A worker writes those of a query in a bucket as they come,
which is in order of time; the driver looks at times and copies bytes. Where they are few, those of all buckets of a task leave in one
file, sorted by time: to make a file costs more than to fill it. Only when all is written does a list under the
task's name say which files count, so one that is done again, or was thought lost and goes on, leaves one whole set.

A file ends when it is large, and goes when its lines have been merged: the output grows by what the files give back, so
that lines take their place on the disk once, and in memory too.
"""

from __future__ import annotations

import json
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType

from spaseq.io.result_json import ColumnLines
from spaseq.model.dictionary import TermDictionary
from spaseq.operators.answers import Answers
from spaseq.settings import settings
from spaseq.spark.shared_folder import SharedFolder
from spaseq.spark.shuffle.arrow_terms import shown_ids
from spaseq.stores import Place, files_in, write_whole
from spaseq.temporal.instants import BEFORE_ALL

if TYPE_CHECKING:
    from spaseq.spark.job import Job
    from spaseq.spark.sources.task_place import TaskPlace

COUNTED: Final = StructType([StructField("lines", LongType())])
"""What is left of answers that were written: how many."""
AHEAD: Final = 2
"""Pieces that are made while one is written."""

_SCHEMA: Final = pa.schema([("time", pa.int64()), ("line", pa.large_binary())])


@dataclass(frozen=True, slots=True)
class LineFiles:
    """Where lines are written, and by which name each query goes in them; None where there is but one query."""

    folder: SharedFolder
    names: tuple[str | None, ...]

    def opened(self, job: Job, place: TaskPlace) -> TaskLines:  # noqa: ARG002
        """What writes the answers of one task."""
        return TaskLines(self.folder, place.name, self.names)


class TaskLines:
    """Writes the answers of one task: for every query in a bucket a sequence of files, or together with others if they are few."""

    def __init__(self, folder: SharedFolder, task: str, names: Sequence[str | None]) -> None:
        self._folder, self._task, self._names = folder, task, names
        self._attempt = uuid.uuid4().hex
        self._few: dict[int, list[pa.RecordBatch]] = {}
        self._size = 0
        self._files = 0
        self._lines = 0
        self._sequences: list[tuple[int, list[str]]] = []

    def taker(self, query: int, bucket: int) -> AnswerLines:  # noqa: ARG002
        """What takes the answers of one query in one bucket."""
        return AnswerLines(self, query, self._names[query])

    def promise(self, time: int) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Nobody waits for lines."""
        yield from ()

    def write(self, query: int, batches: Iterable[pa.RecordBatch]) -> str:
        """A new file with these lines of a query, which are in order of time; its name."""
        name = f"{self._task}-{query:05d}-{self._attempt}-{self._files}.arrow"
        self._files += 1
        with (self._folder.checked() / name).open("wb") as out, pa.ipc.new_file(out, _SCHEMA) as writer:
            for batch in batches:
                writer.write_batch(batch)
                self._lines += len(batch)
        return name

    def add(self, query: int, files: list[str]) -> None:
        """Note files of a query that follow each other in time."""
        self._sequences.append((query, files))

    def collect(self, query: int, batches: list[pa.RecordBatch], size: int) -> None:
        """Take lines of a query that are too few for a file of their own."""
        self._few.setdefault(query, []).extend(batches)
        self._size += size
        if self._size >= settings().line_file_bytes:
            self._write_few()

    def close(self) -> None:
        """Nothing follows: the files may be seen."""
        self._write_few()
        if self._sequences:
            known = {"lines": self._lines, "sequences": self._sequences}
            write_whole(self._folder.checked() / f"{self._task}.json", json.dumps(known))

    def _write_few(self) -> None:
        for query, batches in self._few.items():
            together = pa.concat_batches(batches)
            order = pa.array(np.argsort(_times(together), kind="stable"))
            size = settings().line_piece
            pieces = (together.take(order.slice(at, size)) for at in range(0, len(order), size))
            self.add(query, [self.write(query, pieces)])
        self._few, self._size = {}, 0


class AnswerLines:
    """Takes the answers of one query in one bucket, in sequences: each holds what comes in order of time."""

    def __init__(self, task: TaskLines, query: int, name: str | None) -> None:
        self._task, self._query, self._name = task, query, name
        self._lines: ColumnLines | None = None
        self._batches: list[pa.RecordBatch] = []
        self._size = 0
        self._files: list[str] = []
        self._last = BEFORE_ALL
        self._count = 0

    def take(self, answers: Answers, dictionary: TermDictionary) -> Iterator[pa.RecordBatch]:
        """Write some answers; nothing is left to hand on."""
        dictionary.require(answers.generation)
        if self._lines is None:
            self._lines = ColumnLines(dictionary)
        order = np.argsort(answers.time, kind="stable")
        ordered = answers.take(order) if (np.diff(order) < 0).any() else answers
        if int(ordered.time[0]) < self._last:
            self._end()
        size = settings().line_piece
        for at in range(0, len(ordered), size):
            self._add(ordered.take(np.arange(at, min(at + size, len(ordered)))), dictionary, self._lines)
        self._last = int(ordered.time[-1])
        self._count += len(ordered)
        yield from ()

    def count(self, *_: object) -> Iterator[pa.RecordBatch]:
        """What is counted over all buckets goes with rows."""
        raise AssertionError("answers of a query that counts are rows")

    def close(self) -> Iterator[pa.RecordBatch]:
        """Nothing follows."""
        self._end()
        yield pa.RecordBatch.from_arrays([pa.array([self._count], pa.int64())], names=COUNTED.names)

    def _add(self, answers: Answers, dictionary: TermDictionary, lines: ColumnLines) -> None:
        columns = [(name, shown_ids(dictionary, ids)) for name, ids in answers.columns.items()]
        text, ends = lines.lines(
            answers.time, answers.start, columns, generation=answers.generation, query=self._name
        )
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        arrays = [
            pa.array(answers.time),
            pa.LargeBinaryArray.from_buffers(
                pa.large_binary(), len(answers), [None, pa.py_buffer(offsets), pa.py_buffer(text)]
            ),
        ]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA))
        self._size += len(text)
        if self._size >= settings().line_file_bytes:
            self._write()

    def _write(self) -> None:
        self._files.append(self._task.write(self._query, self._batches))
        self._batches, self._size = [], 0

    def _end(self) -> None:
        """What follows is earlier, or nothing."""
        if self._files:
            if self._batches:
                self._write()
            self._task.add(self._query, self._files)
        elif self._batches:
            self._task.collect(self._query, self._batches, self._size)
        self._batches, self._size, self._files = [], 0, []


# --- the driver's side ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines, all of them in order of time and after those before, and how many are which query's."""

    text: pa.Buffer
    counts: dict[int, int]


def _lists(folder: Place) -> list[dict[str, Any]]:
    """What the tasks say that they have written."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in files_in(folder, "*.json")]


def written_lines(folder: Place) -> int:
    """How many lines there are, by the lists of the tasks."""
    return sum(known["lines"] for known in _lists(folder))


def merged_lines(folder: Place) -> Iterator[Piece]:
    """All lines by time, of one instant by task; the next pieces are made while one is used, and files used up go."""
    with ThreadPoolExecutor(AHEAD) as others:
        coming: deque[tuple[Future[pa.Buffer], dict[int, int]]] = deque()
        for batches, counts in _pieces(folder):
            coming.append((others.submit(_in_order, batches), counts))
            if len(coming) > AHEAD:
                text, known = coming.popleft()
                yield Piece(text.result(), known)
        for text, known in coming:
            yield Piece(text.result(), known)


def _pieces(folder: Place) -> Iterator[tuple[list[pa.RecordBatch], dict[int, int]]]:
    """Lines of several files that belong between the same two instants, and how many are which query's."""
    sequences = [
        _Sequence(query, [folder / name for name in names])
        for each in _lists(folder)
        for query, names in each["sequences"]
    ]
    while sequences := [sequence for sequence in sequences if sequence.more]:
        limit = min(sequence.last for sequence in sequences)
        taken = [(sequence, sequence.up_to(limit)) for sequence in sequences]
        counts: dict[int, int] = {}
        for sequence, batch in taken:
            counts[sequence.query] = counts.get(sequence.query, 0) + len(batch)
        yield [batch for _, batch in taken if len(batch)], counts


class _Sequence:
    """Files of lines that follow each other in time, batch by batch."""

    def __init__(self, query: int, paths: Sequence[Place]) -> None:
        self.query = query
        self._batches = _batches(paths)
        self._next()

    def _next(self) -> None:
        batch = next(self._batches, None)
        self.more = batch is not None
        if batch is not None:
            self._batch, self._times = batch, _times(batch)

    @property
    def last(self) -> int:
        """The time of the last line of this batch."""
        return int(self._times[-1])

    def up_to(self, limit: int) -> pa.RecordBatch:
        """The lines of this batch up to a time; a batch that is used up is replaced by the next."""
        count = int(np.searchsorted(self._times, limit, "right"))
        found = self._batch.slice(0, count)
        self._batch, self._times = self._batch.slice(count), self._times[count:]
        if not len(self._times):
            self._next()
        return found


def _batches(paths: Sequence[Place]) -> Iterator[pa.RecordBatch]:
    """What stands in files; each goes after its last batch, or with the folder if the system keeps files that are read."""
    for path in paths:
        mapped = pa.memory_map(str(path)) if isinstance(path, Path) else path.open("rb")
        reader = pa.ipc.open_file(mapped)
        yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
        with suppress(OSError):
            path.unlink()


def _times(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    times: npt.NDArray[np.int64] = batch.column("time").to_numpy()
    return times


def _in_order(batches: Sequence[pa.RecordBatch]) -> pa.Buffer:
    """The bytes of all lines by time."""
    lines = batches[0].column("line")
    if len(batches) > 1:
        order = np.argsort(np.concatenate([_times(batch) for batch in batches]), kind="stable")
        lines = pa.concat_arrays([batch.column("line") for batch in batches]).take(pa.array(order))
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return data[int(ends[0]) : int(ends[-1])]
