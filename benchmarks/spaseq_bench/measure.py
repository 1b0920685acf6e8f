"""Running a benchmark: all cells round by round, variants one after the other, every answer checked.

The machine is shared and its speed drifts, so a round visits every cell once and rounds are repeated;
ratios are taken within a round. The first round warms up and does not count.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spaseq.caches import cache_directory
from spaseq_bench.against import SOURCES
from spaseq_bench.claims import judge
from spaseq_bench.declared import Answer, Benchmark, Params, Variant, point_label
from spaseq_bench.environments import PeerMissing, peer_command
from spaseq_bench.input_files import Input, make_input
from spaseq_bench.pool import Pool, Worker, WorkerFailed
from spaseq_bench.queries import query_text
from spaseq_bench.results import Cell, Result
from spaseq_bench.tasks import Job, Outcome

Say = Callable[[str], None]

COLD: Final = ("start", "refused", "oxigraph", "oxigraph rolling")
"""Tasks with nothing to warm up: they start a new process for every round, or compile nothing."""


@dataclass(slots=True)
class _Work:
    """A cell while it is measured."""

    number: int
    variant: Variant
    point: Params
    params: Params
    data: Input
    query: str
    output: Path
    expected: Answer | None
    rounds: list[Outcome] = field(default_factory=list)
    first: Outcome | None = None
    """The warm-up, in a process that did nothing before it."""
    found: Answer | None = None
    seal: str = ""
    """The digest of the bytes that ``found`` was read from."""
    void: str = ""
    skipped: str = ""
    worker: Worker | None = None

    @property
    def job(self) -> Job:
        """The cell as its worker gets it."""
        return Job(
            task=self.variant.task,
            query=self.query,
            streams=self.data.streams,
            knowledge=self.data.knowledge,
            output=str(self.output),
            params=self.params,
        )


def measure(
    benchmark: Benchmark,
    profile: str = "quick",
    *,
    pool: Pool | None = None,
    repeats: int | None = None,
    say: Say = lambda _: None,
) -> Result:
    """Run a benchmark and check its claims."""
    began = time.perf_counter()
    times = repeats or benchmark.profiles[profile].repeats
    with _pool(pool) as workers, tempfile.TemporaryDirectory(prefix="spaseq-bench-") as folder:
        works = _works(benchmark, profile, Path(folder), say)
        _warm_up(works, workers, benchmark, say)
        for number in range(1, times + 1):
            say(f"{benchmark.name}: round {number} of {times}")
            for work in _turned(works, number):
                _round(work, warm_up=False)
        if benchmark.fresh:
            for work in works:
                workers.drop(_worker_name(work, benchmark))
    cells = [_cell(work, benchmark) for work in works]
    axis = benchmark.axis
    return Result(
        name=benchmark.name,
        title=benchmark.title,
        question=benchmark.question,
        source=benchmark.source,
        workload=benchmark.workload,
        axis=axis.label if axis else "",
        unit=axis.unit if axis else "",
        log=axis.log if axis else False,
        plots=list(benchmark.plots),
        query=works[0].query,
        seconds=time.perf_counter() - began,
        load=os.getloadavg()[0],
        cells=cells,
        claims=[judge(claim, cells) for claim in benchmark.claims],
        paper=[list(row) for row in benchmark.paper],
    )


def answers_of(benchmark: Benchmark, profile: str, say: Say = lambda _: None) -> dict[str, Answer]:
    """The answers as they come out now, by key; every cell of one key must give the same one."""
    found: dict[str, Answer] = {}
    with Pool() as workers, tempfile.TemporaryDirectory(prefix="spaseq-bench-") as folder:
        for work in _works(benchmark, profile, Path(folder), say):
            key = benchmark.answer_key(profile, work.point, work.variant)
            if work.variant.answer or work.variant.task == "parse" or key in found:
                continue
            work.expected = None
            _start(work, workers, benchmark)
            _round(work, warm_up=True)
            if work.found is None:
                raise WorkerFailed(f"{benchmark.name}, {key}: {work.void or work.skipped}")
            found[key] = work.found
            say(f"{benchmark.name}: {key} = {work.found}")
    return found


@contextmanager
def _pool(given: Pool | None) -> Iterator[Pool]:
    if given is not None:
        yield given
        return
    with Pool() as own:
        yield own


def _works(benchmark: Benchmark, profile: str, folder: Path, say: Say) -> list[_Work]:
    works: list[_Work] = []
    for point in benchmark.points(profile):
        for variant in benchmark.variants:
            params = benchmark.values(profile, point, variant)
            say(f"{benchmark.name}: input of {point_label(point) or benchmark.workload}")
            works.append(
                _Work(
                    number=len(works),
                    variant=variant,
                    point=point,
                    params=params,
                    data=make_input(benchmark.workload, params),
                    query=query_text(benchmark.query, params),
                    output=folder / f"{len(works)}.jsonl",
                    expected=benchmark.expected.get(benchmark.answer_key(profile, point, variant)),
                )
            )
    return works


def _worker_name(work: _Work, benchmark: Benchmark) -> str:
    """Variants have a process each; cells too where memory is compared."""
    peer, sources = work.params.get("peer", ""), work.params.get(SOURCES, "")
    place = [variant.name for variant in benchmark.variants].index(work.variant.name)
    return f"fresh {work.number}" if benchmark.fresh else f"{peer or place}{sources}"


def _start(work: _Work, pool: Pool, benchmark: Benchmark) -> None:
    try:
        command = peer_command(str(work.params["peer"])) if work.variant.task == "peer" else None
        work.worker = pool.worker(_worker_name(work, benchmark), command, str(work.params.get(SOURCES, "")))
        work.worker.prepare(work.number, work.job)
    except PeerMissing as error:
        work.skipped = str(error)
    except WorkerFailed as error:
        work.void = str(error)


def _warm_up(works: list[_Work], pool: Pool, benchmark: Benchmark, say: Say) -> None:
    """A first round that does not count; once more in new processes if kernels had to be compiled in it."""
    say(f"{benchmark.name}: warm-up")
    known = _kernels()
    for work in works:
        _start(work, pool, benchmark)
    _visit(works)
    if _kernels() <= known:
        return
    say(f"{benchmark.name}: warm-up, with compiled kernels")
    for work in works:
        pool.drop(_worker_name(work, benchmark))
    for work in works:
        _start(work, pool, benchmark)
    _visit(works)


def _visit(works: list[_Work]) -> None:
    for work in works:
        if work.variant.task not in COLD:
            _round(work, warm_up=True)


def _kernels() -> frozenset[Path]:
    """The compiled kernels at hand; a process that compiled one keeps the compiler's memory."""
    return frozenset((cache_directory() / "kernels").rglob("*.nbc"))


