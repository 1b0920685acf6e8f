"""What a pattern is evaluated in: a graph per event, the dictionary, the background knowledge.

Inside EXISTS the outer solution is visible (SPARQL 1.1, section 18.6, *substitute*). A frame then has one
*virtual event* per outer solution: ``origin`` says which event's graph it looks at, ``outer`` what the
outer solution binds. Every operator works per event, so it works per outer solution too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from pyoxigraph import Literal

from spaseq.algebra.expressions import Term
from spaseq.algebra.patterns import Pattern
from spaseq.columnar.kernels.cache import FunctionCache
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.table import Ids, Table
from spaseq.columnar.views import Views
from spaseq.model.dictionary import TermDictionary

VIRTUAL = "#virtual"
"""The column that carries a virtual event through joins over the events of the batch."""


Solver: TypeAlias = "Callable[[Pattern, Frame], Table]"


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The surroundings of one evaluation; frozen, so that a nested one is a changed copy."""

    views: Views
    dictionary: TermDictionary
    functions: FunctionCache
    knowledge: Knowledge
    solve: Solver
    """How a pattern is evaluated in a frame; expressions need it for EXISTS."""
    now: Literal | None = None
    base: str | None = None
    origin: Ids | None = None
    outer: Mapping[str, Ids] = field(default_factory=dict)
    windows: Mapping[Term, Views] = field(default_factory=dict)
    """The graphs that GRAPH reads by the name of a window: one per event, as `views` is."""
    matches: Mapping[Pattern, Table] = field(default_factory=dict)
    """The solutions of every MATCH, by event of `views`."""
    blanks: dict[int, tuple[Ids | None, dict[tuple[int, int], int]]] = field(default_factory=dict)
    """The blank nodes that BNODE(label) made, by identity of the rows' events, then by row and label."""

    @property
    def count(self) -> int:
        """The number of (virtual) events."""
        return self.views.count if self.origin is None else len(self.origin)

    def constant(self, term: Term) -> int:
        """The id of a term of the query."""
        return self.functions.constant(term)

    def all_events(self) -> Ids:
        """Every event in question."""
        return self.views.all_events() if self.origin is None else np.arange(self.count, dtype=np.int32)

    def spread(self, table: Table) -> Table:
        """A static table with its rows repeated for every event in question."""
        if not table.static:
            return table
        events = self.all_events()
        columns = {name: np.tile(column, len(events)) for name, column in table.columns.items()}
        return Table(np.repeat(events, table.size), columns, table.size * len(events))

    def seed(self, names: Iterable[str]) -> Table | None:
        """The outer solutions, by event of the batch, with those of the names they bind; None outside EXISTS."""
        if self.origin is None:
            return None
        columns = {name: self.outer[name] for name in names if name in self.outer}
        columns[VIRTUAL] = np.arange(len(self.origin), dtype=np.int32)
        return Table(self.origin, columns, len(self.origin))

    def outer_table(self, names: Iterable[str]) -> Table | None:
        """The outer solutions, by virtual event, with those of the names they bind; None if none is bound."""
        columns = {name: self.outer[name] for name in names if name in self.outer}
        return Table(self.all_events(), columns, self.count) if columns else None

    def nested(self, events: Ids, outer: Mapping[str, Ids]) -> Frame:
        """The frame of an EXISTS pattern: one virtual event per outer solution."""
        origin = events if self.origin is None else self.origin[events]
        inherited = {name: column[events] for name, column in self.outer.items()}
        return replace(self, origin=origin, outer={**inherited, **outer})

    def seeing(self, names: Iterable[str]) -> Frame:
        """The frame in which only these outer variables are visible: a sub-SELECT hides the others."""
        return replace(self, outer={name: self.outer[name] for name in names if name in self.outer})
