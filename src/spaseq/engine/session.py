"""`Session`: queries in this process, which come and go while events are pushed (docs/reference/python.md)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pyoxigraph import Literal, NamedNode

from spaseq.columnar.knowledge import Knowledge
from spaseq.engine.clocks import wall_microseconds
from spaseq.engine.inputs import NamedQuery, stream_iri
from spaseq.engine.query_group import GroupOptions, QueryGroup, QueryRun, matches_of
from spaseq.engine.reorder import ReorderBuffer
from spaseq.engine.replay import Portion
from spaseq.errors import InvalidArgument, described, did_you_mean, listed
from spaseq.io.encode import encode_pushed
from spaseq.model.batch import EventBatch
from spaseq.model.events import (
    Event,
    Events,
    GraphEvent,
    as_events,
    checked_event,
    checked_instant,
    instant_of,
    localised,
    warn_of_unit,
)
from spaseq.model.matches import Match
from spaseq.planner.compiled import CompiledQuery, compile_query
from spaseq.planner.in_run import RULE_LIMIT, UNRESTRICTED, Choices, intervals_of
from spaseq.settings import settings
from spaseq.stores import place_of
from spaseq.temporal.instants import FOREVER, as_duration, format_instant, from_datetime

if TYPE_CHECKING:
    from spaseq.columnar.knowledge import Source


@dataclass(slots=True)
class Metrics:
    """What a session has done so far."""

    events: int = 0
    late: int = 0
    ahead: int = 0
    matches: int = 0
    runs: int = 0
    peak_runs: int = 0
    held: int = 0


def as_query(query: CompiledQuery | str) -> CompiledQuery:
    """A compiled query, compiled here if it is a text."""
    return query if isinstance(query, CompiledQuery) else compile_query(query)


def as_knowledge(knowledge: Knowledge | Mapping[str, Source] | None, *, rdfs: bool = False) -> Knowledge:
    """Background graphs as the user gives them."""
    if isinstance(knowledge, Knowledge):
        return knowledge
    if knowledge is not None and not isinstance(knowledge, Mapping):
        raise InvalidArgument(
            f"`knowledge=` is a mapping from graph IRIs to paths or graphs, not {described(knowledge)}"
        )
    for name in knowledge or ():
        if not isinstance(name, str):
            raise InvalidArgument(f"a background graph is named by an IRI as text, not {described(name)}")
    return Knowledge({name: _source(given) for name, given in (knowledge or {}).items()}, rdfs=rdfs)


def _source(given: Source) -> Source:
    """A background graph as the user gives it: a text names a file."""
    if not isinstance(given, (str, os.PathLike)):
        return given
    path = place_of(given)
    if not path.exists():
        raise InvalidArgument(f"the background graph `{given}` does not exist")
    return path


class _Buffered:
    """The events that wait, for a compaction of the dictionary."""

    def __init__(self, buffer: ReorderBuffer) -> None:
        self._buffer = buffer

    def held(self) -> list[EventBatch]:
        return [self._buffer.held]

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        self._buffer.remap(mapping)


class Session:
    """Runs queries in this process; they may be added and removed while events are pushed.

    All queries see the same events. A query sees those that are handled after it was added: all that are pushed from
    then on, and those that still wait because of ``lateness``. Equal graph patterns of several queries are evaluated once.
    A match says in ``query`` whose it is.

    >>> session = Session()
    >>> session.add(
    ...     '''SELECT ?k WITHIN 5 SECONDS SLIDING FROM STREAM S <urn:s> WHERE {
    ...     SEQ (A ; B) DEFINE GPM A ON S { ?k <urn:a> ?v } DEFINE GPM B ON S { ?k <urn:b> ?w } }''',
    ...     "pairs",
    ... )
    'pairs'
    >>> events = [
    ...     Event("S", at * 1_000_000, f"<urn:k> <urn:{name}> 1 .", format="turtle")
    ...     for at, name in ((1, "a"), (2, "b"))
    ... ]
    >>> [match.query for match in session.push(events)]
    ['pairs']
    >>> session.remove("pairs")

    ``lateness`` is how long out-of-order events are waited for; an event later than that is counted in
    ``metrics.late`` and kept in ``late_events`` until the caller clears it. An event more than ``max_lead`` ahead of
    the wall clock moves no watermark: it is counted in ``metrics.ahead`` and kept in ``ahead_events``; by default any
    time is accepted. ``policy`` and ``rule_limit`` are those of EP-SPARQL's sequences and rules. ``max_runs`` bounds the partial matches of a query that wait, ``max_memory`` (bytes; default: half of
    the memory there is) all that the session holds; reaching them is an error that says what grows.
    ``compile_kernels`` is True to compile before the first event, False for never; by default a query
    starts interpreted and is compiled, in the background or before a large batch, when the input is worth it.
    """

    def __init__(
        self,
        *,
        knowledge: Knowledge | Mapping[str, Source] | None = None,
        lateness: str | int = 0,
        max_lead: str | int | None = None,
        rdfs: bool = False,
        policy: str = UNRESTRICTED,
        rule_limit: int = RULE_LIMIT,
        max_runs: int | None = 10_000_000,
        max_memory: int | None = None,
        compile_kernels: bool | None = None,
        with_events: bool = True,
    ) -> None:
        self.knowledge = as_knowledge(knowledge, rdfs=rdfs)
        choices = Choices(policy, rule_limit)
        options = GroupOptions(max_runs, with_events, compile_kernels, max_memory, choices=choices)
        self._group = QueryGroup((), self.knowledge, wall_clock(), options)
        self.dictionary = self._group.dictionary
        self._listed = 0
        self._group.budget.count("matches", lambda: self._listed)
        self.buffer = ReorderBuffer(as_duration(lateness, "lateness"))
        self._group.budget.count("events", lambda: self.buffer.nbytes)
        self.metrics = Metrics()
        self.late_events: list[GraphEvent] = []
        self.ahead_events: list[GraphEvent] = []
        self._max_lead = None if max_lead is None else as_duration(max_lead, "max_lead")
        self._iris: dict[str, str] = {}
        """The IRIs of streams by the names under which events came, as long as the queries stay the same."""
        self._unchecked = 0
        self._begun = False
        self._finished = False

    # --- queries --------------------------------------------------------------------------------

    @property
    def queries(self) -> dict[str, CompiledQuery]:
        """The queries there are, by name."""
        return {run.name: run.query for run in self._group.runs}

    def add(self, query: CompiledQuery | str, name: str | None = None) -> str:
        """Add a query; the result is its name, a number if none is given."""
        self._check_open()
        compiled = as_query(query)
        known = self.queries
        if name is None:
            name = next(str(n) for n in range(1, len(known) + 2) if str(n) not in known)
        elif name in known:
            raise InvalidArgument(
                f"there is a query `{name}` already; remove it before, or take another name"
            )
        self._add(NamedQuery(name, replace(compiled, name=name)))
        return name

    def _add(self, item: NamedQuery) -> QueryRun:
        run = self._group.add(item)
        self._queries_changed()
        return run

    def _queries_changed(self) -> None:
        self._iris.clear()
        self.buffer.whole_instants = self._group.needs_whole_instants

    def remove(self, name: str) -> None:
        """Remove a query and all that it holds."""
        found = [run for run in self._group.runs if run.name == name]
        if not found:
            hint = did_you_mean(name, self.queries)
            raise InvalidArgument(f"no query `{name}`{hint}; there are: {listed(self.queries) or 'none'}")
        self._group.remove(found[0])
        self._queries_changed()

    # --- input ----------------------------------------------------------------------------------

    def push(self, events: Event | GraphEvent | Events) -> list[Match]:
        """One event or many; returns the matches that are certain now, in order of time."""
        self._check_open()
        given = as_events(events, "push takes an event or several")
        items = [checked_event(event) for event in given]
        if items and not self._begun:
            warn_of_unit(items[0])
            self._begun = True
        plain = self._believed([self._plain(event) for event in items])
        batch = encode_pushed(plain, self._group.streams, self.dictionary)
        ready, late = self.buffer.push(batch)
        self._check_budget(len(plain))
        self.metrics.events += len(plain) - len(late)
        self.metrics.late += len(late)
        self.late_events += [plain[int(number)] for number in late]
        return self._step(ready, self.buffer.watermark)

    def _believed(self, events: list[GraphEvent]) -> list[GraphEvent]:
        """The events that are not too far ahead of the clock; the others are kept apart."""
        if self._max_lead is None:
            return events
        latest = wall_microseconds() + self._max_lead
        ahead = [event for event in events if event.time > latest]
        self.metrics.ahead += len(ahead)
        self.ahead_events += ahead
        return [event for event in events if event.time <= latest] if ahead else events

    def advance_to(self, time: datetime | int | str) -> list[Match]:
        """Say that no event at this time or before will come any more; returns the matches that are certain now."""
        self._check_open()
        after = instant_of(time) + 1  # the watermark: no event before it will come
        return self._step(self.buffer.advance_to(after), self.buffer.watermark)

    def finish(self) -> list[Match]:
        """Say that no event will come any more; nothing is taken after this."""
        self._check_open()
        ready = self.buffer.advance_to(FOREVER)
        found = self._step(ready, FOREVER)
        self._finished = True
        return found

    def replace_knowledge(self, name: str, source: Source, syntax: str | None = None) -> None:
        """Replace a background graph; events pushed from now on see the new one. Not with EP-SPARQL, whose background has no time."""
        for run in self._group.runs:
            if intervals_of(run.query) is not None:
                raise InvalidArgument(
                    f"the background of `{run.name}` cannot be replaced while it runs: what EP-SPARQL has joined with it stays; "
                    "make a new engine with the other graph"
                )
        self.knowledge.replace(name, source, syntax)

    def _check_open(self) -> None:
        if self._finished:
            raise InvalidArgument("no event is taken after `finish()`; make a new engine or session for more")

    def _plain(self, event: Event | GraphEvent) -> GraphEvent:
        """The event under its stream's IRI, its blank nodes local."""
        iri = self._iris.get(event.stream)
        if iri is None:
            named = [NamedQuery(run.name, run.query) for run in self._group.runs]
            iri = self._iris[event.stream] = stream_iri(event.stream, named)
        if isinstance(event, Event):
            return event.to_graph_event(iri, self.dictionary)
        renamed = replace(event, stream=iri, time=checked_instant(event.time))
        return localised(renamed, self.dictionary)

    # --- work -----------------------------------------------------------------------------------

    def _check_budget(self, more: int) -> None:
        self._unchecked += more
        if self._unchecked >= settings().checked_rows:
            self._unchecked = 0
            self._group.budget.check()

    def _step(self, ready: EventBatch, now: int) -> list[Match]:
        found: list[Match] = []
        checked = 0
        for answered in self._group.step(Portion(ready, now)):
            for _, match in matches_of(answered):
                found.append(match)
                if len(found) >= checked + settings().checked_rows:
                    checked = len(found)
                    self._listed = listed_bytes(found)
                    self._group.budget.check()
        self._listed = 0
        self.metrics.matches += len(found)
        self.metrics.runs = self._group.waiting_runs
        self.metrics.peak_runs = max(
            self.metrics.peak_runs, sum(run.machine.peak_runs for run in self._group.runs)
        )
        self.metrics.held = len(self.buffer)
        # An endless stream keeps bringing new terms.
        self._group.compact([_Buffered(self.buffer)])
        return found


def listed_bytes(found: list[Match]) -> int:
    """About how much memory a list of matches takes, judging by the last one; terms are shared."""
    if not found:
        return 0
    last = found[-1]
    return len(found) * (450 + 60 * len(last.bindings) + 200 * len(last.events))


def wall_clock(now: datetime | None = None) -> Literal:
    """What NOW() answers during the life of a session: the present, or the time that is given."""
    text = format_instant(from_datetime(now or datetime.now(UTC)))
    return Literal(text, datatype=NamedNode("http://www.w3.org/2001/XMLSchema#dateTime"))
