"""One flat sequence over the events of one window and one partition (semantics 1.3 to 1.6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

from spaseq.algebra.events import (
    Assignment,
    Contiguity,
    Element,
    EventQuery,
    Gpm,
    TimeWindow,
    choices,
    gpms,
)
from spaseq.algebra.stateful import stateful_parts
from spaseq.reference.iterations import with_values
from spaseq.reference.runs import (
    NEGATED,
    Flat,
    Guard,
    Item,
    Numbered,
    Path,
    Run,
    StepOccurrence,
    Taken,
    compatible,
)
from spaseq.reference.sparql import Solution, holds, value_of


@dataclass(frozen=True)
class Scene:
    """What a sequence is evaluated over: the events of one window and one partition.

    ``rows`` are all mappings of every GPM over these events; ``key`` is what the partition binds;
    ``end`` is the end of a tumbling time window.
    """

    query: EventQuery
    events: tuple[Numbered, ...]
    rows: dict[str, list[Taken]]
    key: Solution
    end: int | None = None

    def occurrences(self, element: Element) -> list[StepOccurrence]:
        """``⟦Ψ⟧``: GPM, conjunction and disjunction, before their stateful parts (1.2, 1.3)."""
        return [
            StepOccurrence(time, mapping, taken)
            for choice in choices(element)
            for time in sorted({row.event.time for row in self.rows[choice[0].name]})
            for taken in product(*(self._at(time, gpm) for gpm in self._as_written(choice)))
            if (mapping := _joined(taken)) is not None and compatible(mapping, self.key)
        ]

    def _as_written(self, choice: tuple[Gpm, ...]) -> list[Gpm]:
        return sorted(choice, key=lambda gpm: self.query.names.index(gpm.name))

    def _at(self, time: int, gpm: Gpm) -> list[Taken]:
        return [row for row in self.rows[gpm.name] if row.event.time == time]

    def fits(self, run: Run) -> bool:
        """SLIDING: ``t₂ − t₁ ≤ ω``, or fewer than n positions apart (1.8)."""
        window = self.query.window
        if window is None or not window.sliding:
            return True
        if isinstance(window, TimeWindow):
            return run.last - run.start <= window.size
        positions = [taken.event.position for taken in run.taken]
        return max(positions) - min(positions) < window.size


def _joined(taken: tuple[Taken, ...]) -> Solution | None:
    mapping: Solution = {}
    for row in taken:
        if not compatible(mapping, row.mapping):
            return None
        mapping = {**mapping, **row.mapping}
    return mapping


# --- steps --------------------------------------------------------------------------------------


def begin(scene: Scene, flat: Flat, guards: Iterable[Guard]) -> list[Run]:
    """The first positive step; negations before it look back to the start of the window."""
    empty = Run(scene.key, 0, 0)
    return [
        run
        for occurrence in scene.occurrences(flat.step.element)
        if (run := combine(scene, replace(empty, start=occurrence.time), occurrence, flat)) is not None
        and scene.fits(run)
        and not any(
            compatible(run.mapping, absent.mapping)
            for guard in guards
            for occurrence in scene.occurrences(guard.flat.step.element)
            if _look_back(scene, run.start) <= occurrence.time < run.start
            and (absent := combine(scene, empty, occurrence, guard.flat)) is not None
        )
    ]


def _look_back(scene: Scene, start: int) -> float:
    window = scene.query.window
    if isinstance(window, TimeWindow) and window.sliding:
        return start - window.size
    return float("-inf")  # the scene itself begins where its window does


def follow(
    scene: Scene, before: Iterable[Run], flat: Flat, operator: Contiguity | None, guards: Iterable[Guard]
) -> list[Run]:
    """``σ • Ψ`` (1.3), with what must be absent in the gap (1.6)."""
    candidates = scene.occurrences(flat.step.element)
    return [
        after
        for run in before
        for occurrence in candidates
        if (after := combines(scene, run, occurrence, flat)) is not None
        and scene.fits(after)
        and _selected(scene, run, occurrence, operator, candidates, flat)
        and not any(_occurs(scene, run, guard, until=occurrence.time - 1) for guard in guards)
    ]


def combines(scene: Scene, run: Run, occurrence: StepOccurrence, flat: Flat) -> Run | None:
    """The two combined, if the occurrence is later, in the gap, compatible, and the stateful parts hold."""
    passed = occurrence.time - run.last
    if passed <= 0 or passed < flat.gap.after:
        return None
    if flat.gap.within is not None and passed > flat.gap.within:
        return None
    return combine(scene, run, occurrence, flat)


def _selected(
    scene: Scene,
    run: Run,
    chosen: StepOccurrence,
    operator: Contiguity | None,
    candidates: list[StepOccurrence],
    flat: Flat,
) -> bool:
    match operator:
        case Contiguity.STRICT:
            return not any(run.last < event.time < chosen.time for event in scene.events)
        case Contiguity.NEXT:
            return not any(
                other.time < chosen.time and combines(scene, run, other, flat) is not None
                for other in candidates
            )
        case _:
            return True


def _occurs(scene: Scene, run: Run, guard: Guard, until: int) -> bool:
    """True if what must be absent occurs after the run's last instant, up to ``until`` included."""
    if guard.within is not None:
        until = min(until, run.last + guard.within)
    following = min((event.time for event in scene.events if event.time > run.last), default=None)
    return any(
        absent.time <= until
        and (not guard.contiguous or absent.time == following)
        and combines(scene, run, absent, guard.flat) is not None
        for absent in scene.occurrences(guard.flat.step.element)
    )


