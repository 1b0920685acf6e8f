"""Compilation of a sequence to an automaton (section 6.2 of the paper): fragments, one after the other (figure 10).

Where a step can be both the first positive one and a later one, what comes before it is kept apart in two *lanes*: the
default operator between iterations is ``;`` in one and ``,`` in the other (semantics 1.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from spaseq.algebra.events import (
    Absent,
    Contiguity,
    EventQuery,
    Maybe,
    Once,
    Permute,
    Repeat,
    Sequence,
    Step,
)
from spaseq.automaton.graph import Automaton, Bound, Edge, EdgeKind, Entry, Reason

Lanes: TypeAlias = Mapping[bool, int]
"""The state that a fragment starts from or leads to; the key says whether no positive step came before."""

DECIDED: Final = None
"""The entry of a step whose operator and gap were decided on the way to it."""


def compile_automaton(query: EventQuery) -> Automaton:
    """The automaton of a query's sequence."""
    builder = _Builder()
    builder.end(builder.sequence(query.sequence.steps, {True: builder.state()}, Entry()))
    return builder.finished(tuple((stream.iri, stream.alias) for stream in query.streams))


@dataclass(slots=True)
class _Builder:
    edges: list[Edge] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    """The states that some edge leaves."""
    size: int = 0
    final: int = -1

    def state(self) -> int:
        self.size += 1
        return self.size - 1

    def add(self, edge: Edge) -> int:
        self.edges.append(edge)
        self.left.add(edge.source)
        return len(self.edges) - 1

    def pass_by(
        self,
        source: int,
        target: int,
        *,
        entry: Entry | None = DECIDED,
        begins: tuple[int, ...] = (),
        again: int | None = None,
        bounds: tuple[Bound, ...] = (),
    ) -> int:
        """An ε edge."""
        return self.add(
            Edge(EdgeKind.EPSILON, source, target, None, entry, begins=begins, again=again, bounds=bounds)
        )

    def take(
        self,
        step: Step,
        source: int,
        target: int,
        entry: Entry | None,
        *,
        begins: tuple[int, ...] = (),
        again: int | None = None,
        bounds: tuple[Bound, ...] = (),
    ) -> None:
        """An edge that takes an event of the step."""
        self.add(Edge(EdgeKind.TAKE, source, target, step, entry, begins=begins, again=again, bounds=bounds))

    def guard(self, step: Step, beside: int, reason: Reason, entry: Entry, **more: object) -> None:
        """An edge beside an ε edge: what must be absent where a run passes there."""
        passing = self.edges[beside]
        edge = Edge(EdgeKind.GUARD, passing.source, passing.target, step, entry, reason=reason, beside=beside)
        self.add(replace(edge, **more))  # type: ignore[arg-type]

    # --- fragments ------------------------------------------------------------------------------

    def sequence(self, steps: tuple[Step, ...], lanes: Lanes, entry: Entry | None) -> Lanes:
        """Steps one after the other; ``entry`` is that of the first."""
        for index, step in enumerate(steps):
            lanes = self.step(step, lanes, entry if index == 0 else Entry(step.operator, step.gap))
        return lanes

    def step(self, step: Step, lanes: Lanes, entry: Entry | None) -> Lanes:
        match step.quantifier:
            case Once():
                return self.once(step, lanes, entry)
            case Absent(within):
                return self.negation(step, lanes, within)
            case Maybe():
                return self.optional(step, lanes, self.once(step, lanes, entry), entry, ())
            case Repeat(minimum) as repeat:
                taken = self.repetition(step, repeat, lanes, entry)
                return self.optional(step, lanes, taken, entry, (step.number,)) if minimum == 0 else taken

    def once(self, step: Step, lanes: Lanes, entry: Entry | None) -> Lanes:
        """A step that occurs once (figures 4, 6 to 9, 13 and 14)."""
        match step.body:
            case Sequence(steps):
                return self.sequence(steps, lanes, entry)
            case Permute():
                return {False: self.permutation(step.body, lanes, entry)}
            case _:
                target = self.state()
                for source in lanes.values():
                    self.take(step, source, target, entry)
                return {False: target}

    def negation(self, step: Step, lanes: Lanes, within: int | None) -> Lanes:
        """Negation: an ε edge that an occurrence of the step closes (figure 25)."""
        after = {}
        for lane, source in lanes.items():
            after[lane] = self.state()
            passing = self.pass_by(source, after[lane])
            self.guard(step, passing, Reason.NEGATED, Entry(), within=within)
        return after

    def optional(
        self, step: Step, lanes: Lanes, taken: Lanes, entry: Entry | None, begins: tuple[int, ...]
    ) -> Lanes:
        """An ε edge past a step (figure 24); a choice that is left out must be absent, a group need not be."""
        after = {lane: self._without_exits(state) for lane, state in taken.items()}
        for lane, source in lanes.items():
            if lane not in after:
                after[lane] = self.state()
            passing = self.pass_by(source, after[lane])
            if not step.is_group:
                gap = Entry(None, step.gap if entry is None else entry.gap)
                self.guard(step, passing, Reason.SKIPPED, gap, begins=begins)
        return after

    def _without_exits(self, state: int) -> int:
        """A state behind this one that no loop leaves: a run that skipped a repetition must not enter it there."""
        if state not in self.left:
            return state
        target = self.state()
        self.pass_by(state, target)
        return target

    def repetition(self, step: Step, repeat: Repeat, lanes: Lanes, entry: Entry | None) -> Lanes:
        """Kleene plus and bounds (figures 3, 5 and 10); apart for each lane if the operator between iterations is not said."""
        apart = len(lanes) > 1 and repeat.between is None
        groups = [{lane: source} for lane, source in lanes.items()] if apart else [dict(lanes)]
        ends = []
        for own in groups:
            between = Entry(repeat.operator(first_step=next(iter(own))), repeat.gap)
            if step.is_group:
                ends.append(self._repeated_group(step, repeat, own, entry, between))
            else:
                ends.append(self._repeated_choice(step, repeat, own, entry, between))
        target = ends[0] if len(ends) == 1 else self.state()
        for end in ends:
            if end != target:
                self.pass_by(end, target)
        return {False: target}

    def _repeated_choice(
        self, step: Step, repeat: Repeat, lanes: Lanes, entry: Entry | None, between: Entry
    ) -> int:
        """One iteration leads to the state behind it, one more stays there."""
        behind, own = self.state(), step.number
        for source in lanes.values():
            self.take(step, source, behind, entry, begins=(own,))
        if repeat.maximum != 1:
            self.take(step, behind, behind, between, again=own, bounds=_below(own, repeat.maximum))
        return self._left(step, repeat, behind, between)

    def _repeated_group(
        self, step: Step, repeat: Repeat, lanes: Lanes, entry: Entry | None, between: Entry
    ) -> int:
        """A head that is entered from outside and from the end of the iteration before."""
        head, own = self.state(), step.number
        for source in lanes.values():
            self.pass_by(source, head, entry=entry, begins=(own,))
        (behind,) = self.once(replace(step, quantifier=Once()), {False: head}, DECIDED).values()
        if repeat.maximum != 1:
            self.pass_by(behind, head, entry=between, again=own, bounds=_below(own, repeat.maximum))
        return self._left(step, repeat, behind, between)

    def _left(self, step: Step, repeat: Repeat, behind: int, between: Entry) -> int:
        """The state behind a repetition, which enough iterations lead to."""
        own, low = step.number, max(repeat.minimum, 1)
        if low == 1 and (not repeat.longest or repeat.maximum == 1):
            return behind
        target = self.state()
        if not repeat.longest:
            self.pass_by(behind, target, bounds=(Bound(own, low),))
            return target
        # Below the upper bound a further iteration is possible, and must not come.
        passing = self.pass_by(behind, target, bounds=(Bound(own, low, repeat.maximum),))
        strict = between.operator is Contiguity.STRICT
        gap = Entry(None, between.gap)
        self.guard(step, passing, Reason.LONGEST, gap, again=own, strict=strict)
        if repeat.maximum is not None:
            self.pass_by(behind, target, bounds=(Bound(own, repeat.maximum),))
        return target

    def permutation(self, permute: Permute, lanes: Lanes, entry: Entry | None) -> int:
        """A state for every set of items that were taken."""
        items, between = permute.items, Entry(permute.operator)
        full = (1 << len(items)) - 1
        states = {done: self.state() for done in range(1, full + 1)}
        for done in range(full):
            sources = lanes.values() if done == 0 else (states[done],)
            for index, item in enumerate(items):
                if not done >> index & 1:
                    for source in sources:
                        target = states[done | 1 << index]
                        self.take(item, source, target, entry if done == 0 else between)
        return states[full]

    # --- the whole ------------------------------------------------------------------------------

    def end(self, lanes: Lanes) -> None:
        """The end of the sequence; every sequence has a positive step."""
        self.final = self._without_exits(lanes[False])

    def finished(self, streams: tuple[tuple[str, str], ...]) -> Automaton:
        """The automaton with its states in the order of the text, the final one last, and its skip edges; edges by source."""
        order = [state for state in range(self.size) if state != self.final] + [self.final]
        number = {state: index for index, state in enumerate(order)}
        edges = self.edges + _skips(self.edges)
        ordered = sorted(
            range(len(edges)), key=lambda at: (number[edges[at].source], edges[at].kind is not EdgeKind.SKIP)
        )
        place = {at: index for index, at in enumerate(ordered)}
        placed = (
            replace(
                edge,
                source=number[edge.source],
                target=number[edge.target],
                beside=place.get(edge.beside, -1),
            )
            for edge in (edges[at] for at in ordered)
        )
        return Automaton(self.size, tuple(placed), streams)


