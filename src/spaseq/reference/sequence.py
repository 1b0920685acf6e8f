"""Sequences over the events of one window and one partition (SEMANTICS 1.3 to 1.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from spaseq.algebra.events import (
    Absent,
    Assignment,
    Contiguity,
    Element,
    EventQuery,
    Gpm,
    Maybe,
    Once,
    Repeat,
    Step,
    TimeWindow,
    choices,
    gpms,
)
from spaseq.algebra.stateful import stateful_parts
from spaseq.algebra.visibility import bindable
from spaseq.reference.iterations import with_values
from spaseq.reference.runs import Iteration, Numbered, Occurrence, Run, Taken, compatible
from spaseq.reference.sparql import Solution, holds, value_of

Steps = tuple[Step, ...]


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

    def occurrences(self, element: Element) -> list[Occurrence]:
        """``⟦Ψ⟧``: GPM, conjunction and disjunction, before their stateful parts (1.2, 1.3)."""
        return [
            Occurrence(time, mapping, taken)
            for choice in choices(element)
            for time in sorted({row.event.time for row in self.rows[choice[0].name]})
            for taken in product(*(self._at(time, gpm) for gpm in choice))
            if (mapping := _joined(taken)) is not None and compatible(mapping, self.key)
        ]

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


# --- expansion of `?` (1.6) ---------------------------------------------------------------------


def expansions(steps: Steps) -> list[Steps]:
    """The sequences without ``?`` whose union is the sequence; operators associate to the left."""
    *before, last = steps
    if isinstance(last.quantifier, Maybe):
        taken = replace(last, quantifier=Once())
        return expansions((*before, taken)) + expansions(tuple(before))
    for index, step in enumerate(steps):
        if isinstance(step.quantifier, Maybe):
            return [
                expansion
                for quantifier in (Once(), Absent())
                for expansion in expansions(
                    (*steps[:index], replace(step, quantifier=quantifier), *steps[index + 1 :])
                )
            ]
    return [steps]


# --- runs ---------------------------------------------------------------------------------------


def runs(scene: Scene) -> list[Run]:
    """All timed mappings of the query's sequence in a scene, with the events behind them."""
    return [run for steps in expansions(scene.query.sequence.steps) for run in _chain(scene, steps)]


def _chain(scene: Scene, steps: Steps) -> list[Run]:
    found: list[Run] | None = None
    guards: list[Step] = []
    for step in steps:
        if isinstance(step.quantifier, Absent):
            guards.append(step)
            continue
        found = _begin(scene, step, guards) if found is None else _follow(scene, found, step, guards)
        found = _repeat(scene, found, step, first_step=_is_first(step, steps))
        guards = []
    assert found is not None, "a sequence has a positive step"
    return _end(scene, found, guards) if guards else found


def _is_first(step: Step, steps: Steps) -> bool:
    return step is next(s for s in steps if not isinstance(s.quantifier, Absent))


def _begin(scene: Scene, step: Step, guards: list[Step]) -> list[Run]:
    """The first positive step; negations before it look back to the start of the window."""
    empty = Run(scene.key, 0, 0)
    return [
        run
        for occurrence in scene.occurrences(step.element)
        if (run := combine(scene, replace(empty, start=occurrence.time), occurrence, step)) is not None
        and scene.fits(run)
        and not any(
            compatible(run.mapping, absent.mapping)
            for guard in guards
            for occurrence in scene.occurrences(guard.element)
            if _look_back(scene, run.start) <= occurrence.time < run.start
            and (absent := combine(scene, empty, occurrence, guard)) is not None
        )
    ]


def _look_back(scene: Scene, start: int) -> float:
    window = scene.query.window
    if isinstance(window, TimeWindow) and window.sliding:
        return start - window.size
    return float("-inf")  # the scene itself begins where its window does


