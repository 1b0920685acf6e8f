"""The arrays the kernels read and write, in named tuples that Numba understands."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from spaseq.algebra.events import Assignment, Condition, EventWindow, TimeWindow
from spaseq.algebra.expressions import Term
from spaseq.automaton.conditions import stack_code
from spaseq.automaton.sequence_program import BEGIN, LOOKS_BACK, RECALL, WAIT, SequenceProgram, Subscription
from spaseq.model.packing import INSTANT, LARGEST, SHORT, Damaged, Field, Range
from spaseq.temporal.instants import FOREVER

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

NEVER = FOREVER
"""A time after all others."""

NO_WINDOW, TUMBLING, SLIDING, TUMBLING_EVENTS, SLIDING_EVENTS = 0, 1, 2, 3, 4


# Columns of the tables. A list has two columns: where it begins in ``flat``, and where it ends.
(
    CHOICE_SLOW, CHOICE_COUNTS, CHOICE_REPETITION,
    CHOICE_SLOTS, _, CHOICE_ASSIGNS, _, CHOICE_BEGINS, _,
    CHOICE_RECALLS, _, CHOICE_CHANNELS, _, CHOICE_BACKS, _, CHOICE_CODE, _,
) = range(17)  # fmt: skip
STATE_LEAVING, _ = range(2)
CHANNEL_SLOTS, _ = range(2)
(
    SUB_TRANSITION, SUB_KIND, SUB_CHANNEL, SUB_SITUATION, SUB_STRICT, SUB_COUNTS, SUB_AFTER, SUB_WITHIN,
) = range(8)  # fmt: skip
(
    TRANSITION_TARGET, TRANSITION_OPERATOR, TRANSITION_SITUATION, TRANSITION_GUARDED, TRANSITION_BEGINS,
    TRANSITION_WITHIN, TRANSITION_SUBS, _, TRANSITION_BOUNDS, _, TRANSITION_SETS, _, TRANSITION_ADDS, _,
    TRANSITION_COUNTS,
) = range(15)  # fmt: skip
SITUATION_AGAIN, SITUATION_UNBINDS, _, SITUATION_BEGINS, _ = range(5)
TRACK_FUNCTION, TRACK_SLOT, TRACK_REPETITION = range(3)
N_SLOTS, N_TRACKS, N_COUNTERS, N_LOOPS, WIDTH, SHIFT, INDEXED, PUSHES, MOST, REPEATS = range(10)
"""Sizes: variables, tracked functions, counters and counted repetitions of a partial; events of an occurrence; bits that count
the subscriptions of a transition; whether runs are indexed and windows pushed; how many transitions leave a state at
most; whether anything is repeated."""


class Tables(NamedTuple):
    """A program as few arrays: the fewer a kernel takes, the faster it compiles and is called."""

    window: Longs
    """Kind, size, origin, whether there is an origin."""
    choices: Ints
    states: Ints
    channels: Ints
    subs: Longs
    transitions: Longs
    situations: Ints
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
            code = stack_code(part, program, choice.repetition) if isinstance(part, Condition) else None
            found += code.constants if code is not None else ()
    return tuple(found)


def tables(program: SequenceProgram) -> Tables:
    """All arrays of a program."""
    lists = _Lists()
    channels = _channels(program)
    transitions = _transitions(program, lists)
    most = max((row[TRANSITION_SUBS + 1] - row[TRANSITION_SUBS] for row in transitions), default=1)
    states = _states(program, lists)
    return Tables(
        window=_window(program),
        choices=np.array(_choices(program, channels, lists), np.int32),
        states=np.array(states, np.int32),
        channels=np.array([lists.add(list(slots)) for _, slots, _ in channels] or [[0, 0]], np.int32),
        subs=np.array(_subs(program, channels) or [[0] * 8], np.int64),
        transitions=np.array(transitions, np.int64),
        situations=np.array(_situations(program, lists), np.int32),
        tracks=np.array(
            [[_FUNCTIONS[t.function], t.slot, _number(t.repetition)] for t in program.tracks] or [[0, 0, 0]],
            np.int32,
        ),
        flat=np.array(lists.flat or [0], np.int32),
        sizes=np.array(
            [
                len(program.variables),
                len(program.tracks),
                len(program.counters),
                len(program.loops),
                program.width,
                (max(most, 1) - 1).bit_length(),
                int(program.indexed),
                int(program.pushes_window),
                max(1, *(row[STATE_LEAVING + 1] - row[STATE_LEAVING] for row in states)),
                int(bool(program.tracks or program.loops or any(s.unbinds for s in program.situations))),
            ],
            np.int64,
        ),
    )


def _number(repetition: int | None) -> int:
    return -1 if repetition is None else repetition


Channel = tuple[int, tuple[int, ...], bool]
"""A choice, the slots that its subscribers join on, and whether it is beginnings that look back."""


def _channel(sub: Subscription) -> Channel:
    return sub.choice, sub.slots, sub.kind == LOOKS_BACK


def _channels(program: SequenceProgram) -> dict[Channel, int]:
    found = dict.fromkeys(map(_channel, program.subscriptions))
    return {channel: number for number, channel in enumerate(found)}


def _choices(program: SequenceProgram, channels: dict[Channel, int], lists: _Lists) -> list[list[int]]:
    codes, slow = _codes(program)
    recalls: dict[int, list[int]] = {}
    backs: dict[int, list[int]] = {}
    own: dict[int, list[int]] = {}
    first: dict[int | None, list[int]] = {}
    for number, transition in enumerate(program.transitions):
        if transition.operator == RECALL:
            recalls.setdefault(transition.recalls, []).append(number)
        elif transition.operator == BEGIN:
            first.setdefault(transition.takes, []).append(number)
    for number, sub in enumerate(program.subscriptions):
        if sub.kind == LOOKS_BACK:
            backs.setdefault(sub.choice, []).append(number)
    for channel, number in channels.items():
        if not channel[2]:
            own.setdefault(channel[0], []).append(number)
    rows = []
    for number, choice in enumerate(program.choices):
        assigned = [program.slot(p.variable.name) for p in choice.parts if isinstance(p, Assignment)]
        rows.append(
            [
                slow[number],
                lists.add([int(gpm in choice.gpms) for gpm in program.counters])[0],
                _number(choice.repetition),
                *lists.add(list(choice.slots)),
                *lists.add(assigned),
                *lists.add(first.get(choice.step, [])),
                *lists.add(recalls.get(number, [])),
                *lists.add(own.get(number, [])),
                *lists.add(backs.get(number, [])),
                *lists.add(codes[number]),
            ]
        )
    return rows


def _states(program: SequenceProgram, lists: _Lists) -> list[list[int]]:
    leaving: dict[int, list[int]] = {}
    for number, transition in enumerate(program.transitions):
        if transition.operator not in (BEGIN, RECALL):
            leaving.setdefault(transition.source, []).append(number)
    return [lists.add(leaving.get(state, [])) for state in range(program.states)]


def _subs(program: SequenceProgram, channels: dict[Channel, int]) -> list[list[int]]:
    return [
        [
            sub.transition,
            sub.kind,
            channels[_channel(sub)],
            sub.situation,
            int(sub.strict),
            int(sub.counts),
            sub.after,
            NEVER if sub.within is None else sub.within,
        ]
        for sub in program.subscriptions
    ]


def _transitions(program: SequenceProgram, lists: _Lists) -> list[list[int]]:
    own: dict[int, list[int]] = {}
    for number, sub in enumerate(program.subscriptions):
        own.setdefault(sub.transition, []).append(number)
    return [
        [
            t.target,
            t.operator,
            t.situation,
            int(t.guarded),
            t.begins,
            NEVER if t.within is None else t.within,
            *lists.add(own.get(number, [])),
            *lists.add([value for bound in t.bounds for value in bound]),
            *lists.add(list(t.sets)),
            *lists.add(list(t.adds)),
            int(t.counts),
        ]
        for number, t in enumerate(program.transitions)
    ]


def _situations(program: SequenceProgram, lists: _Lists) -> list[list[int]]:
    return [
        [
            _number(situation.context.again),
            *lists.add(list(situation.unbinds)),
            *lists.add(list(situation.context.begins)),
        ]
        for situation in program.situations
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
            compiled = stack_code(part, program, choice.repetition)
            if compiled is None:
                needs_evaluator = True
                continue
            code = list(compiled.code)
            for position in range(0, len(code), 2):
                if code[position] == 2:  # LOAD_CONSTANT counts through the whole program
                    code[position + 1] += known
            known += len(compiled.constants)
            told = compiled.after_first and choice.repetition is not None
            counter = (
                program.loops.index(choice.repetition) if told and choice.repetition in program.loops else -1
            )
            flat += [len(code), int(compiled.after_first), counter, *code]
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


PARENT, CHOICE, KEY, BY, TIME, START, ORDINAL, LOW, HIGH, DEADLINE = range(10)
"""Of a partial: the one it extends, the choice and the partition, the transition it came by, times and positions, and the end of its
window."""
OF, IN, USED, BLOCKED, ALIVE, UNTIL = range(6)
"""Of a run: its partial and its transition, when it was first extended and first guarded, whether it waits, and until when."""
PARTIALS, RUNS, MATCHES, WAITING, DEAD = range(5)


class RunStore(NamedTuple):
    """Partial matches and runs; ``counts`` says how much of each is in use.

    A *partial* is a match so far; it points to the one it extends. A *run* waits with a partial in one
    transition, and is entered in a bucket for each of its subscriptions.
    """

    counts: Longs
    """Partials, runs, matches, waiting (trailing) runs, expired runs."""
    partials: Longs
    slots: Ints
    """Of every partial: its variables, its tracked functions, its counters, and the iterations of counted repetitions."""
    events: Longs
    runs: Longs
    entries: Ints
    """Of every subscription of every run: the next entry in its bucket."""
    buckets: Ints
    matches: Longs
    waiting: Ints


COUNT: Final[Range] = (0, LARGEST)
"""Numbers that are counted on and never come near their limit."""

STORE_FIELDS: Final[dict[str, Field]] = {
    "partials": Field(
        np.int64,
        ("partials", DEADLINE + 1),
        columns={
            PARENT: (-1, "partials"),
            CHOICE: (0, "choices"),
            KEY: (0, "keys"),
            BY: (0, "transitions"),
            TIME: INSTANT,
            START: INSTANT,
            ORDINAL: COUNT,
            LOW: COUNT,
            HIGH: COUNT,
        },
    ),
    "ids": Field(np.int32, ("partials", "id slots"), (0, "ids")),
    "counters": Field(np.int32, ("partials", "counters"), (0, SHORT.max // 2)),
    "events": Field(np.int64, ("partials", "width"), (-1, "serials")),
    "runs": Field(
        np.int64, ("runs", UNTIL + 1), columns={OF: (0, "partials"), IN: (0, "transitions"), ALIVE: (0, 2)}
    ),
}
"""What a saved store must be like; kernels check no index. The slots of partials are saved as ids and counters."""


def store_sizes(program: SequenceProgram, made: Tables) -> dict[str, int]:
    """The sizes that `STORE_FIELDS` name, as far as the program fixes them."""
    ids = len(program.variables) + len(program.tracks)
    return {
        "choices": len(made.choices),
        "transitions": len(made.transitions),
        "id slots": ids,
        "counters": max(ids + len(program.counters) + len(program.loops), 1) - ids,
        "width": program.width,
    }


def check_store(program: SequenceProgram, made: Tables, partials: Longs, events: Longs, runs: Longs) -> None:
    """Refuse partials and runs that do not rest on each other as kernels leave them; `STORE_FIELDS` hold already."""
    parent = partials[:, PARENT]
    if (parent >= np.arange(len(partials))).any():
        raise Damaged("a partial match extends one that comes after it")
    rests = parent >= 0
    before = partials[parent[rests]]
    if (before[:, [KEY, START]] != partials[rests][:, [KEY, START]]).any():
        raise Damaged("a partial match extends one of another partition or another start")
    if (partials[:, START] > partials[:, TIME]).any():
        raise Damaged("a partial match ends before it begins")
    if (partials[:, DEADLINE] != _ends(made, partials[:, START])).any():
        raise Damaged("a partial match ends at another time than its window")
    taken = np.array([len(choice.gpms) for choice in program.choices])[partials[:, CHOICE]]
    if ((events >= 0) != (np.arange(events.shape[1]) < taken[:, None])).any():
        raise Damaged("a partial match has too many events or too few")
    if (runs[:, UNTIL] != _waits(made, partials[runs[:, OF]], runs[:, IN])).any():
        raise Damaged("a run waits until another time than its window ends")


def _waits(made: Tables, partials: Longs, transitions: Longs) -> Longs:
    """Until when runs with these partials wait in these transitions, as the kernel `wait` has it."""
    operator = made.transitions[transitions, TRANSITION_OPERATOR]
    within = made.transitions[transitions, TRANSITION_WITHIN]
    endless = (operator != WAIT) & (made.sizes[PUSHES] == 0)
    until = np.where(endless, NEVER, partials[:, DEADLINE])
    bound = (operator != RECALL) & (within != NEVER)
    least: Longs = np.where(bound, np.minimum(until, partials[:, TIME] + np.where(bound, within, 0)), until)
    return least


def _ends(made: Tables, start: Longs) -> Longs:
    """The last instants of the windows of runs that start at these times, as `window_end` has it."""
    kind, size, origin, _ = made.window.tolist()
    ends: Longs = np.full(len(start), NEVER)
    if kind == SLIDING:
        ends = start + size
    elif kind == TUMBLING:
        ends = origin + ((start - origin) // size + 1) * size
    return ends


AT, ENTRY, BEFORE, WORK = range(4)


class Candidates(NamedTuple):
    """What one row may do: scratch space between collecting and applying.

    A cell has a run (or BEGINS, RECALLS), its target (a transition for those two, else a subscription),
    the verdict, and the assigned values. A row with more candidates than cells is handled in portions.
    """

    cells: Ints
    cursor: Longs
    """Where the next portion of a row begins: the subscription's place in ``flat`` (-1 for a new row), the entry, and
    the entry before it (-1 if it must be looked for); last, how much work is left in this slice."""
    stack: npt.NDArray[np.float64]
    """The stack of a condition."""


class ValueArrays(NamedTuple):
    """What ids stand for, as far as the conditions need it."""

    kind: npt.NDArray[np.uint8]
    number: npt.NDArray[np.float64]
    exact: npt.NDArray[np.bool_]
    constants: Ints
