"""Tables and plots of a result, for the terminal and for the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Final

from spaseq_bench.plots import Bar, Series, bar_chart, line_chart, short
from spaseq_bench.results import NO_RATE, Cell, Result
from spaseq_bench.stages import STAGES

Rows = list[tuple[str, ...]]

PLOTS: Final[dict[str, tuple[str, str, Callable[[Cell], float | None]]]] = {
    "cpu": ("CPU time", "seconds", lambda cell: cell.measure("cpu")),
    "wall": ("wall time", "seconds", lambda cell: cell.measure("wall")),
    "rate": (
        "throughput",
        "triples per second",
        lambda cell: cell.triples_per_second,
    ),
    "events": (
        "CPU time without loading knowledge",
        "seconds",
        lambda cell: cell.measure("events"),
    ),
    "evaluation": (
        "CPU time per evaluation",
        "microseconds",
        lambda cell: cell.measure("evaluation"),
    ),
    "triples": (
        "throughput",
        "triples/s, evaluated at every event",
        lambda cell: cell.measure("triples"),
    ),
    "memory": (
        "peak memory",
        "MiB",
        lambda cell: cell.memory / 2**20 if cell.counts and cell.memory else None,
    ),
    "runs": (
        "peak of runs",
        "runs",
        lambda cell: float(cell.peak_runs) if cell.counts and cell.peak_runs else None,
    ),
}
"""Names, units and values of the plots over cells; `split` and `latency` are drawn apart."""


# --- tables -------------------------------------------------------------------------------------


def told_rows(result: Result) -> Rows:
    """The cells as a table of texts; columns that no cell fills are left out."""
    head = (
        result.axis or "",
        "variant",
        "CPU s",
        "wall s",
        "events/s",
        "triples/s",
        "µs per evaluation",
        "after reading",
        "shuffled MB",
        "peak MiB",
        "bytes per triple",
        "peak runs",
        "p50 ms",
        "p99 ms",
        "matches",
        "",
    )
    rows: Rows = [head, *(_row(cell) for cell in result.cells)]
    used = [index for index in range(len(head)) if any(row[index] for row in rows[1:])]
    return [tuple(row[index] for index in used) for row in rows]


def _row(cell: Cell) -> tuple[str, ...]:
    if not cell.cpu:
        return (cell.at, cell.variant, *[""] * 13, _why(cell))
    memory = f"{cell.memory / 2**20:.0f}" if cell.memory else ""
    paced = cell.task in NO_RATE
    return (
        cell.at,
        cell.variant,
        f"{cell.cpu_median:.3f}" if cell.shuffle or not cell.task.startswith("spark") else "",
        f"{cell.wall_median:.3f}",
        "" if paced or cell.evaluations else short(cell.events / cell.seconds),
        short(cell.triples / cell.seconds) if cell.triples else _rate(cell),
        f"{1e6 * cell.seconds / cell.evaluations:.3g}" if cell.evaluations else "",
        f"{after:.3g}" if (after := cell.measure("after_reading")) else "",
        f"{median(cell.shuffle) / 1e6:.1f}" if cell.shuffle else "",
        memory,
        f"{cell.per_triple:.0f}" if cell.per_triple else "",
        f"{cell.peak_runs:,}" if cell.peak_runs else "",
        f"{cell.latency['p50']:.2f}" if "p50" in cell.latency else "",
        f"{cell.latency['p99']:.2f}" if "p99" in cell.latency else "",
        f"{cell.matches:,}" if cell.task not in ("parse", "compile") else "",
        _why(cell),
    )


def _rate(cell: Cell) -> str:
    return "" if cell.task in NO_RATE or cell.evaluations else short(cell.quads / cell.seconds)


def _why(cell: Cell) -> str:
    if cell.void:
        return f"void: {cell.void}"
    return f"skipped: {cell.skipped}" if cell.skipped else ""


def split_rows(result: Result) -> Rows:
    """Where the CPU time of the middle round went, in seconds by stage; empty if it was not measured."""
    cells = [cell for cell in result.cells if cell.counts and cell.stages]
    used = [stage for stage in STAGES if any(cell.split.get(stage, 0.0) >= 0.0005 for cell in cells)]
    rows: Rows = [(result.axis, "CPU s of", *used)]
    rows += [
        (cell.at, cell.variant, *(f"{cell.split.get(stage, 0.0):.3f}" for stage in used)) for cell in cells
    ]
    return [row if result.axis else row[1:] for row in rows] if cells else []


def paper_rows(result: Result) -> Rows:
    """Thousands of triples per second by variant and point, and below them the paper's; empty if none are given."""
    if not result.paper:
        return []
    rows: Rows = [("1,000 triples/s at an evaluation per event", *result.points)]
    for variant in result.variants:
        cells = [cell for at in result.points if (cell := result.cell(variant, at)) is not None]
        rates = [
            None if cell.note.startswith("for its answer") else cell.measure("triples") for cell in cells
        ]
        if any(rates):
            rows.append((variant, *("" if rate is None else _thousands(rate) for rate in rates)))
    return rows + [tuple(row) for row in result.paper]


