"""Queries that share one dictionary, one pass over their input, and what their graph patterns find in it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from pyoxigraph import Literal

from spaseq.columnar.knowledge import Knowledge
from spaseq.engine.compaction import Compaction
from spaseq.engine.inputs import NamedQuery, declared_streams
from spaseq.engine.reorder import in_order
from spaseq.engine.replay import Portion
from spaseq.model.batch import EventBatch
from spaseq.model.budget import Budget
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.mappings import MappingTable
from spaseq.model.matches import Match
from spaseq.operators.answers import Answers
from spaseq.operators.machine import Machine, MachineOptions, Tiers, check_limits
from spaseq.planner.in_run import DEFAULT as DEFAULT_CHOICES
from spaseq.planner.in_run import Choices, in_run
from spaseq.planner.program import Program, build_program
from spaseq.temporal.instants import FOREVER


class Holder(Protocol):
    """What holds events over the dictionary of a group."""

    def held(self) -> list[EventBatch]:
        """Every event that is held."""

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""


class QueryRun:
    """One query of a group at work."""

    def __init__(
        self,
        query: NamedQuery,
        program: Program,
        machine: Machine,
        streams: Sequence[str],
    ) -> None:
        self.name = query.name
        self.query = query.query
        self.form = query.query.form.kind
        self.program = program
        self.machine = machine
        self.matches = 0
        self.merges = self.form == "construct" and query.query.form.continuous
        """Whether several answers make one graph, so that results are counted as they are made."""
        self.number_streams(streams)

    def number_streams(self, streams: Sequence[str]) -> None:
        """Note which numbers the streams of the group have in this query."""
        own = {iri: index for index, iri in enumerate(self.program.streams)}
        index = np.array([own.get(iri, own.get(EVERY_STREAM, -1)) for iri in streams], np.int16)
        self._index = None if index.tolist() == list(range(len(index))) else index
        self.reads = frozenset(np.flatnonzero(index >= 0).tolist())
        """The numbers of the streams that it reads."""

    @property
    def finished(self) -> bool:
        """True if no event can change the answer any more."""
        return self.machine.answered

    def step(self, portion: Portion, seen: dict[bytes, Seen] | None = None) -> Iterator[Answers]:
        """The answers that are certain after some more events, after every slice of work.

        ``seen`` keeps what queries have looked at: the events of the same streams, and the mappings of equal patterns.
        """
        if seen is None:
            return self.machine.step(self._own(portion.batch), portion.now)
        streams = b"" if self._index is None else self._index.tobytes()
        if streams not in seen:
            seen[streams] = self._own(portion.batch), {}
        batch, tables = seen[streams]
        return self.machine.step(batch, portion.now, tables)

    def _own(self, batch: EventBatch) -> EventBatch:
        """The events of the streams that this query declares; others do not exist for it."""
        if self._index is None:
            return batch
        streams = self._index[batch.streams]
        own = batch if bool((streams >= 0).all()) else batch.take(np.flatnonzero(streams >= 0))
        return in_order(replace(own, streams=self._index[own.streams]))

    def matches_of(self, answers: Answers) -> Iterator[Match]:
        """Answers as the objects users see."""
        for match in self.machine.matches(answers):
            self.matches += self.merges
            yield match


Round: TypeAlias = list[tuple[QueryRun, Answers]]
"""The answers of several queries, each in order of time."""

Seen: TypeAlias = tuple[EventBatch, dict[tuple[int, int], MappingTable]]
"""The events of some streams, and what was found in them by pattern and stream."""


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """How a group works: the limits on state, and whether matches name their events and themselves."""

    max_runs: int | None = 10_000_000
    with_events: bool = False
    compile_kernels: bool | None = None
    max_memory: int | None = None
    whole_process: bool = False
    """All memory of this process counts, not only what the group holds."""
    choices: Choices = DEFAULT_CHOICES

    def __post_init__(self) -> None:
        check_limits(self.max_runs, self.max_memory)


class QueryGroup:
    """Steps all queries over the same events.

    CONSTRUCT names its graphs by the identity of the match, which needs the events of every match.
    """

    def __init__(
        self,
        queries: Sequence[NamedQuery],
        knowledge: Knowledge,
        now: Literal,
        options: GroupOptions,
    ) -> None:
        self.dictionary = TermDictionary()
        self.budget = Budget(options.max_memory, whole_process=options.whole_process)
        """The memory that all queries, their events and their terms may take."""
        self.budget.count("terms", lambda: self.dictionary.nbytes)
        self.dictionary.watch = self.budget.check
        self._knowledge, self._now, self._options = knowledge, now, options
        self._tiers = Tiers(compile_kernels=options.compile_kernels)
        adapted = in_run([item.query for item in queries], knowledge, options.choices)
        queries = [replace(item, query=query) for item, query in zip(queries, adapted, strict=True)]
        programs = [build_program(query) for query in adapted]
        self._identified = options.with_events or any(item.query.form.kind == "construct" for item in queries)
        self.needed = None if self._identified else _needed(programs)
        """The predicates that readers must keep; None for all."""
        texts = [f"<{iri}>" for iri in sorted(self.needed or ())]
        self._compaction = Compaction(self.dictionary, self.dictionary.encode_texts(texts))
        self.streams = tuple(stream.iri for stream in declared_streams(queries))
        """The streams of all queries there are or were, by the numbers that events carry."""
        self.runs = [self._run(item, program) for item, program in zip(queries, programs, strict=True)]

    def _run(self, item: NamedQuery, program: Program) -> QueryRun:
        options = self._options
        self._knowledge.require(item.query.knowledge[0])
        identified = options.with_events or item.query.form.kind == "construct"
        machine = Machine(
            program,
            self.dictionary,
            self._knowledge,
            now=self._now,
            options=MachineOptions(options.max_runs, self._tiers, identified, identified, self.budget.part()),
        )
        return QueryRun(item, program, machine, self.streams)

    def add(self, item: NamedQuery) -> QueryRun:
        """One more query, which sees the events of the next step and later ones."""
        declared = (stream.iri for stream in item.query.streams)
        self.needed = None  # nobody knows what the next query asks for
        self.streams = tuple(dict.fromkeys((*self.streams, *declared)))
        (query,) = in_run([item.query], self._knowledge, self._options.choices)
        run = self._run(replace(item, query=query), build_program(query))
        for known in self.runs:
            known.number_streams(self.streams)
        self.runs.append(run)
        return run

    def remove(self, run: QueryRun) -> None:
        """Take a query out, with all it holds; what it alone had of the dictionary goes at the next compaction."""
        self.runs.remove(run)
        self.budget.drop(run.machine.budget)

    @property
    def keeps_names(self) -> bool:
        """True if graph names are asked for."""
        return self._identified or any(run.program.reads_names for run in self.runs)

    @property
    def needs_whole_instants(self) -> bool:
        """True if a query numbers simultaneous events."""
        return any(run.program.needs_positions for run in self.runs)

    @property
    def finished(self) -> bool:
        """True if no event can change any answer."""
        return all(run.finished for run in self.runs)

    @property
    def waiting_runs(self) -> int:
        """How many runs wait in all queries."""
        return sum(run.machine.runs for run in self.runs)

    def step(self, portion: Portion) -> Iterator[Round]:
        """The answers of all queries that are certain after some more events: no round has one before those of the last.

        Yields after every slice of work, often no answers, so that the caller can handle signals in between.
        """
        going = [run for run in self.runs if not run.finished and portion.streams in (None, run.reads)]
        seen: dict[bytes, Seen] | None = {} if len(going) > 1 else None
        for answered in _rounds([(run, run.step(portion, seen)) for run in going]):
            for run, answers in answered:
                if not run.merges:
                    run.matches += len(answers)
            yield answered

    def compact(self, holders: Sequence[Holder]) -> None:
        """Shrink the dictionary if it is time to; machines and holders of events follow."""
        if self._compaction.due():
            held = [batch for holder in holders for batch in holder.held()]
            mapping = self._compaction.run((run.machine for run in self.runs), held)
            for holder in holders:
                holder.remap(mapping)


def _rounds(steps: list[tuple[QueryRun, Iterator[Answers]]]) -> Iterator[Round]:
    """Answers of several queries, each in order of time, as far as all of them have come."""
    if len(steps) == 1:
        run, step = steps[0]
        yield from ([(run, answers)] for answers in step)
        return
    heads: dict[int, Answers] = {}
    going = dict(enumerate(steps))
    while going or heads:
        for number, (run, step) in list(going.items()):
            while number in going and number not in heads:
                answers = next(step, None)
                if answers is None:
                    del going[number]
                elif len(answers):
                    heads[number] = answers
                else:
                    yield [(run, answers)]
        until = min((int(heads[number].time[-1]) for number in going), default=FOREVER)
        answered: Round = []
        for number, head in sorted(heads.items()):
            end = int(np.searchsorted(head.time, until, side="right"))
            if end:
                answered.append((steps[number][0], head.take(np.arange(end)) if end < len(head) else head))
            if end < len(head):
                heads[number] = head.take(np.arange(end, len(head)))
            else:
                del heads[number]
        yield answered


def matches_of(answered: Round) -> Iterator[tuple[QueryRun, Match]]:
    """The matches of a round in order of time."""
    ways = (zip(repeat(run), run.matches_of(answers), strict=False) for run, answers in answered)
    return heapq.merge(*ways, key=lambda pair: pair[1].instant)


def _needed(programs: Sequence[Program]) -> frozenset[str] | None:
    needs = [program.predicates for program in programs]
    known = [need for need in needs if need is not None]
    if len(known) < len(needs):
        return None
    return frozenset(node.value for need in known for node in need)
