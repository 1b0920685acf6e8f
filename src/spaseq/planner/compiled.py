"""A compiled query: what hosts know of it, and every stage from text to automaton as values that can be printed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from spaseq.algebra.events import AskForm, ConstructForm, EventQuery, Form, Gpm, SelectForm
from spaseq.algebra.expressions import Call, FunctionCall, Var, walk
from spaseq.algebra.intervals import IntervalQuery
from spaseq.algebra.operator_query import OperatorQuery, StreamPattern
from spaseq.algebra.patterns import Filter, Group
from spaseq.algebra.rules import RULES, Rule, rewrite
from spaseq.algebra.rules.keep_filters import keep_filters
from spaseq.algebra.rules.order_edges import order_edges
from spaseq.algebra.rules.push_filters import push_filters
from spaseq.algebra.rules.split_filters import split_filters
from spaseq.algebra.scope import pattern_expressions
from spaseq.algebra.structure import needed_gpms
from spaseq.algebra.visibility import every_pattern, gpm_patterns, graphs_read, knowledge_graphs
from spaseq.algebra.windows import WindowQuery
from spaseq.automaton import Automaton, compile_automaton
from spaseq.automaton.moves import TooManyWays, moves
from spaseq.errors import InvalidArgument, QueryError, QueryWarning, Span, did_you_mean, listed
from spaseq.languages.registry import Lowered, find_language, language_of
from spaseq.model.forms import CountLimit, ResultForm, Stream
from spaseq.planner.distribution import Distribution, RouteUnit, distribute
from spaseq.settings import settings
from spaseq.syntax.errors import TooDeep
from spaseq.syntax.parser import MAX_DEPTH


class TooManyMoves(QueryError):
    """Steps in a row that may be missing, with more ways past them than are compiled."""

    code = "SPQ526"
    message_template = "there are more than {limit:,} ways past the steps that may be missing"
    label_template = "too many `?`, `*` or `!` in a row"
    cure_template = "put a step that must occur between them, or leave some out; `SPASEQ_SETTINGS=max_moves={more}` allows more"


class NotPartitionable(QueryWarning):
    """A query that no key spreads over workers without changing its meaning."""

    code = "SPW102"
    message_template = "{extent}: {reason}"
    label_template = "cannot be partitioned"
    cure_template = "{cure}"


class UnboundedJoin(QueryWarning):
    """A join over time, an optional part or a path whose state grows with the stream."""

    code = "SPW801"
    message_template = "{join} keeps all that it may still join: its state grows as long as the stream does"
    label_template = "no bound on the duration"
    cure_template = 'say{where} how long an answer may last: FILTER(getDURATION() < "PT1H"^^xsd:duration)'


@dataclass(frozen=True, slots=True)
class Optimisations:
    """The papers' optimisations (SPAseq's section 7; SPECTRA), each with a switch: leaving any out changes the speed, no answer."""

    stream_index: bool = True
    """Runs indexed by what they wait for, and so by stream (7.2.2); without it every row visits every run."""
    join_index: bool = True
    """Runs indexed by the values they join on."""
    push_window: bool = True
    """Runs dropped when their window ends (7.2.1); without it the window is checked when they are extended."""
    push_stateful: bool = True
    """Conditions of one event decided with its pattern (7.2.1); without it when it meets a run."""
    lazy_conjunction: bool = True
    """A conjunction's other patterns looked for only at instants where the first one occurs (7.3)."""
    order_edges: bool = True
    """Cheap patterns of a conjunction first, by estimate at first and by what was seen later on (7.3)."""
    recycle_memory: bool = True
    """Arrays reused after a sweep (7.2.3)."""
    incremental: bool = True
    """The answers of a continuous query followed as triples come and go (SPECTRA); without it every evaluation begins anew."""

    @property
    def off(self) -> tuple[str, ...]:
        """What runs otherwise because a switch is off, in sentences."""
        return tuple(f"{name}: {then}" for name, then in _WITHOUT.items() if not getattr(self, name))

    @staticmethod
    def names() -> tuple[str, ...]:
        """The switches."""
        return tuple(field.name for field in fields(Optimisations))

    @staticmethod
    def without(*names: str) -> Optimisations:
        """All but these."""
        for name in names:
            if name not in Optimisations.names():
                known = Optimisations.names()
                raise InvalidArgument(
                    f"`{name}` is not an optimisation; there are {listed(known)}{did_you_mean(name, known)}"
                )
        return Optimisations(**dict.fromkeys(names, False))


