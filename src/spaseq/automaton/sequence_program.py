"""The sequence program: the moves of an automaton as tables that the run-time kernels read.

Everything here follows from the automaton and the query alone, so it is computed once, frozen, pickled to workers, and the
same for every host. Names become numbers: variables are *slots*, GPMs that match together are *choices*, and what a
waiting run listens to is a *subscription*: a choice whose occurrences extend the run, or end it (a guard). Runs are
indexed by the slots that must join (the paper's run index, section 7.2.2); subscriptions to one choice with the same
slots share a *channel*, so that an occurrence looks in one place for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from spaseq.algebra.events import (
    Assignment,
    Contiguity,
    EventQuery,
    EventWindow,
    Repeat,
    StatefulPart,
    Step,
    all_steps,
    choices,
    gpms,
    leaves,
)
from spaseq.algebra.expressions import Expression, GpmFunction, Iterated, mentions_prev, walk
from spaseq.algebra.stateful import stateful_parts
from spaseq.algebra.visibility import Visibility, bindable, certain
from spaseq.automaton.graph import Automaton, Reason, element_text
from spaseq.automaton.moves import START, Absence, Context, Move, moves

# Operators as numbers, for the kernels.
BEGIN, STRICT, NEXT, ANY, WAIT, RECALL = 0, 1, 2, 3, 4, 5
"""WAIT ends a sequence: at once, or, behind a negation, when its time ends. RECALL is no move at all: it
keeps occurrences of a negated first step, against which beginnings are checked."""
_CODES = {Contiguity.STRICT: STRICT, Contiguity.NEXT: NEXT, Contiguity.ANY: ANY}

EXTENDS, GUARDS, LOOKS_BACK = 0, 1, 2
"""What an occurrence does to a subscriber: extend it, end it, or (history) block a beginning."""


@dataclass(frozen=True, slots=True)
class Choice:
    """GPMs that must match together at one instant, as one alternative of a step."""

    step: int
    """The number of the step."""
    gpms: tuple[str, ...]
    slots: tuple[int, ...]
    """All slots its occurrences may bind, those of its assignments excepted."""
    certain: frozenset[int]
    parts: tuple[StatefulPart, ...]
    repetition: int | None
    """The innermost repetition around it."""


@dataclass(frozen=True, slots=True)
class Track:
    """A function over iterations that a run carries along: FIRST, LAST or PREV of a slot.

    PREV belongs to the repetition whose previous iteration it reads.
    """

    function: str
    slot: int
    repetition: int | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What a `Context` means for a run: the slots that are unbound in it."""

    context: Context
    unbinds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transition:
    """A move as the kernels take it."""

    source: int
    target: int
    operator: int
    situation: int
    within: int | None = None
    """How long after its last event a run waits here for the next one, or for its end."""
    guarded: bool = False
    bounds: tuple[tuple[int, int, int], ...] = ()
    """Counter, least, and what it must be less than."""
    sets: tuple[int, ...] = ()
    """Counters that begin again at one."""
    adds: tuple[int, ...] = ()
    recalls: int = -1
    """For RECALL: the choice whose occurrences are kept."""
    begins: int = -1
    """For RECALL: the transition that they may block."""
    takes: int | None = None
    """The number of the step whose event it takes."""
    counts: bool = True
    """Whether its event would be an iteration of the match: a step that is left out asks so, a negated one does not."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Runs in a transition listen to occurrences of a choice on a channel."""

    transition: int
    choice: int
    kind: int
    slots: tuple[int, ...]
    situation: int
    after: int = 0
    within: int | None = None
    strict: bool = False
    counts: bool = True
    """Whether the occurrence would be an iteration of the match."""


