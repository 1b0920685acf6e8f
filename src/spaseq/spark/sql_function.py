"""``spaseq_match``: a query as a table function of SQL (docs/how-to/use-spark.md).

The function gets the rows of its table one by one, in order of time, and hands them to the engine of one process: for
queries in notebooks and reports. `match` spreads the work over the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyoxigraph import Triple
from pyspark.sql import Row
from pyspark.sql.functions import udtf
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, SelectedColumn

from spaseq.errors import InvalidArgument
from spaseq.io.bad_input import BadInput, BadInputError
from spaseq.io.options import ReadOptions
from spaseq.model.events import GraphEvent
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.terms import RELATIVE, term_of
from spaseq.settings import settings
from spaseq.spark.schemas import ARROW_TRIPLES, answer_columns
from spaseq.spark.sources.frame_columns import check_kind, triple_fields

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spaseq.model.batch import EventBatch
    from spaseq.model.dictionary import TermDictionary
    from spaseq.model.matches import Match

NAME: Final = "spaseq_match"


def register_function(spark: SparkSession) -> None:
    """Let SQL of this session know ``spaseq_match(TABLE(events), 'query', 'syntax of values')``."""
    spark.udtf.register(NAME, udtf(SpaseqMatch))  # type: ignore[arg-type]


class SpaseqMatch:
    """Answers a query over a table of events: the columns of `match`, in order of time.

    The table has ``time`` and ``triples`` or ``value`` as for `match`, perhaps ``graph``, ``start`` and ``promise``, and ``stream`` if the
    query declares several. The third argument is the syntax of ``value``; by default it is Turtle. A row that is no event ends
    the query, as it does by default for `match`.
    """

    def __init__(self) -> None:
        self._engine: Any = None
        self._waiting: list[Row] = []
        self._read = 0

    @staticmethod
    def analyze(
        table: AnalyzeArgument, query: AnalyzeArgument, syntax: AnalyzeArgument | None = None
    ) -> AnalyzeResult:
        """The columns of the answers; the rows are to come together and in order."""
        from spaseq.planner.compiled import compile_query
        from spaseq.spark.sources.graph_values import checked_syntax

        columns = table.dataType if table.isTable else None
        if not isinstance(columns, StructType):
            raise InvalidArgument(f"the first argument is a table: {NAME}(TABLE(events), 'SELECT …')")
        if not isinstance(query.value, str) or (syntax is not None and not isinstance(syntax.value, str)):
            raise InvalidArgument(f"the query of {NAME}, and the syntax of values, are constant texts")
        # As SQL knows names; where a session tells cases apart, a column of exactly this name goes before others, and Spark
        # refuses others in place of one that may be missing: it could be something else.
        fields = sorted(columns.fields, key=lambda field: field.name == field.name.lower())
        named = {field.name.lower(): field.name for field in fields}
        named |= {name: name for name in named if name not in _NEEDED}
        known = {field.name.lower(): field.dataType for field in fields}
        if not isinstance(known.get("time"), _TIMES) or not {"triples", "value"} & set(known):
            raise InvalidArgument(
                f"a table of events has a timestamp `time` and `triples` or `value`; this one has {', '.join(known)}"
            )
        if "triples" not in known and syntax is not None:
            checked_syntax(syntax.value, timed=True)
        compiled = compile_query(query.value)
        if len(compiled.streams) > 1 and "stream" not in known:
            raise InvalidArgument("the query declares several streams: the table needs a column `stream`")
        if graphs := compiled.knowledge[0]:
            raise InvalidArgument(
                f"the query reads the background graph <{graphs[0].removeprefix(RELATIVE)}>, and {NAME} has none: use "
                "sps.match(query, streams, knowledge={…})"
            )
        found = answer_columns(compiled.form, provenance=False)
        answered = [StructField(field.name, field.dataType) for field in found.fields]
        quoted = {name: f"`{own}`" for name, own in named.items()}
        taken = [SelectedColumn(text.format(**quoted), name) for name, text in _taken(known).items()]
        order = [OrderingColumn(_ORDER.format(**quoted))]
        return AnalyzeResult(StructType(answered), withSinglePartition=True, orderBy=order, select=taken)

    def eval(self, table: Row, query: str, syntax: str = "turtle") -> Iterator[tuple[Any, ...]]:
        """The answers that became certain with a row of the table and those before it."""
        if self._engine is None:
            self._begin(table, query, syntax)
        self._waiting.append(table)
        if len(self._waiting) >= settings().arrow_rows:
            yield from self._work()

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """The answers that are certain at the end."""
        if self._engine is not None:
            yield from self._work()
            yield from map(self._answer, self._engine.finish())

    def _begin(self, row: Row, query: str, syntax: str) -> None:
        import spaseq

        compiled = spaseq.compile(query)
        self._engine, self._form = spaseq.Engine(compiled), compiled.form
        self._streams = tuple(stream.iri for stream in compiled.streams)
        names = {name: place for place, stream in enumerate(compiled.streams) for name in stream.names}
        told = "stream" in row.__fields__ and EVERY_STREAM not in self._streams
        self._stream, self._syntax = names if told else 0, syntax

    def _work(self) -> Iterator[tuple[Any, ...]]:
        """The answers that became certain with the rows that wait."""
        from spaseq.model.dictionary import TermDictionary
        from spaseq.spark.sources.event_rows import EventRows

        # The engine has its own dictionary and forgets terms; this one goes with its rows.
        terms, found = TermDictionary(), list[tuple[int, GraphEvent]]()
        rows = EventRows(
            self._streams, self._stream, self._syntax, terms, ReadOptions(), _refuse, "the table"
        )
        rows.rows = self._read
        for events, places in rows.batches(_as_arrow(self._waiting)):
            found += zip(places.tolist(), self._events(events, terms), strict=True)
        self._read = rows.rows
        self._waiting.clear()
        found.sort(key=lambda each: each[0])
        yield from map(self._answer, self._engine.push([event for _, event in found]))

    def _events(self, batch: EventBatch, terms: TermDictionary) -> Iterator[GraphEvent]:
        """The events of a batch as the engine takes them."""
        from spaseq.spark.shuffle.arrow_terms import as_written

        ids = (batch.subjects, batch.predicates, batch.objects)
        columns = [list(map(term_of, as_written(terms, each).to_pylist())) for each in ids]
        triples = [Triple(*each) for each in zip(*columns, strict=True)]
        for event, time in enumerate(batch.times.tolist()):
            own = frozenset(triples[int(batch.offsets[event]) : int(batch.offsets[event + 1])])
            name = int(batch.names[event])
            yield GraphEvent(
                self._streams[int(batch.streams[event])],
                time,
                own,
                term_of(terms.ntriples(name)) if name else None,
                start=None if batch.starts is None else int(batch.starts[event]),
            )

    def _answer(self, match: Match) -> tuple[Any, ...]:
        match self._form.kind:
            case "construct":
                texts = [(str(t.subject), str(t.predicate), str(t.object)) for t in match.triples or ()]
                return match.time, *([match.start] if self._form.lasting else []), texts
            case "ask":
                return match.time, match.start, match.boolean is not False
            case _:
                values = (match.bindings.get(name) for name in self._form.variables)
                return match.time, match.start, *(None if term is None else str(term) for term in values)


_NEEDED: Final = ("time", "triples", "value")
"""The columns without which a table is none of events."""
_TIMES: Final = (TimestampType, TimestampNTZType)
_ORDER: Final = "CAST({time} AS TIMESTAMP_LTZ)"
"""In what order rows come: that of instants, which times without zone do not have where clocks are put forward."""
_TAKEN: Final = {
    "time": f"unix_micros({_ORDER})",
    "start": "unix_micros(CAST({start} AS TIMESTAMP_LTZ))",
    "triples": "transform({triples}, t -> struct(CAST(t.`%s` AS STRING) AS s, CAST(t.`%s` AS STRING) AS p, CAST(t.`%s` AS STRING) AS o))",
    "graph": "CAST({graph} AS STRING)",
    "value": "CAST({value} AS BINARY)",
    "promise": "CAST({promise} AS BOOLEAN)",
    "stream": "CAST({stream} AS STRING)",
}
"""The columns that matter, as `match` takes them."""


_KINDS: Final = {
    "start": _TIMES,
    "promise": (BooleanType,),
    "value": (StringType, BinaryType),
    "stream": (StringType,),
}


def _taken(known: Mapping[str, DataType]) -> dict[str, str]:
    unread = {"value"} if "triples" in known else {"graph"}
    taken = {name: text for name, text in _TAKEN.items() if name in known and name not in unread}
    for name, kinds in _KINDS.items():
        if name in taken:
            check_kind(name, known[name], *kinds)
    if "triples" in taken:
        taken["triples"] %= triple_fields(known["triples"])
    return taken


def _as_arrow(rows: list[Row]) -> pa.RecordBatch:
    """Rows of a table as `EventRows` reads them."""
    names = rows[0].__fields__ if rows else []
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    if "triples" in columns:
        graphs = (graph and [triple and triple.asDict() for triple in graph] for graph in columns["triples"])
        columns["triples"] = tuple(graphs)
    kinds = {"time": pa.int64(), "start": pa.int64(), "promise": pa.bool_(), "triples": ARROW_TRIPLES}
    return pa.record_batch({name: pa.array(each, kinds.get(name)) for name, each in columns.items()})


def _refuse(bad: BadInput) -> None:
    cure = "leave the row out with WHERE, or use `match`, whose `on_bad_input` skips or keeps such rows"
    raise BadInputError(bad, cure=cure)
