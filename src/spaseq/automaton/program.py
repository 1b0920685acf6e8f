"""The sequence program: an automaton as tables that the run-time kernels read.

Everything here follows from the query alone, so it is computed once, frozen, pickled to workers, and the
same for every host. Names become numbers: variables are *slots*, GPMs that match together are *choices*,
and what a waiting run listens to is a *subscription*: a choice whose occurrences extend the run, or end
it (a guard). Runs are indexed by the slots that must join (the paper's run index, section 7.2.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from spaseq.algebra.contiguity import counts_instants
from spaseq.algebra.events import (
    Absent,
    Assignment,
    Contiguity,
    EventQuery,
    Repeat,
    StatefulPart,
    choices,
    gpms,
)
from spaseq.algebra.expressions import Expression, Iterated, IterationCount, walk
from spaseq.algebra.stateful import stateful_parts
from spaseq.algebra.visibility import bindable, certain
from spaseq.automaton.compiler import compile_automaton
from spaseq.automaton.moves import START, Move, moves

# Operators as numbers, for the kernels.
BEGIN, STRICT, NEXT, ANY, WAIT, RECALL = 0, 1, 2, 3, 4, 5
"""WAIT ends a sequence: at once, or, behind a negation, when the window ends. RECALL is no move at all: it
keeps occurrences of a negated first step, against which beginnings are checked."""
_CODES = {Contiguity.STRICT: STRICT, Contiguity.NEXT: NEXT, Contiguity.ANY: ANY}

EXTENDS, GUARDS, LOOKS_BACK = 0, 1, 2
"""What an occurrence does to a subscriber: extend it, end it, or (history) block a beginning."""


@dataclass(frozen=True, slots=True)
class Choice:
    """GPMs that must match together at one instant, as one alternative of a step."""

    step: int
    gpms: tuple[str, ...]
    slots: tuple[int, ...]
    """All slots its occurrences may bind, those of its assignments excepted."""
    certain: frozenset[int]
    rebinds: tuple[int, ...]
    """Slots that each iteration of its step binds afresh."""
    parts: tuple[StatefulPart, ...]


@dataclass(frozen=True, slots=True)
class Track:
    """A function over iterations that a run carries along: FIRST, LAST or PREV of a slot."""

    function: str
    slot: int


@dataclass(frozen=True, slots=True)
class Transition:
    """A move with everything the kernels ask of it; ``loops`` for one more iteration of the same step."""

    source: int
    target: int
    operator: int
    guards: tuple[int, ...]
    loops: bool = False
    rooted: bool | None = None
    """For loops: whether the repetition is the first positive step; None where it does not matter."""
    low: int = 0
    """The iterations that the source step must have, at least, before this transition."""
    high: int = 2**31 - 1
    """The iterations it must not have reached yet (loops)."""
    recalls: int = -1
    """For RECALL: the choice whose occurrences are kept."""
    begins: int = -1
    """For RECALL: the transition that they may block."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Runs in a transition listen to occurrences of a choice, indexed by these slots."""

    transition: int
    choice: int
    kind: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SequenceProgram:
    """All tables of one query."""

    query: EventQuery
    variables: tuple[str, ...]
    choices: tuple[Choice, ...]
    transitions: tuple[Transition, ...]
    subscriptions: tuple[Subscription, ...]
    tracks: tuple[Track, ...]
    counters: tuple[str, ...]
    """GPMs whose iterations are counted along."""
    counts_instants: bool = True
    """Whether the numbers of instants and positions matter at all."""
    step_names: tuple[str, ...] = field(default=())
    indexed: bool = True
    """Whether runs are indexed by what they wait for."""
    pushes_window: bool = True
    """Whether a run is dropped when its window ends."""

    @property
    def final(self) -> int:
        return len(self.query.sequence.steps)

    @property
    def width(self) -> int:
        """The most events one occurrence is made of."""
        return max(len(choice.gpms) for choice in self.choices)

    def slot(self, variable: str) -> int:
        return self.variables.index(variable)

    def step_of(self, choice: int) -> int:
        return self.choices[choice].step

    def track(self, function: str, variable: str) -> int | None:
        """The place of a carried function, or None if its variable has no slot."""
        wanted = Track(function, self.slot(variable))
        return self.tracks.index(wanted) if wanted in self.tracks else None


def sequence_program(
    query: EventQuery,
    needed: Iterable[str] | None = None,
    *,
    stream_index: bool = True,
    join_index: bool = True,
    push_window: bool = True,
) -> SequenceProgram:
    """The program of a query that has gone through the rules; the switches change its speed only.

    ``needed`` are the variables that somebody looks at later, all if it is not given.
    """
    variables = tuple(dict.fromkeys((*query.partition, *(n for g in query.gpms for n in bindable(g)))))
    if needed is not None:
        kept = frozenset(needed)
        variables = tuple(name for name in variables if name in kept)
    slot = {name: index for index, name in enumerate(variables)}
    all_choices = _choices(query, slot)
    transitions = _transitions(query, all_choices)
    expressions = list(_expressions(query))
    return SequenceProgram(
        query=query,
        variables=variables,
        choices=all_choices,
        transitions=transitions,
        subscriptions=tuple(
            sub if join_index else replace(sub, slots=())
            for sub in _subscriptions(query, all_choices, transitions, slot)
        ),
        tracks=tuple(
            dict.fromkeys(
                Track(node.name, slot[node.variable.name])
                for expression in expressions
                for node in walk(expression)
                if isinstance(node, Iterated) and node.name in ("FIRST", "LAST", "PREV")
            )
        ),
        counters=tuple(
            dict.fromkeys(
                node.gpm
                for expression in expressions
                for node in walk(expression)
                if isinstance(node, IterationCount)
            )
        ),
        counts_instants=counts_instants(query),
        indexed=stream_index,
        pushes_window=push_window,
        step_names=tuple("&".join(g.name for g in gpms(s.element)) for s in query.sequence.steps),
    )


