"""Plots as SVG, drawn by matplotlib: lines over an axis, bars, and bars of parts."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import matplotlib
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

COLOURS: Final = ("#1f6fb4", "#d9622b", "#3a9a5b", "#8e5bb5", "#b8912a", "#5f6b76", "#c23b6b", "#2aa3a3")
"""Distinguishable with red-green colour blindness; in order of first use."""
MARKS: Final = "osD^"
INK, PALE, GRID = "#1d2733", "#5b6672", "#e3e7ec"
WIDTH: Final = 7.2
"""Inches; 72 points each, so a plot is 518 points wide."""
LOOK: Final[dict[Any, Any]] = {
    "axes.axisbelow": True,
    "axes.edgecolor": PALE,
    "axes.grid": True,
    "axes.labelcolor": PALE,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "sans-serif",
    "font.size": 9.5,
    "grid.color": GRID,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: it can be searched and copied
    "svg.hashsalt": "spaseq",  # the same numbers give the same file
    "text.color": INK,
    "xtick.color": PALE,
    "ytick.color": PALE,
    "ytick.left": False,
}


@dataclass(frozen=True, slots=True)
class Series:
    """A named line: its points in order."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar made of parts, one part if it is plain; ``label`` stands beside it."""

    label: str
    parts: tuple[tuple[str, float], ...]

    @property
    def total(self) -> float:
        """How long it is."""
        return sum(value for _, value in self.parts)


def short(value: float) -> str:
    """A number as an axis shows it.

    >>> [short(v) for v in (0, 0.25, 3, 1500, 2_000_000)]
    ['0', '0.25', '3', '1.5 k', '2 M']
    """
    if value == 0:
        return "0"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


SHORT: Final = FuncFormatter(lambda value, _: short(value))


@contextmanager
def drawing(height: float, width: float = WIDTH) -> Iterator[Figure]:
    """A figure in the style of the project; `svg_of` gives its text."""
    with matplotlib.rc_context(LOOK):
        yield Figure(figsize=(width, height), layout="constrained")


def put_title(figure: Figure, title: str, names: Mapping[str, Artist]) -> None:
    """The title above a plot, and below it, in a few columns, the names of what has a colour or a mark."""
    if not names:
        figure.suptitle(title, x=0.012, ha="left", size=12, weight="bold")
        return
    figure.legend(
        list(names.values()),
        list(names),
        loc="outside upper left",
        ncols=max(1, min(len(names), int(11 * figure.get_figwidth()) // (max(map(len, names)) + 6))),
        title=title,
        title_fontproperties={"size": 12, "weight": "bold"},
        alignment="left",
        borderaxespad=0.4,
        borderpad=0,
    )


def svg_of(figure: Figure, title: str) -> str:
    """A figure as SVG, without a date, so that it only changes with its numbers."""
    with matplotlib.rc_context(LOOK):
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Title": title, "Date": None, "Creator": None})
    text = file.getvalue()
    lines = text[text.index("<svg") :].splitlines()  # without the declaration, so that HTML can hold it
    return "\n".join(line.rstrip() for line in lines) + "\n"


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
) -> str:
    """Lines over a numeric axis, their points marked, their names above."""
    with drawing(4.0) as figure:
        axes = figure.add_subplot()
        names: dict[str, Artist] = {}
        for number, line in enumerate(series):
            (names[line.name],) = axes.plot(
                *zip(*line.points, strict=True),
                color=COLOURS[number % len(COLOURS)],
                marker=MARKS[number % len(MARKS)],
                linewidth=1.7,
                markersize=5.5,
            )
        if log_x:
            axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.06 * max(y for line in series for _, y in line.points))
        axes.grid(visible=False, axis="x")
        axes.set_xticks(sorted({x for line in series for x, _ in line.points}))
        axes.xaxis.set_major_formatter(SHORT)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(SHORT)
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        put_title(figure, title, names)
    return svg_of(figure, title)


def bar_chart(title: str, bars: Sequence[Bar], *, unit: str, names: Sequence[str] = ()) -> str:
    """Bars that lie, labels before them, values behind; several parts are coloured and named above.

    ``names`` are parts that have the same colour in every plot, whether they occur in it or not.
    """
    found = list(dict.fromkeys(name for bar in bars for name, _ in bar.parts))
    several = any(len(bar.parts) > 1 for bar in bars)
    known = [*names, *(name for name in found if name not in names)]
    with drawing(1.1 + 0.3 * several + 0.34 * len(bars)) as figure:
        axes = figure.add_subplot()
        drawn: dict[str, Artist] = {}
        for row, bar in enumerate(bars):
            at = 0.0
            for name, value in bar.parts:
                number = known.index(name) if several else row
                colour = COLOURS[number % len(COLOURS)]
                (drawn[name],) = axes.barh(row, value, 0.68, left=at, color=colour)
                at += value
            axes.annotate(
                short(at), (at, row), xytext=(5, 0), textcoords="offset points", va="center", color=PALE
            )
        axes.set_yticks(range(len(bars)), [bar.label for bar in bars], color=INK)
        axes.invert_yaxis()
        axes.margins(x=0.1)
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(SHORT)
        axes.set_xlabel(unit)
        put_title(figure, title, {name: drawn[name] for name in known if name in drawn} if several else {})
    return svg_of(figure, title)
