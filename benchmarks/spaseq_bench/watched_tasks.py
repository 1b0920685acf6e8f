"""A run from files to written answers, watched as it goes, and a run that must be refused."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spaseq_bench.tasks import ENDED, SPASEQ, Job, Outcome, Round, peak_memory, reset_peak

if TYPE_CHECKING:
    from spaseq.engine.request import RunRequest, Status

TENTHS: Final = 10


def watched_request(job: Job) -> RunRequest:
    """What `spaseq run` is asked for; ``language``, ``rdfs``, ``policy`` and ``batch_events`` are parameters."""
    from spaseq.engine.inputs import NamedQuery
    from spaseq.engine.opening import InputOptions
    from spaseq.engine.request import RunRequest
    from spaseq.planner.compiled import compile_query
    from spaseq.planner.in_run import Choices

    params, output = job["params"], Path(job["output"])
    options = InputOptions()
    if "batch_events" in params:
        options = replace(options, read=replace(options.read, batch_events=int(params["batch_events"])))
    return RunRequest(
        queries=(NamedQuery("query", compile_query(job["query"], str(params.get("language", "epsparql")))),),
        streams=tuple(job["streams"].items()),
        knowledge=tuple(job["knowledge"].items()),
        rdfs=params.get("rdfs") is True,
        input=options,
        output=output,
        quarantine=output.with_suffix(".quarantine"),
        choices=Choices(policy=str(params.get("policy", "unrestricted"))),
        max_runs=None,
    )


@dataclass(slots=True)
class _Course:
    """How a run went: events read, CPU seconds and memory, after every portion."""

    events: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def show(self, status: Status) -> None:
        self.events.append(status.events)
        self.cpu.append(time.process_time())
        self.memory.append(resident())

    def at(self, column: list[float] | list[int], events: float) -> float:
        """A column when so many events were read, between two portions in proportion."""
        from numpy import interp

        return float(interp(events, self.events, column))

    def between(self, first: int, last: int) -> float:
        """The CPU seconds from one tenth of the events to another."""
        per = self.events[-1] / TENTHS
        return self.at(self.cpu, last * per) - self.at(self.cpu, first * per)


def resident() -> int:
    """The resident size of this process in bytes; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except OSError:
        return 0


def watched_task(job: Job) -> Round:
    """The in-process engine from files to written answers: exactly what `spaseq run --engine local` does.

    Further figures: ``loading`` seconds until the first event, ``per_event`` microseconds of CPU time from the second
    tenth on, ``steady`` the throughput of the last tenth over that of the second, ``flat`` the peak of memory in the second half over that in the first.
    """
    from spaseq.engine.local_run import LocalRun

    request = watched_request(job)

    def work() -> Outcome:
        ENDED.clear()
        reset_peak()
        wall, cpu = time.perf_counter(), time.process_time()
        run = LocalRun(request)
        loaded = time.process_time()
        ENDED.append(run)
        course = _Course()
        report = run.run(course.show)
        done = time.process_time()
        found: Outcome = {
            "cpu": done - cpu,
            "wall": time.perf_counter() - wall,
            "memory": float(peak_memory()),
            "bad": float(report.status.bad),
        }
        events = report.status.events
        figures = {"pace": events / (done - cpu), "loading": loaded - cpu}
        if len(course.events) >= TENTHS:
            second, last, rest = course.between(1, 2), course.between(9, 10), course.between(1, 10)
            per, half = course.events[-1] / TENTHS, bisect_right(course.events, course.events[-1] // 2)
            figures |= {
                "steady": second / last,
                "per_event": 1e6 * rest / (9 * per),
                "flat": max(course.memory[half:]) / max(course.memory[:half]),
            }
        return {**found, "figures": figures}

    return work


def refused_task(job: Job) -> Round:
    """A new process whose run ends with an error: its message, without the path of the query, is the answer."""
    output = Path(job["output"])
    query = output.with_suffix(".epsparql")
    query.write_text(job["query"], encoding="utf-8")
    command = [sys.executable, "-c", SPASEQ, "run", str(query), "--engine", "local", "--no-progress"]
    command += ["--output", str(output.with_suffix(".out"))]
    for name, path in job["streams"].items():
        command += ["--stream", f"{name}={path}"]

    def work() -> Outcome:
        wall, before = time.perf_counter(), _children()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        took = time.perf_counter() - wall
        if done.returncode == 0:
            raise RuntimeError("the run was not refused")
        output.write_text(done.stderr.replace(str(query), "query"), encoding="utf-8")
        return {"wall": took, "cpu": _children() - before}

    return work


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