def _expressions(query: EventQuery) -> list[Expression]:
    """Every expression that may read iterations."""
    parts = [part.expression for gpm in query.gpms for part in gpm.stateful]
    items = getattr(query.form, "items", ())
    return parts + [item.expression for item in items if item.expression is not None]


def _choices(query: EventQuery, slot: dict[str, int]) -> tuple[Choice, ...]:
    found = []
    for index, step in enumerate(query.sequence.steps):
        own = {name for gpm in gpms(step.element) for name in bindable(gpm)} & query.iterated & slot.keys()
        rebinds = tuple(sorted(slot[name] for name in own)) if isinstance(step.quantifier, Repeat) else ()
        for choice in choices(step.element):
            assigned = {p.variable.name for g in choice for p in g.stateful if isinstance(p, Assignment)}
            names = dict.fromkeys(name for gpm in choice for name in bindable(gpm) if name in slot)
            found.append(
                Choice(
                    step=index,
                    gpms=tuple(gpm.name for gpm in choice),
                    slots=tuple(slot[name] for name in names if name not in assigned),
                    certain=frozenset(slot[name] for gpm in choice for name in certain(gpm) if name in slot),
                    rebinds=rebinds,
                    parts=stateful_parts(choice),
                )
            )
    return tuple(found)


def _transitions(query: EventQuery, all_choices: tuple[Choice, ...]) -> tuple[Transition, ...]:
    steps = query.sequence.steps
    found: list[Transition] = []
    for move in moves(compile_automaton(query)):
        if move.source == START and move.target == len(steps):
            continue
        found.append(_transition(query, move))
    for index, step in enumerate(steps):
        if isinstance(step.quantifier, Repeat):
            high = step.quantifier.maximum if step.quantifier.maximum is not None else 2**31 - 1
            for rooted in (True, False):
                operator = _CODES[step.quantifier.operator(first_step=rooted)]
                found.append(Transition(index, index, operator, (), True, rooted, 0, high))
    for number, transition in enumerate(tuple(found)):
        if transition.operator == BEGIN:
            for choice, guard in enumerate(all_choices):
                if guard.step in transition.guards:
                    found.append(
                        Transition(START, transition.target, RECALL, (), recalls=choice, begins=number)
                    )
    return tuple(found)


def _transition(query: EventQuery, move: Move) -> Transition:
    steps = query.sequence.steps
    low = 0
    if move.source != START:
        quantifier = steps[move.source].quantifier
        low = quantifier.minimum if isinstance(quantifier, Repeat) else 0
    if move.target == len(steps):
        operator = WAIT
    elif move.operator is None:
        operator = BEGIN
    else:
        operator = _CODES[move.operator]
    return Transition(move.source, move.target, operator, move.guards, low=low)


def _certain_after(
    query: EventQuery,
    all_choices: tuple[Choice, ...],
    transitions: tuple[Transition, ...],
    slot: dict[str, int],
) -> dict[int, frozenset[int]]:
    """For every step, the slots that every run which has just completed it certainly binds."""
    everything = frozenset(slot.values())
    after = {START: frozenset(slot[name] for name in query.partition)}
    steps = [i for i, s in enumerate(query.sequence.steps) if not isinstance(s.quantifier, Absent)]
    after.update(dict.fromkeys(steps, everything))
    changed = True
    while changed:
        changed = False
        for transition in transitions:
            if transition.target not in after or transition.operator == RECALL:
                continue
            own = [choice for choice in all_choices if choice.step == transition.target]
            before = after[transition.source] - frozenset(own[0].rebinds)
            reached = frozenset.intersection(*(before | choice.certain for choice in own))
            if not after[transition.target] <= reached:
                after[transition.target] &= reached
                changed = True
    return after


def _subscriptions(
    query: EventQuery,
    all_choices: tuple[Choice, ...],
    transitions: tuple[Transition, ...],
    slot: dict[str, int],
) -> tuple[Subscription, ...]:
    after = _certain_after(query, all_choices, transitions, slot)
    found: list[Subscription] = []
    for number, transition in enumerate(transitions):
        recall = transition.operator == RECALL
        bound = all_choices[transition.recalls].certain if recall else after[transition.source]
        for index, choice in enumerate(all_choices):
            keys = (bound & choice.certain) - frozenset(choice.rebinds)
            if recall and choice.step == transition.target:
                kind = LOOKS_BACK
            elif transition.operator == BEGIN or recall:
                continue
            elif choice.step == transition.target:
                kind = EXTENDS
            elif choice.step in transition.guards:
                kind, keys = GUARDS, bound & choice.certain
            else:
                continue
            found.append(Subscription(number, index, kind, tuple(sorted(keys))))
    return tuple(found)
