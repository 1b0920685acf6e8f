"""Draw the plots of the use cases: streams and matches on a time axis, from the bundled extracts.

Run it with the project's Python; it writes SVG files into docs/use-cases/images.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

import spaseq
from spaseq.io.readers import read_graph_events
from spaseq.model.matches import Match, MatchedEvent
from spaseq_bench.plots import COLOURS, FONT, GRID, INK, PALE, Scale, log_ticks, short, ticks

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES, IMAGES = ROOT / "examples", ROOT / "docs" / "use-cases" / "images"
WIDTH, LEFT, RIGHT, TOP, GAP, BOTTOM = 900, 64, 34, 66, 34, 46
BAND, MATCHED = "#f3c969", "#b3261e"
STEPS = (60, 300, 600, 900, 1800, 3600, 7200, 14400)
"""Seconds between two marks of a time axis, from narrow to wide."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An event of an extract: when, its graph's name, and its values by the last part of the predicate."""

    time: datetime
    graph: str
    values: dict[str, str]

    def number(self, name: str) -> float:
        return float(self.values[name])


@dataclass(slots=True)
class Panel:
    """One stream: a line over time (stems on a logarithmic axis), a limit, its own matches and their events."""

    title: str
    points: list[tuple[datetime, float]]
    limit: float | None = None
    log: bool = False
    zero: bool = True
    matches: list[Match] = field(default_factory=list)
    marks: list[tuple[datetime, float, str]] = field(default_factory=list)

    def mark(
        self, readings: dict[str, Reading], events: Iterable[MatchedEvent], value: str, scale: float = 1
    ) -> None:
        """Put the letters of a match's steps to the values of their events, where this panel has them."""
        for event in events:
            reading = readings.get(str(event.graph))
            if reading is not None and value in reading.values:
                self.marks.append((reading.time, reading.number(value) * scale, event.step))


# --- reading ------------------------------------------------------------------------------------


def readings(folder: str, stream: str) -> dict[str, Reading]:
    """The events of a bundled stream by graph name."""
    found = {}
    for event in read_graph_events(next((EXAMPLES / folder).glob(f"{stream}.nq*")), stream=stream):
        values = {
            triple.predicate.value.replace("#", "/").rpartition("/")[2]: triple.object.value
            for triple in event.triples
            if isinstance(triple.object, Literal | NamedNode)
        }
        time = datetime.fromtimestamp(event.time / 1e6, UTC)
        found[str(event.name)] = Reading(time, str(event.name), values)
    return found


def matches(query: str, folder: str) -> list[Match]:
    """What a use case's query finds in its extract, with the events."""
    compiled = spaseq.compile((EXAMPLES / query).read_text(encoding="utf-8"))
    manifest = json.loads((EXAMPLES / folder / "manifest.json").read_text(encoding="utf-8"))
    streams = {
        stream.alias: next((EXAMPLES / folder).glob(f"{stream.alias}.nq*"))
        for stream in compiled.rewritten.streams
    }
    knowledge = {graph["iri"]: EXAMPLES / folder / graph["file"] for graph in manifest["background"]}
    return list(spaseq.run(compiled, streams, knowledge))


def value(match: Match, name: str) -> str:
    """The last part of a binding."""
    return str(match.bindings[name].value).rpartition("/")[2]


def line(found: Iterable[Reading], name: str, scale: float = 1) -> list[tuple[datetime, float]]:
    """Points in time order."""
    return sorted((reading.time, reading.number(name) * scale) for reading in found if name in reading.values)


# --- drawing ------------------------------------------------------------------------------------


