"""The Program: everything a host needs to run a query, frozen and picklable; no ids, no state.

It has two stages. The GPM stage is stateless and turns a batch of events into mapping tables; the operator that the
program names is stateful and turns those into answers. Hosts decide where each of them runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.events import (
    Assignment,
    ConstructForm,
    EventQuery,
    EventWindow,
    Gpm,
    TimeWindow,
)
from spaseq.algebra.expressions import Var
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.patterns import Bgp, Node, TriplePattern
from spaseq.algebra.scope import triple_variables
from spaseq.algebra.visibility import certain, key_triples, needed_variables
from spaseq.automaton.sequence_program import SequenceProgram, sequence_program
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.plan import NO_KNOWLEDGE, PatternPlan, compile_pattern
from spaseq.columnar.views import Views
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.model.ordered import among, each_once, numbers_from
from spaseq.planner.compiled import CompiledQuery
from spaseq.settings import limit_reached, settings

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class GpmPlan:
    """A GPM compiled to a plan over the events of its stream."""

    name: str
    stream: int
    plan: PatternPlan
    only_counted: bool = False
    """Whether only how many triples an event has matters."""

    @property
    def is_every_event(self) -> bool:
        """True if it matches every event of its stream and says nothing of it."""
        return self.plan.pattern == Bgp(())


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """Triple patterns on one stream from which one partition variable is read (semantics 1.9)."""

    variable: str
    stream: int
    plans: tuple[PatternPlan, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A query, ready to run anywhere."""

    query: CompiledQuery
    operator: str
    """The module of `spaseq.operators` that makes its stateful operator."""
    gpms: tuple[GpmPlan, ...]
    columns: tuple[tuple[str, ...], ...]
    """For every GPM, what its own event binds and the operator reads."""
    predicates: frozenset[NamedNode] | None
    """The only predicates any stage looks at; None if it may be any."""
    answer_variables: tuple[str, ...]
    """The columns of the operator's answers."""
    details: object
    """What only the operator reads."""
    template: tuple[TriplePattern, ...] = ()
    """What CONSTRUCT makes of every answer."""
    counts_instants: bool = False
    """True if the operator must hear of all events, also of those that no GPM matches."""
    reads_background: bool = False
    """True if the operator reads background graphs, which otherwise only patterns do."""
    reads_names: bool = False
    """True if the operator reads the names of events."""
    tells_events: bool = False
    """True if answers depend on which events a match is made of."""
    counts_events: bool = False
    """True if a window is counted in events."""
    needs_positions: bool = False
    """True if it matters in which order simultaneous events came: windows in EVENTS count them, skipping ranks by them."""
    window_time: tuple[int, int | None] = (0, None)
    """The length of a window of time and where the first one begins, if the query says it; 0: no such window."""
    conjunctions: tuple[tuple[str, ...], ...] = ()
    """GPMs that matter only where all of a group match at one instant; one in no group, or alone in one, always matters."""
    partition: tuple[str, ...] = ()
    """The variables of PARTITION BY."""
    keys: tuple[KeyPlan, ...] = ()
    keyed_rows: bool = False
    """Whether every mapping binds the partition's key and events without one do not matter."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The IRIs of the declared streams, in order."""
        return tuple(stream.iri for stream in self.query.streams)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its patterns, in the order of the text."""
        return self.query.names

    @property
    def sequence(self) -> SequenceProgram:
        """What the automaton runs."""
        assert isinstance(self.details, SequenceProgram), f"{self.query.name} runs on no automaton"
        return self.details


def build_program(query: CompiledQuery) -> Program:
    """Compile the patterns of a query, and what its operator needs."""
    streams = [stream.iri for stream in query.streams]
    plans = tuple(
        GpmPlan(each.name, streams.index(each.stream), compile_pattern(each.pattern), each.only_counted)
        for each in query.patterns
    )
    needs = [gpm.plan.predicates for gpm in plans]
    known = [need for need in needs if need is not None]
    predicates = frozenset().union(*known) if len(known) == len(needs) else None
    if isinstance(query.source, OperatorQuery):
        return Program(
            query,
            query.source.operator,
            plans,
            tuple(gpm.plan.variables for gpm in plans),
            predicates,
            query.form.variables,
            query.source.details,
            query.source.template,
            counts_instants=query.source.hears_instants,
            tells_events=query.source.counts_events,
            counts_events=query.source.counts_events,
            needs_positions=query.source.counts_events,
            reads_background=query.source.reads_background,
        )
    return _with_automaton(query, plans, predicates)


def _with_automaton(
    query: CompiledQuery, plans: tuple[GpmPlan, ...], predicates: frozenset[NamedNode] | None
) -> Program:
    rewritten, switches = query.rewritten, query.optimisations
    sequence = sequence_program(
        rewritten,
        query.automaton,
        needed_variables(rewritten) | frozenset(query.distribution.variables),
        stream_index=switches.stream_index,
        join_index=switches.join_index,
        push_window=switches.push_window,
    )
    names = sequence.reads_names
    form, window, counted = rewritten.form, rewritten.window, isinstance(rewritten.window, EventWindow)
    return Program(
        query,
        "automaton",
        plans,
        tuple(_own_columns(gpm, plan, sequence) for gpm, plan in zip(rewritten.gpms, plans, strict=True)),
        predicates,
        sequence.variables if isinstance(form, ConstructForm) else query.form.variables,
        sequence,
        form.template if isinstance(form, ConstructForm) else (),
        counts_instants=sequence.counts_instants,
        reads_names=names,
        tells_events=rewritten.skip_past or names,
        counts_events=counted,
        needs_positions=counted or rewritten.skip_past,
        window_time=(window.size, window.start) if isinstance(window, TimeWindow) else (0, None),
        conjunctions=tuple(choice.gpms for choice in sequence.choices),
        partition=rewritten.partition,
        keys=_key_plans(rewritten),
        keyed_rows=not sequence.counts_instants
        and all(frozenset(rewritten.partition) <= certain(gpm) for gpm in rewritten.gpms),
    )


def _own_columns(gpm: Gpm, plan: GpmPlan, sequence: SequenceProgram) -> tuple[str, ...]:
    """What a GPM's own event binds and the sequence reads; stateful assignments come later."""
    assigned = {part.variable.name for part in gpm.stateful if isinstance(part, Assignment)}
    known = set(sequence.variables) - assigned
    return tuple(name for name in plan.plan.variables if name in known)


