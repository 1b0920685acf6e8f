"""Checks on variables: every one that is read can be bound, by a step that is allowed to bind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from spaseq.algebra.events import Assignment, Gpm, Sequence, gpms
from spaseq.algebra.expressions import Exists, Expression, Iterated, Var, conjuncts, walk
from spaseq.algebra.rules.split_filters import is_stateful
from spaseq.algebra.scope import certainly_bound, in_scope, pattern_expressions
from spaseq.algebra.visibility import (
    Visibility,
    bindable,
    every_pattern,
    key_triples,
    patterns_in,
    result_variables,
)
from spaseq.errors import Span, did_you_mean, listed
from spaseq.languages.report import Report
from spaseq.languages.spaseq import tree
from spaseq.languages.spaseq.errors import (
    AssignsBoundVariable,
    ExistsNeedsEvent,
    HiddenByNegation,
    LooksAhead,
    NestedStatefulPart,
    PartitionVariableTwice,
    UnboundPartition,
    UnboundSelection,
    UnboundTemplate,
    UnboundVariable,
)
from spaseq.languages.spaseq.gpm import TopLevelBind, spans_of
from spaseq.languages.spaseq.iterations import Rough, check_iterations
from spaseq.syntax import ast


@dataclass(frozen=True, slots=True)
class Variables:
    """Who binds what in one sequence, and where the findings go."""

    sequence: Sequence
    report: Report
    rough: Rough

    @property
    def all_gpms(self) -> tuple[Gpm, ...]:
        return tuple(gpms(self.sequence))

    @property
    def visibility(self) -> Visibility:
        return self.rough.visibility

    # --- inside a GPM ---------------------------------------------------------------------------

    def check_gpm(self, gpm: Gpm, binds: tuple[TopLevelBind, ...]) -> None:
        """All variables that the parts of one GPM read."""
        own = frozenset(bindable(gpm))
        for condition in gpm.filters:
            self._check_top_level(condition, gpm, lambda name: name in own or self._sees(gpm, name))
        for bind in binds:
            self._check_top_level(bind.expression, gpm, bind.readable)
        self._check_nested(gpm, spans_of(binds))
        self._check_assignments(gpm)
        self._check_stateful_exists(gpm)

    def _check_stateful_exists(self, gpm: Gpm) -> None:
        """EXISTS has the event's graph at hand; a part that waits for other events has not."""
        certain = certainly_bound(gpm.pattern)

        def outside(name: str) -> bool:
            return name not in certain and self.visibility.decided_outside(gpm.name, name)

        parts = [part for condition in gpm.filters for part in conjuncts(condition)]
        stateful = [part for part in parts if is_stateful(part, outside)]
        for part in (*stateful, *(part.expression for part in gpm.stateful)):
            self._check_no_exists(part, f"this condition of `{gpm.name}` waits for others")

    def _check_no_exists(self, expression: Expression, what: str) -> None:
        for node in walk(expression):
            if isinstance(node, Exists):
                self.report.error(ExistsNeedsEvent(span=node.span, what=what))

    def _sees(self, gpm: Gpm, name: str) -> bool:
        return self.visibility.sees(gpm.name, name)

    def _check_top_level(self, expression: Expression, gpm: Gpm, readable: Callable[[str], bool]) -> None:
        check_iterations(expression, self.rough, gpm.name, self.report)
        own_check = self._iterated_spans(expression)
        for node in walk(expression):
            if not isinstance(node, Var) or node.hidden or node.span in own_check:
                continue
            if not readable(node.name):
                self._report_unreadable(node, gpm)

    @staticmethod
    def _iterated_spans(expression: Expression) -> frozenset[Span]:
        """The places of arguments of functions over iterations; those have their own check."""
        return frozenset(n.variable.span for n in walk(expression) if isinstance(n, Iterated))

    def _report_unreadable(self, node: Var, gpm: Gpm) -> None:
        place = self.visibility
        others = [name for name in place.binders(node.name) if name != gpm.name]
        here = place.order(gpm.name)
        later = [name for name in others if place.order(name) > here and not place.negated(name)]
        hidden = [name for name in others if place.negated(name)]
        if later:
            self.report.error(LooksAhead(span=node.span, name=node.name, gpm=gpm.name, later=later[0]))
        elif hidden:
            self.report.error(HiddenByNegation(span=node.span, name=node.name, gpm=hidden[0]))
        else:
            known = place.seen(gpm.name) | set(bindable(gpm))
            hint = _did_you_mean(node.name, known)
            self.report.error(UnboundVariable(span=node.span, name=node.name, gpm=gpm.name, hint=hint))

    def _check_nested(self, gpm: Gpm, checked: frozenset[Span]) -> None:
        """Nested groups see their own GPM only; naming another step's variable there is an error."""
        nested = [*every_pattern(gpm.pattern), *(p for c in gpm.filters for p in patterns_in(c))]
        own = {name for pattern in nested for name in in_scope(pattern)}
        expressions = [expression for pattern in nested for expression in pattern_expressions(pattern)]
        for expression in expressions:
            for node in walk(expression):
                variable = node.variable if isinstance(node, Iterated) else node
                if not isinstance(variable, Var) or variable.hidden or node.span in checked:
                    continue
                if variable.name not in own or isinstance(node, Iterated):
                    self._report_nested(variable, gpm)
        self._check_exists(gpm)

    def _check_exists(self, gpm: Gpm) -> None:
        """A variable of an EXISTS pattern that only another step binds would look joined and not be."""
        top = set(in_scope(gpm.pattern))
        for condition in gpm.filters:
            for node in walk(condition):
                if not isinstance(node, Exists):
                    continue
                for pattern in patterns_in(node):
                    for name in in_scope(pattern):
                        others = [o for o in self.visibility.binders(name) if o != gpm.name]
                        if name not in top and others and not name.startswith("_:"):
                            self.report.error(
                                NestedStatefulPart(span=node.span, name=name, gpm=gpm.name, other=others[0])
                            )

    def _report_nested(self, variable: Var, gpm: Gpm) -> None:
        others = [name for name in self.visibility.binders(variable.name) if name != gpm.name]
        if others:
            self.report.error(
                NestedStatefulPart(span=variable.span, name=variable.name, gpm=gpm.name, other=others[0])
            )
        else:
            self._report_unreadable(variable, gpm)

    def _check_assignments(self, gpm: Gpm) -> None:
        for part in gpm.stateful:
            if not isinstance(part, Assignment):
                continue
            name = part.variable.name
            if name in in_scope(gpm.pattern):
                other = gpm.name
            elif self._sees(gpm, name):
                other = self.visibility.binders(name)[0]
            else:
                continue
            self.report.error(AssignsBoundVariable(span=part.variable.span, name=name, other=other))

    # --- outside the GPMs -----------------------------------------------------------------------

    def check_select(self, clause: ast.SelectClause, expressions: dict[str, Expression]) -> None:
        """The variables of SELECT; ``expressions`` are its lowered expressions by alias.

        That every alias is new is a rule of SPARQL, checked when the text is parsed.
        """
        taken = set(result_variables(self.sequence))
        for item in clause.items or ():
            name = item.variable.name
            if item.expression is None:
                self._check_result(item.variable, taken, UnboundSelection)
                continue
            expression = expressions[name]
            check_iterations(expression, self.rough, None, self.report)
            self._check_no_exists(expression, "SELECT speaks of a whole match")
            skipped = self._iterated_spans(expression)
            for node in walk(expression):
                if isinstance(node, Var) and node.span not in skipped:
                    self._check_result(node, taken, UnboundSelection)
            taken.add(name)

    def check_template(self, template: tree.Construct) -> None:
        known = set(result_variables(self.sequence))
        for triple in template.template:
            for node in (triple.subject, triple.predicate, triple.object):
                if isinstance(node, Var) and not node.hidden:
                    self._check_result(node, known, UnboundTemplate)

    def _check_result(
        self, node: Var, known: set[str], error: type[UnboundSelection] | type[UnboundTemplate]
    ) -> None:
        if node.name in known:
            return
        hidden = [name for name in self.visibility.binders(node.name) if self.visibility.negated(name)]
        if hidden:
            self.report.error(HiddenByNegation(span=node.span, name=node.name, gpm=hidden[0]))
            return
        hint = _did_you_mean(node.name, known)
        shown = listed(f"?{name}" for name in result_variables(self.sequence))
        self.report.error(error(span=node.span, name=node.name, known=shown, hint=hint))

    def check_partition(self, variables: tuple[Var, ...]) -> None:
        """Every key is read from a triple of every GPM's event (semantics 1.9)."""
        seen: set[str] = set()
        for variable in variables:
            if variable.name in seen:
                self.report.error(PartitionVariableTwice(span=variable.span, name=variable.name))
            seen.add(variable.name)
            for gpm in self.all_gpms:
                if not key_triples(gpm, variable.name):
                    hint = _did_you_mean(variable.name, self._keys() - {variable.name})
                    self.report.error(
                        UnboundPartition(span=variable.span, name=variable.name, gpm=gpm.name, hint=hint)
                    )
                    break

    def _keys(self) -> set[str]:
        """The variables that every GPM reads from its event."""
        candidates = {name for gpm in self.all_gpms for name in bindable(gpm)}
        return {n for n in candidates if all(key_triples(gpm, n) for gpm in self.all_gpms)}


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest variable, spelled as one."""
    return did_you_mean(f"?{name}", [f"?{other}" for other in sorted(known)])
