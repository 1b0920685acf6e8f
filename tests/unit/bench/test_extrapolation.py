"""The page that extrapolates: numbers of the results, in proportion, with the arithmetic shown."""

from __future__ import annotations

from dataclasses import replace

from spaseq_bench.extrapolation import extrapolated
from spaseq_bench.results import Cell, Result


def test_ten_terabytes_are_in_proportion_to_what_was_measured() -> None:
    """A thousandth of a terabyte in 80 s of CPU time: ten of them take 800,000 s, a thousand on 800 cores."""
    figures = {
        "pattern cpu": [80.0], "sequence cpu": [8.0], "other cpu": [0.8], "shuffle bytes": [125e6],
        "shuffle blocks": [64.0], "answer bytes": [1e6], "pattern tasks": [8.0], "sequence tasks": [4.0],
    }  # fmt: skip
    cell = Cell("batch", "spark", "", None, 10**6, 6 * 10**6, 10**9, [88.8], [50.0])
    cell = replace(cell, matches=7, figures=figures)
    told = "\n".join(extrapolated(_result(cell)))
    assert "10 TB / 1,000.0 MB = 10,000 × as large: 10.0 billion events" in told
    assert "Graph patterns: 10,000 × 80.00 s / 800 cores = 16.7 minutes" in told
    assert "10,000 × 125.0 MB = 1.25 TB; / 50 machines / 1.25 GB/s = 0.3 minutes" in told
    assert "Together not less than 18 minutes" in told
    assert not extrapolated(_result(replace(cell, figures={})))


def _result(cell: Cell) -> Result:
    return Result("name", "Title", "Why?", "", "stocks", "", "", False, [], "", 1.0, 1.0, [cell], [])
