"""What there is to say about a compiled query, gathered once; every format only draws it.

`Explanation` is also the JSON format: its field names are public and documented in
`docs/reference/explain.md`. `VERSION` grows when a field changes its meaning or goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from spaseq.algebra.events import (
    Absent,
    AskForm,
    ConstructForm,
    Contiguity,
    EventQuery,
    Gpm,
    Maybe,
    Repeat,
    SelectForm,
    StatefulPart,
    Step,
    gpms,
    leaves,
)
from spaseq.algebra.expressions import Constant, GpmFunction, Iterated, conjuncts, walk
from spaseq.algebra.patterns import Graph
from spaseq.algebra.scope import expression_variables
from spaseq.algebra.structure import possible_first, possible_later
from spaseq.algebra.visibility import Visibility, bindable, gpm_patterns, result_variables
from spaseq.automaton import Automaton, Edge, EdgeKind
from spaseq.errors import QueryWarning
from spaseq.planner.explain.rewritten import (
    element_text,
    gap_text,
    rewritten_text,
    sequence_text,
    stateful_text,
    step_text,
    window_meaning,
    window_text,
)
from spaseq.planner.explain.sparql_text import Spelling

if TYPE_CHECKING:
    from spaseq.planner.compiled import CompiledQuery

VERSION = 2


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A declared stream and the GPMs that read it."""

    alias: str
    iri: str
    gpms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariableFacts:
    """A variable and the GPMs that may bind it."""

    name: str
    gpms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatefulFacts:
    """A part of a GPM that waits for other steps: its text, and what it reads beyond the event.

    ``iterations`` are the repeated GPMs whose iterations it reads; ``skipped_first`` says that the first
    iteration passes without it, because it mentions PREV.
    """

    text: str
    reads: tuple[VariableFacts, ...]
    iterations: tuple[str, ...]
    skipped_first: bool


@dataclass(frozen=True, slots=True)
class GpmFacts:
    """A graph pattern over one event: what it binds, on what it joins, what decides it when."""

    name: str
    stream: str
    pattern: tuple[str, ...]
    binds: tuple[str, ...]
    joins: tuple[VariableFacts, ...]
    filters: tuple[str, ...]
    stateful: tuple[StatefulFacts, ...]
    per_iteration: tuple[str, ...]
    graphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step: its place, its operator, how often it occurs, and its GPMs."""

    number: int
    text: str
    element: str
    operator: str | None
    operator_name: str | None
    quantifier: str
    minimum: int
    maximum: int | None
    between: tuple[str, ...]
    inside: tuple[str, ...]
    gap: str | None
    streams: tuple[str, ...]
    gpms: tuple[GpmFacts, ...]
    window: str | None


@dataclass(frozen=True, slots=True)
class StateFacts:
    """A state of the automaton, and what a run waits for there."""

    name: str
    waits: tuple[str, ...]
    initial: bool
    final: bool


@dataclass(frozen=True, slots=True)
class EdgeFacts:
    """An edge with its predicate ``(U, op, P)``; ``kind`` is take, guard, skip or epsilon.

    ``again`` says that one more iteration begins with it; ``reason`` why a guard is there: negated, skipped or longest.
    """

    source: str
    target: str
    streams: tuple[str, ...]
    op: str
    gpm: str | None
    kind: str
    label: str
    again: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class AutomatonFacts:
    """The NFAscep of the sequence (Def 17)."""

    states: tuple[StateFacts, ...]
    edges: tuple[EdgeFacts, ...]


@dataclass(frozen=True, slots=True)
class DistributionFacts:
    """How rows may be spread over workers without changing the answers, and why not further."""

    unit: str
    variables: tuple[str, ...]
    by_window: bool
    by_slice: bool
    reason: str
    cure: str


@dataclass(frozen=True, slots=True)
class WarningFacts:
    """A warning with its place; ``rendered`` is what the command line prints."""

    code: str
    message: str
    line: int
    column: int
    help: str
    rendered: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything `explain` shows of a query."""

    version: int
    name: str
    text: str
    rewritten: str
    form: str
    results: tuple[str, ...]
    sequence: str
    window: str | None
    window_meaning: str | None
    partition: tuple[str, ...]
    skips: bool
    streams: tuple[StreamFacts, ...]
    shared: tuple[VariableFacts, ...]
    iterated: tuple[VariableFacts, ...]
    graphs: tuple[str, ...]
    any_graph: bool
    automaton: AutomatonFacts
    steps: tuple[StepFacts, ...]
    distribution: DistributionFacts
    warnings: tuple[WarningFacts, ...]
    switched_off: tuple[str, ...]


