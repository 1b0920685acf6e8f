"""DISTINCT and ASK over all buckets together (SEMANTICS 1.9, 1.10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from spaseq.spark.job import Job

ORDER: Final = ("equal", "time", "start")


def first_of_equals(answers: DataFrame, job: Job, columns: StructType, *, streaming: bool) -> DataFrame:
    """Of equal answers the one with the earliest start, of an ASK the first of all; others as they are.

    All buckets go by the same watermark, so equal answers of an endless input come in one micro-batch, and what is
    compared needs no memory.
    """
    together = answers.repartitionById(job.buckets, "spread")
    if streaming:
        return together.mapInArrow(_SortedFirst(), columns)
    order = [name for name in ORDER if name in ("equal", *columns.names)]
    return together.sortWithinPartitions(*order).mapInArrow(FirstOfEquals(), columns)


class _SortedFirst:
    """`FirstOfEquals` for rows that Spark will not sort: those of a micro-batch."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = list(batches)
        if known:
            table = pa.Table.from_batches(known)
            order = [(name, "ascending") for name in ORDER if name in table.schema.names]
            yield from FirstOfEquals()(table.sort_by(order).to_batches())


class FirstOfEquals:
    """Passes on the first of every run of rows that are equal; rows that say nothing about it, all."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        last: str | None = None
        for batch in batches:
            equal = batch.column("equal").to_pylist()
            keep = []
            for text in equal:
                keep.append(text is None or text != last)
                last = text
            yield batch.drop_columns(["spread", "equal"]).filter(pa.array(keep, pa.bool_()))
