"""Stateful parts by the exact evaluator: for what the kernels' stack programs cannot decide.

All candidates of one row are decided together, column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from spaseq.algebra.events import Assignment, Condition
from spaseq.algebra.expressions import Expression, GpmFunction, Iterated, Var, rebuild, walk
from spaseq.algebra.scope import expression_variables
from spaseq.automaton import kernels
from spaseq.automaton.evaluator import Evaluator
from spaseq.automaton.sequence_program import Choice, SequenceProgram
from spaseq.automaton.state import Memory
from spaseq.automaton.tables import (
    BY,
    CHOICE,
    CHOICE_COUNTS,
    N_COUNTERS,
    N_SLOTS,
    N_TRACKS,
    OF,
    PARENT,
    ROW_CHOICE,
    ROW_TIME,
    SUB_COUNTS,
    SUB_SITUATION,
    TIME,
    TRANSITION_COUNTS,
    TRANSITION_SITUATION,
    Ints,
    Rows,
    RunStore,
)

Mask = npt.NDArray[np.bool_]


def column_name(node: Iterated | GpmFunction) -> str:
    """The column that stands for a function over iterations; no variable has such a name."""
    if isinstance(node, GpmFunction):
        return f"{node.name}({node.gpm})"
    return f"{node.name}(?{node.variable.name}{'' if node.separator is None else ' ' + node.separator!r})"


def over_columns(expression: Expression) -> Expression:
    """The expression with functions over iterations read from columns."""
    if isinstance(expression, (Iterated, GpmFunction)):
        return Var(column_name(expression))
    return rebuild(expression, over_columns)


def functions_in(expression: Expression) -> list[Iterated | GpmFunction]:
    """The functions over iterations in an expression."""
    return [node for node in walk(expression) if isinstance(node, (Iterated, GpmFunction))]


class Events(Protocol):
    """What is known of events beyond their rows."""

    def graph(self, serial: int) -> int:
        """The id of the name of an event's graph if that is an IRI, else 0."""


def event_value(function: str, evaluator: Evaluator, events: Events, *event: int) -> int:
    """TIME or EVENT of an event, given by its instant and its serial number; unbound if there is none."""
    if not event:
        return 0
    time, serial = event
    return evaluator.encode_instant(time) if function == "TIME" else events.graph(serial)


@dataclass(slots=True)
class Verdicts:
    """Decides candidates exactly."""

    program: SequenceProgram
    evaluator: Evaluator
    events: Events

    def decide(self, memory: Memory, rows: Rows, row: int, count: int) -> None:
        """Fill in the verdicts (and assigned values) of the candidates of a row."""
        bench = _Bench(self.program, memory, rows, row, count)
        choice = self.program.choices[int(rows.ids[row, ROW_CHOICE])]
        columns: dict[str, Ints] = {}
        verdict = np.ones(count, np.bool_)
        assigned = 0
        for part in choice.parts:
            self._provide(part.expression, columns, bench)
            expression = over_columns(part.expression)
            if isinstance(part, Assignment):
                values = self.evaluator.values(expression, columns, count)
                slot = self.program.slot(part.variable.name)
                known = bench.merged(slot)
                # A variable that other steps share joins in every iteration (semantics 1.5).
                verdict &= (values == 0) | (known == 0) | (values == known)
                bench.assign(slot, values)
                columns[part.variable.name] = bench.merged(slot)
                memory.found.cells[:count, 3 + assigned] = values
                assigned += 1
            else:
                verdict &= self._holds(part, expression, columns, bench)
        memory.found.cells[:count, 2] = np.where(verdict, kernels.YES, kernels.NO)

    def _holds(
        self, part: Condition, expression: Expression, columns: dict[str, Ints], bench: _Bench
    ) -> Mask:
        holds = self.evaluator.holds(expression, columns, bench.count)
        return holds | bench.first if part.after_first else holds

    def _of_event(self, node: GpmFunction, *event: int) -> int:
        """TIME or EVENT of an event, unbound if there is none."""
        return event_value(node.name, self.evaluator, self.events, *event)

    def _provide(self, expression: Expression, columns: dict[str, Ints], bench: _Bench) -> None:
        """Columns for every variable and function that an expression reads."""
        for name in expression_variables(expression):
            if name not in columns and name in self.program.variables:
                columns[name] = bench.merged(self.program.slot(name))
        for node in functions_in(expression):
            name = column_name(node)
            if name not in columns:
                columns[name] = self._function(node, bench)

    def _function(self, node: Iterated | GpmFunction, bench: _Bench) -> Ints:
        if isinstance(node, GpmFunction):
            if node.name != "COUNT":
                return np.array(
                    [self._of_event(node, *event) for event in bench.last_events(node.gpm)], np.int32
                )
            counts = bench.counted(self.program.counters.index(node.gpm))
            return np.array([self.evaluator.encode(int(count)) for count in counts], np.int32)
        slot = self.program.slot(node.variable.name)
        if node.name in ("FIRST", "LAST", "PREV"):
            repetition = self.program.choices[bench.choice].repetition
            track = self.program.track(node.name, node.variable.name, repetition)
            assert track is not None
            return bench.tracked(node.name, track, slot)
        bags = [bench.iterations(number, slot) for number in range(bench.count)]
        return np.array([self.evaluator.aggregate(node.name, node.separator, bag) for bag in bags], np.int32)


