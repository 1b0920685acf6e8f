"""What a run says at its end: what it read, what each step matched, and, without a match, where to look."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from spaseq.columnar.needs import named_predicates
from spaseq.engine.inputs import NamedQuery, declared_streams
from spaseq.engine.tally import events_of, mappings_of, mistaken, mistaken_unit, occurrence_of, skipped_by
from spaseq.errors import counted, listed
from spaseq.planner.compiled import CompiledQuery
from spaseq.planner.explain.sparql_text import Spelling
from spaseq.planner.in_run import produced_predicates
from spaseq.temporal.instants import TimeUnit

_LOCAL = re.compile(r"[^#/:]*\Z")
NO_SEQUENCE = (
    "every step matched, but no sequence of these events is a match: look at the window, the order and the "
    "variables that join; `spaseq explain` shows all three"
)

NOT_TOGETHER = (
    "every pattern matched, but not together: look at the variables that join, the filters, and how time bounds "
    "them; `spaseq explain` shows what is joined"
)


@dataclass(frozen=True, slots=True)
class StepCount:
    """How many mappings a step of a query had; ``least`` if it was not looked for where it could not matter."""

    gpm: str
    mappings: int
    least: bool = False

    def __str__(self) -> str:
        return f"{self.gpm} {'at least ' if self.least else ''}{self.mappings:,}"


@dataclass(frozen=True, slots=True)
class QueryCount:
    """What became of one query; ``missing`` are predicates of it that never occurred, by IRI."""

    name: str
    steps: tuple[StepCount, ...]
    matches: int
    missing: tuple[str, ...] = ()
    needed: frozenset[str] = frozenset()
    """The GPMs without which there is no match."""
    spelling: Spelling = field(default_factory=Spelling)
    sequence: bool = True
    """Whether it asks for a sequence of events, and not for a join of what they say."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run has read and found."""

    events: tuple[tuple[str, int], ...]
    """The events of every stream, by alias."""
    bad: int
    late: int
    queries: tuple[QueryCount, ...]
    mistaken: tuple[tuple[str, TimeUnit], ...] = ()
    """Streams, by alias, whose times all make sense in a longer unit than the one they were read in."""

    @property
    def wants_sample(self) -> bool:
        """True if it would help to know which predicates the data has."""
        return any(query.missing and not query.matches for query in self.queries)

    def lines(self, present: frozenset[str] = frozenset()) -> Iterator[str]:
        """The sentences; ``present`` are predicates that the data is known to have."""
        total = sum(count for _, count in self.events)
        streams = ", ".join(f"{alias} {count:,}" for alias, count in self.events)
        yield f"read {counted(total, 'event')} ({streams}), {self.bad:,} bad, {self.late:,} late"
        for alias, unit in self.mistaken:
            yield mistaken_unit(alias, unit)
        for query in self.queries:
            name = f"{query.name}: " if len(self.queries) > 1 else ""
            steps = ", ".join(map(str, query.steps))
            yield f"{name}mappings {steps}; {counted(query.matches, 'match', 'matches')}"
            if not query.matches and total:
                yield from (f"{name}{line}" for line in _hints(query, present))


def summarised(
    queries: Sequence[NamedQuery],
    counts: Mapping[str, int],
    matches: Sequence[int],
    *,
    bad: int,
    late: int,
) -> Summary:
    """A run's counts as sentences can be made of; ``matches`` by query."""
    streams, every = declared_streams(queries), [item.query for item in queries]
    events = tuple((stream.alias, counts.get(events_of(stream.iri), 0)) for stream in streams)
    units = ((stream.alias, mistaken(counts, stream.iri)) for stream in streams)
    return Summary(
        events,
        bad,
        late,
        tuple(
            _query(
                number,
                item,
                counts,
                found,
                asked_predicates([item.query]) - produced_predicates(item.query, every),
            )
            for number, (item, found) in enumerate(zip(queries, matches, strict=True))
        ),
        tuple((alias, unit) for alias, unit in units if unit is not None),
    )


def asked_predicates(queries: Iterable[CompiledQuery]) -> frozenset[str]:
    """The predicates that queries name in the patterns of their events."""
    return frozenset(
        node.value for query in queries for gpm in query.patterns for node in named_predicates(gpm.pattern)
    )


def _query(
    number: int, item: NamedQuery, counts: Mapping[str, int], matches: int, asked: frozenset[str]
) -> QueryCount:
    """What became of a query; ``asked`` are the predicates that events must have for it."""
    steps = tuple(
        StepCount(
            name,
            counts.get(mappings_of(number, name), 0),
            bool(counts.get(skipped_by(number, name))),
        )
        for name in item.query.names
    )
    missing = tuple(iri for iri in sorted(asked) if not counts.get(occurrence_of(iri)))
    needed = item.query.needed
    spelling, sequence = Spelling.of(item.query.prefixes), item.query.plan is not None
    return QueryCount(item.name, steps, matches, missing, needed, spelling, sequence)


def _hints(query: QueryCount, present: frozenset[str]) -> Iterator[str]:
    """Why there may be no match."""
    silent = [s.gpm for s in query.steps if not s.mappings and not s.least and s.gpm in query.needed]
    if silent:
        yield f"nothing matched {listed(f'`{name}`' for name in silent)}"
    spell = query.spelling.iri
    for iri in query.missing:
        near = nearest(iri, present)
        hint = f"; the data has `{spell(near)}`" if near is not None else ""
        yield f"`{spell(iri)}` never occurs{hint}"
    if not silent and not query.missing:
        yield NO_SEQUENCE if query.sequence else NOT_TOGETHER


def nearest(iri: str, known: frozenset[str]) -> str | None:
    """The known IRI that was probably meant: the same local name elsewhere, or one spelled nearly so.

    >>> nearest("http://ex.org/temprature", frozenset({"http://ex.org/temperature", "http://ex.org/time"}))
    'http://ex.org/temperature'
    """
    locals_ = {other: _local(other) for other in sorted(known)}
    near = get_close_matches(_local(iri), locals_.values(), n=1, cutoff=0.6)
    if not near:
        return None
    best = [other for other, name in locals_.items() if name == near[0]]
    namespace = iri[: len(iri) - len(_local(iri))]
    return next((other for other in best if other.startswith(namespace)), best[0])


def _local(iri: str) -> str:
    found = _LOCAL.search(iri)
    return found[0] if found is not None else iri
