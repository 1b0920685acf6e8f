"""Facts about `spaseq-bench`: names, shorthands, exit statuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from spaseq_bench.command import bench, chosen, folder_of_benchmarks

RUNNER = CliRunner()


def test_the_list_names_every_declared_benchmark() -> None:
    """With what it asks."""
    done = RUNNER.invoke(bench, ["list"])
    assert done.exit_code == 0
    names = {line.split()[0] for line in done.output.splitlines()[1:]}
    assert names == {path.stem for path in folder_of_benchmarks().glob("*.bench")}


def test_the_name_of_a_benchmark_is_short_for_running_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`spaseq-bench start` writes its result and tells its claims."""
    monkeypatch.setenv("SPASEQ_CACHE_DIR", str(tmp_path))
    out = tmp_path / "r.json"
    done = RUNNER.invoke(bench, ["start", "--profile", "tiny", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "under a second" in done.output
    again = RUNNER.invoke(bench, ["compare", str(out), str(out)])
    assert again.exit_code == 0
    pages = RUNNER.invoke(bench, ["report", str(out), "--out", str(tmp_path / "book")])
    assert pages.exit_code == 0
    assert (tmp_path / "book" / "start.md").exists()


def test_an_unknown_name_is_an_error_with_the_nearest_one() -> None:
    """Exit status 2: the command line is wrong."""
    done = RUNNER.invoke(bench, ["run", "limmit"])
    assert done.exit_code == 2
    assert "did you mean `limit`" in done.output


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("limit", {"limit"}),
        ("fig18", {"fig18-cards", "fig18-stocks"}),
        ("fig16", {"fig15-cards", "fig15-smartgrid", "fig15-stocks", "fig15-traffic"}),
        ("growth", {"fig15-stocks", "growth-events", "growth-keys", "growth-steps"}),
        (
            "spark",
            {
                "spark-buckets",
                "spark-fifty-nodes",
                "spark-held-runs",
                "spark-micro-batches",
                "spark-records",
                "spark-scaling",
            },
        ),
        ("lat", {"latency"}),
    ],
)
def test_a_name_may_stand_for_several(name: str, expected: set[str]) -> None:
    """Its own file, else its group, else all that begin with it."""
    assert {path.stem for path in chosen(name, folder_of_benchmarks())} == expected


def test_a_broken_file_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 2, no traceback."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "mine.bench").write_text("title = ", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = RUNNER.invoke(bench, ["mine"])
    assert done.exit_code == 2
    assert "not TOML" in done.output


def test_peers_are_listed_with_whether_they_are_ready() -> None:
    """None of them is a dependency."""
    done = RUNNER.invoke(bench, ["peers"])
    assert done.exit_code == 0
    assert {"pyoxigraph", "rdflib", "flink"} <= {line.split()[0] for line in done.output.splitlines()}
