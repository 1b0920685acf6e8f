"""What a worker measures: a run from bytes to matches, a parser alone, single pushes, a cold start.

A task is prepared once, outside any measurement, and then called once per round. It returns its numbers;
matches go to a file, which the harness reads and checks.
"""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from spaseq_bench.queries import named_queries

if TYPE_CHECKING:
    from spaseq.engine.request import RunRequest

Outcome: TypeAlias = dict[str, float | dict[str, float]]
"""The numbers of one round."""

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
ENDED: list[object] = []
"""What the last round left behind: taking its memory apart is part of no answer, so the worker does it between rounds."""
SPASEQ = "import sys; sys.argv[0] = 'spaseq'; from spaseq.cli import main; main()"


class Job(TypedDict):
    """A cell as a worker gets it."""

    task: str
    query: str
    streams: dict[str, str]
    knowledge: dict[str, str]
    output: str
    params: dict[str, str | int | float | bool]


Round: TypeAlias = Callable[[], Outcome]


def prepare(job: Job) -> Round:
    """What is called once per round."""
    from spaseq_bench.held_tasks import held_task
    from spaseq_bench.rolling_tasks import oxigraph_rolling_task, rolling_task, spark_sql_task
    from spaseq_bench.spark_tasks import spark_task
    from spaseq_bench.watched_tasks import refused_task, watched_task
    from spaseq_bench.window_tasks import oxigraph_task, windows_task

    tasks: Mapping[str, Callable[[Job], Round]] = {
        "run": run_task,
        "parse": parse_task,
        "push": push_task,
        "start": start_task,
        "compile": compile_task,
        "spark": spark_task,
        "held runs": held_task,
        "windows": windows_task,
        "rolling": rolling_task,
        "oxigraph": oxigraph_task,
        "oxigraph rolling": oxigraph_rolling_task,
        "spark sql": spark_sql_task,
        "watched": watched_task,
        "refused": refused_task,
    }
    return tasks[job["task"]](job)


def measured(work: Callable[[], Outcome]) -> Outcome:
    """The outcome with CPU time, wall time and the peak of memory."""
    reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    return {**took, "memory": float(peak_memory()), **found}


# --- memory -------------------------------------------------------------------------------------


def reset_peak() -> None:
    """Reset the peak so far, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def peak_memory() -> int:
    """The largest resident size since the last reset, in bytes."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


# --- tasks --------------------------------------------------------------------------------------


def request_of(job: Job) -> RunRequest:
    """What `spaseq run` is asked for."""
    from spaseq.engine.inputs import NamedQuery
    from spaseq.engine.request import RunRequest
    from spaseq.planner.compiled import Optimisations, compile_query

    without = Optimisations.without(*str(job["params"].get("without", "")).split())
    named = named_queries(job["query"], job["params"]).items()
    output = Path(job["output"])
    return RunRequest(
        queries=tuple(NamedQuery(name, compile_query(text, optimisations=without)) for name, text in named),
        streams=tuple(job["streams"].items()),
        knowledge=tuple(job["knowledge"].items()),
        output=output,
        quarantine=output.with_suffix(".quarantine"),
        max_runs=None,
    )


def run_task(job: Job) -> Round:
    """The in-process engine from files to written matches: exactly what `spaseq run --engine local` does.

    With ``one_core`` the process may run on one core only, and stays there. With ``separate`` each of several queries
    has a run of its own, one after the other.
    """
    from spaseq.engine.local_run import LocalRun
    from spaseq_bench.stages import Stopwatch, watching

    if job["params"].get("one_core") is True and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    request = request_of(job)
    split = job["params"].get("split") is True

    def work() -> Outcome:
        return one_run(request)

    def one_run(request: RunRequest) -> Outcome:
        run = LocalRun(request)
        ENDED.append(run)
        report = run.run()
        peak = max(each.machine.peak_runs for each in run.session.runs)
        return {"peak_runs": float(peak), "bad": float(report.status.bad)}

    def split_work() -> Outcome:
        watch = Stopwatch()
        with watching(watch):
            found = work()
        return {**found, "stages": watch.stop()}

    if job["params"].get("separate") is True:
        return _separate(request, one_run)
    return lambda: measured(split_work if split else work)


def _separate(request: RunRequest, run: Callable[[RunRequest], Outcome]) -> Round:
    """One run after the other, whose answers are put together as a run of all queries writes them."""
    output = Path(str(request.output))
    own = [
        replace(request, queries=(query,), output=output.with_suffix(f".{query.name}"))
        for query in request.queries
    ]

    def work() -> Outcome:
        outcomes = [run(each) for each in own]
        for each in outcomes[:-1]:
            outcomes[-1]["bad"] += each["bad"]  # type: ignore[operator]  # a number
        ENDED.clear()
        return outcomes[-1]

    def go() -> Outcome:
        outcome = measured(work)
        with output.open("wb") as out:
            for each in own:
                head = f'{{"query":"{each.queries[0].name}",'.encode()
                lines = Path(str(each.output)).read_bytes().splitlines(keepends=True)
                out.writelines(head + line[1:] for line in lines)
        return outcome

    return go


