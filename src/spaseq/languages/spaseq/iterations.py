"""Functions over iterations (semantics 1.5): SPARQL's aggregate syntax with another meaning."""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.events import Permute, Repeat, Sequence
from spaseq.algebra.expressions import Aggregate, Expression, GpmFunction, Iterated, Var, rebuild, walk
from spaseq.algebra.rules.classify_variables import homes
from spaseq.algebra.visibility import Visibility
from spaseq.errors import listed
from spaseq.languages.report import Report
from spaseq.languages.spaseq.errors import (
    AggregateOutsideRepetition,
    IterationsNotYetKnown,
    NeedsHome,
    PrevInNegation,
    PrevOutsidePattern,
    UnknownStep,
    UnsupportedAggregate,
)
from spaseq.syntax.printer import format_expression

OVER_ITERATIONS = frozenset({"SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT"})


def over_iterations(expression: Expression, report: Report) -> Expression:
    """The expression with aggregates read as functions over iterations."""
    if isinstance(expression, Aggregate):
        operand = expression.operand
        if expression.name in OVER_ITERATIONS and isinstance(operand, Var) and not expression.distinct:
            return Iterated(expression.name, operand, expression.separator, span=expression.span)
        report.error(UnsupportedAggregate(span=expression.span, call=format_expression(expression)))
        return expression
    return rebuild(expression, lambda part: over_iterations(part, report))


def check_iterations(expression: Expression, query: Rough, gpm: str | None, report: Report) -> None:
    """Every function over iterations reads what is known where it stands (``gpm`` None: the SELECT clause)."""
    for node in walk(expression):
        if isinstance(node, Iterated):
            _check_iterated(node, query, gpm, report)
        elif isinstance(node, GpmFunction):
            _check_gpm_function(node, query, gpm, report)


@dataclass(frozen=True, slots=True)
class Rough:
    """Where GPMs stand, and the variables that have a home: what functions over iterations are checked against."""

    visibility: Visibility
    homes: frozenset[str]

    @staticmethod
    def of(sequence: Sequence, partition: tuple[str, ...]) -> Rough:
        visibility = Visibility(sequence, partition)
        return Rough(visibility, frozenset(homes(visibility, partition)))

    def is_known(self, name: str, gpm: str | None) -> bool:
        """True if events of ``name`` may have come before, or with, an event of ``gpm``."""
        place = self.visibility
        if gpm is None or place.order(name) <= place.order(gpm):
            return True
        together = {step.number for step in place.around(gpm)}
        return any(
            step.number in together
            and (isinstance(step.quantifier, Repeat) or isinstance(step.body, Permute))
            for step in place.around(name)
        ) or place.together(gpm, name)


def _check_iterated(node: Iterated, query: Rough, gpm: str | None, report: Report) -> None:
    call, name = format_expression(node), node.variable.name
    place = query.visibility
    sources = [source for source in place.binders(name) if place.repetitions(source)]
    if node.name == "PREV":
        if gpm is not None and place.negated(gpm):
            report.error(PrevInNegation(span=node.span, name=name, gpm=gpm))
        elif gpm not in sources:
            report.error(PrevOutsidePattern(span=node.span, name=name))
    elif not sources:
        known = listed(place.repeated())
        report.error(AggregateOutsideRepetition(span=node.span, call=call, argument=f"?{name}", known=known))
    elif not any(query.is_known(source, gpm) for source in sources):
        report.error(IterationsNotYetKnown(span=node.span, call=call, gpm=gpm, later=sources[0]))
    in_group = any(
        step.is_group and isinstance(step.quantifier, Repeat)
        for source in sources
        for step in place.around(source)
    )
    if in_group and name not in query.homes:
        report.error(NeedsHome(span=node.span, call=call, name=name))


def _check_gpm_function(node: GpmFunction, query: Rough, gpm: str | None, report: Report) -> None:
    call = format_expression(node)
    place = query.visibility
    if node.name == "COUNT":
        if not place.repetitions(node.gpm):
            known = listed(place.repeated())
            report.error(
                AggregateOutsideRepetition(span=node.span, call=call, argument=node.gpm, known=known)
            )
            return
    elif node.gpm not in place.gpms or place.negated(node.gpm):
        known = listed(name for name in place.gpms if not place.negated(name))
        reason = "it is negated" if node.gpm in place.gpms else "not in SEQ"
        report.error(UnknownStep(span=node.span, call=call, reason=reason, known=known))
        return
    if not query.is_known(node.gpm, gpm):
        report.error(IterationsNotYetKnown(span=node.span, call=call, gpm=gpm, later=node.gpm))