def _follow(
    scene: Scene, before: list[Run], step: Step, guards: list[Step], operator: Contiguity | None = None
) -> list[Run]:
    """``σ • Ψ`` (1.3), with what must be absent in the gap (1.6)."""
    operator = operator or step.operator
    candidates = scene.occurrences(step.element)
    return [
        after
        for run in before
        for occurrence in candidates
        if run.last < occurrence.time
        and (after := combine(scene, run, occurrence, step)) is not None
        and scene.fits(after)
        and _selected(scene, run, occurrence, operator, candidates, step)
        and not any(_absence_fails(scene, run, guard, until=occurrence.time - 1) for guard in guards)
    ]


def _selected(
    scene: Scene,
    run: Run,
    chosen: Occurrence,
    operator: Contiguity | None,
    candidates: list[Occurrence],
    step: Step,
) -> bool:
    match operator:
        case Contiguity.STRICT:
            return not any(run.last < event.time < chosen.time for event in scene.events)
        case Contiguity.NEXT:
            return not any(
                run.last < other.time < chosen.time and combine(scene, run, other, step) is not None
                for other in candidates
            )
        case _:
            return True


def _absence_fails(scene: Scene, run: Run, guard: Step, until: int) -> bool:
    """True if the negated element occurs after the run's last instant, up to ``until`` included."""
    return any(
        run.last < absent.time <= until and combine(scene, run, absent, guard) is not None
        for absent in scene.occurrences(guard.element)
    )


def _repeat(scene: Scene, first: list[Run], step: Step, first_step: bool) -> list[Run]:
    """Kleene plus and bounds (1.5): the union over k of the first iteration and k − 1 further ones."""
    if not isinstance(step.quantifier, Repeat):
        return first
    low, high = step.quantifier.minimum, step.quantifier.maximum
    operator = step.quantifier.operator(first_step=first_step)
    found, k = [], 1
    while first and (high is None or k <= high):
        found += first if k >= low else []
        first, k = _follow(scene, first, step, [], operator), k + 1
    return found


def _end(scene: Scene, before: list[Run], guards: list[Step]) -> list[Run]:
    """Negation in last place: absent until the window ends, which is the instant of the result."""
    return [
        replace(run, last=end)
        for run in before
        if run.start != scene.end  # on a boundary it counts for the later window only
        for end in (_window_end(scene, run),)
        if not any(_absence_fails(scene, run, guard, until=end) for guard in guards)
    ]


def _window_end(scene: Scene, run: Run) -> int:
    """The end of the tumbling window, or ``t₁ + ω``."""
    assert isinstance(scene.query.window, TimeWindow)
    return run.start + scene.query.window.size if scene.end is None else scene.end


# --- joining an occurrence to a run -------------------------------------------------------------


def combine(scene: Scene, run: Run, occurrence: Occurrence, step: Step) -> Run | None:
    """``μ₁ ∪ μ₂`` if the two are compatible and the stateful parts of the step hold on it (1.3, 1.4)."""
    index = scene.query.step_of(occurrence.taken[0].gpm)
    repeated = isinstance(step.quantifier, Repeat)
    own = {name for gpm in gpms(step.element) for name in bindable(gpm)} & scene.query.iterated
    before = {name: term for name, term in run.mapping.items() if not (repeated and name in own)}
    if not compatible(before, occurrence.mapping):
        return None
    names = tuple(taken.gpm for taken in occurrence.taken)
    mapping = {**before, **occurrence.mapping}
    iteration = dict(occurrence.mapping)
    first = not any(i.step == index for i in run.iterations)
    for part in stateful_parts(tuple(gpm for gpm in gpms(step.element) if gpm.name in names)):
        so_far = run.iterations + ((Iteration(index, names, iteration),) if repeated else ())
        expression = with_values(part.expression, so_far, index)
        if isinstance(part, Assignment):
            term, name = value_of(expression, mapping), part.variable.name
            if term is not None and mapping.setdefault(name, term) != term:
                return None  # a shared variable joins in every iteration (1.5)
            iteration.update({} if term is None else {name: term})
        elif not (part.after_first and first) and not holds(expression, mapping):
            return None
    so_far = run.iterations + ((Iteration(index, names, iteration),) if repeated else ())
    return Run(mapping, run.start, occurrence.time, run.taken + occurrence.taken, so_far)
