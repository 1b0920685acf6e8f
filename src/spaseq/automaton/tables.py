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


class Tables(NamedTuple):
    """A program as arrays. Ragged lists are an offsets array and a flat one."""

    window: Longs
    """Kind, size, origin, whether there is an origin."""
    choice_step: Ints
    choice_slots_at: Ints
    choice_slots: Ints
    choice_rebinds_at: Ints
    choice_rebinds: Ints
    choice_assigns_at: Ints
    choice_assigns: Ints
    choice_counts: Ints
    """For every choice and counter, 1 if the choice takes part."""
    choice_slow: Ints
    """1 where the evaluator must decide."""
    choice_begins_at: Ints
    choice_begins: Ints
    choice_recalls_at: Ints
    choice_recalls: Ints
    choice_subs_at: Ints
    choice_subs: Ints
    choice_backs_at: Ints
    choice_backs: Ints
    choice_code_at: Ints
    choice_code: Ints
    """Conditions: per condition its length, its after-first flag, then its code."""
    step_repeated: Ints
    sub_transition: Ints
    sub_kind: Ints
    sub_slots_at: Ints
    sub_slots: Ints
    transition_target: Ints
    transition_operator: Ints
    transition_loops: Ints
    transition_rooted: Ints
    transition_low: Ints
    transition_high: Ints
    transition_guarded: Ints
    transition_begins: Ints
    transition_subs_at: Ints
    transition_subs: Ints
    leaving_at: Ints
    leaving: Ints
    """For every step, the transitions that leave it."""
    track_function: Ints
    track_slot: Ints
    sizes: Longs
    """Slots, tracks, counters, width, subscriptions per transition at most, final step."""


FIRST, LAST, PREV = 0, 1, 2
_FUNCTIONS = {"FIRST": FIRST, "LAST": LAST, "PREV": PREV}


def ragged(lists: list[list[int]]) -> tuple[Ints, Ints]:
    """Lists of different lengths as offsets and one flat array (never empty, for the compiler's sake)."""
    at = np.zeros(len(lists) + 1, np.int32)
    at[1:] = np.cumsum([len(part) for part in lists])
    flat = np.array([value for part in lists for value in part] or [0], np.int32)
    return at, flat


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
    choices, subs, transitions = program.choices, program.subscriptions, program.transitions
    n = len(choices)

    def per_choice(wanted: int) -> tuple[Ints, Ints]:
        return ragged(
            [[i for i, s in enumerate(subs) if s.choice == c and s.kind == wanted] for c in range(n)]
        )

    codes, slow = _codes(program)
    slots = ragged([list(choice.slots) for choice in choices])
    rebinds = ragged([list(choice.rebinds) for choice in choices])
    assigns = ragged(
        [[program.slot(p.variable.name) for p in c.parts if isinstance(p, Assignment)] for c in choices]
    )
    begins = ragged(
        [
            [i for i, t in enumerate(transitions) if t.operator == BEGIN and t.target == c.step]
            for c in choices
        ]
    )
    recalls = ragged(
        [[i for i, t in enumerate(transitions) if t.operator == RECALL and t.recalls == c] for c in range(n)]
    )
    listening = ragged(
        [[i for i, s in enumerate(subs) if s.choice == c and s.kind in (EXTENDS, GUARDS)] for c in range(n)]
    )
    backs = per_choice(LOOKS_BACK)
    own_subs = ragged([[i for i, s in enumerate(subs) if s.transition == t] for t in range(len(transitions))])
    sub_slots = ragged([list(sub.slots) for sub in subs])
    leaving = ragged(
        [
            [i for i, t in enumerate(transitions) if t.source == step and t.operator not in (BEGIN, RECALL)]
            for step in range(program.final)
        ]
    )
    code_at, code = ragged(codes)

    def ints(values: list[int]) -> Ints:
        return np.array(values or [0], np.int32)

    return Tables(
        window=_window(program),
        choice_step=ints([c.step for c in choices]),
        choice_slots_at=slots[0],
        choice_slots=slots[1],
        choice_rebinds_at=rebinds[0],
        choice_rebinds=rebinds[1],
        choice_assigns_at=assigns[0],
        choice_assigns=assigns[1],
        choice_counts=np.array(
            [[int(gpm in c.gpms) for gpm in program.counters] or [0] for c in choices], np.int32
        ),
        choice_slow=ints(slow),
        choice_begins_at=begins[0],
        choice_begins=begins[1],
        choice_recalls_at=recalls[0],
        choice_recalls=recalls[1],
        choice_subs_at=listening[0],
        choice_subs=listening[1],
        choice_backs_at=backs[0],
        choice_backs=backs[1],
        choice_code_at=code_at,
        choice_code=code,
        step_repeated=ints([int(isinstance(s.quantifier, Repeat)) for s in program.query.sequence.steps]),
        sub_transition=ints([s.transition for s in subs]),
        sub_kind=ints([s.kind for s in subs]),
        sub_slots_at=sub_slots[0],
        sub_slots=sub_slots[1],
        transition_target=ints([t.target for t in transitions]),
        transition_operator=ints([t.operator for t in transitions]),
        transition_loops=ints([int(t.loops) for t in transitions]),
        transition_rooted=ints([-1 if t.rooted is None else int(t.rooted) for t in transitions]),
        transition_low=ints([t.low for t in transitions]),
        transition_high=ints([t.high for t in transitions]),
        transition_guarded=ints([int(bool(t.guards) and t.operator == WAIT) for t in transitions]),
        transition_begins=ints([t.begins for t in transitions]),
        transition_subs_at=own_subs[0],
        transition_subs=own_subs[1],
        leaving_at=leaving[0],
        leaving=leaving[1],
        track_function=ints([_FUNCTIONS[t.function] for t in program.tracks]),
        track_slot=ints([t.slot for t in program.tracks]),
        sizes=np.array(
            [
                len(program.variables),
                len(program.tracks),
                len(program.counters),
                program.width,
                max((int(b - a) for a, b in zip(own_subs[0], own_subs[0][1:])), default=0) or 1,
                program.final,
            ],
            np.int64,
        ),
    )


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


