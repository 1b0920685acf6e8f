"""Draw the plots of the use cases: streams and matches on a time axis, from the bundled extracts.

Run it with the project's Python; it writes SVG files into docs/use-cases/images.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from matplotlib import dates
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter
from pyoxigraph import Literal, NamedNode, RdfFormat, parse

import spaseq
from spaseq.io.readers import read_graph_events
from spaseq.model.matches import Match, MatchedEvent
from spaseq_bench.plots import COLOURS, INK, PALE, SHORT, drawing, put_title, svg_of

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES, IMAGES = ROOT / "examples", ROOT / "docs" / "use-cases" / "images"
BAND, MATCHED = "#f3c969", "#b3261e"


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
    with drawing(1.3 + (1.6 if len(panels) > 1 else 2.6) * len(panels), width=9) as figure:
        axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
        for number, (panel, drawn) in enumerate(zip(panels, axes, strict=True)):
            _panel(panel, drawn, COLOURS[number % len(COLOURS)], (first, last))
            _bands(drawn, [match for match in found if match.start >= first and match.time <= last])
            _bands(drawn, panel.matches)
        axes[-1].set_xlim(first, last)
        months = (last - first).days > 60
        locator = dates.MonthLocator(tz=UTC) if months else dates.AutoDateLocator(tz=UTC, maxticks=11)
        axes[-1].xaxis.set_major_locator(locator)
        clock = "%H:%M" if last - first > timedelta(minutes=10) else "%H:%M:%S"
        axes[-1].xaxis.set_major_formatter(dates.DateFormatter("%Y-%m" if months else clock, tz=UTC))
        if not months:
            axes[-1].set_xlabel(f"{first:%Y-%m-%d}", loc="right")
        names: dict[str, Artist] = {}
        if found or any(panel.matches for panel in panels):
            names["from start to end of a match"] = Patch(color=BAND, alpha=0.5)
            names["an event of a match, with its step"] = Line2D(
                [], [], color=MATCHED, marker="o", linestyle=""
            )
        if any(panel.limit is not None for panel in panels):
            names["a limit in the query"] = Line2D([], [], color=PALE, linestyle="--")
        put_title(figure, title, names)
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / f"{name}.svg").write_text(svg_of(figure, title), encoding="utf-8")


def _bands(axes: Axes, found: list[Match]) -> None:
    for match in found:
        start, end = dates.date2num(match.start), dates.date2num(match.time)
        axes.axvspan(start, end, color=BAND, alpha=0.38 if len(found) < 4 else 0.22, linewidth=1)


def _panel(panel: Panel, axes: Axes, colour: str, span: tuple[datetime, datetime]) -> None:
    points = [(time, number) for time, number in panel.points if span[0] <= time <= span[1]]
    times, numbers = [dates.date2num(time) for time, _ in points], [number for _, number in points]
    axes.set_title(panel.title, loc="left", size=9.5, weight="bold", color=INK)
    axes.grid(visible=False, axis="x")
    if panel.log:
        axes.set_yscale("log")
        axes.vlines(times, 0, numbers, color=colour, linewidth=1.5)
        axes.plot(times, numbers, "o", color=colour, markersize=3)
        axes.set_ylim(min(numbers) / 2, max(numbers) * 3)
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.plot(times, numbers, color=colour, linewidth=1.2)
        axes.margins(y=0.18)
    if panel.zero and not panel.log:
        axes.set_ylim(bottom=0)
    if panel.zero:
        axes.yaxis.set_major_formatter(SHORT)
    if panel.limit is not None:
        axes.axhline(panel.limit, color=PALE, linestyle="--", linewidth=1)
    for time, number, letter in panel.marks:
        at = (float(dates.date2num(time)), number)
        axes.plot(*at, "o", color=MATCHED, markersize=5)
        axes.annotate(
            letter, at, xytext=(0, 5), textcoords="offset points", color=MATCHED, weight="bold", ha="center"
        )


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


def citybench() -> None:
    """What two segments report, and what the third question of CityBench makes of it."""
    folder = EXAMPLES / "citybench"
    base = "http://www.insight-centre.org/dataset/"
    panels, streams = [], {}
    for segment in ("182955", "158505"):
        name = f"AarhusTrafficData{segment}"
        streams[f"{base}SampleEventService#{name}"] = folder / f"{name}.nq.gz"
        points = [
            (datetime.fromtimestamp(event.time / 1e6, UTC), float(triple.object.value))
            for event in read_graph_events(folder / f"{name}.nq.gz", stream=name)
            for kind in event.triples
            if kind.predicate.value.endswith("observedProperty")
            and isinstance(kind.object, NamedNode)
            and kind.object.value.endswith("CongestionLevel")
            for triple in event.triples
            if triple.subject == kind.subject
            and triple.predicate.value.endswith("hasValue")
            and isinstance(triple.object, Literal)
        ]
        panels.append(Panel(f"segment {segment}: vehicles per kilometre", points))
    query = (folder / "q03.rspql").read_text(encoding="utf-8")
    knowledge = {f"{base}SensorRepository": folder / "sensors.ttl"}
    found = [match for match in spaseq.run(query, streams, knowledge) if "level" in match.bindings]
    averages = [(match.time, float(match.bindings["level"].value)) for match in found]
    panels.append(Panel("both, average of the last 15 minutes (question 3)", averages))
    draw("citybench", "Congestion on a journey, Monday morning (UTC)", panels, [])


def tsunami() -> None:
    """The water column above a gauge, and how far it is from what the detector predicts."""
    folder = EXAMPLES / "epsparql"
    text = (folder / "tsunami.epsparql").read_text(encoding="utf-8")
    stream = {"gauge": folder / "water-column.nq.gz"}
    everything = spaseq.compile(text.replace("> 0.030", ">= 0"), language="epsparql")
    found = list(spaseq.run(everything, stream))
    seen, told = (
        [(m.time, float(m.bindings[name].value)) for m in found] for name in ("observed", "predicted")
    )
    away = [(time, 1000 * (height - other)) for (time, height), (_, other) in zip(seen, told, strict=True)]
    panels = [
        Panel("water column, m", seen, zero=False),
        Panel("distance from the prediction, mm", away, 30, zero=False),
    ]
    draw("tsunami", "A wave of 60 mm on the tide (simulated, UTC)", panels, [])


if __name__ == "__main__":
    for use_case in (smart_grid, vessels, cards, stocks, traffic, citybench, tsunami):
        use_case()