def _turned(works: list[_Work], number: int) -> list[_Work]:
    """The cells in an order that begins elsewhere in every round, so that none is always first."""
    cut = number % len(works)
    return works[cut:] + works[:cut]


def _round(work: _Work, *, warm_up: bool) -> None:
    if work.worker is None or work.void or work.skipped:
        return
    work.output.unlink(missing_ok=True)  # an old answer must not stand for a new one
    try:
        outcome = work.worker.go(work.number)
    except WorkerFailed as error:
        work.void = str(error)
        return
    _check(work, outcome)
    if warm_up:
        work.first = outcome
    else:
        work.rounds.append(outcome)


def _check(work: _Work, outcome: Outcome) -> None:
    """A wrong answer voids the time."""
    if outcome.get("bad"):
        work.void = f"{outcome['bad']:.0f} events of the generated input were refused"
        return
    if work.variant.task == "parse":
        quads = outcome["quads"]
        work.found = Answer(int(quads) if isinstance(quads, float) else 0, "")
        wanted: Answer | None = Answer(work.data.quads, "")
    else:
        # Rounds mostly write the same bytes; sorting them again would change the memory that the next cell uses.
        seal = _digest(work.output)
        if work.found is None or seal != work.seal:
            work.found, work.seal = answer_in(work.output), seal
        wanted = work.expected
    if wanted is None:
        work.void = "no answer is declared; check one and write it with `spaseq-bench pin`"
    elif work.found != wanted:
        work.void = f"wrong answer: {work.found.count} lines ({work.found.digest}), expected {wanted}"


def answer_in(path: Path) -> Answer:
    """How many lines a file has, and the digest of its sorted lines: order within an instant is free."""
    lines = sorted(path.read_bytes().splitlines()) if path.exists() else []
    return Answer(len(lines), hashlib.sha256(b"\n".join(lines)).hexdigest()[:16])


def _digest(path: Path) -> str:
    """Of a file as it is; of one that is not there, none."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cell(work: _Work, benchmark: Benchmark) -> Cell:
    rounds = work.rounds
    # In a process of its own the first run has the memory that the command takes; later ones find what earlier ones left.
    alone = [work.first] if benchmark.fresh and work.first and rounds else rounds
    at = work.point.get("at")
    return Cell(
        variant=work.variant.name,
        task=work.variant.task,
        at=point_label(work.point),
        x=float(at) if isinstance(at, (int, float)) else None,
        events=work.data.events,
        quads=work.data.quads,
        size=work.data.size,
        cpu=[_number(each, "cpu") for each in rounds],
        wall=[_number(each, "wall") for each in rounds],
        memory=max((_number(each, "memory") for each in alone), default=0.0),
        per_triple=max((_number(each, "per_triple") for each in rounds), default=0.0),
        peak_runs=int(max((_number(each, "peak_runs") for each in rounds), default=0.0)),
        matches=work.found.count if work.found and work.variant.task != "parse" else 0,
        stages=_tables(rounds, "stages"),
        latency=_middle_latency(rounds),
        evaluations=int(max((_number(each, "evaluations") for each in rounds), default=0.0)),
        triples=int(max((_number(each, "triples") for each in rounds), default=0.0)),
        shuffle=[_number(each, "shuffle") for each in rounds if "shuffle" in each],
        figures=_figures(rounds),
        void=work.void,
        skipped=work.skipped,
        note=work.variant.note,
    )


def _number(outcome: Outcome, name: str) -> float:
    value = outcome.get(name, 0.0)
    return value if isinstance(value, (int, float)) else 0.0


def _tables(rounds: list[Outcome], name: str) -> list[dict[str, float]]:
    return [table for each in rounds if isinstance(table := each.get(name), dict)]


def _figures(rounds: list[Outcome]) -> dict[str, list[float]]:
    """Further values by name, one for every round."""
    tables = _tables(rounds, "figures")
    return {name: [table[name] for table in tables] for name in (tables[0] if tables else ())}


def _middle_latency(rounds: list[Outcome]) -> dict[str, float]:
    """The percentiles of the middle round, so that they belong together."""
    ordered = sorted(_tables(rounds, "latency"), key=lambda table: table.get("p99", 0.0))
    return ordered[(len(ordered) - 1) // 2] if ordered else {}
