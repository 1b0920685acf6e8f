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
    Sequence,
    StatefulPart,
    Step,
    gpms,
)
from spaseq.algebra.expressions import Constant, Iterated, IterationCount, conjuncts, walk
from spaseq.algebra.patterns import Graph
from spaseq.algebra.scope import expression_variables
from spaseq.algebra.visibility import bindable, gpm_patterns, partners, result_variables
from spaseq.automaton import Edge, Nfa
from spaseq.errors import QueryWarning
from spaseq.planner.explain.rewritten import (
    element_text,
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

VERSION = 1


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
    streams: tuple[str, ...]
    gpms: tuple[GpmFacts, ...]
    window: str | None


@dataclass(frozen=True, slots=True)
class StateFacts:
    """A state of the automaton, and the step a run waits for there."""

    name: str
    step: int | None
    initial: bool
    final: bool


@dataclass(frozen=True, slots=True)
class EdgeFacts:
    """An edge with its predicate ``(U, op, P)``; ``kind`` is take, end, skip or epsilon.

    Edges of one ``choice`` between the same states must all match at one instant.
    """

    source: str
    target: str
    streams: tuple[str, ...]
    op: str
    gpm: str | None
    kind: str
    choice: int
    label: str


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
    """Everything `explain` tells about a query."""

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
    streams: tuple[StreamFacts, ...]
    shared: tuple[VariableFacts, ...]
    iterated: tuple[VariableFacts, ...]
    graphs: tuple[str, ...]
    any_graph: bool
    automaton: AutomatonFacts
    steps: tuple[StepFacts, ...]
    distribution: DistributionFacts
    warnings: tuple[WarningFacts, ...]


def explanation(query: CompiledQuery) -> Explanation:
    """Gather what there is to say about a query."""
    plan = query.rewritten
    spelling = Spelling.of(query.syntax.prologue)
    graphs = tuple(dict.fromkeys(name for gpm in plan.gpms for name in _graphs(gpm)))
    distribution = query.distribution
    return Explanation(
        version=VERSION,
        name=query.name,
        text=query.text,
        rewritten=rewritten_text(plan, query.syntax.prologue),
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
        steps=tuple(_step(query, index, step, spelling) for index, step in enumerate(plan.sequence.steps)),
        distribution=DistributionFacts(
            distribution.unit.value,
            distribution.variables,
            distribution.by_window,
            distribution.reason,
            distribution.cure,
        ),
        warnings=tuple(_warning(warning) for warning in query.warnings),
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


def _automaton(nfa: Nfa) -> AutomatonFacts:
    states = tuple(
        StateFacts(s.name, None if s.step is None else s.index + 1, s.index == 0, s.final) for s in nfa.states
    )
    return AutomatonFacts(states, tuple(_edge(nfa, edge) for edge in nfa.edges))


def _edge(nfa: Nfa, edge: Edge) -> EdgeFacts:
    names = nfa.states[edge.source].name, nfa.states[edge.target].name
    predicate = edge.predicate
    if predicate is None:
        return EdgeFacts(*names, (), "", None, "epsilon", edge.choice, "ε")
    kind = "skip" if edge.skips else "end" if predicate.op.startswith("!") else "take"
    return EdgeFacts(
        *names, predicate.streams, predicate.op, predicate.gpm, kind, edge.choice, str(predicate)
    )


# --- steps --------------------------------------------------------------------------------------


def _step(query: CompiledQuery, index: int, step: Step, spelling: Spelling) -> StepFacts:
    plan = query.rewritten
    here = tuple(gpms(step.element))
    aliases = {stream.iri: stream.alias for stream in plan.streams}
    minimum, maximum = _bounds(step)
    facts = tuple(_gpm(query, index, gpm, spelling) for gpm in here)
    return StepFacts(
        number=index + 1,
        text=step_text(step),
        element=element_text(step.element),
        operator=None if step.operator is None else step.operator.value,
        operator_name=None if step.operator is None else step.operator.word,
        quantifier=_quantifier(step),
        minimum=minimum,
        maximum=maximum,
        between=tuple(operator.value for operator in between(plan.sequence, index)),
        streams=tuple(dict.fromkeys(aliases[gpm.stream] for gpm in here)),
        gpms=facts,
        window=None if step.within is None else window_text(step.within),
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


def between(sequence: Sequence, index: int) -> tuple[Contiguity, ...]:
    """The operators between iterations of a step (SEMANTICS 1.5).

    Two where it depends on whether an optional step before it is taken.
    """
    quantifier = sequence.steps[index].quantifier
    if not isinstance(quantifier, Repeat):
        return ()
    earlier = [step for step in sequence.steps[:index] if not isinstance(step.quantifier, Absent)]
    first = () if any(step.positive for step in earlier) else (quantifier.operator(first_step=True),)
    later = (quantifier.operator(first_step=False),) if earlier else ()
    return tuple(dict.fromkeys(first + later))


def _gpm(query: CompiledQuery, index: int, gpm: Gpm, spelling: Spelling) -> GpmFacts:
    plan = query.rewritten
    written = next(each for each in query.algebra.gpms if each.name == gpm.name)
    waiting = [part.expression for part in gpm.stateful]
    local = [part for filter_ in written.filters for part in conjuncts(filter_) if part not in waiting]
    aliases = {stream.iri: stream.alias for stream in plan.streams}
    return GpmFacts(
        name=gpm.name,
        stream=aliases[gpm.stream],
        pattern=spelling.pattern(gpm.pattern),
        binds=bindable(gpm),
        joins=_joins(plan, index, gpm),
        filters=tuple(spelling.expression(part) for part in local),
        stateful=tuple(_stateful(plan, index, gpm, part, spelling) for part in gpm.stateful),
        per_iteration=tuple(name for name in bindable(gpm) if name in plan.iterated),
        graphs=tuple(dict.fromkeys(_graphs(gpm))),
    )


def _joins(query: EventQuery, index: int, gpm: Gpm) -> tuple[VariableFacts, ...]:
    """The variables on which a mapping of the GPM must agree, and with whose."""
    others = _met_by(query, index, gpm)
    rows = [(name, tuple(o.name for o in others if name in bindable(o))) for name in bindable(gpm)]
    return tuple(
        VariableFacts(name, binders) for name, binders in rows if binders and name not in query.iterated
    )


def _met_by(query: EventQuery, index: int, gpm: Gpm) -> tuple[Gpm, ...]:
    """The GPMs whose values a mapping of this one meets.

    Those of earlier steps and of its own conjunction; in a repetition also those of earlier iterations;
    for a negation in first place those of the step after it (SEMANTICS 1.6).
    """
    steps = query.sequence.steps
    step = steps[index]
    before = [s for s in steps[:index] if not isinstance(s.quantifier, Absent)]
    if not before and isinstance(step.quantifier, Absent):
        last = next(i for i, s in enumerate(steps) if s.positive)
        before = [s for s in steps[index + 1 : last + 1] if not isinstance(s.quantifier, Absent)]
    met = [other for s in before for other in gpms(s.element)]
    here = list(gpms(step.element))
    if isinstance(step.quantifier, Repeat):
        met += [other for other in here if other.name != gpm.name or _joins_itself(query, gpm)]
    else:
        met += [other for other in here if other.name in partners(query.sequence, gpm.name)]
    return tuple(met)


def _joins_itself(query: EventQuery, gpm: Gpm) -> bool:
    """True if some variable of a repeated GPM is shared, so that its iterations must agree on it."""
    return bool(query.shared & set(bindable(gpm)))


def _stateful(
    query: EventQuery, index: int, gpm: Gpm, part: StatefulPart, spelling: Spelling
) -> StatefulFacts:
    steps = query.sequence.steps
    earlier = [s for s in steps[:index] if not isinstance(s.quantifier, Absent)]
    around = partners(query.sequence, gpm.name)
    readable = [other for s in earlier for other in gpms(s.element)]
    readable += [other for other in gpms(steps[index].element) if other.name in around]
    over = [node.variable.name for node in walk(part.expression) if isinstance(node, Iterated)]
    counted = [node.gpm for node in walk(part.expression) if isinstance(node, IterationCount)]
    repeated = [g.name for g in query.gpms if set(bindable(g)) & set(over)]
    names = [
        name for name in result_variables(query.sequence) if name in expression_variables(part.expression)
    ]
    reads = [(name, tuple(o.name for o in readable if name in bindable(o))) for name in names]
    return StatefulFacts(
        text=stateful_text(part, spelling),
        reads=tuple(VariableFacts(name, binders) for name, binders in reads if binders),
        iterations=tuple(dict.fromkeys(repeated + counted)),
        skipped_first=getattr(part, "after_first", False),
    )
