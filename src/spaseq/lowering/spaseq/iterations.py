"""Functions over iterations (SEMANTICS 1.5): SPARQL's aggregate syntax with another meaning."""

from __future__ import annotations

from spaseq.algebra.events import Sequence
from spaseq.algebra.expressions import Aggregate, Expression, Iterated, IterationCount, Var, rebuild, walk
from spaseq.algebra.visibility import bindable, repeated_gpms
from spaseq.errors import listed
from spaseq.lowering.errors import (
    AggregateOutsideRepetition,
    IterationsNotYetKnown,
    PrevOutsidePattern,
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


def check_iterations(
    expression: Expression, sequence: Sequence, steps: dict[str, int], gpm: str | None, report: Report
) -> None:
    """Every function over iterations reads a repetition at or before ``gpm`` (None: the SELECT clause)."""
    repeated = repeated_gpms(sequence)
    known = listed(pattern.name for pattern in repeated)
    here = steps[gpm] if gpm is not None else len(sequence.steps)
    for node in walk(expression):
        if isinstance(node, Iterated):
            sources = [pattern for pattern in repeated if node.variable.name in bindable(pattern)]
            argument = f"?{node.variable.name}"
        elif isinstance(node, IterationCount):
            sources = [pattern for pattern in repeated if pattern.name == node.gpm]
            argument = node.gpm
        else:
            continue
        call = format_expression(node)
        if isinstance(node, Iterated) and node.name == "PREV":
            if all(pattern.name != gpm for pattern in sources):
                report.error(PrevOutsidePattern(span=node.span, name=node.variable.name))
        elif not sources:
            report.error(
                AggregateOutsideRepetition(span=node.span, call=call, argument=argument, known=known)
            )
        elif gpm is not None and all(steps[pattern.name] > here for pattern in sources):
            later = sources[0].name
            report.error(IterationsNotYetKnown(span=node.span, call=call, gpm=gpm, later=later))
