"""Stateful parts by the exact evaluator: for what the kernels' stack programs cannot decide.

All candidates of one row are decided together, column by column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spaseq.algebra.events import Assignment, Condition
from spaseq.algebra.expressions import Expression, Iterated, IterationCount, Var, rebuild, walk
from spaseq.algebra.scope import expression_variables
from spaseq.automaton import kernels
from spaseq.automaton.evaluator import Evaluator
from spaseq.automaton.program import EXTENDS, SequenceProgram
from spaseq.automaton.state import Memory
from spaseq.automaton.tables import (
    CHOICE,
    CHOICE_COUNTS,
    CHOICE_STEP,
    IN,
    N_SLOTS,
    N_TRACKS,
    OF,
    PARENT,
    ROW_CHOICE,
    STEP_REPEATED,
    SUB_KIND,
    TRANSITION_LOOPS,
    Ints,
    Rows,
)

Mask = npt.NDArray[np.bool_]


def column_name(node: Iterated | IterationCount) -> str:
    """The column that stands for a function over iterations; no variable has such a name."""
    if isinstance(node, IterationCount):
        return f"COUNT({node.gpm})"
    return f"{node.name}(?{node.variable.name}{'' if node.separator is None else ' ' + node.separator!r})"


def over_columns(expression: Expression) -> Expression:
    """The expression with functions over iterations read from columns."""
    if isinstance(expression, (Iterated, IterationCount)):
        return Var(column_name(expression))
    return rebuild(expression, over_columns)


def functions_in(expression: Expression) -> list[Iterated | IterationCount]:
    """The functions over iterations in an expression."""
    return [node for node in walk(expression) if isinstance(node, (Iterated, IterationCount))]


@dataclass(slots=True)
class Verdicts:
    """Decides candidates exactly."""

    program: SequenceProgram
    evaluator: Evaluator

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
                # A variable that other steps share joins in every iteration (SEMANTICS 1.5).
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
        return holds | ~bench.loops if part.after_first else holds

    def _provide(self, expression: Expression, columns: dict[str, Ints], bench: _Bench) -> None:
        """Columns for every variable and function that an expression reads."""
        for name in expression_variables(expression):
            if name not in columns and name in self.program.variables:
                columns[name] = bench.merged(self.program.slot(name))
        for node in functions_in(expression):
            name = column_name(node)
            if name not in columns:
                columns[name] = self._function(node, bench)

    def _function(self, node: Iterated | IterationCount, bench: _Bench) -> Ints:
        if isinstance(node, IterationCount):
            counts = bench.counted(self.program.counters.index(node.gpm))
            return np.array([self.evaluator.encode(int(count)) for count in counts], np.int32)
        slot = self.program.slot(node.variable.name)
        if node.name in ("FIRST", "LAST", "PREV"):
            track = self.program.track(node.name, node.variable.name)
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
        extends = known & (tables.subs[np.where(known, target, 0), SUB_KIND] == EXTENDS)
        transition = store.runs[np.maximum(run, 0), IN]
        self.loops: Mask = extends & (tables.transitions[transition, TRANSITION_LOOPS] == 1)
        self.choice = int(rows.ids[row, ROW_CHOICE])
        step = program.choices[self.choice].step
        self.repeated = bool(tables.steps[step, STEP_REPEATED])
        self.assigned: dict[int, Ints] = {}

    def assign(self, slot: int, values: Ints) -> None:
        self.assigned[slot] = values

    def before(self, slot: int) -> Ints:
        """The value that the run brings."""
        return np.where(self.partial >= 0, self.memory.store.slots[self.partial, slot], 0).astype(np.int32)

    def now(self, slot: int) -> Ints:
        """The value that the row (or one of its assignments) gives."""
        if slot in self.assigned:
            return self.assigned[slot]
        return np.full(self.count, self.rows.slots[self.row, slot], np.int32)

    def merged(self, slot: int) -> Ints:
        now, before = self.now(slot), self.before(slot)
        if slot in self.program.choices[self.choice].rebinds:
            before = np.where(self.loops, 0, before).astype(np.int32)
        return np.where(now != 0, now, before).astype(np.int32)

    def counted(self, counter: int) -> Ints:
        place = self.memory.tables.sizes[N_SLOTS] + self.memory.tables.sizes[N_TRACKS] + counter
        carried = np.where(self.partial >= 0, self.memory.store.slots[self.partial, place], 0)
        tables = self.memory.tables
        own = tables.flat[tables.choices[self.choice, CHOICE_COUNTS] + counter] if self.repeated else 0
        return (carried + own).astype(np.int32)

    def tracked(self, function: str, track: int, slot: int) -> Ints:
        place = self.memory.tables.sizes[N_SLOTS] + track
        carried = np.where(self.partial >= 0, self.memory.store.slots[self.partial, place], 0).astype(
            np.int32
        )
        if not self.repeated:
            return carried
        if function == "PREV":
            return np.where(self.loops, self.before(slot), 0).astype(np.int32)
        now = self.now(slot)
        first, second = (carried, now) if function == "FIRST" else (now, carried)
        return np.where(first != 0, first, second).astype(np.int32)

    def iterations(self, number: int, slot: int) -> list[int]:
        """The values of a slot in the iterations of one candidate so far, the current one included."""
        found = iteration_values(self.memory, int(self.partial[number]), slot)
        current = int(self.now(slot)[number])
        return found + ([current] if self.repeated and current else [])


def iteration_values(memory: Memory, partial: int, slot: int) -> list[int]:
    """The values of a slot in all iterations that a partial is made of, in time order."""
    store, tables = memory.store, memory.tables
    found: list[int] = []
    while partial >= 0:
        choice = int(store.partials[partial, CHOICE])
        if tables.steps[tables.choices[choice, CHOICE_STEP], STEP_REPEATED] and kernels.takes_part(
            tables, choice, slot
        ):
            value = int(store.slots[partial, slot])
            if value:
                found.append(value)
        partial = int(store.partials[partial, PARENT])
    return found[::-1]