def draw(
    name: str,
    title: str,
    panels: list[Panel],
    found: list[Match],
    span: tuple[datetime, datetime] | None = None,
) -> None:
    """Write one plot: panels over a common time axis, matches as bands through all of them or through their own."""
    times = [time for panel in panels for time, _ in panel.points]
    first, last = span or (min(times), max(times))
    x = Scale(first.timestamp(), last.timestamp(), LEFT, WIDTH - RIGHT)
    tall = 128 if len(panels) > 1 else 220
    height = TOP + len(panels) * (tall + GAP) - GAP + BOTTOM
    bottom = height - BOTTOM
    out = [f"<text x='16' y='28' font-size='16' font-weight='600' fill='{INK}'>{escape(title)}</text>"]
    out += _legend(limits=any(panel.limit is not None for panel in panels))
    out += _bands([match for match in found if match.start >= first and match.time <= last], x, TOP, bottom)
    for number, panel in enumerate(panels):
        top = TOP + number * (tall + GAP)
        out += _bands(panel.matches, x, top + 16, top + tall)
        out += _panel(panel, x, (first, last), (top, top + tall), COLOURS[number % len(COLOURS)])
    out += _axis(first, last, x, bottom)
    body = "\n".join(out)
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / f"{name}.svg").write_text(
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}' "
        f"role='img' {FONT} font-size='12'>\n<title>{escape(title)}</title>\n"
        f"<rect width='{WIDTH}' height='{height}' rx='6' fill='#ffffff'/>\n{body}\n</svg>\n",
        encoding="utf-8",
    )


def _legend(*, limits: bool) -> list[str]:
    out = [
        f"<rect x='16' y='38' width='22' height='12' fill='{BAND}' fill-opacity='0.5'/>",
        f"<text x='44' y='48' fill='{PALE}'>from start to end of a match</text>",
        f"<circle cx='232' cy='44' r='4' fill='{MATCHED}'/>",
        f"<text x='242' y='48' fill='{PALE}'>an event of a match, with its step</text>",
    ]
    if limits:
        out.append(f"<line x1='468' y1='44' x2='494' y2='44' stroke='{PALE}' stroke-dasharray='5 4'/>")
        out.append(f"<text x='500' y='48' fill='{PALE}'>a limit in the query</text>")
    return out


def _bands(found: list[Match], x: Scale, top: float, bottom: float) -> list[str]:
    opacity = 0.38 if len(found) < 4 else 0.22
    out = []
    for match in found:
        start, end = x(match.start.timestamp()), x(match.time.timestamp())
        out.append(
            f"<rect x='{start:.1f}' y='{top}' width='{max(end - start, 2):.1f}' height='{bottom - top}' "
            f"fill='{BAND}' fill-opacity='{opacity}'><title>{match.start:%H:%M:%S} to {match.time:%H:%M:%S}</title></rect>"
        )
    return out


def _panel(
    panel: Panel, x: Scale, span: tuple[datetime, datetime], place: tuple[float, float], colour: str
) -> list[str]:
    top, bottom = place
    points = [(time, number) for time, number in panel.points if span[0] <= time <= span[1]]
    numbers = [number for _, number in points] + ([panel.limit] if panel.limit is not None else [])
    low = 0.0 if panel.zero else min(numbers)
    marks = log_ticks(min(numbers), max(numbers)) if panel.log else ticks(low, max(numbers), 4)
    y = Scale(marks[0], marks[-1], bottom, top + 18, panel.log)
    out = [f"<text x='{LEFT}' y='{top + 10:.1f}' fill='{INK}' font-weight='600'>{escape(panel.title)}</text>"]
    for number in marks:
        at, label = y(number), short(number) if panel.zero else f"{number:g}"
        out.append(f"<line x1='{LEFT}' y1='{at:.1f}' x2='{WIDTH - RIGHT}' y2='{at:.1f}' stroke='{GRID}'/>")
        out.append(f"<text x='{LEFT - 8}' y='{at + 4:.1f}' text-anchor='end' fill='{PALE}'>{label}</text>")
    placed = [(x(time.timestamp()), y(number)) for time, number in points]
    if panel.log:
        for a, b in placed:
            out.append(
                f"<line x1='{a:.1f}' y1='{bottom}' x2='{a:.1f}' y2='{b:.1f}' stroke='{colour}' stroke-width='2'/>"
            )
            out.append(f"<circle cx='{a:.1f}' cy='{b:.1f}' r='2.6' fill='{colour}'/>")
    else:
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in placed)
        out.append(
            f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.5' stroke-linejoin='round'/>"
        )
    if panel.limit is not None:
        at = y(panel.limit)
        out.append(
            f"<line x1='{LEFT}' y1='{at:.1f}' x2='{WIDTH - RIGHT}' y2='{at:.1f}' stroke='{PALE}' stroke-dasharray='5 4'/>"
        )
    for time, number, letter in panel.marks:
        a, b = x(time.timestamp()), y(number)
        out.append(f"<circle cx='{a:.1f}' cy='{b:.1f}' r='4' fill='{MATCHED}'/>")
        out.append(
            f"<text x='{a - 4:.1f}' y='{max(b - 8, top + 20):.1f}' fill='{MATCHED}' font-weight='600'>{letter}</text>"
        )
    return out


