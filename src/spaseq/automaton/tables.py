"""The arrays the kernels read and write, in named tuples that Numba understands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spaseq.algebra.events import Assignment, Condition, EventWindow, Repeat, TimeWindow
from spaseq.algebra.expressions import Term
from spaseq.automaton.conditions import stack_code
from spaseq.automaton.program import BEGIN, EXTENDS, GUARDS, LOOKS_BACK, RECALL, WAIT, SequenceProgram

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""A time after all others."""

NO_WINDOW, TUMBLING, SLIDING, TUMBLING_EVENTS, SLIDING_EVENTS = 0, 1, 2, 3, 4


# Columns of the tables. A list has two columns: where it begins in ``flat``, and where it ends.
(
    CHOICE_STEP, CHOICE_SLOW, CHOICE_COUNTS,
    CHOICE_SLOTS, _, CHOICE_REBINDS, _, CHOICE_ASSIGNS, _, CHOICE_BEGINS, _,
    CHOICE_RECALLS, _, CHOICE_SUBS, _, CHOICE_BACKS, _, CHOICE_CODE, _,
) = range(19)  # fmt: skip
STEP_REPEATED, STEP_LEAVING, _ = range(3)
SUB_TRANSITION, SUB_KIND, SUB_SLOTS, _ = range(4)
(
    TRANSITION_TARGET, TRANSITION_OPERATOR, TRANSITION_LOOPS, TRANSITION_ROOTED, TRANSITION_LOW,
    TRANSITION_HIGH, TRANSITION_GUARDED, TRANSITION_BEGINS, TRANSITION_SUBS, _,
) = range(10)  # fmt: skip
TRACK_FUNCTION, TRACK_SLOT = range(2)
N_SLOTS, N_TRACKS, N_COUNTERS, WIDTH, SHIFT, FINAL, INDEXED, PUSHES, MOST = range(9)
"""Sizes: variables, tracked functions and counters of a partial; events of an occurrence; bits that count
the subscriptions of a transition; the final step; whether runs are indexed and windows pushed; how many transitions leave a step
at most."""


class Tables(NamedTuple):
    """A program as few arrays: the fewer a kernel takes, the faster it compiles and is called."""

    window: Longs
    """Kind, size, origin, whether there is an origin."""
    choices: Ints
    steps: Ints
    subs: Ints
    transitions: Ints
    tracks: Ints
    flat: Ints
    """All lists, one after the other."""
    sizes: Longs


FIRST, LAST, PREV = 0, 1, 2
_FUNCTIONS = {"FIRST": FIRST, "LAST": LAST, "PREV": PREV}


class _Lists:
    """Collects lists of numbers in one flat array."""

    def __init__(self) -> None:
        self.flat: list[int] = []

    def add(self, values: list[int]) -> list[int]:
        """Append a list; returns where it begins and ends."""
        begin = len(self.flat)
        self.flat += values
        return [begin, len(self.flat)]


def constants(program: SequenceProgram) -> tuple[Term, ...]:
    """The terms that the conditions compare with, in the order the code counts them."""
    found: list[Term] = []
    for choice in program.choices:
        for part in choice.parts:
            code = stack_code(part, program) if isinstance(part, Condition) else None
            found += code.constants if code is not None else ()
    return tuple(found)


def tables(program: SequenceProgram) -> Tables:
    """All arrays of a program."""
    lists = _Lists()
    transitions = _transitions(program, lists)
    most = max((row[TRANSITION_SUBS + 1] - row[TRANSITION_SUBS] for row in transitions), default=1)
    choices, steps, subs = _choices(program, lists), _steps(program, lists), _subs(program, lists)
    return Tables(
        window=_window(program),
        choices=np.array(choices, np.int32),
        steps=np.array(steps, np.int32),
        subs=np.array(subs or [[0, 0, 0, 0]], np.int32),
        transitions=np.array(transitions, np.int32),
        tracks=np.array([[_FUNCTIONS[t.function], t.slot] for t in program.tracks] or [[0, 0]], np.int32),
        flat=np.array(lists.flat or [0], np.int32),
        sizes=np.array(
            [
                len(program.variables),
                len(program.tracks),
                len(program.counters),
                program.width,
                (max(most, 1) - 1).bit_length(),
                program.final,
                int(program.indexed),
                int(program.pushes_window),
                max(1, *(row[STEP_LEAVING + 1] - row[STEP_LEAVING] for row in steps)),
            ],
            np.int64,
        ),
    )


def _choices(program: SequenceProgram, lists: _Lists) -> list[list[int]]:
    codes, slow = _codes(program)
    transitions, subs = list(enumerate(program.transitions)), list(enumerate(program.subscriptions))
    rows = []
    for number, choice in enumerate(program.choices):
        assigned = [program.slot(p.variable.name) for p in choice.parts if isinstance(p, Assignment)]
        own = [(i, sub) for i, sub in subs if sub.choice == number]
        rows.append(
            [
                choice.step,
                slow[number],
                lists.add([int(gpm in choice.gpms) for gpm in program.counters])[0],
                *lists.add(list(choice.slots)),
                *lists.add(list(choice.rebinds)),
                *lists.add(assigned),
                *lists.add([i for i, t in transitions if t.operator == BEGIN and t.target == choice.step]),
                *lists.add([i for i, t in transitions if t.operator == RECALL and t.recalls == number]),
                *lists.add([i for i, sub in own if sub.kind in (EXTENDS, GUARDS)]),
                *lists.add([i for i, sub in own if sub.kind == LOOKS_BACK]),
                *lists.add(codes[number]),
            ]
        )
    return rows