def explanation(query: CompiledQuery) -> Explanation:
    """Gather what there is to say about a query."""
    plan = query.rewritten
    whole = _Around.of(query)
    graphs = tuple(dict.fromkeys(name for gpm in plan.gpms for name in _graphs(gpm)))
    distribution = query.distribution
    return Explanation(
        version=VERSION,
        name=query.name,
        text=query.text,
        rewritten=rewritten_text(plan, Spelling.of(query.prefixes)),
        form=_form(plan),
        results=_results(plan),
        sequence=sequence_text(plan),
        window=None if plan.window is None else window_text(plan.window),
        window_meaning=None if plan.window is None else window_meaning(plan.window),
        partition=plan.partition,
        streams=tuple(
            StreamFacts(s.alias, s.iri, tuple(g.name for g in plan.gpms if g.stream == s.iri))
            for s in plan.streams
        ),
        shared=_variables(plan, plan.shared),
        iterated=_variables(plan, plan.iterated),
        graphs=tuple(name for name in graphs if not name.startswith("?")),
        any_graph=any(name.startswith("?") for name in graphs),
        automaton=_automaton(query.automaton),
        steps=tuple(_step(whole, number, step) for number, step in enumerate(leaves(plan.sequence), 1)),
        skips=plan.skip_past,
        distribution=DistributionFacts(
            distribution.unit.value,
            distribution.variables,
            distribution.by_window,
            distribution.by_slice,
            distribution.reason,
            distribution.cure,
        ),
        warnings=tuple(_warning(warning) for warning in query.warnings),
        switched_off=query.optimisations.off,
    )


# --- the query as a whole -----------------------------------------------------------------------


def _form(query: EventQuery) -> str:
    match query.form:
        case SelectForm(distinct=distinct):
            return "SELECT DISTINCT" if distinct else "SELECT"
        case ConstructForm():
            return "CONSTRUCT"
        case AskForm():
            return "ASK"
        case _:
            assert_never(query.form)


def _results(query: EventQuery) -> tuple[str, ...]:
    if isinstance(query.form, SelectForm):
        return tuple(item.variable.name for item in query.form.items)
    return ()


def _variables(query: EventQuery, names: frozenset[str]) -> tuple[VariableFacts, ...]:
    """Variables in order of first occurrence, with the GPMs that bind them."""
    found: dict[str, list[str]] = {}
    for gpm in query.gpms:
        for name in bindable(gpm):
            if name in names:
                found.setdefault(name, []).append(gpm.name)
    return tuple(VariableFacts(name, tuple(binders)) for name, binders in found.items())


def _warning(warning: QueryWarning) -> WarningFacts:
    return WarningFacts(
        warning.code, warning.message, warning.line, warning.column, warning.cure, warning.render()
    )


def _graphs(gpm: Gpm) -> Iterator[str]:
    """The background graphs a GPM reads; a variable keeps its question mark."""
    for pattern in gpm_patterns(gpm):
        if isinstance(pattern, Graph):
            name = pattern.name
            yield name.term.value if isinstance(name, Constant) else f"?{name.name}"


# --- the automaton ------------------------------------------------------------------------------