def _axis(first: datetime, last: datetime, x: Scale, bottom: float) -> list[str]:
    marks, form = _time_marks(first, last)
    out = [f"<line x1='{LEFT}' y1='{bottom}' x2='{WIDTH - RIGHT}' y2='{bottom}' stroke='{PALE}'/>"]
    for at in marks:
        place = x(at.timestamp())
        out.append(
            f"<line x1='{place:.1f}' y1='{bottom}' x2='{place:.1f}' y2='{bottom + 5}' stroke='{PALE}'/>"
        )
        out.append(
            f"<text x='{place:.1f}' y='{bottom + 20}' text-anchor='middle' fill='{INK}'>{at.strftime(form)}</text>"
        )
    if form == "%H:%M":
        out.append(
            f"<text x='{WIDTH - RIGHT}' y='{bottom + 38}' text-anchor='end' fill='{PALE}'>{first:%Y-%m-%d}</text>"
        )
    return out


def _time_marks(first: datetime, last: datetime) -> tuple[list[datetime], str]:
    """Round instants of an axis and how they are written: minutes to hours, or the first of each month."""
    seconds = (last - first).total_seconds()
    step = next((each for each in STEPS if seconds / each <= 10), None)
    if step is not None:
        begin = -(-first.timestamp() // step) * step
        count = int((last.timestamp() - begin) // step) + 1
        return [datetime.fromtimestamp(begin + number * step, UTC) for number in range(count)], "%H:%M"
    months = [
        datetime(year, month, 1, tzinfo=UTC)
        for year in range(first.year, last.year + 1)
        for month in range(1, 13)
    ]
    return [month for month in months if first <= month <= last], "%Y-%m"


# --- the use cases ------------------------------------------------------------------------------


def smart_grid() -> None:
    """Three streams of a house."""
    power, weather, storage = (readings("smart-grid", name) for name in ("power", "weather", "storage"))
    found = matches("smart-grid/use-the-storage.spaseq", "smart-grid")
    panels = [
        Panel("power from the grid, W", line(power.values(), "hasSimpleResult"), 1000),
        Panel("wind speed, mph", line(weather.values(), "windSpeed"), 3),
        Panel(
            "battery, V (recorded in October, moved here)",
            line(storage.values(), "batteryVoltage"),
            12.9,
            zero=False,
        ),
    ]
    for panel, stream, name in zip(
        panels, (power, weather, storage), ("hasSimpleResult", "windSpeed", "batteryVoltage"), strict=True
    ):
        panel.mark(stream, found[0].events, name)
    draw("smart-grid", "Home C draws more than 1 kW while the battery is full", panels, found)


def vessels() -> None:
    """Two ferries and a fishing boat."""
    fixes = readings("vessels", "vessels")
    crossings, stops = (
        matches("vessels/crossing.spaseq", "vessels"),
        matches("vessels/fishing-stop.spaseq", "vessels"),
    )
    names = {value(match, "name"): match for match in (*crossings, *stops)}
    panels = []
    for name, told in (
        ("MV ONGIARA", "ferry to the Toronto Islands, says “unknown”"),
        ("FRONTENAC II", "ferry to Amherst Island, says “other”"),
        ("DUANE AND AMY", "fishing vessel near Savannah, Georgia"),
    ):
        match = names[name]
        own = [
            fix
            for fix in fixes.values()
            if fix.values["hasFeatureOfInterest"] == str(match.bindings["vessel"].value)
        ]
        panel = Panel(f"{name} ({told}): speed, knots", line(own, "speedOverGround"))
        panel.mark(fixes, match.events, "speedOverGround")
        panel.matches.append(match)
        panels.append(panel)
    draw("vessels", "From berth to berth, and a fishing boat that comes to rest", panels, [])


def cards() -> None:
    """Withdrawals of three accounts."""
    payments = readings("cards", "cards")
    found = matches("cards/rise-then-drop.spaseq", "cards")
    panels = []
    for account in ("555", "979", "47"):
        own = [match for match in found if value(match, "account") == account]
        longest = max(own, key=lambda match: len(match.events))
        drawn = [p for p in payments.values() if p.values["instrument"].endswith(f"/{account}")]
        panel = Panel(
            f"account {account} ({value(longest, 'district')}): withdrawals, crowns",
            line(drawn, "amount"),
            log=True,
        )
        panel.mark(payments, longest.events, "amount")
        panel.matches.append(longest)
        panels.append(panel)
    draw(
        "cards",
        "Withdrawals that rise step by step, then drop to a tenth",
        panels,
        [],
        (datetime(1993, 9, 1, tzinfo=UTC), datetime(1994, 4, 1, tzinfo=UTC)),
    )


def stocks() -> None:
    """Head and shoulders, the V in minutes, the V in trades."""
    bars, trades = readings("stocks/bars", "stocks"), readings("stocks/trades", "stocks")

    def closes(symbol: str) -> list[tuple[datetime, float]]:
        return line((b for b in bars.values() if b.values["object"].endswith(f"/{symbol}")), "price")

    heads = [
        m for m in matches("stocks/head-and-shoulders.spaseq", "stocks/bars") if value(m, "company") == "IBM"
    ]
    panel = Panel("IBM, closes of minutes, $", closes("IBM"), zero=False)
    panel.mark(bars, heads[0].events, "price")
    span = (heads[0].start - timedelta(minutes=10), heads[0].time + timedelta(minutes=30))
    draw("head-and-shoulders", "Head and shoulders: IBM on 7 October 2013 (UTC)", [panel], heads[:1], span)

    spy, _ = matches("stocks/v-shape.spaseq", "stocks/bars")
    panel = Panel("SPY, closes of minutes, $", closes("SPY"), zero=False)
    panel.mark(bars, spy.events, "price")
    span = (spy.start - timedelta(minutes=6), spy.time + timedelta(minutes=6))
    draw("v-shape", "A V of nine closes: SPY on 8 October 2013 (UTC)", [panel], [spy], span)

    sharp = matches("stocks/v-shape-trades.spaseq", "stocks/trades")
    panel = Panel(
        "SPY, every trade, $",
        line((t for t in trades.values() if t.values["object"].endswith("/SPY")), "price"),
        zero=False,
    )
    for match in sharp:
        panel.mark(trades, match.events, "price")
    draw(
        "v-shape-trades",
        "Two sharp Vs: trades made elsewhere and reported late (SPY, 7 October 2013, UTC)",
        [panel],
        sharp,
    )


def traffic() -> None:
    """One jam and the two roads behind it."""
    seen = readings("traffic", "traffic")
    found = matches("traffic/spreading-congestion.spaseq", "traffic")
    match = next(match for match in found if value(match, "jam") == "185131")
    free = _free_speeds()
    panels = []
    for role, told in (("jam", "the jam"), ("left", "leads into it"), ("right", "leads into it")):
        segment = value(match, role)
        own = [r for r in seen.values() if r.values["hasFeatureOfInterest"].endswith(f"/{segment}")]
        scale = 100 / free[segment]
        panel = Panel(
            f"segment {segment}, {told}: speed in % of free flow", line(own, "averageSpeed", scale), 50
        )
        steps = {"jam": "J", "left": "FB", "right": "GC"}[role]
        panel.mark(seen, [event for event in match.events if event.step in steps], "averageSpeed", scale)
        panels.append(panel)
    draw("traffic", "Randersvej, Monday morning: the jam reaches the roads behind it (UTC)", panels, [match])


def _free_speeds() -> dict[str, float]:
    quads = parse((EXAMPLES / "traffic" / "segments.ttl").read_bytes(), format=RdfFormat.TURTLE)
    return {
        quad.subject.value.rpartition("/")[2]: float(quad.object.value)
        for quad in quads
        if isinstance(quad.subject, NamedNode)
        and isinstance(quad.object, Literal)
        and quad.predicate.value.endswith("#freeFlowSpeed")
    }


if __name__ == "__main__":
    for use_case in (smart_grid, vessels, cards, stocks, traffic):
        use_case()
