"""The Program: everything a host needs to run a query, frozen and picklable; no ids, no state.

It has two stages. The GPM stage is stateless and turns a batch of events into mapping tables; the
sequence stage is stateful and turns those into matches. Hosts decide where each of them runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.events import SelectForm
from spaseq.algebra.expressions import Iterated, walk
from spaseq.algebra.patterns import Bgp
from spaseq.algebra.visibility import key_triples, knowledge_graphs
from spaseq.automaton.program import SequenceProgram, sequence_program
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.plan import PatternPlan, compile_pattern
from spaseq.columnar.views import Views
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.planner.compiled import CompiledQuery

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class GpmPlan:
    """A GPM compiled to a plan over the events of its stream."""

    name: str
    stream: int
    plan: PatternPlan


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """Triple patterns on one stream from which one partition variable is read (SEMANTICS 1.9)."""

    variable: str
    stream: int
    plans: tuple[PatternPlan, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A query, ready to run anywhere."""

    query: CompiledQuery
    gpms: tuple[GpmPlan, ...]
    keys: tuple[KeyPlan, ...]
    sequence: SequenceProgram
    predicates: frozenset[NamedNode] | None
    """The only predicates any stage looks at; None if it may be any."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The IRIs of the declared streams, in order."""
        return tuple(stream.iri for stream in self.query.rewritten.streams)

    @property
    def knowledge(self) -> tuple[tuple[str, ...], bool]:
        """The background graphs it names, and whether it reads all of them."""
        return knowledge_graphs(self.query.rewritten)

    @property
    def bag_slots(self) -> tuple[int, ...]:
        """The slots whose iterations SELECT sums up."""
        form = self.query.rewritten.form
        items = form.items if isinstance(form, SelectForm) else ()
        names = {
            node.variable.name
            for item in items
            if item.expression is not None
            for node in walk(item.expression)
            if isinstance(node, Iterated) and node.name not in ("FIRST", "LAST", "PREV")
        }
        return tuple(sorted(self.sequence.slot(name) for name in names))


def build_program(query: CompiledQuery) -> Program:
    """Compile the GPMs and the sequence of a query."""
    rewritten = query.rewritten
    streams = [stream.iri for stream in rewritten.streams]
    plans = tuple(
        GpmPlan(g.name, streams.index(g.stream), compile_pattern(g.pattern)) for g in rewritten.gpms
    )
    keys = tuple(
        KeyPlan(
            name,
            number,
            tuple(
                compile_pattern(Bgp((triple,)))
                for gpm in rewritten.gpms
                if gpm.stream == iri
                for triple in dict.fromkeys(key_triples(gpm, name))
            ),
        )
        for name in rewritten.partition
        for number, iri in enumerate(streams)
    )
    needs = [gpm.plan.predicates for gpm in plans]
    known = [need for need in needs if need is not None]
    predicates = frozenset().union(*known) if len(known) == len(needs) else None
    return Program(query, plans, keys, sequence_program(rewritten), predicates)


def match_gpms(
    program: Program,
    batch: EventBatch,
    dictionary: TermDictionary,
    knowledge: Knowledge,
    now: Literal | None = None,
) -> dict[str, MappingTable]:
    """The GPM stage: one table of mappings per GPM."""
    views = Views(batch)
    tables = {}
    for gpm in program.gpms:
        own = _own(program, batch, gpm.stream)
        tables[gpm.name] = gpm.plan.evaluate(views, dictionary, knowledge, now=now, within=own)
    return tables


def _own(program: Program, batch: EventBatch, stream: int) -> npt.NDArray[np.bool_] | None:
    return None if len(program.streams) == 1 else batch.streams == stream


def match_keys(
    program: Program, batch: EventBatch, dictionary: TermDictionary
) -> tuple[Longs, list[tuple[int, ...]]] | None:
    """The (event, key) pairs of a partitioned query, by event; None without PARTITION BY."""
    variables = program.query.rewritten.partition
    if not variables:
        return None
    views, nothing = Views(batch), Knowledge()
    values: dict[str, dict[int, set[int]]] = {name: {} for name in variables}
    for key in program.keys:
        own = _own(program, batch, key.stream)
        for plan in key.plans:
            table = plan.evaluate(views, dictionary, nothing, within=own)
            for event, value in zip(table.events.tolist(), table.column(key.variable).tolist(), strict=True):
                values[key.variable].setdefault(event, set()).add(value)
    return _pairs(values, len(batch))


def _pairs(values: Mapping[str, Mapping[int, set[int]]], events: int) -> tuple[Longs, list[tuple[int, ...]]]:
    event: list[int] = []
    keys: list[tuple[int, ...]] = []
    columns = list(values.values())
    for number in range(events):
        for key in product(*(sorted(column.get(number, ())) for column in columns)):
            event.append(number)
            keys.append(key)
    return np.array(event, np.int64), keys
