"""The columns that go between the stages, and those of the answers."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spaseq.model.forms import ResultForm

BLOCKS: Final = StructType(
    [
        StructField("query", IntegerType()),
        StructField("bucket", IntegerType()),
        StructField("first", LongType()),
        StructField("block", BinaryType()),
        StructField("events", LongType()),
        StructField("bad", LongType()),
    ]
)
"""What leaves the GPM stage: the block of a query for a bucket, and its earliest instant; what a task has counted."""

CONTROL: Final = -1
"""The number in place of a query's for rows that say how far the streams have come, and for counts."""
CLOCKS: Final = 1 << 24
"""The number in place of a query's for blocks that name all events, to decide which are late."""

ARROW_BLOCKS: Final = pa.schema(
    [
        ("query", pa.int32()),
        ("bucket", pa.int32()),
        ("first", pa.int64()),
        ("block", pa.binary()),
        ("events", pa.int64()),
        ("bad", pa.int64()),
    ]
)

INSTANT: Final = pa.timestamp("us", tz="UTC")

TRIPLES: Final = ArrayType(
    StructType(
        [StructField("s", StringType()), StructField("p", StringType()), StructField("o", StringType())]
    )
)
ARROW_TRIPLES: Final = pa.list_(pa.struct([("s", pa.string()), ("p", pa.string()), ("o", pa.string())]))

_EVENT = (
    StructField("step", StringType()),
    StructField("stream", StringType()),
    StructField("time", TimestampType()),
    StructField("graph", StringType()),
)
_CARRIED = StructField("carried", MapType(StringType(), StringType()))
"""Columns of the event's row that the user wants to see again."""

SPREAD: Final = "#spread"
EQUAL: Final = "#equal"
"""Columns beside those of variables, none of which has such a name."""

ROUTE: Final = (StructField(SPREAD, IntegerType()), StructField(EQUAL, StringType()))
"""Where the last stage compares an answer with others, and what makes two of them equal; null: nothing."""

_TIME = (StructField("time", TimestampType()), StructField("start", TimestampType()))


def _provenance(*, carried: bool) -> tuple[StructField, ...]:
    events = ArrayType(StructType([*_EVENT, *((_CARRIED,) if carried else ())]))
    return StructField("match", StringType()), StructField("events", events)


def answer_columns(form: ResultForm, *, provenance: bool, carried: bool = False) -> StructType:
    """The columns of one query's answers (docs/how-to/use-spark.md)."""
    more = _provenance(carried=carried) if provenance else ()
    match form.kind:
        case "select":
            names = column_names(list(form.variables), provenance=provenance)
            return StructType([*_TIME, *(StructField(name, StringType()) for name in names), *more])
        case "construct":
            times = _TIME if form.lasting else _TIME[:1]
            return StructType([*times, StructField("triples", TRIPLES), *more])
        case "ask":
            return StructType([*_TIME, StructField("boolean", BooleanType()), *more])


def all_answer_columns(*, provenance: bool, carried: bool = False) -> StructType:
    """The columns of the answers of several queries, whatever their forms."""
    return StructType(
        [
            StructField("query", StringType()),
            *_TIME,
            StructField("bindings", MapType(StringType(), StringType())),
            StructField("triples", TRIPLES),
            StructField("boolean", BooleanType()),
            *(_provenance(carried=carried) if provenance else ()),
        ]
    )


def column_names(variables: list[str], *, provenance: bool = False) -> list[str]:
    """The columns of selected variables; one that Spark could not distinguish from another keeps its ``?``.

    >>> column_names(["k", "K", "Time", "time"])
    ['k', '?K', '?Time', '??time']
    """
    taken = {"time", "start"} | ({"match", "events"} if provenance else set())
    names = []
    for name in variables:
        column = name
        while column.lower() in taken:
            column = f"?{column}"
        names.append(column)
        taken.add(column.lower())
    return names
