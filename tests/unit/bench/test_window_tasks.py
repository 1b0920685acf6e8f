"""Facts about benchmarks of continuous queries: how triples are cut into events, and that others give the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaseq_bench.declared import load_benchmark
from spaseq_bench.input_files import make_input
from spaseq_bench.measure import answer_in
from spaseq_bench.queries import query_text
from spaseq_bench.tasks import Job, prepare
from spaseq_bench.window_tasks import survey

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"


def test_triples_are_cut_into_events_that_fill_a_window_first(tmp_path: Path) -> None:
    """Ten triples at one instant, then five events of two, two of them at an instant."""
    shape = {"triples": 20, "per_event": 2, "filling": 10, "per_instant": 2, "keys": 3}
    data = make_input("seas", shape, tmp_path)
    first, evaluations, triples = survey(Path(data.streams["seas"]))
    assert (data.events, evaluations, triples) == (10, 3, 10)
    assert Path(data.streams["seas"]).read_bytes()[first:].startswith(b"<http://example.org/event/5> ")


@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("spectra-power", ("windows", "oxigraph")),
        ("spectra-tumbling", ("windows", "oxigraph")),
        ("rolling-average", ("rolling", "oxigraph rolling")),
        ("rolling-average", ("oxigraph rolling", "oxigraph rolling, anew")),
    ],
)
def test_pyoxigraph_asked_anew_gives_the_same_lines(
    name: str, tasks: tuple[str, str], tmp_path: Path
) -> None:
    """What is compared computes the same."""
    benchmark = load_benchmark(FOLDER / f"{name}.bench")
    point = benchmark.points("tiny")[1] if benchmark.axis else {}
    params = benchmark.values("tiny", point, benchmark.variants[0]) | {"triples": 60}
    if benchmark.axis and benchmark.axis.name == "query":
        params |= {"select": "?s ?d", "pattern": "?s ub:worksFor ?d ; ub:name ?n", "window": 25}
    data = make_input(benchmark.workload, params, tmp_path)
    found = []
    for number, task in enumerate(tasks):
        output = tmp_path / f"{number}.jsonl"
        text = query_text(benchmark.query, params)
        streams = data.streams
        if task.endswith(", anew"):
            task, params = task.removesuffix(", anew"), params | {"store_per_window": True}
        job = Job(task=task, query=text, streams=streams, knowledge={}, output=str(output), params=params)
        outcome = prepare(job)()
        assert outcome["evaluations"]
        found.append(answer_in(output))
    assert found[0] == found[1]
    assert found[0].count > 0


def test_reading_is_told_apart(tmp_path: Path) -> None:
    """Reading took some of the time, and not all of it."""
    benchmark = load_benchmark(FOLDER / "spectra-power.bench")
    point = benchmark.points("tiny")[1]
    params = benchmark.values("tiny", point, benchmark.variants[0]) | {"triples": 2000, "filling": 0}
    data = make_input(benchmark.workload, params, tmp_path)
    text, output = query_text(benchmark.query, params), str(tmp_path / "found.jsonl")
    job = Job(task="windows", query=text, streams=data.streams, knowledge={}, output=output, params=params)
    outcome = prepare(job)()
    figures, evaluations, cpu = outcome["figures"], outcome["evaluations"], outcome["cpu"]
    assert isinstance(figures, dict)
    assert isinstance(evaluations, float)
    assert isinstance(cpu, float)
    assert 0.01 * cpu < figures["after_reading"] * evaluations / 1e6 < 0.99 * cpu
