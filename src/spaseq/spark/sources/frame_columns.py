"""The columns of an events DataFrame that matter, in the types in which tasks read them (docs/how-to/use-spark.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from spaseq.errors import InvalidArgument, listed
from spaseq.spark.schemas import TRIPLES
from spaseq.spark.sources.graph_values import checked_syntax

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KAFKA: Final = ("topic", "partition")
_TIMES: Final = (TimestampType, TimestampNTZType)
_TRIPLE: Final = ("s", "p", "o")
_FIELDS: Final = (_TRIPLE, ("subject", "predicate", "object"), ("_1", "_2", "_3"))
"""What the terms of a triple are called; the last are the names that Spark gives to tuples."""


class FrameColumns:
    """The columns of a DataFrame by name, whatever the case if the session does not tell cases apart."""

    def __init__(self, frame: DataFrame) -> None:
        strict = str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
        self._key: Callable[[str], str] = str if strict else str.lower
        self._fields: dict[str, StructField] = {self._key(each.name): each for each in frame.schema.fields}

    def __contains__(self, name: str) -> bool:
        return self._key(name) in self._fields

    def __getitem__(self, name: str) -> Column:
        """A column; a dot in its name is not that of a field."""
        return F.col("`" + name.replace("`", "``") + "`")

    def kind(self, name: str) -> DataType:
        """The type of a column."""
        return self._fields[self._key(name)].dataType

    def check(self, option: str, names: Iterable[str]) -> None:
        """Refuse names in an option that are none of these."""
        missing = [name for name in names if name not in self]
        if missing:
            raise InvalidArgument(
                f"{option}= names {listed(missing)}, which the DataFrame does not have; its columns are {self}"
            )

    def typed(self, name: str, *kinds: type[DataType]) -> Column:
        """A column that has one of these types, or that is NULL throughout."""
        check_kind(name, self.kind(name), *kinds)
        return self[name]

    def __str__(self) -> str:
        return ", ".join(each.name for each in self._fields.values())


def check_kind(name: str, kind: DataType, *kinds: type[DataType]) -> None:
    """Refuse a column that has none of these types; one that is NULL throughout has any."""
    if not isinstance(kind, (*kinds, NullType)):
        wanted = " or ".join(each.typeName() for each in kinds)
        raise InvalidArgument(f"the column `{name}` must be a {wanted}, not {kind.simpleString()}")


def triple_fields(kind: DataType, key: Callable[[str], str] = str.lower) -> tuple[str, ...]:
    """What the subject, the predicate and the object are called in a column ``triples`` of this type: they may stand in any order."""
    inner = kind.elementType if isinstance(kind, ArrayType) else None
    names = {key(each): each for each in inner.names} if isinstance(inner, StructType) else {}
    for known in _FIELDS:
        if names.keys() >= set(known):
            return tuple(names[each] for each in known)
    raise InvalidArgument(
        f"the column `triples` must be an array<struct<s:string,p:string,o:string>>, not {kind.simpleString()}"
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What a user says of the rows: the syntax of values, columns that are carried, and those that tell sources apart."""

    format: str | None = None
    carry: Sequence[str] = ()
    watermark_by: str | Sequence[str] | None = None


def event_columns_of(frame: DataFrame, told: Told, *, with_stream: bool) -> tuple[DataFrame, str | None]:
    """The columns of an events DataFrame that matter, times in microseconds, and the syntax of its values."""
    known = FrameColumns(frame)
    columns = [_time(known, name) for name in ("time", "start") if name in known]
    payload, syntax = _payload(known, told)
    columns += payload
    if "promise" in known:
        columns.append(known.typed("promise", BooleanType).cast("boolean").alias("promise"))
    if with_stream:
        columns.append(known.typed("stream", StringType).cast("string").alias("stream"))
    if frame.isStreaming:
        # Spark notes the clock of a micro-batch before it runs, so one that is repeated has the same.
        columns.append(F.unix_micros(F.current_timestamp()).alias("clock"))
        if wanted := _told_apart(known, told):
            columns.append(_label(known, wanted).alias("part"))
    if told.carry:
        known.check("carry", told.carry)
        kept = [known[name].cast("string").alias(name) for name in told.carry]
        columns.append(F.to_json(F.struct(*kept)).alias("carried"))
    return frame.select(*columns, *_origin(known)), syntax


def told_apart_by(frame: DataFrame, told: Told) -> tuple[str, ...]:
    """The columns that name the sources of a stream, each of which has a watermark of its own; none if the stream has one."""
    return _told_apart(FrameColumns(frame), told)


def _time(known: FrameColumns, name: str) -> Column:
    kind = known.kind(name)
    if not isinstance(kind, (*_TIMES, NullType)):
        raise InvalidArgument(
            f"the column `{name}` must be a timestamp, not {kind.simpleString()}; make one of epoch seconds with "
            f'F.timestamp_seconds("{name}"), of milliseconds with F.timestamp_millis("{name}")'
        )
    # One without time zone is taken as Spark casts it: in that of the session.
    return F.unix_micros(known[name].cast(TimestampType())).alias(name)


def _payload(known: FrameColumns, told: Told) -> tuple[list[Column], str | None]:
    """The graphs of the rows, and the syntax if they are texts."""
    if "triples" in known:
        if "time" not in known:
            raise InvalidArgument("an events DataFrame with `triples` needs a column `time`")
        columns = [_triples(known).alias("triples")]
        if "graph" in known:
            columns.append(known.typed("graph", StringType).cast("string").alias("graph"))
        return columns, None
    if "value" in known:
        syntax = checked_syntax(told.format, timed="time" in known)
        # As bytes: what Spark takes for a text need not be UTF-8, and is bad input then.
        return [known.typed("value", StringType, BinaryType).cast("binary").alias("value")], syntax
    raise InvalidArgument(f"an events DataFrame has `time` and `triples` or `value`; this one has {known}")


def _triples(known: FrameColumns) -> Column:
    kind = known.kind("triples")
    if isinstance(kind, NullType) or kind.simpleString() == TRIPLES.simpleString():
        return known["triples"].cast(TRIPLES)
    # A cast would take the fields in their order, and Spark sorts those of JSON by name.
    own = triple_fields(kind)

    def named(triple: Column) -> Column:
        fields = zip(own, _TRIPLE, strict=True)
        return F.struct(*(triple.getField(each).cast("string").alias(name) for each, name in fields))

    return F.transform(known["triples"], named)


def _told_apart(known: FrameColumns, told: Told) -> tuple[str, ...]:
    by = told.watermark_by
    if by is None:
        return KAFKA if all(name in known for name in KAFKA) else ()
    wanted = (by,) if isinstance(by, str) else tuple(by)
    known.check("watermark_by", wanted)
    return wanted


def _origin(known: FrameColumns) -> list[Column]:
    """Where rows come from, for reports: a partition of Kafka and the offset, or a file and the line."""
    for names, position in ((KAFKA, "offset"), (("source",), "position")):
        if all(name in known for name in names):
            found = [_label(known, names).alias("origin")]
            if position in known:  # it may be another thing of this name
                found.append(known[position].cast("string").try_cast("bigint").alias("position"))
            return found
    return []


def _label(known: FrameColumns, names: tuple[str, ...]) -> Column:
    return F.concat_ws("/", *(known[name].cast("string") for name in names))