def _key_plans(query: EventQuery) -> tuple[KeyPlan, ...]:
    return tuple(
        KeyPlan(
            name,
            number,
            tuple(
                compile_pattern(Bgp((triple,)))
                for triple in dict.fromkeys(
                    _nameless(triple, name)
                    for gpm in query.gpms
                    if gpm.stream == stream.iri
                    for triple in key_triples(gpm, name)
                )
            ),
        )
        for name in query.partition
        for number, stream in enumerate(query.streams)
    )


def _nameless(triple: TriplePattern, key: str) -> TriplePattern:
    """The triple pattern with names by place for all variables but the key: GPMs then share what they ask."""
    names = {name: f"#{number}" for number, name in enumerate(triple_variables(triple)) if name != key}

    def renamed(node: Node) -> Node:
        return Var(names.get(node.name, node.name)) if isinstance(node, Var) else node

    predicate = triple.predicate
    return replace(
        triple,
        subject=renamed(triple.subject),
        predicate=renamed(predicate) if isinstance(predicate, Var) else predicate,
        object=renamed(triple.object),
    )


@dataclass(slots=True)
class Observed:
    """How often each GPM matched so far: what the order of a conjunction's patterns learns from."""

    events: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    """The GPMs that were not looked for at some events, since they could not matter there."""

    def note(self, gpm: str, events: int, rows: int) -> None:
        """Count one evaluation."""
        self.events[gpm] = self.events.get(gpm, 0) + events
        self.rows[gpm] = self.rows.get(gpm, 0) + rows

    def rate(self, gpm: str) -> float:
        """Mappings per event; 0 before anything was seen, so that the estimated order stands."""
        return self.rows.get(gpm, 0) / max(self.events.get(gpm, 0), 1)


def match_gpms(
    program: Program,
    batch: EventBatch,
    dictionary: TermDictionary,
    knowledge: Knowledge,
    now: Literal | None = None,
    *,
    observed: Observed | None = None,
    found: dict[tuple[int, int], MappingTable] | None = None,
    bare_counts: bool = False,
) -> dict[str, MappingTable]:
    """The GPM stage: one table of mappings per GPM; with ``bare_counts`` those that are only counted have no terms.

    ``found`` keeps, by plan and stream, what other queries have found in the same batch; equal patterns have one plan.

    With ``observed``, conjunctions are evaluated lazily: where one pattern of a conjunction found nothing,
    the others are not looked for. That needs whole instants; the first and the last one of a batch may
    go on in another batch and are never skipped.
    """
    views = Views(batch)
    tables: dict[str, MappingTable] = {}
    order = program.gpms
    if observed is not None and program.query.optimisations.order_edges:
        order = tuple(sorted(order, key=lambda gpm: observed.rate(gpm.name)))
    for gpm in order:
        own = _own(program, batch, gpm.stream)
        if gpm.only_counted and bare_counts:
            tables[gpm.name] = _counted(batch, own)
            continue
        known = None if found is None else found.get((id(gpm.plan), gpm.stream))
        if known is not None:
            tables[gpm.name] = known
            continue
        if observed is not None and found is None:
            hopeful = _promising(program, batch, gpm.name, tables, own)
            if (
                hopeful is not own
                and hopeful is not None
                and not bool((hopeful if own is None else hopeful[own]).all())
            ):
                observed.skipped.add(gpm.name)
            own = hopeful
        table = tables[gpm.name] = gpm.plan.evaluate(views, dictionary, knowledge, now=now, within=own)
        if found is not None:
            found[id(gpm.plan), gpm.stream] = table
        if observed is not None:
            observed.note(gpm.name, len(batch), len(table))
    return tables