def end(scene: Scene, before: Iterable[Run], guards: list[Guard]) -> list[Run]:
    """Negation in last place: absent until its time or the window ends, which is the instant of the result."""
    return [
        replace(run, last=max(ends))
        for run in before
        if run.start != scene.end  # on a boundary it counts for the later window only
        for ends in ([_end_of(scene, run, guard) for guard in guards],)
        if not any(_occurs(scene, run, guard, until) for guard, until in zip(guards, ends, strict=True))
    ]


def _end_of(scene: Scene, run: Run, guard: Guard) -> int:
    """Until when a guard in last place lasts."""
    window = scene.query.window
    ends = [run.last + guard.within] if guard.kind == NEGATED and guard.within is not None else []
    if isinstance(window, TimeWindow):
        ends.append(run.start + window.size if scene.end is None else scene.end)
    return min(ends)


# --- joining an occurrence to a run -------------------------------------------------------------


def combine(scene: Scene, run: Run, occurrence: StepOccurrence, flat: Flat) -> Run | None:
    """``μ₁ ∪ μ₂`` if the two are compatible and the stateful parts of the step hold on it (1.3, 1.4)."""
    step, homes = flat.step, dict(scene.query.homes)
    before = _still_bound(run, flat.path, homes)
    if not compatible(before, occurrence.mapping):
        return None
    names = tuple(taken.gpm for taken in occurrence.taken)
    mapping = {**before, **occurrence.mapping}
    own = dict(occurrence.mapping)
    first = not flat.path or flat.path[-1][1] == 1
    for part in stateful_parts(tuple(gpm for gpm in gpms(step.element) if gpm.name in names)):
        # The event of a negated step is no part of the match, so it is no iteration.
        current = () if step.negated else (Item(flat.path, occurrence.taken, own, mapping),)
        expression = with_values(part.expression, run.items + current, homes, flat.path)
        if isinstance(part, Assignment):
            term, name = value_of(expression, mapping), part.variable.name
            if term is not None and mapping.setdefault(name, term) != term:
                return None  # a variable joins within an iteration of its home (1.5, 1.11)
            own.update({} if term is None else {name: term})
        elif not (part.after_first and first) and not holds(expression, mapping):
            return None
    item = Item(flat.path, occurrence.taken, own, mapping)
    return Run(mapping, run.start, occurrence.time, (*run.items, item))


def _still_bound(run: Run, path: Path, homes: dict[str, int]) -> Solution:
    """The mapping so far as a step in these iterations sees it: a new iteration unbinds what has its home there."""
    if not run.items:
        return run.mapping
    last = run.items[-1].path
    same = 0
    while same < min(len(last), len(path)) and last[same] == path[same]:
        same += 1
    # The first repetition in which the two differ begins anew, with all that it holds.
    if same == len(path) or same == len(last) or last[same][0] != path[same][0]:
        return run.mapping
    begun = path[same][0]
    inside = _inside(run, begun, homes)
    return {name: term for name, term in run.mapping.items() if name not in inside}


def _inside(run: Run, repetition: int, homes: dict[str, int]) -> set[str]:
    """The variables whose home is this repetition or one that lies in it."""
    nested = {
        number
        for item in run.items
        if repetition in (numbers := [number for number, _ in item.path])
        for number in numbers[numbers.index(repetition) :]
    }
    return {name for name, home in homes.items() if home in nested}
