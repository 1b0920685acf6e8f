"""Plots as SVG, drawn by hand: lines over an axis, bars, and bars of parts. No library, no script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

WIDTH: Final = 720
HEIGHT: Final = 400
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 84, 58
COLOURS: Final = ("#1f6fb4", "#d9622b", "#3a9a5b", "#8e5bb5", "#b8912a", "#5f6b76", "#c23b6b", "#2aa3a3")
"""Distinguishable with red-green colour blindness; in order of first use."""
MARKS: Final = ("circle", "square", "diamond", "triangle")
FONT: Final = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"
INK, PALE, GRID = "#1d2733", "#5b6672", "#e3e7ec"


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


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers from at most ``low`` to at least ``high``.

    >>> ticks(0, 47)
    [0, 10, 20, 30, 40, 50]
    """
    span = (high - low) or abs(high) or 1.0
    raw = span / wanted
    size = 10 ** floor(log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
    first, last = floor(low / step), ceil(round(high / step, 9))
    return [round(index * step, 12) for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten around a range; with halves of a decade between if there are few.

    >>> log_ticks(20, 300)
    [10.0, 100.0, 1000.0]
    """
    first, last = floor(log10(low) + 1e-9), ceil(log10(high) - 1e-9)
    last = max(last, first + 1)
    return [float(10**power) for power in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to places on the page, evenly or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.log:
            share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            share = (value - self.low) / ((self.high - self.low) or 1)
        return self.start + share * (self.end - self.start)


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
    xs = sorted({x for line in series for x, _ in line.points})
    ys = [y for line in series for _, y in line.points]
    y_marks = log_ticks(min(ys), max(ys)) if log_y else ticks(0.0, max(ys) * 1.02)
    x = Scale(xs[0], xs[-1], LEFT + 22, WIDTH - RIGHT - 22, log_x)
    y = Scale(y_marks[0], y_marks[-1], HEIGHT - BOTTOM, TOP, log_y)
    out = _frame(title, y_label, y_marks, y)
    for value in xs:
        out.append(_text(x(value), HEIGHT - BOTTOM + 20, short(value), anchor="middle"))
        out.append(_line(x(value), HEIGHT - BOTTOM, x(value), HEIGHT - BOTTOM + 5, PALE))
    out.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, anchor="middle", colour=PALE))
    for number, line in enumerate(series):
        colour, shape = _look(number)
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line.points)
        out.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2.2'/>")
        out += [_mark(x(a), y(b), shape, colour, line.name, b) for a, b in line.points]
    out += _legend([(line.name, *_look(number)) for number, line in enumerate(series)])
    return _page(out, HEIGHT, title)


def bar_chart(title: str, bars: Sequence[Bar], *, unit: str, names: Sequence[str] = ()) -> str:
    """Bars that lie, labels before them, values behind; several parts are coloured and named above.

    ``names`` are parts that have the same colour in every plot, whether they occur in it or not.
    """
    found = list(dict.fromkeys(name for bar in bars for name, _ in bar.parts))
    several = any(len(bar.parts) > 1 for bar in bars)
    known = [*names, *(name for name in found if name not in names)]
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(known)}
    top = TOP if several else 56
    step = 34
    height = top + step * len(bars) + 62
    left = min(300, 30 + max(int(7.2 * len(bar.label)) for bar in bars))
    marks = ticks(0.0, max(bar.total for bar in bars) or 1.0)
    x = Scale(0.0, marks[-1], left, WIDTH - 92)
    bottom = top + step * len(bars) + 4
    out = [_heading(title)]
    for value in marks:
        out.append(_line(x(value), top - 4, x(value), bottom, GRID))
        out.append(_text(x(value), bottom + 18, short(value), anchor="middle", colour=PALE))
    out.append(_text((left + WIDTH - 92) / 2, bottom + 40, unit, anchor="middle", colour=PALE))
    for row, bar in enumerate(bars):
        base = top + row * step
        out.append(_text(left - 10, base + 17, bar.label, anchor="end"))
        at = 0.0
        for name, value in bar.parts:
            colour = colours[name] if several else COLOURS[row % len(COLOURS)]
            width = max(x(at + value) - x(at), 0.0)
            out.append(
                f"<rect x='{x(at):.1f}' y='{base + 2}' width='{width:.1f}' height='{step - 12}' fill='{colour}'>"
                f"<title>{escape(name)}: {short(value)}</title></rect>"
            )
            at += value
        out.append(_text(x(at) + 8, base + 17, short(bar.total), colour=PALE))
    if several:
        out += _legend([(name, colours[name], "square") for name in known if name in found])
    return _page(out, height, title)


# --- parts --------------------------------------------------------------------------------------


def _page(parts: Sequence[str], height: int, title: str) -> str:
    body = "\n".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' "
        f"height='{height}' role='img' {FONT} font-size='12.5'>\n<title>{escape(title)}</title>\n"
        f"<rect width='{WIDTH}' height='{height}' rx='6' fill='#ffffff'/>\n{body}\n</svg>\n"
    )


def _frame(title: str, y_label: str, marks: Sequence[float], y: Scale) -> list[str]:
    out = [_heading(title), _text(16, TOP - 14, y_label, colour=PALE)]
    for value in marks:
        out.append(_line(LEFT, y(value), WIDTH - RIGHT, y(value), GRID))
        out.append(_text(LEFT - 10, y(value) + 4, short(value), anchor="end", colour=PALE))
    out.append(_line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, PALE))
    return out


def _heading(title: str) -> str:
    return f"<text x='16' y='28' font-size='16' font-weight='600' fill='{INK}'>{escape(title)}</text>"


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = INK) -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}'>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'/>"


def _look(number: int) -> tuple[str, str]:
    """The colour and the mark of a line."""
    return COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]


def _legend(entries: Sequence[tuple[str, str, str]]) -> list[str]:
    out, x = [], 16.0
    for name, colour, shape in entries:
        out.append(_mark(x + 5, 47, shape, colour))
        out.append(_text(x + 15, 51, name))
        x += 15 + 7.1 * len(name) + 20
    return out


def _mark(x: float, y: float, shape: str, colour: str, name: str = "", value: float | None = None) -> str:
    told = f"<title>{escape(name)}: {short(value)}</title>" if value is not None else ""
    match shape:
        case "circle":
            return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4.2' fill='{colour}'>{told}</circle>"
        case "square":
            return f"<rect x='{x - 4:.1f}' y='{y - 4:.1f}' width='8' height='8' fill='{colour}'>{told}</rect>"
        case _:
            corners = [(0, -5.2), (5.2, 0), (0, 5.2), (-5.2, 0)] if shape == "diamond" else _TRIANGLE
            points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
            return f"<polygon points='{points}' fill='{colour}'>{told}</polygon>"


_TRIANGLE: Final = [(0.0, -5.0), (5.0, 4.2), (-5.0, 4.2)]