def _counted(batch: EventBatch, own: npt.NDArray[np.bool_] | None) -> MappingTable:
    """A row without terms for every triple of some events."""
    events = np.arange(len(batch)) if own is None else np.flatnonzero(own)
    return MappingTable(np.repeat(events, np.diff(batch.offsets)[events]), {})


def _promising(
    program: Program,
    batch: EventBatch,
    name: str,
    tables: Mapping[str, MappingTable],
    own: npt.NDArray[np.bool_] | None,
) -> npt.NDArray[np.bool_] | None:
    """The events at which a GPM can still complete a choice, by what its partners have found."""
    choices = [gpms for gpms in program.conjunctions if name in gpms]
    partners = [[other for other in gpms if other in tables] for gpms in choices]
    if not len(batch) or not partners or not all(partners):
        return own
    hopeful: npt.NDArray[np.bool_] = (batch.times == batch.times[0]) | (batch.times == batch.times[-1])
    for others in partners:
        instants = [batch.times[tables[other].events] for other in others]
        together = np.ones(len(batch), np.bool_)
        for times in instants:
            together &= among(batch.times, times)
        hopeful |= together
    return hopeful if own is None else own & hopeful


def _own(program: Program, batch: EventBatch, stream: int) -> npt.NDArray[np.bool_] | None:
    return None if len(program.streams) == 1 else batch.streams == stream


def keys_of_rows(program: Program, tables: Mapping[str, MappingTable]) -> tuple[Longs, Ints]:
    """The (event, key) pairs of a partitioned query whose mappings all bind their key."""
    variables = program.partition
    event = np.concatenate([table.events for table in tables.values()])
    keys = np.concatenate(
        [np.column_stack([table.column(name) for name in variables]) for table in tables.values()]
    )
    if len(tables) > 1 or not (event[1:] > event[:-1]).all():
        order = np.lexsort((*keys.T, event))
        event, keys = event[order], keys[order]
    fresh = np.ones(len(event), np.bool_)
    fresh[1:] = (event[1:] != event[:-1]) | (keys[1:] != keys[:-1]).any(axis=1)
    return event[fresh], keys[fresh]


def match_keys(program: Program, batch: EventBatch, dictionary: TermDictionary) -> tuple[Longs, Ints] | None:
    """The (event, key) pairs of a partitioned query, by event, a key being a row of ids.

    None without PARTITION BY.
    """
    variables = program.partition
    if not variables:
        return None
    views, nothing = Views(batch), NO_KNOWLEDGE
    if len(variables) == 1:
        event, values = _key_values(program, variables[0], views, dictionary, nothing)
        return event, values.reshape(-1, 1)
    event = np.arange(len(batch), dtype=np.int64)
    keys = np.zeros((len(batch), 0), np.int32)
    for name in variables:
        own, values = _key_values(program, name, views, dictionary, nothing)
        # Several values of one event, for each of several variables: all combinations.
        at = np.searchsorted(own, event)
        many = np.searchsorted(own, event, side="right") - at
        most = int(np.bincount(event, weights=many).max(initial=0))
        if most > settings().event_partitions:
            raise limit_reached(f"one event belongs to {most:,} partitions", "event_partitions")
        row = np.repeat(np.arange(len(event)), many)
        value = numbers_from(at, many)
        event, keys = event[row], np.column_stack([keys[row], values[value]])
    return event, keys


def _key_values(
    program: Program, name: str, views: Views, dictionary: TermDictionary, nothing: Knowledge
) -> tuple[Longs, Ints]:
    """The distinct values of one partition variable, by event."""
    pairs = [np.zeros(0, np.int64)]
    for key in program.keys:
        if key.variable == name:
            own = _own(program, views.batch, key.stream)
            for plan in key.plans:
                table = plan.evaluate(views, dictionary, nothing, within=own)
                pairs.append((table.events << 32) | table.column(name))
    distinct = np.concatenate(pairs)
    if not (distinct[1:] > distinct[:-1]).all():  # one table, a value per event: they ascend already
        distinct = each_once(distinct)
    return distinct >> 32, distinct.astype(np.int32)
