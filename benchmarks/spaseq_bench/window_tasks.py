"""Continuous queries over windows: this engine, and pyoxigraph asked anew at every evaluation.

A run is counted from its second instant on: at the first one the window is filled (`spaseq_bench.window_streams`). The engine
reads files and keeps no such clock, so a run over the first instant alone is subtracted from one over the whole file.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spaseq_bench.queries import filled
from spaseq_bench.stages import Stopwatch, watching
from spaseq_bench.tasks import ENDED, Job, Outcome, Round, measured, peak_memory, request_of, reset_peak

if TYPE_CHECKING:
    from pyoxigraph import Quad

STAMP = "http://www.w3.org/ns/prov#generatedAtTime"


# --- this engine ----------------------------------------------------------------------------------


class _Seconds(NamedTuple):
    """What a run took; ``reading`` is the part of its CPU time that went into reading the file."""

    cpu: float
    wall: float
    reading: float


def windows_task(job: Job, closings: int | None = None) -> Round:
    """From files to written answers, without what it takes to fill the window; ``after_reading`` is what an evaluation takes without reading."""
    from spaseq.engine.local_run import LocalRun

    request = request_of(job)
    ((name, path),) = job["streams"].items()
    first, instants, triples = survey(Path(path))
    evaluations = instants if closings is None else closings
    filling = replace(request, output=Path(job["output"]).with_suffix(".filled"))
    if job["params"].get("filling"):
        head = Path(job["output"]).with_suffix(".nq")
        with Path(path).open("rb") as file:
            head.write_bytes(file.read(first))
        filling = replace(filling, streams=((name, str(head)),))

    def seconds(asked: Any) -> _Seconds:
        watch, wall, cpu = Stopwatch(), time.perf_counter(), time.process_time()
        with watching(watch):
            run = LocalRun(asked)
            ENDED.append(run)
            report = run.run()
        assert not report.status.bad
        took = time.process_time() - cpu, time.perf_counter() - wall
        stages = watch.stop()
        return _Seconds(*took, reading=stages["survey"] + stages["lexing"])

    window = int(job["params"].get("window", 0))

    def work() -> Outcome:
        less = seconds(filling) if job["params"].get("filling") else _Seconds(0.0, 0.0, 0.0)
        ENDED.clear()
        reset_peak()
        took = seconds(request)
        cpu, reading = max(took.cpu - less.cpu, 1e-6), took.reading - less.reading
        return {
            "cpu": cpu,
            "wall": max(took.wall - less.wall, 1e-6),
            "memory": float(peak_memory()),
            "per_triple": _kept_bytes() / window if window else 0.0,
            "evaluations": float(evaluations),
            "triples": float(triples),
            "figures": {"after_reading": 1e6 * max(cpu - reading, 1e-6) / evaluations},
        }

    return work


def _kept_bytes() -> int:
    """What the last run keeps at its end: the terms, and the rows and indexes of its windows."""
    from spaseq.engine.local_run import LocalRun
    from spaseq.operators.windows import WindowOperator

    run = ENDED[-1]
    assert isinstance(run, LocalRun)
    machine = run.session.runs[0].machine
    assert isinstance(machine.operator, WindowOperator)
    return int(machine.dictionary.nbytes + machine.operator.nbytes)


def survey(path: Path) -> tuple[int, int, int]:
    """How many bytes the events of the first instant take, if there are later ones, and the instants and triples that are counted."""
    place = first = counted = instants = 0
    last = None
    with path.open("rb") as file:
        for line in file:
            if STAMP.encode() in line:
                stamp = line.split(b'"')[1]
                if stamp != last:
                    instants, last = instants + 1, stamp
                    if instants == 2:
                        first, counted = place, 0
            else:
                counted += 1
            place += len(line)
    return first, instants - 1 if first else instants, counted


# --- pyoxigraph -----------------------------------------------------------------------------------


def oxigraph_task(job: Job) -> Round:
    """A pyoxigraph store that follows the window, asked for all solutions at every evaluation; new ones are reported.

    ``window`` counts triples; with ``tumbling`` a window ends when it is full.
    """
    from pyoxigraph import RdfFormat, parse

    (path,) = job["streams"].values()
    params = job["params"]
    size, tumbling = int(params["window"]), params.get("tumbling") is True
    text = filled("${prefixes} SELECT ${select} WHERE { ${pattern} }", params)
    _, evaluations, triples = survey(Path(path))

    def events() -> Iterator[tuple[str, list[Quad]]]:
        from pyoxigraph import Quad

        stamp, quads = "", list[Quad]()
        for quad in parse(path=path, format=RdfFormat.N_QUADS):
            if quad.predicate.value != STAMP:
                quads.append(Quad(quad.subject, quad.predicate, quad.object))
                continue
            if quads:
                yield stamp, quads
            stamp, quads = quad.object.value, []
        yield stamp, quads

    def work() -> Outcome:
        window = _StoredWindow(text, size, tumbling=tumbling)
        filling = bool(params.get("filling"))
        wall = cpu = 0.0
        if not filling:
            wall, cpu = time.perf_counter(), time.process_time()
        lines = []
        for number, (stamp, group) in enumerate(groupby(events(), key=lambda event: event[0])):
            if filling and number == 1:
                wall, cpu = time.perf_counter(), time.process_time()
            lines += window.evaluated(stamp, [quads for _, quads in group])
        took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        Path(job["output"]).write_text("".join(lines), encoding="utf-8")
        return {**took, "evaluations": float(evaluations), "triples": float(triples)}

    return lambda: measured(work)


class _StoredWindow:
    """The last so many triples in a store, and the solutions of the evaluation before."""

    def __init__(self, query: str, size: int, *, tumbling: bool) -> None:
        from pyoxigraph import Store

        self._query, self._size, self._tumbling = query, size, tumbling
        self._store = Store()
        self._held: deque[tuple[str, list[Quad]]] = deque()
        self._count = self._seen = 0
        self._support: Counter[Quad] = Counter()
        self._last: Counter[tuple[Any, ...]] = Counter()

    def evaluated(self, stamp: str, events: list[list[Quad]]) -> list[str]:
        """Take the events of one instant; the lines of what is new."""
        from pyoxigraph import QuerySolutions

        for quads in events:
            if self._tumbling and self._seen % self._size == 0:
                self._drop(0)
            self._seen += len(quads)
            self._count += len(quads)
            self._held.append((stamp, quads))
            for quad in quads:
                self._support[quad] += 1
                if self._support[quad] == 1:
                    self._store.add(quad)
        if not self._tumbling:
            self._drop(self._size)
        found = self._store.query(self._query)
        assert isinstance(found, QuerySolutions)
        names = [variable.value for variable in found.variables]
        now = Counter(tuple(solution) for solution in found)
        new = now - self._last
        self._last = now
        return [solution_line(stamp, self._held[0][0], names, row) for row in new.elements()]

    def _drop(self, kept: int) -> None:
        """Drop the oldest events until so many triples are left."""
        while self._count > kept:
            _, quads = self._held.popleft()
            self._count -= len(quads)
            for quad in quads:
                self._support[quad] -= 1
                if not self._support[quad]:
                    del self._support[quad]
                    self._store.remove(quad)


def solution_line(stamp: str, start: str, names: list[str], row: tuple[Any, ...]) -> str:
    """A solution as spaseq writes it."""
    bindings: dict[str, dict[str, str]] = {}
    for name, term in zip(names, row, strict=True):
        if type(term).__name__ == "NamedNode":
            bindings[name] = {"type": "uri", "value": term.value}
            continue
        bindings[name] = {"type": "literal", "value": term.value}
        if not term.datatype.value.endswith("#string"):
            bindings[name]["datatype"] = term.datatype.value
    whole = {"time": trimmed(stamp), "start": trimmed(start), "bindings": bindings}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False) + "\n"


def trimmed(stamp: str) -> str:
    """An instant without zeros at the end of its fraction."""
    return stamp[:-1].rstrip("0") + "Z" if "." in stamp else stamp
