"""A comparison on a time axis, as one HTML page: streams and engines are lanes, answers are arcs over their events."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

from spaseq.cli.comparison import Comparison, StreamEvent
from spaseq.model.matches import Match

_CSS: Final = Path(__file__).with_name("time_axis.css")
LANE, ROW, LETTER, MARGIN = 46, 30, 7.3, 14
"""The height of a stream's lane and of an answer, the width of a letter, and the room around texts."""
MOST_LETTERS: Final = 30
"""Longer texts are cut; the whole text shows when the pointer rests on them."""


_ABOUT: Final = (
    "A lane for each stream with its events, then one for each engine. An arc joins the events that justify an answer; the diamond is "
    "the evaluation that reports it. A diamond without arc is an answer from windows, in which events have no order."
)


def to_page(comparison: Comparison) -> str:
    """The whole page: no network, no scripts, light or dark as the reader prefers."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(comparison.name)}: as several engines answer it</title>",
            f"<style>{_CSS.read_text(encoding='utf-8')}</style></head><body><main>",
            f"<h1>{escape(comparison.name)}: as several engines answer it</h1>",
            f"<p>{_ABOUT}</p>",
            f'<div class="drawing">{_Drawing(comparison).svg()}</div>',
            f"<h2>Query</h2><pre>{escape(comparison.text.strip())}</pre>",
            "</main></body></html>\n",
        )
    )


class _Drawing:
    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._events = list(dict.fromkeys(comparison.events or self._named()))
        instants = {event.instant for event, _ in self._events} | set(comparison.instants)
        self._places = {instant: number for number, instant in enumerate(sorted(instants))}
        answers = [match for matches in comparison.answers.values() for match in matches]
        labels = [*comparison.answers, *(self._label(match) for match in answers)]
        lines = [_cut(line) for event in self._events for line in self._triples(event)]
        self._step = max([12, *map(len, lines)]) * LETTER + MARGIN
        self._left = max([20, *map(len, labels)]) * LETTER + 2 * MARGIN + self._step / 2
        self._width = round(self._left + (max(len(self._places), 2) - 0.5) * self._step)
        self._parts: list[str] = []
        self._y = 20

    def _named(self) -> list[StreamEvent]:
        """The events of the answers alone."""
        every = (
            event for matches in self._comparison.answers.values() for m in matches for event in m.events
        )
        return [StreamEvent(replace(event, step="")) for event in every]

    def _x(self, instant: int) -> float:
        return round(self._left + self._places[instant] * self._step, 1)

    def _label(self, match: Match) -> str:
        """An answer, without the names of its variables if it is long."""
        whole = self._comparison.bindings(match)
        if len(whole) <= MOST_LETTERS or not match.bindings:
            return _cut(whole)
        return _cut(" ".join(map(self._comparison.term, match.bindings.values())))

    def _triples(self, event: StreamEvent) -> list[str]:
        return [" ".join(map(self._comparison.term, each)) for each in event.triples]

    def svg(self) -> str:
        streams = sorted({event.stream for event, _ in self._events})
        for stream in streams:
            self._stream(stream)
        top = self._y
        for profile in self._comparison.answers:
            self._engine(profile)
        self._axis()
        lines = "".join(
            f'<line class="instant" x1="{self._x(each)}" x2="{self._x(each)}" y1="10" y2="{self._y - 24}"/>'
            for each in self._places
        )
        rule = f'<line class="rule" x1="0" x2="{self._width}" y1="{top}" y2="{top}"/>'
        size = f'width="{self._width}" height="{self._y}" viewBox="0 0 {self._width} {self._y}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{lines}{rule}{"".join(self._parts)}</svg>'

    def _text(self, x: float, y: float, text: str, kind: str, title: str = "") -> None:
        hint = f"<title>{escape(title)}</title>" if title else ""
        self._parts.append(f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}{hint}</text>')

    def _stream(self, stream: str) -> None:
        """The events of a stream; simultaneous ones stand below one another."""
        label = stream.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1]
        self._text(MARGIN, self._y + 15, label, "lane", stream)
        taken: dict[int, int] = {}
        for each in self._events:
            event, triples = each.event, self._triples(each)
            if event.stream != stream:
                continue
            row = taken.get(event.instant, 0)
            shown = triples[:4] + (["…"] if len(triples) > 4 else [])
            taken[event.instant] = row + 1 + len(shown)
            x, y = self._x(event.instant), self._y + 11 + 15 * row
            name = self._comparison.term(event.graph) if event.graph is not None else ""
            hint = escape("\n".join((name, *triples)))
            self._parts.append(
                f'<circle class="event" cx="{x}" cy="{y}" r="5"><title>{hint}</title></circle>'
            )
            for number, line in enumerate(shown):
                self._text(x, y + 17 + 13 * number, _cut(line), "triple", line)
        self._y += max(LANE, 26 + 15 * max(taken.values(), default=0))

    def _engine(self, profile: str) -> None:
        """One answer below the other, each from its first event to the evaluation that reports it."""
        found = sorted(
            self._comparison.answers[profile],
            key=lambda match: (match.instant, [event.instant for event in match.events]),
        )
        self._text(MARGIN, self._y + 22, profile, "lane")
        if not found:
            self._text(self._left, self._y + 22, "no answer", "none")
        self._y += 22
        for match in found:
            self._answer(match)
            self._y += ROW
        self._y += 10
        self._parts.append(f'<line class="rule" x1="0" x2="{self._width}" y1="{self._y}" y2="{self._y}"/>')

    def _answer(self, match: Match) -> None:
        base, report = self._y + 20, self._x(match.instant)
        events = sorted(match.events, key=lambda event: event.instant)
        places = [self._x(event.instant) for event in events]
        for first, second in pairwise(places):
            middle = (first + second) / 2
            self._parts.append(
                f'<path class="arc" d="M {first} {base} Q {middle} {base - 26} {second} {base}"/>'
            )
        if places and max(places) < report:
            self._parts.append(
                f'<line class="wait" x1="{max(places)}" x2="{report}" y1="{base}" y2="{base}"/>'
            )
        for event, x in zip(events, places, strict=True):
            self._parts.append(
                f'<circle class="part" cx="{x}" cy="{base}" r="4"><title>{escape(str(event))}</title></circle>'
            )
        self._parts.append(f'<path class="report" d="M {report} {base - 6} l 6 6 l -6 6 l -6 -6 z"/>')
        answer, made_of = self._comparison.bindings(match), self._comparison.made_of(match)
        self._text(MARGIN, base + 4, self._label(match), "answer", f"{answer} {made_of}")

    def _axis(self) -> None:
        self._y += 26
        for instant in self._places:
            self._text(self._x(instant), self._y - 8, self._comparison.instant(instant), "time")
        self._y += 10


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
