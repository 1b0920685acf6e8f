"""``spaseq_match``: a query as a table function of SQL (docs/how-to/use-spark.md).

The function gets the rows of its table one by one, in order of time, and hands them to the engine of one process: for
queries in notebooks and reports. `match` spreads the work over the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Row
from pyspark.sql.functions import udtf
from pyspark.sql.types import StructField, StructType, TimestampType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn

from spaseq.errors import InvalidArgument
from spaseq.spark.schemas import answer_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spaseq.model.matches import Match

NAME: Final = "spaseq_match"


def register_function(spark: SparkSession) -> None:
    """Let SQL of this session know ``spaseq_match(TABLE(events), 'query', 'syntax of values')``."""
    spark.udtf.register(NAME, udtf(SpaseqMatch))  # type: ignore[arg-type]


class SpaseqMatch:
    """Answers a query over a table of events: the columns of `match`, in order of time.

    The table has ``time`` and ``triples`` or ``value`` as for `match`, and ``stream`` if the query declares several. The third
    argument is the syntax of ``value``; by default it is Turtle.
    """

    def __init__(self) -> None:
        self._engine: Any = None
        self._columns: tuple[str, ...] = ()
        self._stream = ""

    @staticmethod
    def analyze(
        table: AnalyzeArgument, query: AnalyzeArgument, syntax: AnalyzeArgument | None = None
    ) -> AnalyzeResult:
        """The columns of the answers; the rows are to come together and in order."""
        from spaseq.planner.compiled import compile_query

        columns = table.dataType if table.isTable else None
        if not isinstance(columns, StructType):
            raise InvalidArgument(f"the first argument is a table: {NAME}(TABLE(events), 'SELECT …')")
        if not isinstance(query.value, str) or (syntax is not None and not isinstance(syntax.value, str)):
            raise InvalidArgument(f"the query of {NAME}, and the syntax of values, are constant texts")
        known = {field.name: field.dataType for field in columns.fields}
        if not isinstance(known.get("time"), TimestampType) or not {"triples", "value"} & set(known):
            raise InvalidArgument(
                f"a table of events has a timestamp `time` and `triples` or `value`; this one has {', '.join(known)}"
            )
        compiled = compile_query(query.value)
        if len(compiled.streams) > 1 and "stream" not in known:
            raise InvalidArgument("the query declares several streams: the table needs a column `stream`")
        found = answer_columns(compiled.form, provenance=False)
        fields = [StructField(field.name, field.dataType) for field in found.fields]
        return AnalyzeResult(StructType(fields), withSinglePartition=True, orderBy=[OrderingColumn("time")])

    def eval(self, row: Row, query: str, syntax: str = "turtle") -> Iterator[tuple[Any, ...]]:
        """The answers that became certain with a row."""
        import spaseq

        if self._engine is None:
            compiled = spaseq.compile(query)
            self._engine, self._form = spaseq.Engine(compiled), compiled.form
            self._stream = compiled.streams[0].alias
        values = row.asDict()
        time, graph = values["time"], values.get("triples")
        if values.get("promise") or time is None:
            return
        lines = values.get("value") if graph is None else "".join(f"{s} {p} {o} .\n" for s, p, o in graph)
        given = {"format": syntax if graph is None else "ntriples"}
        if isinstance(lines, (bytes, bytearray)):
            lines = bytes(lines).decode()
        # Without a zone it is in that of this process.
        start = values.get("start")
        event = spaseq.Event(
            values.get("stream") or self._stream,
            time.astimezone(UTC),
            lines or "",
            start=None if start is None else start.astimezone(UTC),
            **given,
        )
        yield from map(self._answer, self._engine.push(event))

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """The answers that are certain at the end."""
        if self._engine is not None:
            yield from map(self._answer, self._engine.finish())

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