def _steps(program: SequenceProgram, lists: _Lists) -> list[list[int]]:
    return [
        [
            int(isinstance(step.quantifier, Repeat)),
            *lists.add(
                [
                    i
                    for i, t in enumerate(program.transitions)
                    if t.source == number and t.operator not in (BEGIN, RECALL)
                ]
            ),
        ]
        for number, step in enumerate(program.query.sequence.steps)
    ]


def _subs(program: SequenceProgram, lists: _Lists) -> list[list[int]]:
    return [[sub.transition, sub.kind, *lists.add(list(sub.slots))] for sub in program.subscriptions]


def _transitions(program: SequenceProgram, lists: _Lists) -> list[list[int]]:
    return [
        [
            t.target,
            t.operator,
            int(t.loops),
            -1 if t.rooted is None else int(t.rooted),
            t.low,
            t.high,
            int(bool(t.guards) and t.operator == WAIT),
            t.begins,
            *lists.add([i for i, sub in enumerate(program.subscriptions) if sub.transition == number]),
        ]
        for number, t in enumerate(program.transitions)
    ]


def _window(program: SequenceProgram) -> Longs:
    match program.query.window:
        case None:
            values = (NO_WINDOW, 0, 0, 0)
        case TimeWindow(size, True):
            values = (SLIDING, size, 0, 0)
        case TimeWindow(size, False, start):
            values = (TUMBLING, size, start or 0, int(start is not None))
        case EventWindow(size, sliding):
            values = (SLIDING_EVENTS if sliding else TUMBLING_EVENTS, size, 0, 0)
    return np.array(values, np.int64)


def _codes(program: SequenceProgram) -> tuple[list[list[int]], list[int]]:
    """Per choice its conditions' code, and whether the evaluator is needed whatever the values are."""
    codes: list[list[int]] = []
    slow: list[int] = []
    known = 0
    for choice in program.choices:
        flat: list[int] = []
        needs_evaluator = any(isinstance(part, Assignment) for part in choice.parts)
        for part in choice.parts:
            if not isinstance(part, Condition):
                continue
            compiled = stack_code(part, program)
            if compiled is None:
                needs_evaluator = True
                continue
            code = list(compiled.code)
            for position in range(0, len(code), 2):
                if code[position] == 2:  # LOAD_CONSTANT counts through the whole program
                    code[position + 1] += known
            known += len(compiled.constants)
            flat += [len(code), int(compiled.after_first), *code]
        codes.append(flat)
        slow.append(int(needs_evaluator))
    return codes, slow


ROW_CHOICE, ROW_KEY = range(2)
ROW_TIME, ROW_ORDINAL, ROW_LOW, ROW_HIGH, ROW_FLOOR = range(5)


class Rows(NamedTuple):
    """Occurrences of choices in time order: what the sequence stage reads."""

    ids: Ints
    """Choice, and the number of the partition."""
    times: Longs
    """Time, number of the instant in the partition, least and greatest position of the events, and the
    first position of the instant."""
    slots: Ints
    events: Longs

    def __len__(self) -> int:
        return len(self.ids)


PARENT, CHOICE, KEY, ROOTED, ITERATION, TIME, START, ORDINAL, LOW, HIGH, DEADLINE = range(11)
OF, IN, USED, BLOCKED, ALIVE = range(5)
PARTIALS, RUNS, MATCHES, WAITING, DEAD = range(5)


class Store(NamedTuple):
    """Partial matches and runs; ``counts`` says how much of each is in use.

    A *partial* is a match so far; it points to the one it extends. A *run* waits with a partial in one
    transition, and is entered in a bucket for each of its subscriptions.
    """

    counts: Longs
    """Partials, runs, matches, waiting (trailing) runs, dead runs."""
    partials: Longs
    slots: Ints
    """Of every partial: its variables, then its tracked functions, then its counters."""
    events: Longs
    runs: Longs
    entries: Ints
    """Of every subscription of every run: the next entry in its bucket."""
    buckets: Ints
    matches: Longs
    waiting: Ints


class Candidates(NamedTuple):
    """What one row may do: scratch space between collecting and applying.

    A cell has a run (or BEGINS, RECALLS), its target (a transition for those two, else a subscription),
    the verdict, and the assigned values.
    """

    cells: Ints
    stack: npt.NDArray[np.float64]
    """The stack of a condition."""


class ValueArrays(NamedTuple):
    """What ids stand for, as far as the conditions need it."""

    kind: npt.NDArray[np.uint8]
    number: npt.NDArray[np.float64]
    exact: npt.NDArray[np.bool_]
    constants: Ints
