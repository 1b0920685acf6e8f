"""Functions over iterations (SEMANTICS 1.5): SPARQL's aggregate syntax with another meaning."""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.events import Permute, Repeat, Sequence, around, gpms
from spaseq.algebra.expressions import Aggregate, Expression, GpmFunction, Iterated, Var, rebuild, walk
from spaseq.algebra.visibility import bindable, partners, repeated_gpms
from spaseq.errors import listed
from spaseq.lowering.errors import (
    AggregateOutsideRepetition,
    IterationsNotYetKnown,
    NeedsHome,
    PrevInNegation,
    PrevOutsidePattern,
    UnknownStep,
    UnsupportedAggregate,
)
from spaseq.lowering.spaseq.report import Report
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
    """A sequence with the homes of its variables: what functions over iterations are checked against."""

    sequence: Sequence
    homes: frozenset[str]

    def order(self) -> dict[str, int]:
        """GPM name to its place in the text."""
        return {gpm.name: index for index, gpm in enumerate(gpms(self.sequence))}

    def is_known(self, name: str, gpm: str | None) -> bool:
        """True if events of ``name`` may have come before, or with, an event of ``gpm``."""
        if gpm is None or self.order()[name] <= self.order()[gpm]:
            return True
        together = {step.number for step in around(self.sequence, gpm)}
        return any(
            step.number in together
            and (isinstance(step.quantifier, Repeat) or isinstance(step.body, Permute))
            for step in around(self.sequence, name)
        ) or name in partners(self.sequence, gpm)


def _check_iterated(node: Iterated, query: Rough, gpm: str | None, report: Report) -> None:
    call, name = format_expression(node), node.variable.name
    repeated = repeated_gpms(query.sequence)
    sources = [pattern.name for pattern in repeated if name in bindable(pattern)]
    if node.name == "PREV":
        if gpm is not None and any(step.negated for step in around(query.sequence, gpm)):
            report.error(PrevInNegation(span=node.span, name=name, gpm=gpm))
        elif gpm not in sources:
            report.error(PrevOutsidePattern(span=node.span, name=name))
    elif not sources:
        known = listed(pattern.name for pattern in repeated)
        report.error(AggregateOutsideRepetition(span=node.span, call=call, argument=f"?{name}", known=known))
    elif not any(query.is_known(source, gpm) for source in sources):
        report.error(IterationsNotYetKnown(span=node.span, call=call, gpm=gpm, later=sources[0]))
    in_group = any(
        step.is_group and isinstance(step.quantifier, Repeat)
        for source in sources
        for step in around(query.sequence, source)
    )
    if in_group and name not in query.homes:
        report.error(NeedsHome(span=node.span, call=call, name=name))


def _check_gpm_function(node: GpmFunction, query: Rough, gpm: str | None, report: Report) -> None:
    call = format_expression(node)
    order = query.order()
    known = [name for name in order if not any(step.negated for step in around(query.sequence, name))]
    if node.name == "COUNT":
        repeated = [pattern.name for pattern in repeated_gpms(query.sequence)]
        if node.gpm not in repeated:
            report.error(
                AggregateOutsideRepetition(
                    span=node.span, call=call, argument=node.gpm, known=listed(repeated)
                )
            )
            return
    elif node.gpm not in known:
        reason = "it is negated" if node.gpm in order else "not in SEQ"
        report.error(UnknownStep(span=node.span, call=call, reason=reason, known=listed(known)))
        return
    if not query.is_known(node.gpm, gpm):
        report.error(IterationsNotYetKnown(span=node.span, call=call, gpm=gpm, later=node.gpm))
