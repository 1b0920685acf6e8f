"""The events of files as rows of a DataFrame: what `read_events` and ``format("rdf")`` give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType, TimestampType

from spaseq.io.bad_input import OnBad
from spaseq.io.growing import read_part
from spaseq.io.layouts import with_cure
from spaseq.io.options import ReadOptions
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import settings
from spaseq.spark.schemas import ARROW_TRIPLES, INSTANT, TRIPLES
from spaseq.spark.shuffle.arrow_terms import as_written
from spaseq.spark.sources.splits import Split, still_there
from spaseq.spark.sources.task_place import placed

if TYPE_CHECKING:
    from spaseq.model.batch import EventBatch
    from spaseq.spark.sources.event_files import EventFiles, Promise

EVENTS: Final = StructType(
    [
        StructField("time", TimestampType()),
        StructField("triples", TRIPLES),
        StructField("graph", StringType()),
        StructField("source", StringType()),
        StructField("position", LongType()),
        StructField("promise", BooleanType()),
    ]
)
"""What `read_events` and ``format("rdf")`` give: an events DataFrame, where each event comes from, and rows of a stream that
are no events but promises."""


def event_columns(options: ReadOptions) -> StructType:
    """The columns of events that are read so: with intervals also their starts."""
    begun = [StructField("start", TimestampType())] if options.ends is not None else []
    return StructType([*EVENTS.fields, *begun])


def event_rows(
    splits: Iterable[Split],
    files: EventFiles,
    bad: OnBad,
    columns: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """The events of some parts of files as rows, with some columns or all."""
    dictionary = TermDictionary()
    wanted = columns or event_columns(files.options).names
    options = replace(
        files.options,
        needed_predicates=None if "triples" in wanted else frozenset(),
        keep_names="graph" in wanted,
        judged_bytes=settings().judged_bytes,
    )
    for split in splits:
        with still_there(split.path):
            report = with_cure(placed(bad, split), files.cure(split))
            for events in read_part(split, split.begin, split.name, 0, dictionary, options, report):
                yield rows_of(files.wanted(events), dictionary, split, wanted)


def promise_row(promise: Promise, files: EventFiles, columns: Sequence[str] = ()) -> pa.RecordBatch:
    """The row that is no event but announces that nothing earlier will follow: its time, and no triples."""
    kinds = (ARROW_TRIPLES, pa.string(), pa.string(), pa.int64())
    arrays = [pa.array([promise.time], INSTANT), *(pa.nulls(1, kind) for kind in kinds), pa.array([True])]
    rows = pa.RecordBatch.from_arrays(arrays, names=EVENTS.names)
    rows = rows if files.options.ends is None else rows.append_column("start", pa.nulls(1, INSTANT))
    return rows.select(list(columns)) if columns else rows


def rows_of(
    events: EventBatch, dictionary: TermDictionary, split: Split, columns: Sequence[str] = EVENTS.names
) -> pa.RecordBatch:
    """Events of a part of a file as rows with these columns."""
    arrays = [_column(name, events, dictionary, split) for name in columns]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _column(name: str, events: EventBatch, dictionary: TermDictionary, split: Split) -> pa.Array:
    """One column of the rows of some events."""
    count = len(events)
    match name:
        case "time":
            return pa.array(events.times, INSTANT)
        case "start":
            return pa.nulls(count, INSTANT) if events.starts is None else pa.array(events.starts, INSTANT)
        case "triples":
            return _triples(events, dictionary)
        case "graph":
            return _graphs(events, dictionary)
        case "source":
            return pa.array([str(split.path)] * count, pa.string())
        case "position":
            # Which line of the file a part begins with is not worth reading all that is before it.
            known = events.positions is not None and split.counted
            return pa.array(events.positions, pa.int64()) if known else pa.nulls(count, pa.int64())
        case _:
            assert name == "promise", name
            return pa.repeat(pa.scalar(False), count)


def _triples(events: EventBatch, dictionary: TermDictionary) -> pa.Array:
    columns = [
        as_written(dictionary, ids).cast(pa.string())
        for ids in (events.subjects, events.predicates, events.objects)
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(ARROW_TRIPLES.value_type))
    return pa.ListArray.from_arrays(pa.array(events.offsets, pa.int32()), structs)


def _graphs(events: EventBatch, dictionary: TermDictionary) -> pa.Array:
    named = events.names > 0
    graphs = pa.nulls(len(events), pa.string())
    if not named.any():
        return graphs
    texts = as_written(dictionary, events.names[named]).cast(pa.string())
    return pa.compute.replace_with_mask(graphs, pa.array(named), texts)
