"""A compiled query: every stage from text to automaton, kept as values (P2: each can be printed)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields

from spaseq.algebra.events import AskForm, ConstructForm, EventQuery, Form, SelectForm
from spaseq.algebra.expressions import Var
from spaseq.algebra.rules import RULES, Rule, rewrite
from spaseq.algebra.rules.keep_filters import keep_filters
from spaseq.algebra.rules.order_edges import order_edges
from spaseq.algebra.rules.push_filters import push_filters
from spaseq.algebra.rules.split_filters import split_filters
from spaseq.algebra.structure import needed_gpms
from spaseq.algebra.visibility import knowledge_graphs
from spaseq.automaton import Automaton, compile_automaton
from spaseq.automaton.moves import TooManyWays, moves
from spaseq.errors import InvalidArgument, QueryError, QueryWarning, did_you_mean, listed
from spaseq.languages.registry import Lowered, find_language, language_of
from spaseq.model.forms import ResultForm, Stream
from spaseq.planner.distribution import Distribution, Unit, distribute
from spaseq.planner.fast_path import outside_fast_path
from spaseq.settings import settings


class TooManyMoves(QueryError):
    """Steps in a row that may be missing, with more ways past them than are compiled."""

    code = "SPQ526"
    message_template = "there are more than {limit:,} ways past the steps that may be missing"
    label_template = "too many `?`, `*` or `!` in a row"
    cure_template = "put a step that must occur between them, or leave some out; `SPASEQ_SETTINGS=max_moves={more}` allows more"


class NotPartitionable(QueryWarning):
    """A query that cannot be spread over workers without changing its meaning."""

    code = "SPW102"
    message_template = "the query runs in one piece: {reason}"
    label_template = "cannot be partitioned"
    cure_template = "{cure}"


@dataclass(frozen=True, slots=True)
class Optimisations:
    """The paper's optimisations (section 7), each with a switch: leaving any out changes the speed, no answer."""

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
                    f"`{name}` is not an optimisation{did_you_mean(name, known)}; there are {listed(known)}"
                )
        return Optimisations(**dict.fromkeys(names, False))


ALL = Optimisations()


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
    algebra: EventQuery
    """Straight from lowering, before any rule: what the reference implementation evaluates."""
    rewritten: EventQuery
    automaton: Automaton
    distribution: Distribution
    warnings: tuple[QueryWarning, ...]
    optimisations: Optimisations = ALL

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The declared streams, in order."""
        return self.rewritten.streams

    @property
    def knowledge(self) -> tuple[tuple[str, ...], bool]:
        """The background graphs it names, and whether it reads all of them."""
        return knowledge_graphs(self.rewritten)

    @property
    def needed(self) -> frozenset[str]:
        """The names of the GPMs without which there is no match."""
        return frozenset(gpm.name for gpm in needed_gpms(self.rewritten.sequence))

    @property
    def fingerprint(self) -> str:
        """What saved state and a query must agree on."""
        return hashlib.sha256(self.normal_text.encode()).hexdigest()

    def __repr__(self) -> str:
        """One line: the name, the form and the sequence; `explain` shows the rest."""
        from spaseq.planner.explain.facts import explanation

        facts = explanation(self)
        found = " ".join(f"?{name}" for name in facts.results)
        text = f"{facts.form} {found}".strip() + f" SEQ ({facts.sequence})"
        return f"<CompiledQuery {self.name}: {text if len(text) <= 200 else text[:197] + '...'}>"

    def _repr_html_(self) -> str:
        """The drawn automaton, for notebooks."""
        from spaseq.planner.explain.facts import explanation
        from spaseq.planner.explain.html import to_fragment

        return to_fragment(explanation(self))

    def explain(self, format: str = "text") -> str:  # noqa: A002 - the public name
        """The plan, as text, json, mermaid, dot, svg or html."""
        from spaseq.planner.explain import explain

        return explain(self, format)


def compile_query(
    text: str, language: str | None = None, *, name: str = "query", optimisations: Optimisations = ALL
) -> CompiledQuery:
    """Parse, check, lower, rewrite and compile a query; `QueryError` says what is wrong and where.

    ``language`` is the name of the query's language; by default it is found by the extension of ``name`` if that is a
    file's, else by the words of the query.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"a query is a text, not {text!r}; read a file with Path(…).read_text()")
    found = find_language(language) if language is not None else language_of(text, name)
    lowered = found.compile(text, name)
    rewritten = rewrite(lowered.query, _rules(optimisations))
    automaton = compile_automaton(rewritten)
    _check_moves(automaton, lowered, text, name)
    distribution = distribute(rewritten)
    warnings = (*lowered.warnings, *_warnings(lowered, distribution), *outside_fast_path(rewritten))
    for warning in warnings:
        warning.located(text, name)
    return CompiledQuery(
        text=text,
        name=name,
        language=found.name,
        normal_text=lowered.normal_text,
        prefixes=lowered.prefixes,
        form=_form(rewritten.form),
        algebra=lowered.query,
        rewritten=rewritten,
        automaton=automaton,
        distribution=distribution,
        warnings=tuple(sorted(warnings, key=lambda warning: (warning.span.start, warning.code))),
        optimisations=optimisations,
    )


def _form(form: Form) -> ResultForm:
    match form:
        case SelectForm(items, distinct):
            return ResultForm("select", tuple(item.variable.name for item in items), distinct)
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
    if distribution.unit is not Unit.WHOLE:
        return ()
    return (NotPartitionable(span=lowered.pattern, reason=distribution.reason, cure=distribution.cure),)
