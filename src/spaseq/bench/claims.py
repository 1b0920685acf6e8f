"""Claims decided by numbers: the sentence about a paper's figure is computed, never written by hand."""

from __future__ import annotations

from math import log
from statistics import median

from spaseq.bench.declared import Claim
from spaseq.bench.results import Cell, Result, Verdict

OPERATIONS = ("lexing", "GPM", "automaton")
"""What figure 19 of the SPAseq paper compares: parsing, graph pattern matching, automaton."""

_NAMES = {
    "cpu": "CPU time",
    "wall": "wall time",
    "memory": "peak memory",
    "events": "CPU time without loading knowledge",
    "p50": "median latency (ms)",
    "p99": "99th percentile of latency (ms)",
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
    at = f" at {claim.at}" if claim.at else ""
    match claim.kind:
        case "ratio":
            return f"{what} of {claim.of} is {value:.2f} × that of {claim.over}{at}"
        case "growth":
            return f"{what} of {claim.of} is {value:.2f} × from {claim.start} to {claim.at}"
        case "exponent":
            return f"{what} of {claim.of} grows with the power {value:.2f} of the axis"
        case "lead":
            return f"{what} is {value:.2f} × that of the dearest other operation{at}"
        case "value":
            return f"{what} of {claim.of} is {value:.3g}{at}"


def _value(claim: Claim, cells: list[Cell]) -> float | None:
    of = [cell for cell in cells if cell.variant == claim.of]
    match claim.kind:
        case "ratio":
            return _ratio(claim, of, [cell for cell in cells if cell.variant == claim.over])
        case "growth":
            return _growth(claim, of)
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


def _ratio(claim: Claim, of: list[Cell], over: list[Cell]) -> float | None:
    """The middle of the ratios within each round: both sides of one were measured a moment apart."""
    left, right = _at(of, claim.at), _at(over, claim.at)
    if left is None or right is None:
        return None
    if claim.measure in ("cpu", "wall") and left.counts and right.counts:
        sides = (left.cpu, right.cpu) if claim.measure == "cpu" else (left.wall, right.wall)
        return median(a / b for a, b in zip(*sides, strict=True))
    a, b = left.measure(claim.measure), right.measure(claim.measure)
    return None if a is None or not b else a / b


def _growth(claim: Claim, of: list[Cell]) -> float | None:
    first, last = _at(of, claim.start), _at(of, claim.at)
    if first is None or last is None:
        return None
    a, b = first.measure(claim.measure), last.measure(claim.measure)
    return None if b is None or not a else b / a


def _lead(claim: Claim, cell: Cell | None) -> float | None:
    """The time of a stage over that of the dearest other one of the paper's operations."""
    if cell is None or not cell.counts:
        return None
    others = [cell.stages.get(name, 0.0) for name in OPERATIONS if f"stage:{name}" != claim.measure]
    own = cell.measure(claim.measure)
    return None if own is None or not max(others, default=0.0) else own / max(others)


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