@dataclass(frozen=True, slots=True)
class SequenceProgram:
    """All tables of one query."""

    query: EventQuery
    variables: tuple[str, ...]
    choices: tuple[Choice, ...]
    states: int
    transitions: tuple[Transition, ...]
    subscriptions: tuple[Subscription, ...]
    situations: tuple[Situation, ...]
    tracks: tuple[Track, ...]
    counters: tuple[str, ...]
    """GPMs whose events are counted along."""
    loops: tuple[int, ...]
    """Repetitions whose iterations are counted along."""
    told: tuple[str, ...] = ()
    """GPMs whose events TIME and EVENT of the answer read."""
    counts_instants: bool = True
    """Whether the numbers of instants and positions matter at all."""
    step_names: tuple[tuple[int, str], ...] = field(default=())
    indexed: bool = True
    """Whether runs are indexed by what they wait for."""
    pushes_window: bool = True
    """Whether a run is dropped when its window ends."""

    @property
    def width(self) -> int:
        """The most events one occurrence is made of."""
        return max(len(choice.gpms) for choice in self.choices)

    @property
    def reads_names(self) -> bool:
        """Whether EVENT() asks for the names of events."""
        return any(
            isinstance(node, GpmFunction) and node.name == "EVENT"
            for expression in _expressions(self.query)
            for node in walk(expression)
        )

    _slots: dict[str, int] = field(init=False, repr=False, compare=False)
    _places: dict[Track, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_slots", {name: slot for slot, name in enumerate(self.variables)})
        object.__setattr__(self, "_places", {track: place for place, track in enumerate(self.tracks)})

    def slot(self, variable: str) -> int:
        return self._slots[variable]

    def track(self, function: str, variable: str, repetition: int | None = None) -> int | None:
        """The place of a carried function, or None if it is not carried."""
        own = repetition if function == "PREV" else None
        return self._places.get(Track(function, self.slot(variable), own))

    def name_of(self, transition: int) -> str:
        """What runs in a transition wait for."""
        taken = self.transitions[transition].takes
        return "the end of the window" if taken is None else dict(self.step_names)[taken]


def sequence_program(
    query: EventQuery,
    automaton: Automaton,
    needed: Iterable[str] | None = None,
    *,
    stream_index: bool = True,
    join_index: bool = True,
    push_window: bool = True,
) -> SequenceProgram:
    """The program of a query that has gone through the rules, and of its automaton; the switches change its speed only.

    ``needed`` are the variables that are read later; default all.
    """
    variables = tuple(dict.fromkeys((*query.partition, *(n for g in query.gpms for n in bindable(g)))))
    if needed is not None:
        kept = frozenset(needed)
        variables = tuple(name for name in variables if name in kept)
    return _Compilation(query, automaton, variables).program(stream_index, join_index, push_window)


def _expressions(query: EventQuery) -> list[Expression]:
    """Every expression that may read iterations."""
    parts = [part.expression for gpm in query.gpms for part in gpm.stateful]
    items = getattr(query.form, "items", ())
    return parts + [item.expression for item in items if item.expression is not None]


class _Compilation:
    """The parts of a program, each made of the ones before."""

    def __init__(self, query: EventQuery, automaton: Automaton, variables: tuple[str, ...]) -> None:
        self.query = query
        self.variables = variables
        self.slot = {name: index for index, name in enumerate(variables)}
        self.visibility = Visibility(query.sequence)
        self.automaton = automaton
        self.moves = moves(automaton)
        self.choices = self._choices()
        self.of_step: dict[int, list[int]] = {}
        for number, choice in enumerate(self.choices):
            self.of_step.setdefault(choice.step, []).append(number)
        self.nested = {
            step.number: frozenset((step.number, *(inner.number for inner in all_steps(step.body))))
            for step in all_steps(query.sequence)
        }
        self.loops = self._loops()
        self.counter = {number: index for index, number in enumerate(self.loops)}
        self.at_home: dict[int, list[int]] = {}
        for name, home in query.homes:
            if name in self.slot:
                self.at_home.setdefault(home, []).append(self.slot[name])
        self.situations: list[Situation] = []
        self.situation_of: dict[Context, int] = {}
        self.transitions = [self._transition(move) for move in self.moves]
        self.subscriptions = self._subscriptions()

    def program(self, stream_index: bool, join_index: bool, push_window: bool) -> SequenceProgram:
        """Everything together."""
        strict = any(t.operator == STRICT for t in self.transitions) or any(
            sub.strict for sub in self.subscriptions
        )
        return SequenceProgram(
            query=self.query,
            variables=self.variables,
            choices=self.choices,
            states=self.automaton.size,
            transitions=tuple(self.transitions),
            subscriptions=tuple(sub if join_index else replace(sub, slots=()) for sub in self.subscriptions),
            situations=tuple(self.situations),
            tracks=self._tracks(),
            counters=self._counters(),
            loops=self.loops,
            told=self._told(),
            counts_instants=strict or isinstance(self.query.window, EventWindow),
            step_names=tuple((step.number, element_text(step)) for step in leaves(self.query.sequence)),
            indexed=stream_index,
            pushes_window=push_window,
        )

    # --- choices and what is carried along ------------------------------------------------------

    def _choices(self) -> tuple[Choice, ...]:
        return tuple(
            self._choice(step, frozenset(gpm.name for gpm in choice))
            for step in leaves(self.query.sequence)
            for choice in choices(step.element)
        )

    def _choice(self, step: Step, choice: frozenset[str]) -> Choice:
        own = [gpm for gpm in gpms(step.element) if gpm.name in choice]
        assigned = {p.variable.name for g in own for p in g.stateful if isinstance(p, Assignment)}
        names = dict.fromkeys(name for gpm in own for name in bindable(gpm) if name in self.slot)
        inside = self.visibility.repetitions(own[0].name)
        return Choice(
            step=step.number,
            gpms=tuple(gpm.name for gpm in own),
            slots=tuple(self.slot[name] for name in names if name not in assigned),
            certain=frozenset(self.slot[n] for gpm in own for n in certain(gpm) if n in self.slot),
            parts=stateful_parts(tuple(own)),
            repetition=inside[-1] if inside else None,
        )

    def _loops(self) -> tuple[int, ...]:
        """Repetitions that are counted: those with bounds, and groups whose first iteration is treated differently."""
        bounded = {bound.repetition for move in self.moves for bound in move.bounds}
        told = {
            choice.repetition
            for choice in self.choices
            for part in choice.parts
            if mentions_prev(part.expression) and choice.repetition is not None
        }
        groups = {
            step.number
            for step in all_steps(self.query.sequence)
            if step.is_group and isinstance(step.quantifier, Repeat)
        }
        return tuple(sorted(bounded | (told & groups)))

    def _tracks(self) -> tuple[Track, ...]:
        found: dict[Track, None] = {}
        for choice in self.choices:
            for part in choice.parts:
                for node in _carried(part.expression):
                    own = choice.repetition if node.name == "PREV" else None
                    found[Track(node.name, self.slot[node.variable.name], own)] = None
        for expression in _expressions(self.query):
            for node in _carried(expression):
                if node.name != "PREV":
                    found[Track(node.name, self.slot[node.variable.name])] = None
        return tuple(found)

    def _counters(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                node.gpm
                for expression in _expressions(self.query)
                for node in walk(expression)
                if isinstance(node, GpmFunction) and node.name == "COUNT"
            )
        )

    def _told(self) -> tuple[str, ...]:
        items = getattr(self.query.form, "items", ())
        return tuple(
            dict.fromkeys(
                node.gpm
                for item in items
                if item.expression is not None
                for node in walk(item.expression)
                if isinstance(node, GpmFunction) and node.name != "COUNT"
            )
        )

    # --- transitions ----------------------------------------------------------------------------

    def _situation(self, context: Context) -> int:
        if context not in self.situation_of:
            begun = self.nested[context.again] if context.again is not None else frozenset()
            unbinds = sorted(slot for home in begun for slot in self.at_home.get(home, ()))
            self.situation_of[context] = len(self.situations)
            self.situations.append(Situation(context, tuple(unbinds)))
        return self.situation_of[context]

    def _transition(self, move: Move) -> Transition:
        counter = self.counter
        again = () if move.context.again is None else (move.context.again,)
        if move.step is None:
            operator, within = WAIT, _end(move.absences)
        else:
            operator = BEGIN if move.operator is None else _CODES[move.operator]
            within = move.entry.gap.within
        return Transition(
            move.source,
            move.target,
            operator,
            self._situation(move.context),
            within,
            bool(move.absences),
            tuple(
                (counter[b.repetition], b.low, b.high if b.high is not None else 2**31 - 1)
                for b in move.bounds
            ),
            tuple(counter[number] for number in move.context.begins if number in counter),
            tuple(counter[number] for number in again if number in counter),
            takes=None if move.step is None else move.step.number,
        )

    # --- subscriptions --------------------------------------------------------------------------

    def _subscriptions(self) -> list[Subscription]:
        after = self._certain_after()
        found: list[Subscription] = []
        recalls: list[tuple[int, int]] = []
        for number, move in enumerate(self.moves):
            if self.transitions[number].operator == BEGIN:
                recalls += [(number, c) for a in move.absences for c in self.of_step[a.step.number]]
                continue
            bound = after[move.source]
            if move.step is not None:
                gap = move.entry.gap
                found += [
                    self._subscription(number, choice, EXTENDS, bound, move.context, gap.after, gap.within)
                    for choice in self.of_step[move.step.number]
                ]
            for absence in move.absences:
                found += self._guards(number, absence, bound)
        for begins, choice in recalls:
            found += self._recalled(begins, choice)
        return found

    def _subscription(
        self,
        transition: int,
        choice: int,
        kind: int,
        bound: frozenset[int],
        context: Context,
        after: int = 0,
        within: int | None = None,
        *,
        strict: bool = False,
        counts: bool = True,
    ) -> Subscription:
        situation = self._situation(context)
        unbound = frozenset(self.situations[situation].unbinds)
        slots = tuple(sorted((bound - unbound) & self.choices[choice].certain))
        return Subscription(transition, choice, kind, slots, situation, after, within, strict, counts)

    def _guards(self, number: int, absence: Absence, bound: frozenset[int]) -> Iterator[Subscription]:
        gap = absence.entry.gap
        limits = [time for time in (gap.within, absence.within) if time is not None]
        for choice in self.of_step[absence.step.number]:
            yield self._subscription(
                number,
                choice,
                GUARDS,
                bound,
                absence.context,
                gap.after,
                min(limits, default=None),
                strict=absence.strict,
                counts=absence.reason is not Reason.NEGATED,
            )

    def _recalled(self, begins: int, choice: int) -> Iterator[Subscription]:
        """Occurrences of a negated first step are kept like runs; beginnings look for them."""
        move = self.moves[begins]
        assert move.step is not None
        absence = next(a for a in move.absences if choice in self.of_step[a.step.number])
        self.transitions.append(
            Transition(
                START,
                move.target,
                RECALL,
                self._situation(absence.context),
                recalls=choice,
                begins=begins,
                counts=absence.reason is not Reason.NEGATED,
            )
        )
        bound = self.choices[choice].certain
        for beginning in self.of_step[move.step.number]:
            yield self._subscription(
                len(self.transitions) - 1, beginning, LOOKS_BACK, bound, Context(), counts=False
            )

    def _certain_after(self) -> dict[int, frozenset[int]]:
        """For every state behind an event, the slots that every run there certainly binds."""
        keys = frozenset(self.slot[n] for n in self.query.partition if n in self.slot)
        uses = Counter(slot for choice in self.choices for slot in choice.certain)
        # What one choice alone binds joins with nothing: a new iteration unbinds it.
        everything = keys | {slot for slot, count in uses.items() if count > 1}
        after = {START: keys}
        after.update({move.target: everything for move in self.moves if move.step is not None})
        certain = {number: choice.certain & everything for number, choice in enumerate(self.choices)}
        unbinds = [frozenset(situation.unbinds) for situation in self.situations]
        changed = True
        while changed:
            changed = False
            for move, transition in zip(self.moves, self.transitions, strict=True):
                if move.step is None:
                    continue
                before = after[move.source] - unbinds[transition.situation]
                reached = frozenset.intersection(
                    *(before | certain[choice] for choice in self.of_step[move.step.number])
                )
                if not after[move.target] <= reached:
                    after[move.target] &= reached
                    changed = True
        return after


def _carried(expression: Expression) -> Iterator[Iterated]:
    for node in walk(expression):
        if isinstance(node, Iterated) and node.name in ("FIRST", "LAST", "PREV"):
            yield node


def _end(absences: tuple[Absence, ...]) -> int | None:
    """How long the guards of an end last, the longest of them; None if one lasts until the window ends."""
    times = [absence.within for absence in absences]
    return None if not times or None in times else max(time for time in times if time is not None)