def _thousands(rate: float) -> str:
    return f"{rate / 1000:,.0f}" if rate >= 10_000 else f"{rate / 1000:.2g}"


# --- plots --------------------------------------------------------------------------------------


Draw = Callable[[], str]
"""Draws a plot and returns its SVG."""


def plots_of(result: Result) -> Iterator[tuple[str, Draw]]:
    """The plots of a result: their names and what draws them."""
    for kind in result.plots:
        match kind:
            case "split":
                drawn = split_plot(result)
            case "latency":
                drawn = latency_plot(result)
            case _:
                drawn = cell_plot(result, kind)
        if drawn:
            yield f"{result.name}-{kind}", drawn


def cell_plot(result: Result, kind: str) -> Draw | None:
    """One value per cell: lines if the axis is numeric, bars otherwise."""
    name, unit, value = PLOTS[kind]
    title = f"{result.title}: {name}"
    found = [(cell, value(cell)) for cell in result.cells]
    points = [(cell, number) for cell, number in found if number is not None]
    if not points:
        return None
    if result.axis and all(cell.x is not None for cell, _ in points) and len(result.points) > 1:
        series = [
            Series(
                variant, tuple((cell.x or 0.0, number) for cell, number in points if cell.variant == variant)
            )
            for variant in result.variants
        ]
        drawn = [line for line in series if line.points]
        values = [number for _, number in points]
        wide = max(values) / max(min(values), 1e-9) > 30
        x_label = f"{result.axis} ({result.unit})" if result.unit else result.axis
        return partial(line_chart, title, drawn, x_label=x_label, y_label=unit, log_x=result.log, log_y=wide)
    bars = [Bar(_bar_label(result, cell), ((name, number),)) for cell, number in points]
    return partial(bar_chart, title, bars, unit=unit)


def split_plot(result: Result) -> Draw | None:
    """Where the CPU time goes, for the cells that kept a stopwatch; slivers are left out."""
    cells = [cell for cell in result.cells if cell.counts and cell.stages]
    bars = [
        Bar(
            _bar_label(result, cell),
            tuple(
                (stage, seconds) for stage, seconds in cell.split.items() if seconds > cell.cpu_median / 300
            ),
        )
        for cell in cells
    ]
    bars += [
        Bar(_bar_label(result, cell), (("parsing alone", cell.cpu_median),))
        for cell in result.cells
        if cell.counts and cell.task == "parse"
    ]
    title = f"{result.title}: where the time goes"
    return partial(bar_chart, title, bars, unit="seconds of CPU", names=STAGES) if cells else None


def latency_plot(result: Result) -> Draw | None:
    """The median and the 99th percentile of every cell that has them."""
    bars = [
        Bar(f"{_bar_label(result, cell)}, {told}", ((told, cell.latency[name]),))
        for cell in result.cells
        for name, told in (("p50", "median"), ("p99", "99th percentile"))
        if cell.counts and name in cell.latency
    ]
    title = f"{result.title}: from push to match"
    return partial(bar_chart, title, bars, unit="milliseconds") if bars else None


def _bar_label(result: Result, cell: Cell) -> str:
    """The point with its unit, the variant if there are several."""
    at = f"{short(cell.x)} {result.unit}".strip() if cell.x is not None else cell.at
    names = (at, cell.variant) if len(result.variants) > 1 or not at else (at,)
    return ", ".join(filter(None, names))
