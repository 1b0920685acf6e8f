"""Peers on the V shape: naive per-event SPARQL with pyoxigraph and with rdflib, and Flink SQL MATCH_RECOGNIZE.

This file is a script that runs in the environment of a peer, where spaseq is not installed; it imports nothing
of it. It uses the protocol of `spaseq_bench.worker` and writes the same JSON lines as spaseq, so that answers
can be compared byte by byte.

The pattern is SEQ (A; B; C): a price, the first higher one after it, the first lower one after that, of one
company, in one tumbling window that is closed at both ends (semantics 1.3, 1.8). The two naive peers ask SPARQL
for what each event says and then follow runs in plain Python. Flink reads rows that were made of the events
before, outside its time; the window is a column to partition by, and a row on the border of two windows is
there twice. Its own WITHIN would slide; it only ends runs here, for Flink holds a match back until every
run that began before it has ended.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
OBJECT, PRICE = "<http://schema.org/object>", "<http://schema.org/price>"
QUERY = f"SELECT ?c ?p WHERE {{ ?t {OBJECT} ?c ; {PRICE} ?p }}"
DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"

Job = dict[str, Any]
Trade = tuple[str, str, str]
"""Time, company and price, as texts."""


# --- the pattern in plain Python ------------------------------------------------------------------


def micros(text: str) -> int:
    """An instant in microseconds."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def windows(instant: int, size: int) -> list[int]:
    """The windows that hold an instant: two if it lies on a border."""
    number = instant // size
    return [number - 1, number] if instant % size == 0 else [number]