_WITHOUT: Final = {
    "stream_index": "runs are not indexed by what they wait for; every row visits every run",
    "join_index": "runs are not indexed by the values they join on",
    "push_window": "runs are not dropped when their window ends; it is checked when they are extended",
    "push_stateful": "conditions of one event are decided when it meets a run, not with its pattern",
    "lazy_conjunction": "all patterns of a conjunction are looked for at every event",
    "order_edges": "patterns of a conjunction are looked for in the order of the text",
    "recycle_memory": "arrays are not reused after a sweep",
}
"""What a sequence runs like without an optimisation."""

ALL = Optimisations()


@dataclass(frozen=True, slots=True)
class SequencePlan:
    """What the planner makes of a query of the event algebra."""

    rewritten: EventQuery
    automaton: Automaton


@dataclass(frozen=True, slots=True, repr=False)
class CompiledQuery:
    """A query that was checked and compiled; immutable, and shared by all hosts."""

    text: str
    name: str
    language: str
    normal_text: str
    """The query's text without what carries no meaning: comments, layout, prefixes."""
    prefixes: tuple[tuple[str, str], ...]
    """The names that the text gives to IRIs."""
    form: ResultForm
    """What the query gives."""
    streams: tuple[Stream, ...]
    """The declared streams, in order."""
    patterns: tuple[StreamPattern, ...]
    """The graph patterns that events are matched with, as optimised."""
    knowledge: tuple[tuple[str, ...], bool]
    """The background graphs it names, and whether it reads all of them."""
    distribution: Distribution
    warnings: tuple[QueryWarning, ...]
    source: EventQuery | OperatorQuery
    """Straight from its language, before any rule: what the reference implementation evaluates."""
    plan: SequencePlan | None
    """The automaton that runs it; None if it names another operator."""
    optimisations: Optimisations = ALL
    circumstances: str = ""
    """What a run adds to the query that changes its state: a digest."""

    @property
    def counted(self) -> CountLimit | None:
        """What its operators on several workers count together."""
        return self.source.counted if isinstance(self.source, OperatorQuery) else None

    @property
    def algebra(self) -> EventQuery:
        """The query of the event algebra that its text means."""
        assert isinstance(self.source, EventQuery), f"{self.name} runs on no automaton"
        return self.source

    @property
    def rewritten(self) -> EventQuery:
        """The same query after all rules."""
        assert self.plan is not None, f"{self.name} runs on no automaton"
        return self.plan.rewritten

    @property
    def automaton(self) -> Automaton:
        """What runs it."""
        assert self.plan is not None, f"{self.name} runs on no automaton"
        return self.plan.automaton

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its patterns, in the order of the text."""
        if self.plan is None:
            return tuple(pattern.name for pattern in self.patterns)
        return self.plan.rewritten.names

    @property
    def needed(self) -> frozenset[str]:
        """The names of the patterns without which there is no match."""
        if self.plan is None:
            return frozenset()
        return frozenset(gpm.name for gpm in needed_gpms(self.plan.rewritten.sequence))

    @property
    def fingerprint(self) -> str:
        """What saved state and a query must agree on."""
        return hashlib.sha256((self.normal_text + self.circumstances).encode()).hexdigest()

    def __repr__(self) -> str:
        """One line: the name, the form and the sequence; `explain` shows the rest."""
        if self.plan is None:
            return f"<CompiledQuery {self.name}: {self.language} over {', '.join(self.names)}>"
        from spaseq.planner.explain.facts import explanation

        facts = explanation(self)
        found = " ".join(f"?{name}" for name in facts.results)
        text = f"{facts.form} {found}".strip() + f" SEQ ({facts.sequence})"
        return f"<CompiledQuery {self.name}: {text if len(text) <= 200 else text[:197] + '...'}>"

    def _repr_html_(self) -> str | None:
        """The drawn automaton, for notebooks; None if there is none."""
        if self.plan is None:
            return None
        from spaseq.planner.explain.facts import explanation
        from spaseq.planner.explain.html import to_fragment

        return to_fragment(explanation(self))

    def explain(self, format: str = "text") -> str:  # noqa: A002 - the public name
        """The plan, as text, json, mermaid, dot, svg or html."""
        from spaseq.planner.explain import explain

        return explain(self, format)


def compile_query(
    text: str,
    language: str | None = None,
    *,
    profile: str | None = None,
    name: str = "query",
    optimisations: Optimisations = ALL,
) -> CompiledQuery:
    """Parse, check, lower, rewrite and compile a query; `QueryError` says what is wrong and where.

    ``language`` is the name of the query's language; by default it is found by the extension of ``name`` if that is a
    file's, else by the words of the query. ``profile`` runs a text of RSEP-QL as another engine would.
    """
    found = compile_all(text, language, profile=profile, name=name, optimisations=optimisations)
    if len(found) > 1:
        raise InvalidArgument(
            f"this text has {len(found)} queries: `compile_all` compiles all of them, and each can be run by itself"
        )
    return found[0]


def compile_all(
    text: str,
    language: str | None = None,
    *,
    profile: str | None = None,
    name: str = "query",
    optimisations: Optimisations = ALL,
) -> tuple[CompiledQuery, ...]:
    """The queries of a text, in its order: one, but for a file of EP-SPARQL, which may have several over the same rules."""
    if not isinstance(text, str):
        raise InvalidArgument(f"a query is a text, not {text!r}; read a file with Path(…).read_text()")
    found = find_language(language) if language is not None else language_of(text, name)
    try:
        several = found.compiled(text, name, profile)
        return tuple(_compiled(text, name, found.name, each, optimisations) for each in several)
    except RecursionError:  # the parts of a long list nest, too: a thousand groups of a UNION, say
        deep = TooDeep(limit=MAX_DEPTH, span=Span(0, len(text)))
        deep.located(text, name)
        raise deep from None


def profiles_of(language: str) -> tuple[str, ...]:
    """The other engines as which texts of a language can be run."""
    return find_language(language).profiles


def _compiled(
    text: str, name: str, language: str, lowered: Lowered, optimisations: Optimisations
) -> CompiledQuery:
    source = lowered.query
    if isinstance(source, WindowQuery):
        from spaseq.planner.continuous import (  # loads columns, which others need not
            continuous_query,
            graphs_of,
        )

        knowledge = graphs_of(source)
        source = continuous_query(source)
        planned = _for_operator(source)._replace(knowledge=knowledge)
    elif isinstance(source, IntervalQuery):
        from spaseq.planner import over_intervals
        from spaseq.planner.interval_operators import growing

        knowledge = over_intervals.graphs_of(source)
        unbounded = growing(source)
        source = over_intervals.interval_query(source)
        planned = _for_operator(source)._replace(
            knowledge=knowledge,
            warnings=() if unbounded is None else (_unbounded(unbounded[0].name, unbounded[1]),),
        )
    elif isinstance(source, OperatorQuery):
        planned = _for_operator(source)
    else:
        planned = _for_automaton(source, lowered, text, name, optimisations)
    warnings = (*lowered.warnings, *planned.warnings, *_warnings(lowered, planned.distribution))
    for warning in warnings:
        warning.located(text, name)
    return CompiledQuery(
        text=text,
        name=name,
        language=language,
        normal_text=lowered.normal_text,
        prefixes=lowered.prefixes,
        form=planned.form,
        streams=source.streams,
        patterns=planned.patterns,
        knowledge=planned.knowledge,
        distribution=planned.distribution,
        warnings=tuple(sorted(warnings, key=lambda warning: (warning.span.start, warning.code))),
        source=source,
        plan=planned.plan,
        optimisations=optimisations,
    )


def _unbounded(operator: str, span: Span) -> UnboundedJoin:
    """What is said of an operator of EP-SPARQL whose state grows."""
    optional = operator in ("OPTIONAL", "OPTIONALSEQ")
    where = " inside the optional group" if optional else ""
    return UnboundedJoin(span=span, join="a path" if operator == "path" else operator, where=where)


class _Planned(NamedTuple):
    """What depends on which operator runs a query."""

    form: ResultForm
    patterns: tuple[StreamPattern, ...]
    knowledge: tuple[tuple[str, ...], bool]
    distribution: Distribution
    warnings: tuple[QueryWarning, ...] = ()
    plan: SequencePlan | None = None


def _for_automaton(
    query: EventQuery, lowered: Lowered, text: str, name: str, optimisations: Optimisations
) -> _Planned:
    rewritten = rewrite(query, _rules(optimisations))
    automaton = compile_automaton(rewritten)
    _check_moves(automaton, lowered, text, name)
    return _Planned(
        _form(rewritten.form),
        tuple(StreamPattern(gpm.name, gpm.stream, gpm.pattern, gpm.span) for gpm in rewritten.gpms),
        knowledge_graphs(rewritten),
        distribute(rewritten, automaton),
        outside_fast_path(rewritten),
        SequencePlan(rewritten, automaton),
    )


def operator_distribution(query: OperatorQuery) -> Distribution:
    """How the rows of a query go apart that names its operator."""
    unit = RouteUnit.WHOLE
    if query.key:
        unit = RouteUnit.KEY_AND_TICKS if query.instants_everywhere else RouteUnit.KEY
    elif query.stretches is not None:
        unit = RouteUnit.EVALUATION
    return Distribution(
        unit,
        query.key,
        False,
        query.reason,
        query.cure,
        stretches=query.stretches,
    )


def _for_operator(query: OperatorQuery) -> _Planned:
    return _Planned(
        query.form,
        query.patterns,
        graphs_read(part for each in query.patterns for part in every_pattern(each.pattern)),
        operator_distribution(query),
    )


def _form(form: Form) -> ResultForm:
    match form:
        case SelectForm(distinct=distinct):
            return ResultForm("select", form.variables, distinct)
        case ConstructForm(template):
            nodes = (node for t in template for node in (t.subject, t.predicate, t.object))
            names = (node.name for node in nodes if isinstance(node, Var) and not node.hidden)
            return ResultForm("construct", tuple(dict.fromkeys(names)))
        case AskForm():
            return ResultForm("ask")


def _check_moves(automaton: Automaton, lowered: Lowered, text: str, name: str) -> None:
    try:
        moves(automaton)
    except TooManyWays:
        limit = settings().max_moves
        error = TooManyMoves(span=lowered.pattern, limit=limit, more=10 * limit)
        error.located(text, name)
        raise error from None


def _rules(optimisations: Optimisations) -> tuple[Rule, ...]:
    """The rules that the switches leave, in their order."""
    rules = [rule for rule in RULES if optimisations.order_edges or rule is not order_edges]
    if not optimisations.push_stateful:
        rules = [keep_filters, *(rule for rule in rules if rule not in (split_filters, push_filters))]
    return tuple(rules)


def _warnings(lowered: Lowered, distribution: Distribution) -> tuple[QueryWarning, ...]:
    if distribution.unit is not RouteUnit.WHOLE:
        return ()
    if distribution.by_window:
        extent = "without a key only windows run apart"
    elif distribution.by_slice:
        extent = "without a key the query runs in one piece on a stream, and only by slices of time on Spark over files"
    else:
        extent = "the query runs in one piece"
    given = {"reason": distribution.reason, "cure": distribution.cure}
    return (NotPartitionable(span=lowered.pattern, extent=extent, **given),)


class OutsideFastPath(QueryWarning):
    """A pattern with a part that the columns cannot compute; pyoxigraph does, exactly but slower."""

    code = "SPW103"
    message_template = "pattern `{gpm}` leaves the fast path with {parts}: {reason}"
    label_template = "not computed by columns alone"
    cure_template = "the result is exact; for speed on large streams, compare plain values instead"


def outside_fast_path(query: EventQuery) -> tuple[QueryWarning, ...]:
    """One warning for each pattern that pyoxigraph has to help with."""
    return tuple(warning for gpm in query.gpms for warning in _fallbacks_of(gpm))


def _fallbacks_of(gpm: Gpm) -> tuple[QueryWarning, ...]:
    if not _may_need_help(gpm):
        return ()
    from spaseq.columnar.needs import fallbacks  # loads numpy, which most queries do not need yet

    pattern = gpm.pattern
    for part in gpm.stateful:
        pattern = Filter(pattern, part.expression)
    found = fallbacks(pattern)
    reasons = dict.fromkeys(each.reason for each in found)
    return tuple(
        OutsideFastPath(
            span=gpm.span,
            gpm=gpm.name,
            parts=listed(f"`{each.part}`" for each in found if each.reason == reason),
            reason=reason,
        )
        for reason in reasons
    )


def _may_need_help(gpm: Gpm) -> bool:
    """True if the GPM calls a function or groups; plain patterns and comparisons never need help."""
    patterns = list(gpm_patterns(gpm))
    expressions = [expression for pattern in patterns for expression in pattern_expressions(pattern)]
    expressions += [part.expression for part in gpm.stateful]
    calls = any(isinstance(node, (Call, FunctionCall)) for e in expressions for node in walk(e))
    return calls or any(isinstance(pattern, Group) for pattern in patterns)
