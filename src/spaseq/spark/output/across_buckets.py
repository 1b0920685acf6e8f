"""What is decided over all buckets together: DISTINCT, ASK and the numbers of equal matches (semantics 1.9, 1.10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import StructType

from spaseq.errors import LimitReached
from spaseq.model.forms import CountLimit
from spaseq.model.matches import match_identity
from spaseq.spark.schemas import EQUAL, SPREAD
from spaseq.temporal.instants import format_instant

ORDER: Final = (EQUAL, "time", "start", "match")
NUMBERED: Final = "="
"""How the column `EQUAL` begins for matches that are to be numbered, not dropped; their ``match`` is their key."""
COUNTED: Final = "#"
"""How it begins for rows that are no answers: the number of a query, and an instant, at which ``start`` things were counted."""


def compared(
    answers: DataFrame,
    partitions: int,
    columns: StructType,
    limits: Sequence[CountLimit | None],
    *,
    streaming: bool,
) -> DataFrame:
    """Of equal answers the one with the earliest start, of an ASK the first of all; others as they are.

    Where starts are equal the least identity decides, if there are any. Matches whose equals may lie in other buckets
    get their numbers here. What queries count is added up, and more than their limits allow ends the run. All buckets go by the same watermark, so equal answers of an endless input come in one
    micro-batch, and what is compared needs no memory.
    """
    together = answers.repartitionById(partitions, F.col(SPREAD) % partitions)
    if streaming:
        return together.mapInArrow(_SortedFirst(limits), columns)
    order = [name for name in ORDER if name in (EQUAL, *columns.names)]
    return together.sortWithinPartitions(*order).mapInArrow(FirstOfEqual(limits), columns)


class _SortedFirst:
    """`FirstOfEqual` for rows that Spark will not sort: those of a micro-batch."""

    def __init__(self, limits: Sequence[CountLimit | None]) -> None:
        self._limits = tuple(limits)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = list(batches)
        if known:
            table = pa.Table.from_batches(known)
            order = [(name, "ascending") for name in ORDER if name in table.schema.names]
            yield from FirstOfEqual(self._limits)(table.sort_by(order).to_batches())


class FirstOfEqual:
    """Passes on the first of every run of rows that are equal, numbers those that are to be numbered, and adds up counts."""

    def __init__(self, limits: Sequence[CountLimit | None] = ()) -> None:
        self._limits = tuple(limits)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        last: str | None = None
        number = total = 0
        for batch in batches:
            equal = batch.column(EQUAL).to_pylist()
            keep, numbers = [], []
            for row, text in enumerate(equal):
                number = number + 1 if text == last else 0
                if text is not None and text.startswith(COUNTED):
                    total = (total if number else 0) + batch.column("start")[row].value
                    self._check(text, total)
                numbered = text is not None and text.startswith(NUMBERED)
                counted = text is not None and text.startswith(COUNTED)
                keep.append(text is None or (number == 0 and not counted) or numbered)
                numbers.append(number if numbered else None)
                last = text
            yield (_numbered(batch, numbers).drop_columns([SPREAD, EQUAL]).filter(pa.array(keep, pa.bool_())))

    def _check(self, text: str, total: int) -> None:
        query, _, instant = text.removeprefix(COUNTED).partition(" ")
        limit = self._limits[int(query)]
        if limit is not None and total > limit.most:
            raise LimitReached(limit.error.replace("{instant}", format_instant(int(instant))))


def _numbered(batch: pa.RecordBatch, numbers: list[int | None]) -> pa.RecordBatch:
    """The rows with their identities in place of their keys, where they have a number."""
    if all(number is None for number in numbers):
        return batch
    keys = batch.column("match").to_pylist()
    found = [
        key if number is None else match_identity(bytes.fromhex(key), number)
        for key, number in zip(keys, numbers, strict=True)
    ]
    batch = _replaced(batch, "match", found)
    if "triples" not in batch.schema.names:
        return batch
    graphs = batch.column("triples").to_pylist()
    renamed = [
        _relabelled(graph, label_of(key), label_of(name)) if graph is not None and key != name else graph
        for graph, key, name in zip(graphs, keys, found, strict=True)
    ]
    return _replaced(batch, "triples", renamed)


def _replaced(batch: pa.RecordBatch, name: str, values: list[Any]) -> pa.RecordBatch:
    place = batch.schema.get_field_index(name)
    field = batch.schema.field(place)
    return batch.set_column(place, field, pa.array(values, field.type))


def label_of(identity: str) -> str:
    """What the blank nodes of a CONSTRUCT's graph are called after: the identity of the match, or its key."""
    return identity.rsplit(":", 1)[-1][:16]


def _relabelled(graph: list[dict[str, str]], old: str, new: str) -> list[dict[str, str]]:
    return [{place: _renamed(text, old, new) for place, text in triple.items()} for triple in graph]


def _renamed(text: str, old: str, new: str) -> str:
    suffix = f"-m{old}"
    return text.removesuffix(suffix) + f"-m{new}" if text.startswith("_:") and text.endswith(suffix) else text
