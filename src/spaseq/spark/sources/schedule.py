"""The schedule of a finite input that is to be read in micro-batches, whatever its order.

A first pass over the files finds when the events of every part are. Parts are then read in order of their
earliest event, and after each micro-batch every stream can promise the least time that is still to come. So
nothing is late, whatever the order of the files, and memory holds what overlaps. An input that one micro-batch
holds needs none of that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa

from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_sources
from spaseq.io.sources import Source
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import settings
from spaseq.spark.sources.event_files import cut_into_parts, part_size
from spaseq.spark.sources.splits import Split
from spaseq.spark.spark_session import parallel_tasks
from spaseq.stores import StoreAccess

AnySource = TypeVar("AnySource", bound=Source)

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file with the times of its events; ``first`` is None without events."""

    stream: str
    split: Split
    size: int
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What a micro-batch reads, by stream, and what each stream then promises; None that it has ended."""

    parts: Mapping[str, tuple[Split, ...]]
    promises: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Schedule:
    """All micro-batches of a finite input."""

    batches: tuple[Batch, ...]

    def with_absolute_paths(self) -> Schedule:
        """For workers, whose working directory is another one; messages name files as they were given."""
        return Schedule(
            tuple(
                replace(batch, parts={iri: tuple(map(absolute, parts)) for iri, parts in batch.parts.items()})
                for batch in self.batches
            )
        )

    def save(self, path: Path) -> None:
        """Write it so that a crash leaves all of it or nothing."""
        batches = [
            {
                "parts": {iri: [split.to_list() for split in splits] for iri, splits in batch.parts.items()},
                "promises": batch.promises,
            }
            for batch in self.batches
        ]
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(json.dumps({"batches": batches}), encoding="utf-8")
        fresh.replace(path)

    @staticmethod
    def load(path: Path, predicate: str) -> Schedule:
        """Read it again."""
        saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        batches = tuple(
            Batch(
                {
                    iri: tuple(Split.from_list(saved, predicate) for saved in splits)
                    for iri, splits in batch["parts"].items()
                },
                batch["promises"],
            )
            for batch in saved["batches"]
        )
        return Schedule(batches)


def absolute(source: AnySource) -> AnySource:
    """A file by its whole path, under its own name."""
    return replace(source, path=source.path.absolute(), shown=source.shown or str(source.path))


def make_schedule(
    spark: SparkSession, inputs: Mapping[str, Sequence[Source]], options: ReadOptions
) -> Schedule:
    """Put the parts of the files of every stream in order; workers survey them unless one micro-batch holds all."""
    whole = [
        (iri, Split.whole_of(source, options.timestamp_predicate))
        for iri, sources in inputs.items()
        for source in sources
    ]
    cores = parallel_tasks(spark)
    total = sum(split.size for _, split in whole)
    # A few seconds of work, which a crash may cost.
    size = settings().micro_batch_bytes * cores
    part_bytes = part_size(total, cores) if total <= size else settings().scheduled_part_bytes
    wanted = [
        Part(iri, replace(part, order=order), length)
        for order, (iri, part, length) in enumerate(
            (iri, *cut) for iri, split in whole for cut in cut_into_parts(split, part_bytes, options)
        )
    ]
    # Files may have grown since they were first looked at.
    alone = sum(part.size for part in wanted) <= size
    known = wanted if alone else _surveyed(spark, wanted, options)
    return Schedule(tuple(cut_into_batches(known, list(inputs), size)))


def _surveyed(spark: SparkSession, wanted: Sequence[Part], options: ReadOptions) -> list[Part]:
    """The parts with the times of their earliest events, which workers find."""
    # Small files are surveyed together: a task costs more than they do.
    tasks = math.ceil(sum(part.size for part in wanted) / settings().scheduled_part_bytes)
    tasks = min(len(wanted), max(tasks, settings().tasks_per_core * parallel_tasks(spark)))
    frame = spark.range(0, len(wanted), 1, tasks)
    # Sent to every worker once: in the function they would be sent with every task.
    texts = spark.sparkContext.broadcast([json.dumps(part.split.to_list()) for part in wanted])
    found = frame.mapInArrow(_Survey(texts, options), "number bigint, first bigint").collect()
    first = dict(cast("list[tuple[int, int | None]]", found))
    return [replace(part, first=first[number]) for number, part in enumerate(wanted)]


def cut_into_batches(known: Sequence[Part], streams: Sequence[str], size: int) -> Iterator[Batch]:
    """Micro-batches in order of time, all of about the same size, which is not much over this.

    A small one at the end would cost nearly as much as any other.
    """
    # Parts without events are read as well: they may hold bad input.
    ordered = sorted(known, key=lambda part: (part.first is None, part.first or 0))
    left = sum(part.size for part in ordered)
    groups: list[list[Part]] = []
    filled, share = 0, 0.0
    for part in ordered:
        if not groups or filled + part.size / 2 > share:
            groups.append([])
            filled, share = 0, left / max(1, math.ceil(left / size))
        groups[-1].append(part)
        filled += part.size
        left -= part.size
    promises: list[dict[str, int | None]] = [dict.fromkeys(streams)]
    for group in reversed(groups[1:]):
        # Parts are in order, so the first one of a stream is its earliest.
        firsts = {part.stream: part.first for part in reversed(group) if part.first is not None}
        promises.append({**promises[-1], **firsts})
    for group, promised in zip(groups, reversed(promises), strict=False):
        yield Batch(
            {iri: tuple(part.split for part in group if part.stream == iri) for iri in streams}, promised
        )


class _Survey:
    """The earliest event of every part, on a worker."""

    def __init__(self, texts: Broadcast[list[str]], options: ReadOptions) -> None:
        self._texts = texts
        self._access = StoreAccess()  # a worker that unpickles it reaches the stores
        # With no predicate needed, a reader only cuts lines and reads timestamps.
        self._options = replace(
            options,
            needed_predicates=frozenset(),
            keep_names=False,
            judged_bytes=settings().judged_bytes,
        )

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            firsts = [self._first(self._texts.value[number]) for number in numbers]
            arrays = [pa.array(numbers, pa.int64()), pa.array(firsts, pa.int64())]
            yield pa.RecordBatch.from_arrays(arrays, names=["number", "first"])

    def _first(self, text: str) -> int | None:
        split = Split.from_list(json.loads(text), self._options.timestamp_predicate)
        events = read_sources([split], "", 0, TermDictionary(), self._options, _pass_over)
        return min((int(batch.times.min()) for batch in events if len(batch)), default=None)


def _pass_over(bad: BadInput) -> None:
    """Bad input is reported when events are read for good."""
