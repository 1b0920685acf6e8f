"""`Engine`: a query in this process. Push events, get matches (docs/reference/python.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode

from spaseq.columnar.knowledge import Knowledge
from spaseq.engine.clocks import wall_microseconds
from spaseq.engine.compaction import Compaction
from spaseq.engine.encode import encode_pushed
from spaseq.engine.inputs import as_duration
from spaseq.engine.reorder import ReorderBuffer
from spaseq.errors import InvalidArgument, described, listed
from spaseq.model.batch import EventBatch
from spaseq.model.budget import Budget
from spaseq.model.dictionary import TermDictionary
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
from spaseq.operators.machine import FOREVER, Machine, MachineOptions, check_limits
from spaseq.operators.snapshot import restore_machine, snapshot_machine
from spaseq.planner.compiled import CompiledQuery, compile_query
from spaseq.planner.program import build_program
from spaseq.settings import settings
from spaseq.temporal.instants import format_instant, from_datetime

if TYPE_CHECKING:
    from spaseq.columnar.knowledge import Source


@dataclass(slots=True)
class Metrics:
    """What an engine has done so far."""

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
    if not isinstance(given, str):
        return given
    if not Path(given).exists():
        raise InvalidArgument(f"the background graph `{given}` does not exist")
    return Path(given)


class Engine:
    """Runs one query in this process.

    ``lateness`` is how long out-of-order events are waited for; an event later than that is counted in
    ``metrics.late`` and kept in ``late_events`` until the caller clears it. An event more than ``max_lead`` ahead of
    the wall clock moves no watermark: it is counted in ``metrics.ahead`` and kept in ``ahead_events``; by default any
    time is accepted. ``max_runs`` bounds the partial matches
    that wait, ``max_memory`` (bytes; default: half of the memory there is) all that the engine holds; reaching them is
    an error that says what grows.
    ``compile_kernels`` is True to compile before the first event, False for never; by default the engine
    starts interpreted and compiles, in the background or before a large batch, when the input is worth it.
    """

    def __init__(
        self,
        query: CompiledQuery | str,
        *,
        knowledge: Knowledge | Mapping[str, Source] | None = None,
        lateness: str | int = 0,
        max_lead: str | int | None = None,
        rdfs: bool = False,
        max_runs: int | None = 10_000_000,
        max_memory: int | None = None,
        compile_kernels: bool | None = None,
        with_events: bool = True,
    ) -> None:
        check_limits(max_runs, max_memory)
        self.query = as_query(query)
        self.program = build_program(self.query)
        self.knowledge = as_knowledge(knowledge, rdfs=rdfs)
        self.knowledge.require(self.program.knowledge[0])
        self.dictionary = TermDictionary()
        self._budget = Budget(max_memory)
        self._listed = 0
        self._budget.count("terms", lambda: self.dictionary.nbytes)
        self.dictionary.watch = self._budget.check
        self._budget.count("matches", lambda: self._listed)
        options = MachineOptions(max_runs, compile_kernels, with_events, with_events, self._budget)
        self.machine = Machine(
            self.program, self.dictionary, self.knowledge, now=wall_clock(), options=options
        )
        wait = as_duration(lateness, "lateness")
        self.buffer = ReorderBuffer(wait, whole_instants=self.machine.needs_whole_instants)
        self._budget.count("events", lambda: self.buffer.nbytes)
        self.metrics = Metrics()
        self.late_events: list[GraphEvent] = []
        self.ahead_events: list[GraphEvent] = []
        self._max_lead = None if max_lead is None else as_duration(max_lead, "max_lead")
        self._compaction = Compaction(self.dictionary)
        self._begun = False
        self._finished = False

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
        batch = encode_pushed(plain, self.program.streams, self.dictionary)
        ready, late = self.buffer.push(batch)
        self.machine.check_budget(len(plain))
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
        """Say that no event before this time will come any more."""
        self._check_open()
        instant = instant_of(time)
        return self._step(self.buffer.advance_to(instant), self.buffer.watermark)

    def finish(self) -> list[Match]:
        """Say that no event will come any more; the engine takes none after this."""
        self._check_open()
        ready = self.buffer.advance_to(FOREVER)
        found = self._step(ready, FOREVER)
        self._finished = True
        return found

    def replace_knowledge(self, name: str, source: Source, syntax: str | None = None) -> None:
        """Replace a background graph; events pushed from now on see the new one."""
        self.knowledge.replace(name, source, syntax)

    # --- snapshots ------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The engine's state as bytes: terms, not ids; plain arrays, no pickle."""
        return snapshot_machine(self.machine, self.buffer)

    @classmethod
    def restore(cls, query: CompiledQuery | str, blob: bytes, **options: Any) -> Engine:
        """An engine that goes on where a snapshot was taken; options as for a new one."""
        if not isinstance(blob, bytes):
            raise InvalidArgument(f"a snapshot is bytes, as `snapshot()` gives them, not {described(blob)}")
        engine = cls(query, **options)
        restore_machine(engine.machine, blob, engine.buffer)
        return engine

    def _check_open(self) -> None:
        if self._finished:
            raise InvalidArgument("the engine has finished; make a new one for more events")

    def _plain(self, event: Event | GraphEvent) -> GraphEvent:
        """The event under its stream's IRI, its blank nodes local."""
        for stream in self.query.streams:
            if event.stream in (stream.alias, stream.iri):
                if isinstance(event, Event):
                    return event.to_graph_event(stream.iri, self.dictionary)
                time = checked_instant(event.time)
                renamed = GraphEvent(
                    stream.iri, time, event.triples, event.name, event.source, event.position
                )
                return localised(renamed, self.dictionary)
        known = listed(stream.alias for stream in self.query.streams)
        raise InvalidArgument(f"the query declares no stream `{event.stream}`; it declares {known}")

    # --- work -----------------------------------------------------------------------------------

    def _step(self, ready: EventBatch, now: int) -> list[Match]:
        found: list[Match] = []
        checked = 0
        for answers in self.machine.step(ready, now):
            found += self.machine.matches(answers)
            if len(found) >= checked + settings().checked_rows:
                checked = len(found)
                self._listed = listed_bytes(found)
                self._budget.check()
        self._listed = 0
        self.metrics.matches += len(found)
        self.metrics.runs, self.metrics.peak_runs = self.machine.runs, self.machine.peak_runs
        self.metrics.held = len(self.buffer)
        self._compact()
        return found

    def _compact(self) -> None:
        """Keep the dictionary from growing without bound on an endless stream."""
        if self._compaction.due():
            self.buffer.remap(self._compaction.run([self.machine], [self.buffer.held]))


def listed_bytes(found: list[Match]) -> int:
    """About how much memory a list of matches takes, judging by the last one; terms are shared."""
    if not found:
        return 0
    last = found[-1]
    return len(found) * (450 + 60 * len(last.bindings) + 200 * len(last.events))


def wall_clock() -> Literal:
    """What NOW() answers during the life of an engine."""
    now = format_instant(from_datetime(datetime.now(UTC)))
    return Literal(now, datatype=NamedNode("http://www.w3.org/2001/XMLSchema#dateTime"))