def parse_task(job: Job) -> Round:
    """The parser of pyoxigraph on the same bytes, already in memory; every quad is thrown away."""
    from pyoxigraph import RdfFormat, parse

    texts = [Path(path).read_bytes() for path in job["streams"].values()]

    def work() -> Outcome:
        quads = 0
        for text in texts:
            for _ in parse(text, format=RdfFormat.N_QUADS):
                quads += 1
        return {"quads": float(quads)}

    return lambda: measured(work)


def push_task(job: Job) -> Round:
    """Single events pushed at a steady rate; how long each match took from the push of its last event.

    The CPU time of the thread is measured separately: on a busy machine the rest is waiting for a core.

    A push that begins late because the one before it was slow counts from the time it was due. Without
    ``cold`` as many events as ``warm`` says are pushed first, as fast as they go, and not counted.
    """
    from spaseq.engine.embedded import Engine
    from spaseq.io.readers import read_graph_events

    ((_, path),) = job["streams"].items()
    (stream,) = Engine(job["query"]).program.streams
    events = list(read_graph_events(path, stream=stream))
    gc.freeze()  # a producer would not keep them, so the collector need not walk through them
    rate, warm = float(job["params"].get("rate", 2000)), int(job["params"].get("warm", 0))
    from spaseq.io.result_json import match_line

    def work() -> Outcome:
        engine = Engine(job["query"])
        found = [match for event in events[:warm] for match in engine.push(event)]
        every: list[float] = []
        to_match: list[float] = []
        worked: list[float] = []
        begin, free = time.perf_counter(), 0.0
        for number, event in enumerate(events[warm:]):
            due = begin + number / rate
            while (now := time.perf_counter()) < due:
                if due - now > 0.0005:
                    time.sleep(due - now - 0.0003)
            since = due if free > due else now
            busy = time.thread_time()
            matches = engine.push(event)
            worked.append(time.thread_time() - busy)
            free = time.perf_counter()
            every.append(free - since)
            if matches:
                to_match.append(free - since)
                found += matches
        found += engine.finish()
        with Path(job["output"]).open("w", encoding="utf-8") as out:
            out.writelines(match_line(match) for match in found)
        return {
            "peak_runs": float(engine.metrics.peak_runs),
            "latency": {
                **percentiles(to_match),
                "all_p99": percentiles(every).get("p99", 0.0),
                "cpu_p99": percentiles(worked).get("p99", 0.0),
                "cpu_mean": 1000 * sum(worked) / max(len(worked), 1),
            },
        }

    return lambda: measured(work)


def percentiles(seconds: list[float]) -> dict[str, float]:
    """The median, the 99th percentile and the greatest, in milliseconds."""
    if not seconds:
        return {}
    ordered = sorted(seconds)
    at = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        name: 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in at.items()
    }


def start_task(job: Job) -> Round:
    """A new process for a small file: from the command to the last match."""
    return _command(job, ["--engine", "local"])


def _command(job: Job, options: list[str]) -> Round:
    output = Path(job["output"])
    query = output.with_suffix(".spaseq")
    query.write_text(job["query"], encoding="utf-8")
    command = [sys.executable, "-c", SPASEQ, "run", str(query), "--output", str(output), "--no-progress"]
    command += [*options, "--quarantine", str(output.with_suffix(".quarantine"))]
    for alias, path in job["streams"].items():
        command += ["--stream", f"{alias}={path}"]
    for iri, path in job["knowledge"].items():
        command += ["--kb", f"{iri}={path}"]

    def work() -> Outcome:
        before = _children()
        wall = time.perf_counter()
        done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
        took = time.perf_counter() - wall
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-2000:] or f"exit status {done.returncode}")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _RSS_UNIT
        return {"wall": took, "cpu": _children() - before, "memory": float(peak)}

    return work


COMPILE = (
    "import sys, time, spaseq; compile, text = spaseq.compile, open(sys.argv[1]).read(); t = time.process_time(); "
    "compile(text); print(time.process_time() - t)"
)


def compile_task(job: Job) -> Round:
    """A query text to its plan; with ``cold`` the first one of a new process, which loads the language. Its answer are the edges."""
    from spaseq.planner.compiled import compile_query

    output = Path(job["output"])
    query = output.with_suffix(".spaseq")
    query.write_text(job["query"], encoding="utf-8")

    def work() -> Outcome:
        edges = compile_query(job["query"]).automaton.edges
        took = measured(lambda: (compile_query(job["query"]), Outcome())[1])
        if job["params"].get("cold") is True:
            command = [sys.executable, "-c", COMPILE, str(query)]
            done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=True)
            took["cpu"] = took["wall"] = float(done.stdout)
        lines = (f"{edge.source} {edge.kind.name} {edge.target} {edge.step}\n" for edge in edges)
        output.write_text("".join(lines), encoding="utf-8")
        return took

    return work


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