class Runs:
    """Follows the V shape: runs wait for a higher price, then for a lower one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._rising: dict[tuple[int, str], list[Trade]] = defaultdict(list)
        self._falling: dict[tuple[int, str], list[tuple[Trade, Trade]]] = defaultdict(list)
        self._last = -1

    def push(self, trade: Trade) -> Iterator[tuple[Trade, Trade, Trade]]:
        """The matches that a trade completes."""
        text, company, price = trade
        here = windows(micros(text), self._size)
        if here[0] > self._last:
            self._forget(here[0])
        value = float(price)
        for window in here:
            key = (window, company)
            waiting = self._falling[key]
            yield from ((a, b, trade) for a, b in waiting if value < float(b[2]))
            rising = self._rising[key]
            risen = [(a, trade) for a in rising if value > float(a[2])]
            self._falling[key] = [(a, b) for a, b in waiting if value >= float(b[2])] + risen
            self._rising[key] = [a for a in rising if value <= float(a[2])] + [trade]

    def _forget(self, first: int) -> None:
        """Drop the runs of windows that have ended."""
        for table in (self._rising, self._falling):
            for key in [key for key in table if key[0] < first]:
                del table[key]
        self._last = first


def trimmed(text: str) -> str:
    """An instant without zeros at the end of its fraction."""
    return text[:-1].rstrip("0") + "Z" if "." in text else text


def two_places(price: str) -> str:
    """A price as it stood in the file: a store of numbers, and a table of them, cuts the last 0 off."""
    return f"{float(price):.2f}"


def line(a: Trade, b: Trade, c: Trade) -> str:
    """A match as spaseq writes it."""
    bindings: dict[str, dict[str, str]] = {"c": {"type": "uri", "value": a[1]}}
    for name, trade in (("p1", a), ("p2", b), ("p3", c)):
        bindings[name] = {"type": "literal", "value": trade[2], "datatype": DECIMAL}
    whole = {"time": trimmed(c[0]), "start": trimmed(a[0]), "bindings": bindings}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False) + "\n"


def answer(trades: Iterator[Trade], job: Job) -> None:
    """Write the matches of some trades."""
    runs = Runs(int(job["params"]["window"]) * 60_000_000)
    with Path(job["output"]).open("w", encoding="utf-8") as out:
        for trade in trades:
            out.writelines(line(*match) for match in runs.push(trade))


# --- naive per-event SPARQL -----------------------------------------------------------------------


def pyoxigraph_trades(path: str) -> Iterator[Trade]:
    """What a pyoxigraph store answers for each event."""
    from pyoxigraph import Quad, QuerySolutions, RdfFormat, Store, parse

    def asked(stamp: str, quads: list[Quad]) -> Iterator[Trade]:
        store = Store()
        store.extend(quads)
        found = store.query(QUERY, use_default_graph_as_union=True)
        assert isinstance(found, QuerySolutions)
        for row in found:
            yield stamp, row["c"].value, two_places(row["p"].value)

    stamp = ""
    quads: list[Quad] = []
    for quad in parse(path=path, format=RdfFormat.N_QUADS):
        if quad.predicate.value == STAMP:
            yield from asked(stamp, quads)
            stamp, quads = quad.object.value, []
        else:
            quads.append(quad)
    yield from asked(stamp, quads)


def rdflib_trades(path: str) -> Iterator[Trade]:
    """What an rdflib graph answers for each event."""
    from rdflib import Graph
    from rdflib.plugins.sparql import prepareQuery

    query = prepareQuery(QUERY)

    def asked(stamp: str, lines: list[str]) -> Iterator[Trade]:
        graph = Graph()
        graph.parse(data="".join(lines), format="nt")
        for row in graph.query(query):
            yield stamp, str(row[0]), str(row[1])  # type: ignore[index]

    stamp = ""
    lines: list[str] = []
    with Path(path).open(encoding="utf-8") as file:
        for text in file:
            if text.startswith("#"):
                continue
            if STAMP in text:
                if lines:
                    yield from asked(stamp, lines)
                stamp, lines = text.split('"')[1], []
            else:
                # rdflib builds a data set for N-Quads, which costs far more than a graph: the name is cut off
                lines.append(text[: text.rindex(" <")] + " .\n")
    yield from asked(stamp, lines)


def naive(trades: Callable[[str], Iterator[Trade]]) -> Callable[[Job], Callable[[], None]]:
    """A peer that reads trades from the file and follows runs itself."""

    def prepare(job: Job) -> Callable[[], None]:
        (path,) = job["streams"].values()
        return lambda: answer(trades(path), job)

    return prepare


# --- Flink ----------------------------------------------------------------------------------------

SOURCE = """CREATE TABLE trades (
  c STRING, p DECIMAL(12, 2), w BIGINT, ms BIGINT, stamp STRING,
  ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
SINK = """CREATE TABLE hits (c STRING, p1 DECIMAL(12, 2), p2 DECIMAL(12, 2), p3 DECIMAL(12, 2), t1 STRING, t3 STRING)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
MATCH = """INSERT INTO hits SELECT c, p1, p2, p3, t1, t3 FROM trades MATCH_RECOGNIZE (
  PARTITION BY c, w ORDER BY ts
  MEASURES A.p AS p1, B.p AS p2, C.p AS p3, A.stamp AS t1, C.stamp AS t3
  ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A X*? B Y*? C) WITHIN INTERVAL '{minutes}' MINUTE
  DEFINE X AS X.p <= A.p, B AS B.p > A.p, Y AS Y.p >= B.p, C AS C.p < B.p
)"""


def flink(job: Job) -> Callable[[], None]:
    """Flink SQL over rows; making the rows, and JSON lines of its rows, is not counted."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    output = Path(job["output"])
    rows, found = output.with_suffix(".csv"), output.with_suffix(".matches")
    (path,) = job["streams"].values()
    size = int(job["params"]["window"]) * 60_000_000
    with rows.open("w", encoding="utf-8") as out:
        for stamp, company, price in plain_trades(path):
            instant = micros(stamp)
            for window in windows(instant, size):
                out.write(f"{company},{price},{window},{instant // 1000},{stamp}\n")
    table = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    table.get_config().set("parallelism.default", str(job["params"].get("cores", 1)))
    table.execute_sql(SOURCE.format(path=rows))
    number = 0

    def work() -> None:
        nonlocal number
        number += 1
        table.execute_sql("DROP TABLE IF EXISTS hits")
        table.execute_sql(SINK.format(path=f"{found}{number}"))
        table.execute_sql(MATCH.format(minutes=size // 60_000_000 + 1)).wait()

    def write() -> None:
        with output.open("w", encoding="utf-8") as out:
            for part in Path(f"{found}{number}").rglob("part-*"):
                for text in part.read_text(encoding="utf-8").splitlines():
                    c, p1, p2, p3, t1, t3 = (cell.strip('"') for cell in text.split(","))
                    out.write(line((t1, c, two_places(p1)), ("", c, two_places(p2)), (t3, c, two_places(p3))))

    work.after = write  # type: ignore[attr-defined]
    return work


def plain_trades(path: str) -> Iterator[Trade]:
    """The trades of a generated file, by cutting lines."""
    stamp = company = ""
    with Path(path).open(encoding="utf-8") as file:
        for text in file:
            if STAMP in text:
                stamp = text.split('"')[1]
            elif OBJECT in text:
                company = text.split()[2][1:-1]
            elif PRICE in text:
                yield stamp, company, text.split('"')[1]


# --- lines ----------------------------------------------------------------------------------------

PEERS: dict[str, Callable[[Job], Callable[[], None]]] = {
    "pyoxigraph": naive(pyoxigraph_trades),
    "rdflib": naive(rdflib_trades),
    "flink": flink,
}


def family() -> dict[int, int]:
    """This process and all below it (Flink works in a Java process), with the clock ticks that each has used."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for entry in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = int(fields[11]) + int(fields[12])
    found, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return {pid: used.get(pid, 0) for pid in found}


def tree_cpu() -> float:
    """CPU seconds of this process and of all processes below it."""
    children = sum(ticks for pid, ticks in family().items() if pid != os.getpid())
    return time.process_time() + children / os.sysconf("SC_CLK_TCK")


def tree_memory() -> float:
    """The sum of the peaks of memory of this process and of all below it, in bytes, where the system provides it."""
    kilobytes = 0
    for pid in family():
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        kilobytes += sum(int(text.split()[1]) for text in status.splitlines() if text.startswith("VmHWM:"))
    return kilobytes * 1024.0


def main() -> None:
    """Take orders until they end."""
    prepare = PEERS[sys.argv[1]]
    answers, sys.stdout = sys.stdout, sys.stderr
    jobs: dict[int, Callable[[], None]] = {}
    reply: dict[str, object]
    for order in map(json.loads, sys.stdin):
        try:
            if "prepare" in order:
                jobs[order["prepare"]] = prepare(order["job"])
                reply = {"ready": order["prepare"]}
            else:
                job = jobs[order["go"]]
                wall, cpu = time.perf_counter(), tree_cpu()
                job()
                reply = {"cpu": tree_cpu() - cpu, "wall": time.perf_counter() - wall, "memory": tree_memory()}
                getattr(job, "after", lambda: None)()
        except Exception as error:  # noqa: BLE001 - any error is reported to the harness
            reply = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
