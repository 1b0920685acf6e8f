"""Claims decided by numbers: the sentence about a paper's figure is computed, never written by hand."""

from __future__ import annotations

from math import log
from statistics import median

from spaseq_bench.declared import Claim
from spaseq_bench.results import Cell, Result, Verdict

OPERATIONS = ("lexing", "GPM", "automaton")
"""What figure 19 of the SPAseq paper compares: parsing, graph pattern matching, automaton."""

_NAMES = {
    "cpu": "CPU time",
    "wall": "wall time",
    "memory": "peak memory",
    "per triple": "what is kept at the end, terms and indexes included, for a triple in the window",
    "shuffle": "what Spark shuffles",
    "runs": "the peak of runs",
    "events": "CPU time without loading knowledge",
    "rate": "throughput",
    "p50": "the median of latency",
    "p99": "the 99th percentile of latency",
    "cpu_p99": "the 99th percentile of the CPU time of a push",
    "cpu_mean": "the mean CPU time of a push",
    "evaluation": "CPU time per evaluation",
    "after_reading": "CPU time per evaluation after reading",
    "triples": "throughput at an evaluation per event, without timestamps",
    "pace": "throughput",
    "loading": "CPU time of loading",
    "per_event": "CPU time per event after the first tenth",
    "steady": "throughput of the last tenth, over that of the second,",
    "flat": "the peak of memory in the second half, over that in the first,",
}
_UNITS = {
    "cpu": " s",
    "wall": " s",
    "events": " s",
    "shuffle": " bytes",
    "per triple": " bytes",
    "rate": " triples/s",
    "p50": " ms",
    "p99": " ms",
    "cpu_p99": " ms",
    "cpu_mean": " ms",
    "evaluation": " µs",
    "after_reading": " µs",
    "triples": " triples/s",
    "pace": " events/s",
    "loading": " s",
    "per_event": " µs",
    "memory": " bytes",
}


def judge(claim: Claim, cells: list[Cell]) -> Verdict:
    """What the numbers say about a claim."""
    value = _value(claim, cells)
    bar = f"≥ {claim.at_least:g}" if claim.at_least is not None else f"≤ {claim.at_most:g}"
    holds = None if value is None else _within(claim, value)
    return Verdict(claim.says, value, bar, holds, claim.paper, _sentence(claim, value, bar, holds))


def _within(claim: Claim, value: float) -> bool:
    if claim.at_least is not None:
        return value >= claim.at_least
    assert claim.at_most is not None
    return value <= claim.at_most


def _sentence(claim: Claim, value: float | None, bar: str, holds: bool | None) -> str:
    whose = "The paper's claim" if claim.paper else "The demand"
    if value is None or holds is None:
        return f"{whose} that {claim.says} could not be decided: a number is missing or void."
    return f"{whose} that {claim.says} {'holds' if holds else 'does not hold'} here: {_told(claim, value)}, asked is {bar}."


def _told(claim: Claim, value: float) -> str:
    what = _NAMES.get(claim.measure, claim.measure.replace("stage:", "time of ") if claim.measure else "")
    at = f" at {_point(claim.at)}" if claim.at else ""
    number = _number(value, claim.at_least if claim.at_least is not None else claim.at_most)
    match claim.kind:
        case "ratio":
            return f"{what} of {claim.of} is {number} × that of {claim.over}{at}"
        case "growth":
            return f"{what} of {claim.of} is {number} × as much at {_point(claim.at)} as at {_point(claim.start)}"
        case "exponent":
            return f"{what} of {claim.of} grows with the power {number} of the axis"
        case "lead":
            return f"{what} is {number} × that of the dearest other operation{at}"
        case "value":
            return f"{what} of {claim.of} is {number}{_UNITS.get(claim.measure, '')}{at}"


def _number(value: float, bar: float | None) -> str:
    """Two digits behind the point, none where they say nothing, more where the bar is near."""
    if bar is not None and abs(value - bar) < 0.01:
        return f"{value:.4f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _point(at: str) -> str:
    return f"{int(at):,}" if at.isdigit() else at


def _value(claim: Claim, cells: list[Cell]) -> float | None:
    of = [cell for cell in cells if cell.variant == claim.of]
    match claim.kind:
        case "ratio":
            over = [cell for cell in cells if cell.variant == claim.over]
            return _quotient(claim.measure, _at(of, claim.at), _at(over, claim.at))
        case "growth":
            return _quotient(claim.measure, _at(of, claim.at), _at(of, claim.start))
        case "exponent":
            return _exponent(claim, of)
        case "lead":
            return _lead(claim, _at(of, claim.at))
        case "value":
            cell = _at(of, claim.at)
            return cell.measure(claim.measure) if cell else None


def _at(cells: list[Cell], at: str) -> Cell | None:
    """The cell at a point; the last one if none is named."""
    found = [cell for cell in cells if not at or cell.at == at]
    return found[-1] if found else None


def _quotient(measure: str, left: Cell | None, right: Cell | None) -> float | None:
    """The middle of the ratios within each round: both sides of one were measured a moment apart."""
    if left is None or right is None or not left.counts or not right.counts:
        return None
    sides = left.rounds(measure), right.rounds(measure)
    if all(sides) and all(sides[1]):
        return median(a / b for a, b in zip(*sides, strict=True))
    a, b = left.measure(measure), right.measure(measure)
    return None if a is None or not b else a / b


def _lead(claim: Claim, cell: Cell | None) -> float | None:
    """The time of a stage over that of the dearest other one of the paper's operations."""
    if cell is None or not cell.counts:
        return None
    own = cell.split.get(claim.measure.removeprefix("stage:"))
    others = [cell.split.get(name, 0.0) for name in OPERATIONS if f"stage:{name}" != claim.measure]
    return None if own is None or not max(others) else own / max(others)


def _exponent(claim: Claim, of: list[Cell]) -> float | None:
    """The slope of the measure over the axis, both as logarithms: 1 is linear, 0 constant."""
    pairs = [(cell.x, cell.measure(claim.measure)) for cell in of]
    points = [(log(x), log(y)) for x, y in pairs if x and y]
    if len(points) < 2:
        return None
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread if spread else None


def summary(results: list[Result]) -> tuple[int, int, int]:
    """How many claims hold, do not hold, and could not be decided."""
    verdicts = [verdict.holds for result in results for verdict in result.claims]
    return verdicts.count(True), verdicts.count(False), verdicts.count(None)