def _below(repetition: int, maximum: int | None) -> tuple[Bound, ...]:
    return () if maximum is None else (Bound(repetition, 0, maximum),)


def _skips(edges: list[Edge]) -> list[Edge]:
    """A loop that any event takes, wherever a run waits for an event behind ``;`` or ``:`` (figure 7)."""
    waiting = _reached({edge.target for edge in edges if edge.kind is EdgeKind.TAKE}, edges)
    found: dict[tuple[int, Contiguity], Edge] = {}
    for edge in edges:
        operator = edge.entry.operator if edge.entry is not None else None
        if edge.source in waiting and operator in (Contiguity.NEXT, Contiguity.ANY):
            skip = Edge(EdgeKind.SKIP, edge.source, edge.source, None, Entry(operator))
            found.setdefault((edge.source, operator), skip)
    return list(found.values())


def _reached(states: set[int], edges: list[Edge]) -> set[int]:
    """The states that ε edges lead to from these, and these."""
    passing: dict[int, list[int]] = {}
    for edge in edges:
        if edge.kind is EdgeKind.EPSILON:
            passing.setdefault(edge.source, []).append(edge.target)
    waiting = list(states)
    while waiting:
        for target in passing.get(waiting.pop(), ()):
            if target not in states:
                states.add(target)
                waiting.append(target)
    return states