def _automaton(automaton: Automaton) -> AutomatonFacts:
    waits: dict[int, dict[str, None]] = {}
    """What a run in a state waits for: what the take edges that leave it take."""
    for edge in automaton.edges:
        if edge.kind is EdgeKind.TAKE and edge.step is not None:
            waits.setdefault(edge.source, {})[element_text(edge.step.element)] = None
    states = tuple(
        StateFacts(automaton.name(state), tuple(waits.get(state, ())), state == 0, state == automaton.final)
        for state in range(automaton.size)
    )
    return AutomatonFacts(states, tuple(_edge(automaton, edge) for edge in automaton.edges))


def _edge(automaton: Automaton, edge: Edge) -> EdgeFacts:
    aliases = dict(automaton.streams)
    if edge.step is None:
        streams, pattern = tuple(aliases.values()) if edge.kind is EdgeKind.SKIP else (), None
    else:
        streams = tuple(dict.fromkeys(aliases[gpm.stream] for gpm in gpms(edge.step.body)))
        pattern = element_text(edge.step.element)
    operator = edge.entry.operator if edge.entry is not None else None
    return EdgeFacts(
        automaton.name(edge.source),
        automaton.name(edge.target),
        streams,
        "!" if edge.kind is EdgeKind.GUARD else "" if operator is None else operator.value,
        pattern,
        _KINDS[edge.kind],
        automaton.label(edge),
        edge.again is not None,
        None if edge.reason is None else edge.reason.name.lower(),
    )


_KINDS = {EdgeKind.TAKE: "take", EdgeKind.GUARD: "guard", EdgeKind.SKIP: "skip", EdgeKind.EPSILON: "epsilon"}


# --- steps --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Around:
    """What the facts about one step need of the whole query."""

    plan: EventQuery
    visibility: Visibility
    written: dict[str, Gpm]
    """The GPMs before any rule."""
    aliases: dict[str, str]
    spelling: Spelling
    order: dict[str, int]
    """The variables that a match may bind, by first occurrence."""
    first: frozenset[int]
    later: frozenset[int]
    """Steps that may have no positive step before them, and those that may have one."""
    drops: bool  # runs, when their window ends

    @staticmethod
    def of(query: CompiledQuery) -> _Around:
        plan = query.rewritten
        return _Around(
            plan,
            Visibility(plan.sequence, plan.partition),
            {gpm.name: gpm for gpm in query.algebra.gpms},
            {stream.iri: stream.alias for stream in plan.streams},
            Spelling.of(query.prefixes),
            {name: number for number, name in enumerate(result_variables(plan.sequence))},
            possible_first(plan.sequence),
            possible_later(plan.sequence),
            query.optimisations.push_window,
        )


def _step(whole: _Around, number: int, step: Step) -> StepFacts:
    here = tuple(gpms(step.element))
    minimum, maximum = _bounds(step)
    inside = whole.visibility.around(here[0].name)[:-1]
    return StepFacts(
        number=number,
        text=step_text(step),
        element=element_text(step.element),
        operator=None if step.operator is None else step.operator.value,
        operator_name=None if step.operator is None else step.operator.word,
        quantifier=_quantifier(step),
        minimum=minimum,
        maximum=maximum,
        between=tuple(operator.value for operator in _between(whole, step)),
        inside=tuple(step_text(group) for group in inside),
        gap=" ".join(gap_text(step.gap)) or None,
        streams=tuple(dict.fromkeys(whole.aliases[gpm.stream] for gpm in here)),
        gpms=tuple(_gpm(whole, gpm) for gpm in here),
        window=window_text(step.window) if step.window is not None and whole.drops else None,
    )


def _quantifier(step: Step) -> str:
    match step.quantifier:
        case Repeat():
            return "repeated"
        case Maybe():
            return "optional"
        case Absent():
            return "negated"
        case _:
            return "once"


def _bounds(step: Step) -> tuple[int, int | None]:
    match step.quantifier:
        case Repeat(minimum, maximum):
            return minimum, maximum
        case Maybe():
            return 0, 1
        case Absent():
            return 0, 0
        case _:
            return 1, 1


