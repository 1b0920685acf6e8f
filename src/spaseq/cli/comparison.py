"""What several engines would answer to one text, evaluation by evaluation: as a value, a table and data (semantics 4.6)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyoxigraph import NamedNode

from spaseq.io.result_json import term_json
from spaseq.model.matches import Match, MatchedEvent
from spaseq.model.terms import Term
from spaseq.temporal.instants import format_instant

AS_WRITTEN = "as-written"
"""The text itself, without a profile."""


class StreamEvent(NamedTuple):
    """An event of a stream, with its triples."""

    event: MatchedEvent
    triples: tuple[tuple[Term, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers under every profile, and the events of the streams; ``prefixes`` shorten names."""

    name: str
    text: str
    answers: Mapping[str, Sequence[Match]]
    events: Sequence[StreamEvent] = ()
    """Every event of the streams; none if there are too many to draw."""
    prefixes: tuple[tuple[str, str], ...] = ()

    @property
    def instants(self) -> list[int]:
        """The evaluations at which some engine answers."""
        return sorted({match.instant for matches in self.answers.values() for match in matches})

    def at(self, profile: str, instant: int) -> list[Match]:
        """What an engine answers at an evaluation."""
        return [match for match in self.answers[profile] if match.instant == instant]

    def rows(self) -> list[tuple[int, str, str, tuple[int, ...]]]:
        """Every answer with its instant and its events, and how often each engine gives it."""
        counts = [
            Counter((match.instant, self.bindings(match), self.made_of(match)) for match in matches)
            for matches in self.answers.values()
        ]
        every = sorted({key for each in counts for key in each})
        return [(*key, tuple(each[key] for each in counts)) for key in every]

    def term(self, term: Term) -> str:
        """A term with the prefixes of the query; of a literal its text."""
        if not isinstance(term, NamedNode):
            return getattr(term, "value", str(term))
        for prefix, namespace in sorted(self.prefixes, key=lambda each: -len(each[1])):
            if term.value.startswith(namespace):
                return f"{prefix}:{term.value[len(namespace) :]}"
        return term.value

    def bindings(self, match: Match) -> str:
        """The answer in one line."""
        if match.boolean is not None:
            return str(match.boolean).lower()
        if match.triples is not None:
            lines = (" ".join(self.term(term) for term in triple) for triple in match.triples)
            return "; ".join(sorted(lines))
        return " ".join(f"?{name}={self.term(term)}" for name, term in match.bindings.items())

    def instant(self, instant: int) -> str:
        """An instant, without the day if all are of one."""
        text = format_instant(instant)
        days = {format_instant(each)[:10] for each in self._known()}
        return text[11:].removesuffix("Z") if len(days) == 1 else text

    def _known(self) -> set[int]:
        named = {each.instant for all_ in self.answers.values() for match in all_ for each in match.events}
        return {*self.instants, *named, *(event.instant for event, _ in self.events)}

    def made_of(self, match: Match) -> str:
        """The events of an answer."""
        return " ".join(f"{event.step}@{self.instant(event.instant)}" for event in match.events)


def to_json(comparison: Comparison) -> dict[str, object]:
    """The comparison as data that `json.dumps` takes."""
    return {
        "version": 1,
        "query": comparison.name,
        "profiles": list(comparison.answers),
        "evaluations": [
            {
                "time": format_instant(instant),
                "answers": {
                    profile: [_as_json(match) for match in comparison.at(profile, instant)]
                    for profile in comparison.answers
                },
            }
            for instant in comparison.instants
        ],
    }


def _as_json(match: Match) -> dict[str, object]:
    found: dict[str, object] = {"start": format_instant(match.begin)}
    if match.boolean is not None:
        found["boolean"] = match.boolean
    elif match.triples is not None:
        found["triples"] = sorted(" ".join(map(str, triple)) for triple in match.triples)
    else:
        found["bindings"] = {name: json.loads(term_json(term)) for name, term in match.bindings.items()}
    return {**found, "events": [event.to_dict() for event in match.events]}


def to_table(comparison: Comparison, width: int | None = None) -> str:
    """A row for each answer with the events that justify it, and a column for each engine: how often it gives that answer.

    Engines are numbered, which leaves room for answers.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table()
    table.add_column("time", no_wrap=True)
    table.add_column("answer", overflow="fold")
    table.add_column("events", overflow="fold")
    numbers = {profile: str(number) for number, profile in enumerate(comparison.answers, 1)}
    for number in numbers.values():
        table.add_column(number, justify="center", no_wrap=True)
    before = None
    for instant, answer, made_of, counts in comparison.rows():
        if before not in (None, instant):
            table.add_section()
        shown = comparison.instant(instant) if before != instant else ""
        before = instant
        table.add_row(shown, answer, made_of, *("" if n == 0 else "x" if n == 1 else str(n) for n in counts))
    console = Console(width=width, markup=False, highlight=False)
    with console.capture() as printed:
        console.print(*(f"{number}  {profile}" for profile, number in numbers.items()), table, sep="\n")
    return printed.get()
