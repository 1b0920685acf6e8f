"""The entry point of the package: a graph pattern as a frozen plan that runs on batches of events."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.patterns import Pattern
from spaseq.algebra.scope import visible
from spaseq.columnar.frame import Frame
from spaseq.columnar.kernels.cache import cache_of
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.needs import Fallback, fallbacks, graph_names, needed_predicates
from spaseq.columnar.solve import solve
from spaseq.columnar.table import Mask, Table, distinct
from spaseq.columnar.views import Views
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.model.mappings import empty_table as empty_mappings

NO_KNOWLEDGE = Knowledge()
"""What is known where nothing was registered."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PatternPlan:
    """A compiled graph pattern; it holds terms, never ids, so it can be pickled and sent."""

    pattern: Pattern
    variables: tuple[str, ...]
    predicates: frozenset[NamedNode] | None
    graphs: frozenset[str]
    fallbacks: tuple[Fallback, ...]
    base: str | None = None

    def evaluate(
        self,
        batch: EventBatch | Views,
        dictionary: TermDictionary,
        knowledge: Knowledge = NO_KNOWLEDGE,
        *,
        now: Literal | None = None,
        within: Mask | None = None,
    ) -> MappingTable:
        """The mappings of every event, each once per event (semantics 1.2), in event order.

        Several plans over one batch share `Views`. ``within`` restricts the evaluation to some events, for
        example those of the pattern's stream.
        """
        views = batch if isinstance(batch, Views) else Views(batch)
        if within is not None:
            views = views.only(within)
        if views.within is not None and not views.within.any():
            return empty_mappings(self.variables)
        table = distinct(self.solutions(views, dictionary, knowledge, now=now))
        assert table.events is not None
        return MappingTable(table.events.astype(np.int64), table.columns)

    def solutions(
        self,
        views: Views,
        dictionary: TermDictionary,
        knowledge: Knowledge = NO_KNOWLEDGE,
        *,
        now: Literal | None = None,
    ) -> Table:
        """The solutions with their multiplicity and order, on the visible variables."""
        frame = Frame(views, dictionary, cache_of(dictionary), knowledge, solve, now, self.base)
        table = frame.spread(solve(self.pattern, frame)).in_event_order()
        empty = np.zeros(table.size, dtype=np.int32)
        columns = {name: table.columns.get(name, empty) for name in self.variables}
        return Table(table.events, columns, table.size)


_PLANS: WeakValueDictionary[tuple[Pattern, str | None], PatternPlan] = WeakValueDictionary()
"""The plans that programs hold, so that equal patterns have one."""


def compile_pattern(pattern: Pattern, *, base: str | None = None) -> PatternPlan:
    """A plan for a graph pattern; ``base`` is the base IRI of the query, which the function IRI uses."""
    plan = _PLANS.get((pattern, base))
    if plan is None:
        plan = _PLANS[pattern, base] = PatternPlan(
            pattern,
            tuple(variable.name for variable in visible(pattern)),
            needed_predicates(pattern),
            graph_names(pattern),
            fallbacks(pattern),
            base,
        )
    return plan
