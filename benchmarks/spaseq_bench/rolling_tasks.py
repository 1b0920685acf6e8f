"""A rolling average per sensor by others: pyoxigraph asked at every closing, and Spark SQL's `window()` over the same bytes."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, Decimal, localcontext
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Final

from spaseq_bench.spark_tasks import tree_seconds
from spaseq_bench.tasks import Job, Outcome, Round, peak_memory, reset_peak
from spaseq_bench.window_tasks import STAMP, solution_line, windows_task

if TYPE_CHECKING:
    from pyoxigraph import Quad

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
PREFIXES: Final = "PREFIX sosa: <http://www.w3.org/ns/sosa/>"
QUERY: Final = (
    "SELECT ?sensor (AVG(?value) AS ?average) "
    "WHERE { ?reading sosa:madeBySensor ?sensor ; sosa:hasSimpleResult ?value } GROUP BY ?sensor"
)
DECIMAL: Final = "http://www.w3.org/2001/XMLSchema#decimal"


def millis(text: str) -> int:
    """An instant in milliseconds."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)


def stamp_of(instant: int) -> str:
    """An instant in milliseconds as an answer has it."""
    text = (EPOCH + timedelta(milliseconds=instant)).isoformat(timespec="milliseconds")
    text = text.removesuffix("+00:00")
    return text.rstrip("0").rstrip(".") + "Z"


def rolling_task(job: Job) -> Round:
    """This engine from the file to written answers; every closing is an evaluation."""
    (path,) = job["streams"].values()
    size, step = (int(job["params"][name]) * 1000 for name in ("range", "step"))
    with Path(path).open(encoding="utf-8") as file:
        times = [millis(line.split('"')[1]) for line in file if STAMP in line]
    closings = -(-(times[-1] + size) // step) - -(-times[0] // step)
    return windows_task(job, closings)


def oxigraph_rolling_task(job: Job) -> Round:
    """A store that is asked at every closing; counted from the first full window to the last event.

    It follows the window, or with ``store_per_window`` is made anew of the window's triples.
    """
    from pyoxigraph import Quad, RdfFormat, Store, parse

    (path,) = job["streams"].values()
    size, step = (int(job["params"][name]) * 1000 for name in ("range", "step"))
    anew = job["params"].get("store_per_window") is True

    def events() -> Iterator[tuple[int, list[Quad]]]:
        stamp, quads = "", list[Quad]()
        for quad in parse(path=path, format=RdfFormat.N_QUADS):
            if quad.predicate.value != STAMP:
                quads.append(Quad(quad.subject, quad.predicate, quad.object))
                continue
            if quads:
                yield millis(stamp), quads
            stamp, quads = quad.object.value, []
        yield millis(stamp), quads

    def work() -> Outcome:
        from pyoxigraph import QuerySolutions

        store = Store()
        held: deque[tuple[int, list[Quad]]] = deque()
        lines: list[str] = []
        begin = last = closing = 0
        counted = 0
        since = (0.0, 0.0)

        def close(at: int) -> None:
            nonlocal store
            while held and held[0][0] <= at - size:
                for quad in held.popleft()[1]:
                    if not anew:
                        store.remove(quad)
            if anew:
                store = Store()
                store.bulk_extend(quad for _, quads in held for quad in quads)
            found = store.query(f"{PREFIXES} {QUERY}")
            assert isinstance(found, QuerySolutions)
            names = [variable.value for variable in found.variables]
            start = stamp_of(held[0][0])
            lines.extend(solution_line(stamp_of(at), start, names, tuple(row)) for row in found)

        for instant, quads in events():
            if not held and not last:
                begin, closing = instant, -(-instant // step) * step
            while instant > closing:
                if closing - begin >= size and not counted:
                    since = time.process_time(), time.perf_counter()
                close(closing)
                counted += closing - begin >= size
                closing += step
            for quad in quads:
                if not anew:
                    store.add(quad)
            held.append((instant, quads))
            last = instant
        took = {"cpu": time.process_time() - since[0], "wall": time.perf_counter() - since[1]}
        while held and closing - size < last:
            close(closing)
            closing += step
        Path(job["output"]).write_text("".join(lines), encoding="utf-8")
        return {**took, "evaluations": float(max(counted - 1, 1))}

    def go() -> Outcome:
        reset_peak()
        found = work()
        return {**found, "memory": float(peak_memory())}

    return go


def spark_sql_task(job: Job) -> Round:
    """Spark SQL: the text cut at timestamps, three values of each piece, `window()`, `avg`, written as Parquet.

    A piece of text between two timestamps is one event, so no lines need be put together. Sums and counts of tenths are
    written; what JSON lines they make is found outside the time.
    """
    from pyspark.sql import functions as f

    from spaseq.spark.spark_session import new_session

    cores = int(job["params"].get("cores", 2))
    settings = {"spark.sql.shuffle.partitions": str(cores), "spark.sql.session.timeZone": "UTC"}
    spark = new_session(f"local[{cores}]", settings)
    (path,) = job["streams"].values()
    size, step = (int(job["params"][name]) for name in ("range", "step"))
    output = Path(job["output"])
    folder = output.with_suffix(".parquet")

    def work() -> Outcome:
        rmtree(folder, ignore_errors=True)
        wall, cpu = time.perf_counter(), tree_seconds()
        pieces = spark.read.text(path, lineSep=f"<{STAMP}> ").where("value like '\"%'")
        rows = pieces.select(
            f.regexp_extract("value", '^"([^"]+)"', 1).cast("timestamp").alias("time"),
            f.regexp_extract("value", "(http://example.org/sensor/[^>]+)>", 1).alias("sensor"),
            f.regexp_extract("value", 'hasSimpleResult> "([^"]+)"', 1).cast("decimal(10,1)").alias("value"),
        )
        averages = rows.groupBy(f.window("time", f"{size} seconds", f"{step} seconds"), "sensor").agg(
            f.sum("value").alias("total"), f.count("value").alias("many"), f.avg("value").alias("average")
        )
        averages.select("window.end", "sensor", "total", "many", "average").write.parquet(str(folder))
        return {"wall": time.perf_counter() - wall, "cpu": tree_seconds() - cpu}

    def go() -> Outcome:
        took = work()
        _write_lines(folder, Path(path), output, size)
        return took

    return go


def _write_lines(folder: Path, stream: Path, output: Path, size: int) -> None:
    """The answers of Spark SQL as spaseq writes them."""
    import pyarrow.parquet as pq

    with stream.open(encoding="utf-8") as file:
        times = sorted(millis(line.split('"')[1]) for line in file if STAMP in line)
    with output.open("w", encoding="utf-8") as out, localcontext() as context:
        context.prec = 60
        for row in pq.read_table(folder).to_pylist():
            end = (row["end"].replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
            start = times[bisect_right(times, end - 1000 * size)]
            average = (row["total"] / row["many"]).quantize(Decimal("1e-18"), rounding=ROUND_DOWN)
            text = f"{average:f}".rstrip("0").rstrip(".")
            bindings = (
                f'{{"sensor":{{"type":"uri","value":"{row["sensor"]}"}},'
                f'"average":{{"type":"literal","value":"{text}","datatype":"{DECIMAL}"}}}}'
            )
            out.write(f'{{"time":"{stamp_of(end)}","start":"{stamp_of(start)}","bindings":{bindings}}}\n')