class _Bench:
    """The candidates of one row as columns of ``μ₁ ∪ μ₂``."""

    def __init__(self, program: SequenceProgram, memory: Memory, rows: Rows, row: int, count: int) -> None:
        store, tables = memory.store, memory.tables
        self.program, self.memory, self.rows, self.row, self.count = program, memory, rows, row, count
        run, target = memory.found.cells[:count, 0], memory.found.cells[:count, 1]
        known = run >= 0
        self.partial = np.where(known, store.runs[np.maximum(run, 0), OF], -1)
        sub = np.where(known, target, 0)
        begun = tables.transitions[np.where(known, 0, target), TRANSITION_SITUATION]
        self.situation = np.where(known, tables.subs[sub, SUB_SITUATION], begun)
        self.counts: Mask = np.where(
            known,
            tables.subs[sub, SUB_COUNTS] == 1,
            tables.transitions[np.where(known, 0, target), TRANSITION_COUNTS] == 1,
        )
        self.choice = int(rows.ids[row, ROW_CHOICE])
        own = program.choices[self.choice].repetition
        situations = [program.situations[number].context for number in self.situation.tolist()]
        self.again: Mask = np.array([own is not None and s.again == own for s in situations], np.bool_)
        self.begun: Mask = np.array([own in s.begins for s in situations], np.bool_) | (self.partial < 0)
        self.repeated = own is not None
        self.assigned: dict[int, Ints] = {}

    @property
    def first(self) -> Mask:
        """Which candidates are in the first iteration of the innermost repetition around the choice."""
        own, tables = self.program.choices[self.choice].repetition, self.memory.tables
        if own not in self.program.loops:
            return ~self.again
        place = int(tables.sizes[: N_COUNTERS + 1].sum()) + self.program.loops.index(own)
        first: Mask = self.begun | (~self.again & (self._carried(place) == 1))
        return first

    def _carried(self, place: int) -> Ints:
        return np.where(self.partial >= 0, self.memory.store.slots[self.partial, place], 0).astype(np.int32)

    def assign(self, slot: int, values: Ints) -> None:
        self.assigned[slot] = values

    def now(self, slot: int) -> Ints:
        """The value that the row (or one of its assignments) gives."""
        if slot in self.assigned:
            return self.assigned[slot]
        return np.full(self.count, self.rows.slots[self.row, slot], np.int32)

    def merged(self, slot: int) -> Ints:
        now, before = self.now(slot), self._carried(slot)
        unbound = [slot in self.program.situations[number].unbinds for number in self.situation.tolist()]
        before = np.where(np.array(unbound, np.bool_), 0, before).astype(np.int32)
        return np.where(now != 0, now, before).astype(np.int32)

    def counted(self, counter: int) -> Ints:
        tables = self.memory.tables
        carried = self._carried(int(tables.sizes[N_SLOTS] + tables.sizes[N_TRACKS]) + counter)
        own = int(tables.flat[tables.choices[self.choice, CHOICE_COUNTS] + counter])
        return (carried + np.where(self.counts, own, 0)).astype(np.int32)

    def tracked(self, function: str, track: int, slot: int) -> Ints:
        carried = self._carried(int(self.memory.tables.sizes[N_SLOTS]) + track)
        if function == "PREV":
            carried = np.where(self.begun, 0, carried).astype(np.int32)
            return np.where(self.again, self._carried(slot), carried).astype(np.int32)
        if not self.repeated:
            return carried
        now = np.where(self.counts, self.now(slot), 0)
        first, second = (carried, now) if function == "FIRST" else (now, carried)
        return np.where(first != 0, first, second).astype(np.int32)

    def iterations(self, number: int, slot: int) -> list[int]:
        """The values of a slot in the iterations of one candidate so far, the current one included."""
        store, partial = self.memory.store, int(self.partial[number])
        current = int(self.now(slot)[number]) if self.repeated and self.counts[number] else 0
        if not current:
            return iteration_values(self.program, store, partial, slot)
        unbound = slot in self.program.situations[int(self.situation[number])].unbinds
        if partial >= 0 and not unbound and _has_home(self.program, slot):
            # The current iteration of the home goes on; its value was there before, or is now.
            before = iteration_values(self.program, store, partial, slot)
            known = int(store.slots[partial, slot])
            return before if known else [*before, current]
        return [*iteration_values(self.program, store, partial, slot), current]

    def last_events(self, gpm: str) -> list[tuple[int, int] | tuple[()]]:
        """The instant and the serial number of the last event that a GPM took in each candidate, if there is one."""
        own = self.program.choices[self.choice].gpms
        found: list[tuple[int, int] | tuple[()]] = []
        for number in range(self.count):
            if gpm in own and self.counts[number]:
                event = int(self.rows.events[self.row, own.index(gpm)])
                found.append((int(self.rows.times[self.row, ROW_TIME]), event))
            else:
                found.append(last_event(self.program, self.memory.store, int(self.partial[number]), gpm))
        return found


