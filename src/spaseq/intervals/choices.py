"""Which views under a policy can drop what is consumed, instead of being made anew.

A row of most views is there as long as the occurrences that it is made of. In a sequence it is there, too, only as long as nothing
better can be chosen: a right row that loses its partners chooses again. Only rows that a later one may rest on need do so, those on the
left side of another sequence and of joins. Rows inside such a sequence must not change otherwise, so no other sequence may stand there.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from spaseq.intervals.conjunction import ConjoinedSolutions, PairJoin
from spaseq.intervals.solution_views import (
    BoundView,
    CopyView,
    ExtendedSolutions,
    FilteredSolutions,
    OccurrenceView,
    ProjectedSolutions,
    SolutionView,
    TimelessView,
    UnitedSolutions,
)


class Use(Enum):
    """What becomes of the rows of a view."""

    ANSWERS = auto()
    """They are of use when they come, and not later."""
    KEPT = auto()
    """Later rows may rest on them."""
    CHOSEN = auto()
    """The same, and a sequence whose rows are kept chooses among them."""


def revisable(view: SolutionView, use: Use = Use.ANSWERS, above: PairJoin | None = None) -> bool:
    """Whether a view and all that it reads can drop what is gone; has those choices kept that may have to be made again.

    ``above`` is the sequence that alone reads the rows of the view, on its left side.
    """
    match view:
        case OccurrenceView() | TimelessView():
            return True
        case FilteredSolutions() | ExtendedSolutions() if len(view.parts()) > 1:
            return False  # EXISTS
        case FilteredSolutions() | ExtendedSolutions() | BoundView() | CopyView():
            return revisable(view.parts()[0], use, above)
        case ProjectedSolutions() | UnitedSolutions():
            return all(revisable(part, use, above) for part in view.parts())
        case ConjoinedSolutions() if view.joins[0].chooses:
            left, right = view.parts()
            if use is Use.CHOSEN:
                return False
            if use is Use.KEPT:
                view.joins[0].keep_choices(above)
                return revisable(left, Use.CHOSEN) and revisable(right, Use.CHOSEN)
            return revisable(left, Use.KEPT, view.joins[0]) and revisable(right, Use.ANSWERS)
        case ConjoinedSolutions():
            kept = Use.KEPT if use is Use.ANSWERS else use
            return all(revisable(part, kept) for part in view.parts())
        case _:
            return False


def choosing_joins(view: SolutionView) -> list[PairJoin]:
    """The sequences below a view that choose."""

    def found() -> Iterator[PairJoin]:
        for each in view.all_views():
            if isinstance(each, ConjoinedSolutions):
                yield from (join for join in each.joins if join.chooses)

    return list(found())
