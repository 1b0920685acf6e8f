"""Facts about claims: the numbers decide, and the sentence says what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spaseq_bench.claims import judge
from spaseq_bench.declared import Claim
from spaseq_bench.results import Cell


def cell(variant: str, at: str, cpu: list[float], **more: object) -> Cell:
    """A cell with these CPU times."""
    x = float(at) if at else None
    return Cell(variant, "run", at, x, 10, 50, 500, cpu=cpu, wall=cpu, **more)  # type: ignore[arg-type]


RATIO = Claim("a is fast", "cpu", "ratio", of="parser", over="a", at_least=1.0)


def test_a_ratio_is_the_middle_of_the_ratios_within_rounds() -> None:
    """Rounds in which the whole machine was slow do not disturb it."""
    cells = [cell("parser", "", [1.0, 10.0, 1.2]), cell("a", "", [1.0, 8.0, 1.0])]
    verdict = judge(RATIO, cells)
    assert verdict.value == pytest.approx(1.2)
    assert verdict.holds
    assert "1.20 ×" in verdict.sentence
    assert "holds here" in verdict.sentence


def test_a_claim_that_fails_says_so() -> None:
    """The report must not hide it."""
    verdict = judge(replace(RATIO, at_least=2.0), [cell("parser", "", [1.0]), cell("a", "", [1.0])])
    assert verdict.holds is False
    assert "does not hold here" in verdict.sentence


@pytest.mark.parametrize(("measure", "expected"), [("cpu", 9.0), ("rate", 1 / 9)], ids=["time", "throughput"])
def test_growth_is_taken_within_rounds_too(measure: str, expected: float) -> None:
    """The second round ran on a machine of half the speed; throughput is the inverse of time."""
    claim = Claim("it grows", measure, "growth", of="a", start="10", at="20", at_most=10.0)
    cells = [cell("a", "10", [1.0, 2.0, 1.0]), cell("a", "20", [9.0, 18.0, 14.0])]
    assert judge(claim, cells).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "told"), [(1.2, "is 1.20 s"), (0.999, "is 0.9990 s"), (2034.4, "is 2,034 s")]
)
def test_a_number_near_its_bar_is_told_more_precisely(value: float, told: str) -> None:
    """`1.00, asked is ≥ 1` would say nothing."""
    claim = Claim("it is slow", "cpu", "value", of="a", at_least=1.0)
    assert told in judge(claim, [cell("a", "", [value])]).sentence


@pytest.mark.parametrize("broken", [{"void": "wrong answer"}, {"skipped": "not installed"}])
def test_a_void_time_decides_nothing(broken: dict[str, str]) -> None:
    """A wrong answer voids the time, and so every claim that rests on it."""
    verdict = judge(RATIO, [cell("parser", "", [1.0]), cell("a", "", [0.5], **broken)])
    assert verdict.holds is None
    assert "could not be decided" in verdict.sentence


def test_growth_compares_two_points_of_one_variant() -> None:
    """Ten times the input at nine times the time."""
    claim = Claim("it grows", "cpu", "growth", of="a", start="10", at="100", at_most=11)
    assert judge(claim, [cell("a", "10", [1.0]), cell("a", "100", [9.0])]).value == pytest.approx(9.0)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_an_exponent_is_the_slope_over_the_axis(power: int) -> None:
    """Constant, linear, quadratic."""
    cells = [cell("a", str(x), [0.5 * x**power]) for x in (10, 100, 1000)]
    claim = Claim("it grows", "cpu", "exponent", of="a", at_most=3)
    assert judge(claim, cells).value == pytest.approx(power, abs=1e-9)


def test_a_stage_leads_if_no_other_operation_is_dearer() -> None:
    """Output and the rest are not among the paper's operations."""
    stages = {"lexing": 1.0, "GPM": 2.0, "automaton": 4.0, "output": 9.0, "rest": 9.0}
    claim = Claim("GPM leads", "stage:GPM", "lead", of="a", at_least=1.0)
    assert judge(claim, [cell("a", "", [25.0], stages=[stages])]).value == pytest.approx(0.5)


def test_events_are_what_is_left_without_loading_knowledge() -> None:
    """Figure 18 asks what every event costs, not what loading costs."""
    stages = {"knowledge": 5.0, "lexing": 1.0, "GPM": 2.0}
    claim = Claim("s", "events", "value", of="a", at_most=3)
    assert judge(claim, [cell("a", "", [8.0], stages=[stages])]).value == pytest.approx(3.0)
