"""Facts about measuring: answers are checked, stages are told apart, workers answer."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument
from spaseq_bench import environments, peers, worker
from spaseq_bench.against import against, unpacked
from spaseq_bench.declared import Answer, load_benchmark
from spaseq_bench.environments import PeerMissing
from spaseq_bench.input_files import make_input
from spaseq_bench.measure import _cell, _round, _works, answer_in, answers_of, measure
from spaseq_bench.pool import Worker
from spaseq_bench.stages import SEAMS, STAGES, Stopwatch, watched, watching
from spaseq_bench.tasks import Job, percentiles

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"

SMALL = """
title = "T"
question = "Q?"
[workload]
name = "stocks"
keys = 3
[profile.tiny]
events = 60
repeats = 1
[profile.quick]
[profile.full]
[query]
prefixes = "PREFIX schema: <http://schema.org/>"
select = "?c ?p1 ?p2"
within = "10 MINUTES"
streams = { stocks = "http://example.org/streams/stocks" }
seq = "A; B"
[query.gpm]
A = "ON stocks { ?t1 schema:object ?c ; schema:price ?p1 }"
B = "ON stocks { ?t2 schema:object ?c ; schema:price ?p2 FILTER(?p2 > ?p1) }"
[[variant]]
name = "a"
task = "run"
params = { split = true }
[[variant]]
name = "parses"
task = "parse"
[[claim]]
says = "it has times"
of = "parses"
over = "a"
at_least = 0.0
[expected]
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("SPASEQ_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def job(tmp_path: Path, events: int = 300) -> Job:
    """The V shape on a few trades."""
    data = make_input("stocks", {"events": events, "keys": 5}, tmp_path)
    params: dict[str, str | int | float | bool] = {"window": 10}
    output = str(tmp_path / "out.jsonl")
    return Job(task="run", query="", streams=data.streams, knowledge={}, output=output, params=params)


def in_a_clone() -> bool:
    """Whether there is a commit that can be measured as well."""
    return (
        subprocess.run(["git", "rev-parse", "HEAD"], cwd=FOLDER, capture_output=True, check=False).returncode
        == 0
    )


def test_a_right_answer_counts_and_a_wrong_one_voids_the_time(cache: Path) -> None:
    """The heart of the harness: a fast wrong answer is no result. That holds for another commit as well."""
    path = cache / "small.bench"
    path.write_text(SMALL, encoding="utf-8")
    found = answers_of(load_benchmark(path), "tiny")
    path.write_text(SMALL + f'"tiny a" = "{found["tiny a"]}"\n', encoding="utf-8")
    right = measure(load_benchmark(path), "tiny")
    assert [cell.counts for cell in right.cells] == [True, True]
    assert right.claims[0].holds
    assert sum(right.cells[0].split.values()) == pytest.approx(right.cells[0].cpu_median, rel=0.5)
    if in_a_clone():
        twice = measure(against(load_benchmark(path), "HEAD", "tiny", 99.0), "tiny")
        assert [(cell.variant, cell.void) for cell in twice.cells] == [("a", ""), ("a (HEAD)", "")]
        assert [claim.holds for claim in twice.claims] == [True]
    path.write_text(SMALL + f'"tiny a" = "{found["tiny a"].count + 1} 00"\n', encoding="utf-8")
    wrong = measure(load_benchmark(path), "tiny")
    assert "wrong answer" in wrong.cells[0].void
    assert wrong.claims[0].holds is None


def test_a_commit_that_does_not_exist_is_an_error(cache: Path) -> None:
    """With what git says."""
    with pytest.raises(InvalidArgument, match="no such commit"):
        unpacked("no-commit-has-this-name")


FORGETFUL = """
import sys
for number, _ in enumerate(sys.stdin):
    if number == 0:
        print("x", file=open(sys.argv[1], "w"))
    print('{"cpu": 1.0, "wall": 1.0}', flush=True)
"""


def test_an_answer_does_not_stand_for_that_of_the_next_round(cache: Path) -> None:
    """A worker that writes its answer once and then nothing is found out."""
    path = cache / "small.bench"
    path.write_text(SMALL, encoding="utf-8")
    work = _works(load_benchmark(path), "tiny", cache, lambda _: None)[0]
    (cache / "x").write_text("x\n", encoding="utf-8")
    work.expected = answer_in(cache / "x")
    work.worker = Worker([sys.executable, "-c", FORGETFUL, str(work.output)], os.environ)
    _round(work, warm_up=False)
    assert (work.void, len(work.rounds)) == ("", 1)
    _round(work, warm_up=False)
    assert "wrong answer: 0 lines" in work.void
    work.worker.close()


@pytest.mark.parametrize(("fresh", "peak"), [(True, 5.0), (False, 9.0)])
def test_the_memory_of_a_process_of_its_own_is_that_of_its_first_run(
    cache: Path, fresh: bool, peak: float
) -> None:
    """Later rounds begin with what earlier ones left, which nobody's run does."""
    path = cache / "small.bench"
    path.write_text(f"fresh = {str(fresh).lower()}\n{SMALL}", encoding="utf-8")
    benchmark = load_benchmark(path)
    work = _works(benchmark, "tiny", cache, lambda _: None)[0]
    work.first, work.rounds = {"memory": 5.0}, [{"memory": 8.0}, {"memory": 9.0}]
    assert _cell(work, benchmark).memory == peak


def test_the_order_of_lines_does_not_matter_for_an_answer(tmp_path: Path) -> None:
    """Within one instant it is free; a repeated line does matter."""
    one, two, three = (tmp_path / name for name in "abc")
    one.write_text("x\ny\n", encoding="utf-8")
    two.write_text("y\nx\n", encoding="utf-8")
    three.write_text("x\ny\ny\n", encoding="utf-8")
    assert answer_in(one) == answer_in(two) != answer_in(three)
    assert answer_in(tmp_path / "none") == Answer(0, "e3b0c44298fc1c14")


def test_the_same_parameters_give_the_same_files_and_others_do_not(tmp_path: Path) -> None:
    """Parameters of the query do not make new data."""
    first = make_input("stocks", {"events": 20, "window": 10}, tmp_path)
    assert make_input("stocks", {"events": 20, "window": 60}, tmp_path) == first
    assert make_input("stocks", {"events": 21}, tmp_path).streams != first.streams
    assert (first.events, first.quads) == (20, 120)


# --- stages ---------------------------------------------------------------------------------------


def test_every_seam_leads_to_a_function_of_the_engine() -> None:
    """A function that moved would silently count for the rest."""
    with watching(Stopwatch()):
        pass
    assert {stage for _, _, stage in SEAMS} <= set(STAGES)


class Clock:
    """A clock that moves when somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def test_a_stage_inside_another_counts_for_itself_only() -> None:
    """Times are exclusive, so they add up to the whole."""
    clock = Clock()
    watch = Stopwatch(clock)
    inner = watched(clock.work, "GPM", watch)
    outer = watched(lambda: (clock.work(2), inner(6)), "lexing", watch)
    clock.work(1)
    outer()
    found = watch.stop()
    assert (found["GPM"], found["lexing"], found["rest"]) == (6, 2, 1)


def test_the_time_of_a_generator_counts_while_it_is_read() -> None:
    """Readers are generators; making one costs nothing."""
    clock = Clock()
    watch = Stopwatch(clock)

    def numbers() -> object:
        for number in range(3):
            clock.work(1)
            yield number

    for number in watched(numbers, "lexing", watch)():
        clock.work(number)
    found = watch.stop()
    assert (found["lexing"], found["rest"]) == (3, 0 + 1 + 2)


# --- workers and peers ----------------------------------------------------------------------------


def test_a_worker_answers_every_line_and_survives_an_error(tmp_path: Path) -> None:
    """The harness must hear of a failure instead of waiting for ever."""
    work = job(tmp_path, 20)
    orders = [
        {"prepare": 1, "job": {**work, "task": "parse"}},
        {"go": 1},
        {"prepare": 2, "job": {**work, "task": "nothing"}},
        {"go": 1},
    ]
    out = io.StringIO()
    worker.serve(io.StringIO("".join(json.dumps(order) + "\n" for order in orders)), out)
    replies = [json.loads(line) for line in out.getvalue().splitlines()]
    assert replies[0] == {"ready": 1}
    assert replies[1]["quads"] == 120
    assert "KeyError" in replies[2]["error"]
    assert replies[3]["quads"] == 120


@pytest.mark.parametrize("name", ["pyoxigraph", "rdflib"])
def test_the_naive_peers_give_the_expected_answer(name: str, tmp_path: Path) -> None:
    """An independent reading of the V shape: per-event SPARQL and plain Python."""
    pytest.importorskip(name)
    bench = load_benchmark(FOLDER / "v-shape.bench")
    variant = bench.variants[0]
    params = bench.values("tiny", {}, variant)
    data = make_input(bench.workload, params, tmp_path)
    output = tmp_path / "out.jsonl"
    work = peers.PEERS[name]({"streams": data.streams, "params": params, "output": str(output)})
    work()
    assert answer_in(output) == bench.expected[bench.answer_key("tiny", {}, variant)]


def python_that(does: str, peer: str) -> Path:
    """The interpreter of a peer's environment, as a shell script."""
    python = environments.environment(peer) / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
    python.chmod(0o755)
    return python


def test_an_environment_that_cannot_be_filled_is_taken_away(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an environment would pass for a whole one at the next run."""

    def create(_folder: Path, **_options: bool) -> None:
        python_that("echo no such package >&2; exit 1", "flink")

    monkeypatch.setattr(venv, "create", create)
    with pytest.raises(PeerMissing, match="cannot be installed here: no such package"):
        environments.install("flink")
    assert not environments.environment("flink").exists()


def test_the_versions_of_a_peer_are_those_in_its_own_environment(cache: Path) -> None:
    """A number of another engine needs its version too."""
    assert environments.peer_versions() == {}
    python_that(f'exec {sys.executable} "$@"', "rdflib")
    assert environments.peer_versions() == {"rdflib (peer)": importlib.metadata.version("rdflib")}


def test_the_peak_of_memory_of_a_family_is_that_of_all_its_processes() -> None:
    """Flink works in a Java process below the peer's own."""
    alone = peers.tree_memory()
    with subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        together = peers.tree_memory()
        child.communicate(b"\n")
    assert together > alone + 1_000_000


def test_an_event_on_a_border_is_in_both_windows() -> None:
    """Windows are closed at both ends (semantics 1.8)."""
    assert peers.windows(600, 600) == [0, 1]
    assert peers.windows(601, 600) == [1]


def test_percentiles_are_in_milliseconds() -> None:
    """The 99th of a hundred values is the last but nothing smaller."""
    found = percentiles([number / 1000 for number in range(1, 101)])
    assert found == pytest.approx({"p50": 51.0, "p99": 100.0, "max": 100.0})
    assert percentiles([]) == {}