class Rows(NamedTuple):
    """Occurrences of choices in time order: what the sequence stage reads."""

    choice: Ints
    key: Ints
    time: Longs
    ordinal: Longs
    """The number of the instant among those of the row's partition."""
    low: Longs
    high: Longs
    """The least and greatest position of its events."""
    floor: Longs
    """The first position of its instant."""
    slots: Ints
    events: Longs


class Store(NamedTuple):
    """Partial matches and runs, as columns; ``counts`` says how much of each is in use.

    A *partial* is a match so far; it points to the one it extends. A *run* waits with a partial in one
    transition, and is entered in a bucket for each of its subscriptions.
    """

    counts: Longs
    """Partials, runs, matches, waiting (trailing) runs, dead runs."""
    parent: Ints
    choice: Ints
    key: Ints
    rooted: Ints
    iteration: Ints
    time: Longs
    start: Longs
    ordinal: Longs
    low: Longs
    high: Longs
    deadline: Longs
    slots: Ints
    tracks: Ints
    counters: Ints
    events: Longs
    run_partial: Ints
    run_transition: Ints
    run_used: Longs
    run_blocked: Longs
    run_alive: Ints
    entry_next: Ints
    buckets: Ints
    match_partial: Ints
    match_time: Longs
    waiting: Ints


PARTIALS, RUNS, MATCHES, WAITING, DEAD = 0, 1, 2, 3, 4


class Candidates(NamedTuple):
    """What one row may do: scratch space between collecting and applying."""

    run: Ints
    """A run, -1 for a beginning, -2 for an occurrence to recall."""
    target: Ints
    """A transition for beginnings and recalls, else a subscription."""
    verdict: Ints
    assigned: Ints
    kinds: Longs
    numbers: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]
    ids: Longs
    """The stack of a condition."""


class ValueArrays(NamedTuple):
    """What ids stand for, as far as the conditions need it."""

    kind: npt.NDArray[np.uint8]
    number: npt.NDArray[np.float64]
    exact: npt.NDArray[np.bool_]
    constants: Ints
