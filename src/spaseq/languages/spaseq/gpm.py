"""DEFINE GPM: a group graph pattern becomes what the event alone decides, plus its stateful parts.

A top-level FILTER or BIND may read variables of earlier steps (semantics 1.4). FILTERs stay aside as a
whole, for the rule `split_filters`; a BIND that reads earlier steps leaves the pattern here, because the
pattern would mean something else with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from spaseq.algebra.events import Assignment, Gpm
from spaseq.algebra.expressions import Expression, walk
from spaseq.algebra.rules.split_filters import is_stateful
from spaseq.algebra.scope import certainly_bound, in_scope
from spaseq.algebra.visibility import Visibility
from spaseq.errors import Span
from spaseq.languages.report import Report
from spaseq.languages.sparql import lower_expression, lower_group, lower_group_parts
from spaseq.languages.spaseq import tree
from spaseq.languages.spaseq.iterations import over_iterations
from spaseq.syntax import ast


def lower_whole(definition: tree.GpmDefinition, stream: str, report: Report) -> Gpm:
    """The GPM with every BIND still in its pattern: enough to know which variables it may bind."""
    pattern, _ = lower_group_parts(definition.pattern)
    return Gpm(
        definition.name, stream, pattern, filters=_filters(definition, report), span=definition.name_span
    )


def _filters(definition: tree.GpmDefinition, report: Report) -> tuple[Expression, ...]:
    if isinstance(definition.pattern, ast.SubSelect):
        return ()
    return tuple(
        lower_expression(over_iterations(element.condition, report))
        for element in definition.pattern.elements
        if isinstance(element, ast.FilterClause)
    )


@dataclass(frozen=True, slots=True)
class TopLevelBind:
    """A BIND at the top of a GPM, as the variable checks need it."""

    expression: Expression
    readable: Callable[[str], bool]
    """The variables it can read: those bound before it in the pattern and, if stateful, earlier ones."""


def separate_binds(
    gpm: Gpm, definition: tree.GpmDefinition, visibility: Visibility, report: Report
) -> tuple[Gpm, tuple[TopLevelBind, ...]]:
    """The GPM with its stateful BINDs taken out of the pattern, and all its top-level BINDs."""
    if isinstance(definition.pattern, ast.SubSelect):
        return gpm, ()
    kept: list[ast.GroupElement] = []
    stateful: list[Assignment] = []
    binds: list[TopLevelBind] = []
    for element in definition.pattern.elements:
        if isinstance(element, ast.FilterClause):
            continue
        if not isinstance(element, ast.BindClause):
            kept.append(element)
            continue
        before = lower_group(ast.Group(tuple(kept)))
        expression = lower_expression(over_iterations(element.expression, report))
        own, certain = frozenset(in_scope(before)), certainly_bound(before)
        earlier = _Earlier(visibility, gpm.name, frozenset(part.variable.name for part in stateful))
        if is_stateful(expression, replace(earlier, but=certain)):
            stateful.append(Assignment(element.variable, expression, span=element.span))
            binds.append(TopLevelBind(expression, replace(earlier, own=own)))
        else:
            kept.append(element)
            binds.append(TopLevelBind(expression, own.__contains__))
    pattern = lower_group(ast.Group(tuple(kept)))
    return replace(gpm, pattern=pattern, stateful=tuple(stateful)), tuple(binds)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """Which variables a BIND may read from earlier steps, or from BINDs before it that do."""

    visibility: Visibility
    gpm: str
    assigned: frozenset[str]
    own: frozenset[str] = frozenset()
    but: frozenset[str] = frozenset()

    def __call__(self, name: str) -> bool:
        return name not in self.but and (
            name in self.own or name in self.assigned or self.visibility.decided_outside(self.gpm, name)
        )


def spans_of(binds: tuple[TopLevelBind, ...]) -> frozenset[Span]:
    """The places of the expressions that were already checked as top-level BINDs."""
    return frozenset(node.span for bind in binds for node in walk(bind.expression))
