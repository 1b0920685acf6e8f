"""Facts about declared benchmarks: what a file must say, and that mistakes are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument
from spaseq.planner.compiled import compile_query
from spaseq_bench.declared import PROFILES, Answer, load_all, load_benchmark, pinned
from spaseq_bench.queries import filled, query_text

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"
BENCHMARKS = load_all(FOLDER)

SMALL = """
title = "T"
question = "Q?"
[workload]
name = "stocks"
[profile.tiny]
[profile.quick]
events = 5
[profile.full]
[axis]
name = "window"
points = [10, { at = 20, seq = "B" }]
[[variant]]
name = "a"
task = "run"
params = { op = ";" }
[expected]
"quick 10 a" = "3 ab"
"""


def written(tmp_path: Path, text: str) -> Path:
    """A file with this text."""
    path = tmp_path / "small.bench"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_everything_that_a_run_needs(tmp_path: Path) -> None:
    """Parameters are laid over each other: workload, profile, point, variant."""
    bench = load_benchmark(written(tmp_path, SMALL))
    (variant,) = bench.variants
    second = bench.points("quick")[1]
    assert bench.values("quick", second, variant) == {
        "events": 5,
        "window": 20,
        "at": 20,
        "seq": "B",
        "op": ";",
    }
    assert bench.expected[bench.answer_key("quick", bench.points("quick")[0], variant)] == Answer(3, "ab")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('title = "T"', 'titel = "T"', "did you mean `title`"),
        ('task = "run"', 'task = "runn"', "did you mean `run`"),
        ("[profile.full]", "", "profiles"),
        ("points = [10,", "points = [{ x = 1 },", "needs `at`"),
        ('"3 ab"', '"ab"', "COUNT DIGEST"),
        ('[[variant]]\nname = "a"\ntask = "run"\nparams = { op = ";" }\n', "", "measures nothing"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_the_reason(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    """Whoever writes a benchmark reads a sentence, not a traceback."""
    assert old in SMALL
    with pytest.raises(InvalidArgument, match=told) as caught:
        load_benchmark(written(tmp_path, SMALL.replace(old, new)))
    assert "small.bench" in str(caught.value)


def test_a_claim_about_an_unknown_variant_is_refused(tmp_path: Path) -> None:
    """A claim that could never be decided is a mistake."""
    claim = '[[claim]]\nsays = "s"\nof = "b"\nat_most = 1\n'
    with pytest.raises(InvalidArgument, match="`b`, which is not a variant"):
        load_benchmark(written(tmp_path, SMALL.replace("[expected]", claim + "[expected]")))


def test_pinning_replaces_the_expected_answers_and_nothing_else(tmp_path: Path) -> None:
    """What people wrote stays as it is."""
    text = SMALL.split("[expected]")[0]
    once = pinned(text, {"quick 10 a": Answer(4, "cd")})
    assert once.startswith(text.rstrip())
    assert pinned(once, {"quick 10 a": Answer(4, "cd")}) == once
    assert load_benchmark(written(tmp_path, once)).expected == {"quick 10 a": Answer(4, "cd")}


def test_parameters_may_be_written_with_parameters() -> None:
    """A sequence of a point names the operator of a variant."""
    assert filled("SEQ (${seq})", {"seq": "A${op} B", "op": ";"}) == "SEQ (A; B)"
    with pytest.raises(InvalidArgument, match="has no value"):
        filled("${x}", {})


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda each: each.name)
def test_every_query_of_every_benchmark_compiles(benchmark) -> None:
    """All points, all variants, all profiles."""
    for profile in benchmark.profiles:
        for point in benchmark.points(profile):
            for variant in benchmark.variants:
                params = benchmark.values(profile, point, variant)
                named = variant.task in ("watched", "refused")
                language = str(params.get("language", "epsparql")) if named else None
                compile_query(query_text(benchmark.query, params), language)


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda each: each.name)
def test_every_cell_has_an_expected_answer(benchmark) -> None:
    """A time without an answer is void, so a missing one would silently empty the book."""
    for profile in PROFILES:
        keys = {
            benchmark.answer_key(profile, point, variant)
            for point in benchmark.points(profile)
            for variant in benchmark.variants
            if variant.task != "parse"
        }
        assert keys <= set(benchmark.expected)


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda each: each.name)
def test_claims_speak_of_points_that_exist(benchmark) -> None:
    """A misspelled point would leave a claim undecided for ever."""
    known = {"", *(str(point["at"]) for point in benchmark.points("full") if point)}
    assert {at for claim in benchmark.claims for at in (claim.at, claim.start)} <= known


def test_every_figure_of_the_paper_has_a_benchmark() -> None:
    """SPAseq figures 15 to 22, skip-till-any and the demands of speed."""
    names = " ".join(benchmark.name for benchmark in BENCHMARKS)
    for figure in (15, 17, 18, 19, 20, 21, 22):
        assert f"fig{figure}-" in names
    for name in ("limit", "start", "latency", "growth-events", "growth-keys", "skip-till-any", "v-shape"):
        assert name in names