def last_event(
    program: SequenceProgram, store: RunStore, partial: int, gpm: str
) -> tuple[int, int] | tuple[()]:
    """The instant and the serial number of the last event that a GPM took in a partial."""
    while partial >= 0:
        gpms = program.choices[int(store.partials[partial, CHOICE])].gpms
        if gpm in gpms:
            return int(store.partials[partial, TIME]), int(store.events[partial, gpms.index(gpm)])
        partial = int(store.partials[partial, PARENT])
    return ()


def _has_home(program: SequenceProgram, slot: int) -> bool:
    return program.variables[slot] in program.query.iterated


def iteration_values(program: SequenceProgram, store: RunStore, partial: int, slot: int) -> list[int]:
    """The values of a slot in the iterations that a partial is made of, in time order.

    One from each iteration of the variable's home; without a home, one from each iteration that binds it.
    """
    found: list[int] = []
    home, open_ = _has_home(program, slot), True
    while partial >= 0:
        choice = program.choices[int(store.partials[partial, CHOICE])]
        bound = int(store.slots[partial, slot])
        if home:
            if open_ and bound:
                found.append(bound)
            open_ = (
                slot
                in program.situations[program.transitions[int(store.partials[partial, BY])].situation].unbinds
            )
        elif choice.repetition is not None and bound and _binds(program, choice, slot):
            found.append(bound)
        partial = int(store.partials[partial, PARENT])
    return found[::-1]


def _binds(program: SequenceProgram, choice: Choice, slot: int) -> bool:
    assigned = {part.variable.name for part in choice.parts if isinstance(part, Assignment)}
    return slot in choice.slots or program.variables[slot] in assigned
