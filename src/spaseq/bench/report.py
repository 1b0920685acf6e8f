"""The book: results as pages with plots, in Markdown for the documentation and as one page of HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from spaseq.bench.claims import summary
from spaseq.bench.plots import Bar, Series, bar_chart, line_chart, short
from spaseq.bench.results import Book, Cell, Result

Rows = list[tuple[str, ...]]

PLOTS: Final[dict[str, tuple[str, str, Callable[[Cell], float | None]]]] = {
    "cpu": ("CPU time", "seconds", lambda cell: cell.measure("cpu")),
    "wall": ("Wall time", "seconds", lambda cell: cell.measure("wall")),
    "rate": (
        "Throughput",
        "quads per second of CPU",
        lambda cell: cell.quads / cell.seconds if cell.counts else None,
    ),
    "events": (
        "CPU time without loading knowledge",
        "seconds",
        lambda cell: cell.measure("events"),
    ),
    "memory": (
        "Peak memory",
        "MiB",
        lambda cell: cell.memory / 2**20 if cell.counts and cell.memory else None,
    ),
    "runs": (
        "Peak of runs",
        "runs",
        lambda cell: float(cell.peak_runs) if cell.counts and cell.peak_runs else None,
    ),
    "latency": (
        "Latency, 99th percentile",
        "milliseconds",
        lambda cell: cell.latency.get("p99") if cell.counts else None,
    ),
}
"""Titles, units and values of the plots over cells; `split` is drawn apart."""


# --- tables -------------------------------------------------------------------------------------


def told_rows(result: Result) -> Rows:
    """The cells as a table of texts; columns that no cell fills are left out."""
    head = (
        result.axis or "",
        "variant",
        "CPU s",
        "wall s",
        "events/s",
        "quads/s",
        "peak MiB",
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
        return (cell.at, cell.variant, *[""] * 9, _why(cell))
    memory = f"{cell.memory / 2**20:.0f}" if cell.memory else ""
    paced = cell.task == "push"
    return (
        cell.at,
        cell.variant,
        f"{cell.cpu_median:.3f}" if cell.task != "spark" else "",
        f"{cell.wall_median:.3f}",
        "" if paced else short(cell.events / cell.seconds),
        "" if paced else short(cell.quads / cell.seconds),
        memory,
        f"{cell.peak_runs:,}" if cell.peak_runs else "",
        f"{cell.latency['p50']:.2f}" if "p50" in cell.latency else "",
        f"{cell.latency['p99']:.2f}" if "p99" in cell.latency else "",
        f"{cell.matches:,}" if cell.task != "parse" else "",
        _why(cell),
    )


def _why(cell: Cell) -> str:
    if cell.void:
        return f"void: {cell.void}"
    return f"skipped: {cell.skipped}" if cell.skipped else ""


# --- plots --------------------------------------------------------------------------------------


def plots_of(result: Result) -> Iterator[tuple[str, str]]:
    """The plots of a result: their names and their SVG."""
    for kind in result.plots:
        drawn = split_plot(result) if kind == "split" else cell_plot(result, kind)
        if drawn:
            yield f"{result.name}-{kind}", drawn


def cell_plot(result: Result, kind: str) -> str | None:
    """One value per cell: lines if the axis is numeric, bars otherwise."""
    name, unit, value = PLOTS[kind]
    title = f"{name}: {result.title[0].lower()}{result.title[1:]}"
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
        return line_chart(title, drawn, x_label=x_label, y_label=unit, log_x=result.log, log_y=wide)
    bars = [Bar(_bar_label(result, cell), ((name, number),)) for cell, number in points]
    return bar_chart(title, bars, unit=unit)


def split_plot(result: Result) -> str | None:
    """Where the CPU time goes, for the cells that kept a stopwatch; slivers are left out."""
    cells = [cell for cell in result.cells if cell.counts and cell.stages]
    bars = [
        Bar(
            _bar_label(result, cell),
            tuple(
                (stage, seconds) for stage, seconds in cell.stages.items() if seconds > cell.cpu_median / 300
            ),
        )
        for cell in cells
    ]
    bars += [
        Bar(_bar_label(result, cell), (("parsing alone", cell.cpu_median),))
        for cell in result.cells
        if cell.counts and cell.task == "parse"
    ]
    title = f"Where the time goes: {result.title[0].lower()}{result.title[1:]}"
    return bar_chart(title, bars, unit="seconds of CPU") if cells else None


def _bar_label(result: Result, cell: Cell) -> str:
    """The point with its unit, the variant if there are several."""
    at = f"{short(cell.x)} {result.unit}".strip() if cell.x is not None else cell.at
    return f"{at} {cell.variant}".strip() if len(result.variants) > 1 or not at else at


# --- Markdown -----------------------------------------------------------------------------------


def write_report(book: Book, folder: Path) -> list[Path]:
    """Write all pages and plots; the paths that were written."""
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    written = []
    for result in book.results:
        names = []
        for name, svg in plots_of(result):
            path = images / f"{name}.svg"
            path.write_text(svg, encoding="utf-8")
            names.append(name)
            written.append(path)
        page = folder / f"{result.name}.md"
        page.write_text(result_page(result, names), encoding="utf-8")
        written.append(page)
    for path, text in ((folder / "README.md", index_page(book)), (folder / "book.html", html_page(book))):
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _markdown_table(rows: Rows) -> str:
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _verdicts(result: Result) -> list[str]:
    marks = {True: "✓", False: "✗", None: "?"}
    return [f"{marks[verdict.holds]} {verdict.sentence}" for verdict in result.claims]


def result_page(result: Result, plots: Sequence[str]) -> str:
    """One benchmark as a page."""
    parts = [f"# {result.title}", result.question]
    if result.source:
        parts.append(f"After {result.source}.")
    if result.claims:
        parts.append("\n".join(f"- {sentence}" for sentence in _verdicts(result)))
    parts += [f"![{name}](images/{name}.svg)" for name in plots]
    parts.append(_markdown_table(told_rows(result)))
    notes = {cell.variant: cell.note for cell in result.cells if cell.note}
    if notes:
        parts.append("\n".join(f"- **{variant}**: {note}" for variant, note in notes.items()))
    parts.append(f"The query, at the first point:\n\n```sparql\n{result.query.strip()}\n```")
    parts.append(f"Repeat it with `spaseq bench {result.name}`. [All benchmarks](README.md)")
    return "\n\n".join(parts) + "\n"


_ABOUT: Final = """\
Generated by `spaseq bench report`; do not edit. Every number comes with a checked answer: a wrong one voids the
time. Variants of one comparison take turns in the same run, and ratios are taken between neighbours, because the
speed of a machine drifts. Times are CPU time unless said otherwise; the first round warms up and does not count.
Whether a claim holds is computed from the numbers. [All of it on one page](book.html)."""

_REPEAT: Final = """\
```sh
spaseq bench run                    # the whole book, quick profile, minutes
spaseq bench run --profile full     # sizes to publish
spaseq bench report                 # these pages
spaseq bench limit                  # one of them
spaseq bench peers install rdflib   # a peer, in an environment of its own
spaseq bench compare old.json new.json
```