def _between(whole: _Around, step: Step) -> tuple[Contiguity, ...]:
    """The operators between iterations of a step (semantics 1.5).

    Two where it depends on whether an optional step before it is taken.
    """
    if not isinstance(step.quantifier, Repeat):
        return ()
    starts = (True,) * (step.number in whole.first) + (False,) * (step.number in whole.later)
    return tuple(dict.fromkeys(step.quantifier.operator(first_step=first) for first in starts))


def _gpm(whole: _Around, gpm: Gpm) -> GpmFacts:
    waiting = [part.expression for part in gpm.stateful]
    filters = whole.written[gpm.name].filters
    local = [part for filter_ in filters for part in conjuncts(filter_) if part not in waiting]
    joins = [(name, _met(whole, gpm, name)) for name in bindable(gpm)]
    return GpmFacts(
        name=gpm.name,
        stream=whole.aliases[gpm.stream],
        pattern=whole.spelling.pattern(gpm.pattern),
        binds=bindable(gpm),
        joins=tuple(VariableFacts(name, binders) for name, binders in joins if binders),
        filters=tuple(whole.spelling.expression(part) for part in local),
        stateful=tuple(_stateful(whole, gpm, part) for part in gpm.stateful),
        per_iteration=tuple(name for name in bindable(gpm) if name in whole.plan.iterated),
        graphs=tuple(dict.fromkeys(_graphs(gpm))),
    )


def _met(whole: _Around, gpm: Gpm, variable: str) -> tuple[str, ...]:
    """The GPMs with whose values of a variable a mapping of this one must agree.

    Those of earlier steps, of its own conjunction and of its permutation; for a variable without a home also those of
    earlier iterations; for a negation in first place those of the step after it (semantics 1.6).
    """
    place = whole.visibility
    met = list(_read(whole, gpm, variable))
    own = place.around(gpm.name)
    if own[-1].negated and own[-1].number not in whole.later:
        met = [name for name in place.binders(variable) if _comes_next(whole, gpm.name, name)]
    repeated = {step.number for step in own if isinstance(step.quantifier, Repeat)}
    if repeated and variable not in whole.plan.iterated:
        known = set(met)
        met += [
            name
            for name in place.binders(variable)
            if name not in known and any(step.number in repeated for step in place.around(name))
        ]
    return tuple(met)


def _comes_next(whole: _Around, negated: str, name: str) -> bool:
    """True if a GPM may be the first positive one behind a negation in first place."""
    place = whole.visibility
    own = place.around(name)[-1]
    return not own.negated and own.number in whole.first and place.order(name) > place.order(negated)


def _stateful(whole: _Around, gpm: Gpm, part: StatefulPart) -> StatefulFacts:
    place = whole.visibility
    over = [node.variable.name for node in walk(part.expression) if isinstance(node, Iterated)]
    counted = [node.gpm for node in walk(part.expression) if isinstance(node, GpmFunction)]
    repeated = sorted({name for variable in over for name in place.binders(variable)}, key=place.order)
    known = [name for name in expression_variables(part.expression) if name in whole.order]
    reads = [(name, _read(whole, gpm, name)) for name in sorted(known, key=whole.order.__getitem__)]
    return StatefulFacts(
        text=stateful_text(part, whole.spelling),
        reads=tuple(VariableFacts(name, binders) for name, binders in reads if binders),
        iterations=tuple(dict.fromkeys(repeated + counted)),
        skipped_first=getattr(part, "after_first", False),
    )


def _read(whole: _Around, gpm: Gpm, variable: str) -> tuple[str, ...]:
    """The GPMs from which a part of this one may read a variable: of earlier steps, its conjunction, its permutation."""
    place, own = whole.visibility, whole.visibility.around(gpm.name)[-1].number
    return tuple(
        name
        for name in place.binders(variable)
        if name != gpm.name
        and not place.around(name)[-1].negated
        and (
            (place.order(name) < place.order(gpm.name) and place.around(name)[-1].number != own)
            or place.together(gpm.name, name)
            or place.in_any_order(gpm.name, name)
        )
    )
