"""Property paths as relations between nodes, for all events of a batch at once (SPARQL 1.1, section 18.4).

A path evaluates to (event, start, end) rows. Sequences join, alternatives stack, repetitions grow a
closure from the new pairs of the last round until no event has any. A constant at an end of the path
prunes the closure, and, as the recommendation says, has a zero-length path even if the graph lacks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np

from spaseq.algebra.expressions import Constant
from spaseq.algebra.patterns import (
    Inverse,
    Link,
    NegatedSet,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
)
from spaseq.columnar.frame import Frame
from spaseq.columnar.joins import equal_rows, has_partner
from spaseq.columnar.table import Ids, Keys, Table, codes, distinct, stacked
from spaseq.columnar.views import Edges


@dataclass(frozen=True, slots=True)
class Ends:
    """The constants at the ends of a path, as ids; 0 where a variable stands."""

    start: int = 0
    end: int = 0


def path_table(path: Path, ends: Ends, frame: Frame) -> Table:
    """The rows (event, start, end) of a path; it may hold rows that miss the constant ends."""
    match path:
        case Link(iri):
            return _pairs(frame.views.predicate(frame.dictionary.encode(iri.term)))
        case Inverse(inner):
            return _swapped(path_table(inner, Ends(ends.end, ends.start), frame))
        case PathSequence(parts):
            return _sequence(parts, ends, frame)
        case PathAlternative(parts):
            return stacked([path_table(part, ends, frame) for part in parts], frame.views.count)
        case PathRepeat(inner, op):
            return _repeated(inner, op, ends, frame)
        case NegatedSet(forward, backward):
            tables = []
            if forward or not backward:
                tables.append(_pairs(frame.views.without(_ids(forward, frame))))
            if backward:
                tables.append(_swapped(_pairs(frame.views.without(_ids(backward, frame)))))
            return stacked(tables, frame.views.count)
        case _:
            assert_never(path)


def nullable(path: Path) -> bool:
    """True if the path has zero-length matches: then it can relate any node of the graph to itself."""
    match path:
        case Link() | NegatedSet():
            return False
        case Inverse(inner):
            return nullable(inner)
        case PathSequence(parts):
            return all(nullable(part) for part in parts)
        case PathAlternative(parts):
            return any(nullable(part) for part in parts)
        case PathRepeat(inner, op):
            return op != "+" or nullable(inner)
        case _:
            assert_never(path)


def _ids(iris: tuple[Constant, ...], frame: Frame) -> Ids:
    return np.array([frame.dictionary.encode(iri.term) for iri in iris], dtype=np.int32)


def _pairs(edges: Edges) -> Table:
    return Table(edges.events, {"start": edges.subjects, "end": edges.objects}, edges.size)


def _swapped(table: Table) -> Table:
    return Table(table.events, {"start": table.columns["end"], "end": table.columns["start"]}, table.size)


def _sequence(parts: tuple[Path, ...], ends: Ends, frame: Frame) -> Table:
    last = len(parts) - 1
    result: Table | None = None
    for position, part in enumerate(parts):
        own = Ends(ends.start if position == 0 else 0, ends.end if position == last else 0)
        step = path_table(part, own, frame)
        result = step if result is None else _composed(result, step)
    assert result is not None, "a path sequence has parts"
    return result


def _keys(events: Ids | None, nodes: Ids) -> Keys:
    assert events is not None
    return codes([events, nodes], len(nodes))


def _composed(first: Table, second: Table) -> Table:
    """The pairs that a step of the first and a step of the second connect, with multiplicity."""
    left, right = equal_rows(
        _keys(first.events, first.columns["end"]), _keys(second.events, second.columns["start"])
    )
    assert first.events is not None
    columns = {"start": first.columns["start"][left], "end": second.columns["end"][right]}
    return Table(first.events[left], columns, len(left))


def _repeated(inner: Path, op: str, ends: Ends, frame: Frame) -> Table:
    if ends.end and not ends.start:  # grow from the end that is known
        return _swapped(_repeated(Inverse(inner), op, Ends(ends.end), frame))
    steps = distinct(path_table(inner, Ends(), frame))
    if op == "?":
        reached = steps
    else:
        seeds = steps if not ends.start else steps.where(steps.columns["start"] == ends.start)
        reached = _closure(seeds, steps)
    if op == "+":
        return reached
    return distinct(stacked([_zero_length(ends.start, frame), reached], frame.views.count))


def _zero_length(start: int, frame: Frame) -> Table:
    if not start:
        nodes = frame.views.nodes()
        return Table(nodes.events, {"start": nodes.columns["node"], "end": nodes.columns["node"]}, nodes.size)
    events = np.arange(frame.views.count, dtype=np.int32)
    node = np.full(len(events), start, dtype=np.int32)
    return Table(events, {"start": node, "end": node}, len(events))


def _closure(seeds: Table, steps: Table) -> Table:
    """All pairs that one or more steps connect, starting with the seeds; each pair once."""
    reached, frontier = seeds, seeds
    while frontier.size:
        grown = distinct(_composed(frontier, steps).in_event_order())
        assert reached.events is not None
        assert grown.events is not None
        marks = codes(
            [
                np.concatenate([reached.events, grown.events]),
                np.concatenate([reached.columns["start"], grown.columns["start"]]),
                np.concatenate([reached.columns["end"], grown.columns["end"]]),
            ],
            reached.size + grown.size,
        )
        known = has_partner(marks[reached.size :], marks[: reached.size])
        frontier = grown.where(~known)
        reached = stacked([reached, frontier], 0)
    return reached