A benchmark is a file `benchmarks/NAME.bench`: workload, query, variants, claims, expected answers. Inputs are
generated, the same bytes for the same seed, and kept in the cache folder. The test suite lets the reference judge the
answers of the smallest profile; `spaseq bench pin` writes those of the larger ones."""


def index_page(book: Book) -> str:
    """The first page: what was measured on what, every verdict, how to repeat it."""
    holds, fails, open_ = summary(book.results)
    facts = {**book.machine, **book.versions}
    rows: Rows = [("benchmark", "asks", "source", "verdicts")]
    rows += [
        (
            f"[{result.name}]({result.name}.md)",
            result.question,
            result.source,
            " ".join({True: "✓", False: "✗", None: "?"}[verdict.holds] for verdict in result.claims),
        )
        for result in book.results
    ]
    told = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    failing = [
        f"- [{result.name}]({result.name}.md): {verdict.sentence}"
        for result in book.results
        for verdict in result.claims
        if not verdict.holds
    ]
    decided = f"Of {holds + fails + open_} claims {holds} hold, {fails} do not, {open_} could not be decided."
    where = f"Profile `{book.profile}`, {book.started}, commit {book.commit or 'unknown'}"
    parts = [
        "# Benchmarks",
        _ABOUT,
        f"{where}, {book.seconds / 60:.1f} minutes. {decided}",
        "## What was asked",
        _markdown_table(rows),
        *(["## What does not hold, or is not decided", "\n".join(failing)] if failing else []),
        "## Repeat it",
        _REPEAT,
        "## Machine",
        told,
    ]
    return "\n\n".join(parts) + "\n"


# --- HTML ---------------------------------------------------------------------------------------

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2733; background: #f5f7f9; margin: 0; }
main { max-width: 900px; margin: 0 auto; padding: 24px; }
section { background: #fff; border: 1px solid #e3e7ec; border-radius: 8px; padding: 8px 24px 20px; margin: 20px 0; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: 3px 12px 3px 0; text-align: left; border-bottom: 1px solid #eef1f4; white-space: nowrap; }
.true { color: #1f7a3f; } .false { color: #b3261e; } .none { color: #8a6d00; }
pre { background: #f5f7f9; padding: 12px; overflow-x: auto; font-size: 13px; }
"""


def html_page(book: Book) -> str:
    """The whole book on one page that needs no network."""
    facts = {**book.machine, **book.versions, "commit": book.commit, "profile": book.profile}
    told = " · ".join(f"{escape(name)} {escape(value)}" for name, value in facts.items())
    body = "".join(_html_section(result) for result in book.results)
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>spaseq benchmarks</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style></head>"
        f"<body><main><h1>spaseq benchmarks</h1><p>{escape(book.started)} · {told}</p>{body}</main></body></html>\n"
    )


def _html_section(result: Result) -> str:
    verdicts = "".join(
        f"<li class='{str(verdict.holds).lower()}'>{escape(verdict.sentence)}</li>"
        for verdict in result.claims
    )
    head, *body = told_rows(result)
    table = "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"
    table += "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    plots = "".join(svg for _, svg in plots_of(result))
    source = f"<p>After {escape(result.source)}.</p>" if result.source else ""
    return (
        f"<section id='{result.name}'><h2>{escape(result.title)}</h2><p>{escape(result.question)}</p>{source}"
        f"<ul>{verdicts}</ul>{plots}<table>{table}</table><details><summary>query</summary>"
        f"<pre>{escape(result.query)}</pre></details></section>"
    )
