"""Triple patterns and paths as views."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import count, product
from typing import Final

import numpy as np

from spaseq.algebra.by_place import EVERYTHING
from spaseq.algebra.expressions import Call, Constant, Exists, Expression, In, Unary, Var, rebuild
from spaseq.algebra.intervals import Policy
from spaseq.algebra.path_lengths import may_be_empty, proper_walks
from spaseq.algebra.patterns import (
    Bgp,
    Graph,
    Inverse,
    Link,
    NegatedSet,
    Node,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    Pattern,
    Relation,
    TriplePattern,
)
from spaseq.algebra.scope import expression_variables, in_scope, lowered
from spaseq.columnar.knowledge import Knowledge
from spaseq.intervals.bounds import over_columns
from spaseq.intervals.conjunction import ConjoinedSolutions
from spaseq.intervals.interval_joins import Partners, RowColumns
from spaseq.intervals.interval_rows import Ids
from spaseq.intervals.schema import Schema, as_it_is, whole_background
from spaseq.intervals.solution_views import (
    TRACE,
    CopyView,
    FilteredSolutions,
    LaggingView,
    NewOccurrences,
    OccurrenceView,
    ProjectedSolutions,
    SolutionView,
    TimelessView,
    UnitedSolutions,
    is_trace,
)
from spaseq.intervals.substituted import SubstitutedPartners
from spaseq.intervals.timed_expressions import Test, TimedEvaluator
from spaseq.intervals.traces import TracedWalkView, Tracer
from spaseq.intervals.walks import FROM, TO, WalkView
from spaseq.model.dictionary import TermDictionary
from spaseq.model.ordered import each_once

_HIDDEN: Final = ("#", "_:")
"""How the names of columns begin that are no variables of a solution."""


class TripleBuilder(ABC):
    """Builds the views of basic graph patterns over one stream of occurrences and the background.

    ``lagging`` builds the left side of a sequence such that it may look at occurrences which the same rules produce.
    """

    def __init__(
        self,
        dictionary: TermDictionary,
        knowledge: Knowledge,
        evaluator: TimedEvaluator,
        *,
        lagging: bool = False,
        tracer: Tracer | None = None,
        policy: Policy = Policy.UNRESTRICTED,
    ) -> None:
        self._tracer, self._policy = tracer, policy
        self._dictionary, self._knowledge, self._evaluator = dictionary, knowledge, evaluator
        self._lagging = lagging
        self._schema = Schema.of(knowledge)
        self._whole = whole_background(knowledge)
        self._graph_name: Constant | None = None
        """The graph of the GRAPH clause that is being built."""
        self._number = count()
        self.occurrences: dict[TriplePattern, NewOccurrences] = {}
        """The triple patterns that occurrences are matched with, by place."""

    @property
    def _active(self) -> Knowledge:
        """The background that a triple pattern reads here."""
        return self._whole if self._graph_name is None else self._knowledge

    @abstractmethod
    def _partners(self, rows: RowColumns, pattern: Pattern, *, late: bool) -> Partners | SubstitutedPartners:
        """The solutions that EXISTS looks for."""

    def _test(self, expression: Expression, rows: RowColumns | None = None, *, late: bool = False) -> Test:
        """An expression over rows of this kind, which must be known if it has EXISTS in it."""
        exists: dict[str, Partners | SubstitutedPartners] = {}

        def changed(node: Expression) -> Expression:
            if not isinstance(node, Exists):
                return rebuild(node, changed)
            assert rows is not None
            column = f"#exists{next(self._number)}"
            exists[column] = self._partners(rows, lowered(node.pattern), late=late)
            return Unary("!", Var(column)) if node.negated else Var(column)

        return Test(over_columns(changed(expression)), self._evaluator, exists)

    def _joined(
        self,
        views: Sequence[SolutionView],
        relation: Relation | None,
        longest: int | None,
        conditions: list[Expression],
    ) -> SolutionView:
        """The join of several views; conditions are asked as soon as their variables are there."""
        if relation is Relation.SEQ and self._policy is not Policy.UNRESTRICTED:
            longest, conditions = None, []  # filters outside the operands act after the choice
        views = [self._filtered(view, conditions) for view in views]
        if len(views) == 1:
            return views[0]
        certain = frozenset[str]().union(*(view.certain for view in views))
        own = [each for each in conditions if expression_variables(each) <= certain]
        conditions[:] = [each for each in conditions if each not in own]
        tests = [self._test(each) for each in own]
        policy = self._policy if relation is Relation.SEQ else Policy.UNRESTRICTED
        return ConjoinedSolutions(views, relation=relation, tests=tests, longest=longest, policy=policy)

    # --- triples --------------------------------------------------------------------------------

    def _bgp(
        self,
        triples: Sequence[TriplePattern],
        longest: int | None,
        conditions: list[Expression],
        *,
        late: bool,
    ) -> SolutionView:
        """The join of all triple patterns; a path that may have no length is an alternative of one that has and of none."""
        zero = [triple for triple in triples if triple.is_path and may_be_empty(triple.predicate)]
        waiting = [self._triple(triple, longest, late=late) for triple in triples if triple not in zero]
        proper = {
            triple: self._path(triple.subject, walks, triple.object, longest, late=late)
            for triple in zero
            if (walks := proper_walks(triple.predicate)) is not None
        }
        found: list[SolutionView] = []
        for empty in product((False, True), repeat=len(zero)):
            choice = dict(zip(zero, empty, strict=True))
            if all(triple in proper or choice[triple] for triple in zero):
                walked = [proper[triple] for triple in zero if not choice[triple]]
                own = list(conditions) if zero else conditions
                views = [*waiting, *walked] or [TimelessView((), frozenset(), lambda: ({}, 1), late=late)]
                view = self._joined(views, None, longest, own)
                alone = [triple for triple in zero if choice[triple]]
                found.append(self._with_empty_walks(view, alone, late=late))
        view = found[0] if len(found) == 1 else UnitedSolutions(found)
        hidden = [name for name in view.names if name.startswith(_HIDDEN) and not is_trace(name)]
        if hidden:
            view = ProjectedSolutions(view, [name for name in view.names if name not in hidden])
        return view

    def _with_empty_walks(
        self, found: SolutionView, empty: Sequence[TriplePattern], *, late: bool
    ) -> SolutionView:
        """Rows whose ends of some paths are one, whatever binds them; those that nothing binds come last."""
        waiting = list(empty)
        while waiting:
            bound = [triple for triple in waiting if not found.certain.isdisjoint(_variables(triple))]
            triple = (bound or waiting)[0]
            waiting.remove(triple)
            subject, obj = triple.subject, triple.object
            ends = [node for node in (subject, obj) if isinstance(node, Var) and node.name in found.certain]
            if not ends:
                found = self._joined([found, self._empty_walks(subject, obj, late=late)], None, None, [])
            elif isinstance(subject, Var) and isinstance(obj, Var):
                source = ends[0].name
                found = CopyView(found, obj.name if source == subject.name else subject.name, source)
            else:
                constant = subject if isinstance(subject, Constant) else obj
                found = FilteredSolutions(found, self._test(Call("SAMETERM", (ends[0], constant))))
        return found

    def _filtered(self, view: SolutionView, conditions: list[Expression]) -> SolutionView:
        for condition in list(conditions):
            if expression_variables(condition) <= view.certain:
                conditions.remove(condition)
                view = FilteredSolutions(view, self._test(condition))
        return view

    def _triple(self, triple: TriplePattern, longest: int | None, *, late: bool) -> SolutionView:
        if triple.is_path:
            return self._path(triple.subject, triple.predicate, triple.object, longest, late=late)
        names = list(in_scope(Bgp((triple,))))
        views: list[SolutionView] = []
        if self._graph_name is None:
            sources = [as_it_is(triple)]
            if self._schema is not None:
                sources = self._schema.sources(triple, self._dictionary, self._evaluator)
            reading = [
                (self.occurrences.setdefault(each, NewOccurrences(_variables(each))), read)
                for each, read in sources
            ]
            trace = None if self._tracer is None else self._tracer.trace(triple, f"{next(self._number)}")
            given: SolutionView = OccurrenceView(names, reading, trace)
            views.append(LaggingView(given) if late else given)
        if self._active.names:
            views.append(self._background(triple, names, late=late))
        if not views:
            return TimelessView(names, frozenset(names), lambda: ({}, 0))
        return views[0] if len(views) == 1 else UnitedSolutions(views)

    def _background(self, triple: TriplePattern, names: Sequence[str], *, late: bool) -> SolutionView:
        """The triples of the background, which has no time; of one graph inside GRAPH."""
        graph, active = Graph(self._graph_name or Var("#graph"), Bgp((triple,))), self._active

        def solutions() -> tuple[Mapping[str, Ids], int]:
            table = self._evaluator.rows.over_knowledge(graph, active)
            return table.columns, table.size

        return ProjectedSolutions(TimelessView(names, frozenset(names), solutions, late=late), names)

    def _path(
        self, subject: Node, path: object, obj: Node, longest: int | None, *, late: bool
    ) -> SolutionView:
        """A path as the triple patterns, joins and unions that it stands for."""
        if may_be_empty(path):
            proper = proper_walks(path)
            views = [self._empty_walks(subject, obj, late=late)]
            if proper is not None:
                views.append(self._path(subject, proper, obj, longest, late=late))
            return views[0] if len(views) == 1 else UnitedSolutions(views)
        match path:
            case Link(iri):
                return self._triple(TriplePattern(subject, iri, obj), longest, late=late)
            case Inverse(inner):
                return self._path(obj, inner, subject, longest, late=late)
            case PathAlternative(several):
                return UnitedSolutions(
                    [self._path(subject, part, obj, longest, late=late) for part in several]
                )
            case PathSequence(several):
                return self._steps(subject, several, obj, longest, late=late)
            case NegatedSet(forward, backward):
                return self._negated(subject, forward, backward, obj, longest, late=late)
            case PathRepeat(inner):
                edges = self._edges(inner, longest, late=late)
                walks = WalkView(edges, longest) if self._tracer is None else self._traced_walks(edges)
                return self._ends(walks, subject, obj)
            case _:
                raise AssertionError(path)

    def _steps(
        self, subject: Node, several: tuple[Path, ...], obj: Node, longest: int | None, *, late: bool
    ) -> SolutionView:
        """One part after the other; the nodes between them are bound by their neighbours."""
        between: list[Node] = [Var(f"#{next(self._number)}") for _ in several[1:]]
        nodes: list[Node] = [subject, *between, obj]
        triples = [
            TriplePattern(nodes[at], part.iri if isinstance(part, Link) else part, nodes[at + 1])
            for at, part in enumerate(several)
        ]
        return self._bgp(triples, longest, [], late=late)

    def _negated(
        self,
        subject: Node,
        forward: tuple[Constant, ...],
        backward: tuple[Constant, ...],
        obj: Node,
        longest: int | None,
        *,
        late: bool,
    ) -> SolutionView:
        views: list[SolutionView] = []
        for excluded, start, end in ((forward, subject, obj), (backward, obj, subject)):
            if not excluded:
                continue
            predicate = Var(f"#{next(self._number)}")
            view = self._triple(TriplePattern(start, predicate, end), longest, late=late)
            condition = In(predicate, excluded, negated=True)
            kept = [name for name in view.names if name != predicate.name]
            views.append(ProjectedSolutions(FilteredSolutions(view, self._test(condition)), kept))
        return views[0] if len(views) == 1 else UnitedSolutions(views)

    def _edges(self, path: Path, longest: int | None, *, late: bool) -> SolutionView:
        """What a path relates, as the edges of walks."""
        if isinstance(path, Link):
            return self._path(Var(FROM), path, Var(TO), longest, late=late)
        # Other names first: those of an inner repetition, or hidden in a basic graph pattern, would be dropped there.
        start, end = f"from {next(self._number)}", f"to {next(self._number)}"
        edges = self._path(Var(start), path, Var(end), longest, late=late)
        edges = CopyView(CopyView(edges, FROM, start), TO, end)
        return ProjectedSolutions(edges, [name for name in edges.names if name not in (start, end)])

    def _traced_walks(self, edges: SolutionView) -> SolutionView:
        assert self._tracer is not None
        return TracedWalkView(edges, self._tracer, f"{TRACE}{next(self._number)}")

    def _ends(self, view: SolutionView, subject: Node, obj: Node) -> SolutionView:
        """Walks under the names of their ends; a constant end chooses among them."""
        for column, node in ((FROM, subject), (TO, obj)):
            if isinstance(node, Var):
                view = CopyView(view, node.name, column)
            else:
                view = FilteredSolutions(view, self._test(Call("SAMETERM", (Var(column), node))))
        kept = [name for name in view.names if name not in (FROM, TO)]
        return ProjectedSolutions(view, kept)

    def _empty_walks(self, subject: Node, obj: Node, *, late: bool) -> SolutionView:
        """A path without a triple, between an end that is a term of the query or of the background and itself."""
        names = [node.name for node in dict.fromkeys((subject, obj)) if isinstance(node, Var)]
        constants = [node for node in (subject, obj) if isinstance(node, Constant)]
        if len(constants) == 2:
            same = constants[0].term == constants[1].term
            return TimelessView((), frozenset(), lambda: ({}, int(same)), late=late)
        if constants:
            term = constants[0].term
            return TimelessView(
                names,
                frozenset(names),
                lambda: ({names[0]: np.array([self._dictionary.encode(term)], np.int32)}, 1),
                late=late,
            )
        graph = Graph(self._graph_name or Var("#graph"), Bgp((EVERYTHING,)))
        active = self._active

        def terms() -> tuple[Mapping[str, Ids], int]:
            """Every subject and object of the background."""
            if not active.names:
                return {}, 0
            table = self._evaluator.rows.over_knowledge(graph, active)
            every = each_once(np.concatenate([table.columns["s"], table.columns["o"]])).astype(np.int32)
            return dict.fromkeys(names, every), len(every)

        return TimelessView(names, frozenset(names), terms, late=late)


def _variables(triple: TriplePattern) -> tuple[str, ...]:
    return in_scope(Bgp((triple,)))
