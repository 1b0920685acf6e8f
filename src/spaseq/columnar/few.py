"""Basic graph patterns over a few triples, by nested loops.

A program that pushes single events has a few triples at a time. Columns then cost more than they save: a join of two
views is a dozen calls for one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import Node, TriplePattern
from spaseq.columnar.frame import Frame
from spaseq.columnar.table import Table, empty_table
from spaseq.settings import settings

UNKNOWN: Final = -(1 << 40)
"""Stands for a constant that is not in the dictionary; no triple has it."""


def solve_few(triples: Sequence[TriplePattern], names: Sequence[str], frame: Frame) -> Table | None:
    """The solutions over a small batch; None if it is large, or the pattern not plain: columns do those."""
    if len(frame.views.batch.subjects) > settings().looped_triples or frame.origin is not None:
        return None
    if not all(isinstance(triple.predicate, Constant) for triple in triples):
        return None
    place = {name: number for number, name in enumerate(names, 1)}
    solutions: list[list[int]] = []
    for number, triple in enumerate(triples):
        assert isinstance(triple.predicate, Constant)
        edges = frame.views.few().get(frame.constant(triple.predicate.term), ())
        subject, obj = _end(triple.subject, place, frame), _end(triple.object, place, frame)
        if number == 0:
            blank = [0] * (len(names) + 1)
            solutions = [new for edge in edges if (new := _bound([edge[0], *blank[1:]], subject, obj, edge))]
        else:
            solutions = [
                new
                for known in solutions
                for edge in edges
                if edge[0] == known[0] and (new := _bound(known.copy(), subject, obj, edge))
            ]
        if not solutions:
            return empty_table(names)
    columns = np.array(solutions, np.int32).T
    return Table(columns[0], {name: columns[at] for name, at in place.items()}, len(solutions))


def _end(node: Node, place: dict[str, int], frame: Frame) -> int:
    """Where a variable stands in a solution; a constant as its id, below zero."""
    if isinstance(node, Var):
        return place[node.name]
    return -frame.constant(node.term) or UNKNOWN


def _bound(solution: list[int], subject: int, obj: int, edge: tuple[int, int, int]) -> list[int] | None:
    """The solution with both ends of a triple, if they fit."""
    for end, value in ((subject, edge[1]), (obj, edge[2])):
        if end < 0:
            if value != -end:
                return None
        elif solution[end] == 0:
            solution[end] = value
        elif solution[end] != value:
            return None
    return solution
