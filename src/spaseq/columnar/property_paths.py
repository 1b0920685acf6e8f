"""Property paths as relations between nodes, for all events of a batch at once (SPARQL 1.1, section 18.4).

A path evaluates to (event, start, end) rows. Sequences join, alternatives stack, repetitions grow a
closure: first from the new pairs of the last round, then, where paths are long, by a search from each node. A constant at an end of the path
prunes the closure, and, as the recommendation says, has a zero-length path even if the graph lacks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

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
from spaseq.columnar.joins import count_of_keys, equal_rows, has_partner, rows_of_keys
from spaseq.columnar.table import Ids, Keys, Rows, SortedKeys, Table, codes, distinct, stacked
from spaseq.columnar.views import Edges
from spaseq.model.ordered import each_once
from spaseq.settings import limit_reached, settings


@dataclass(frozen=True, slots=True)
class Ends:
    """The constants at the ends of a path, as ids; 0 where a variable stands."""

    start: int = 0
    end: int = 0


def path_table(path: Path, ends: Ends, frame: Frame, starts: Table | None = None) -> Table:
    """The rows (event, start, end) of a path.

    ``starts`` (a table of distinct ``node``) are the only nodes from which the caller will go on; the
    result may hold rows that miss them, or the constant ends, but lacks none.
    """
    match path:
        case Link(iri):
            return _pairs(frame.views.predicate(frame.constant(iri.term)))
        case Inverse(inner):
            if isinstance(inner, (Inverse, PathRepeat, PathSequence, PathAlternative)):
                return path_table(mirrored(inner), ends, frame, starts)
            return _swapped(path_table(inner, Ends(ends.end, ends.start), frame))
        case PathSequence(parts):
            return _sequence(parts, ends, frame, starts)
        case PathAlternative(parts):
            return stacked([path_table(part, ends, frame, starts) for part in parts])
        case PathRepeat(inner, op):
            return _repeated(inner, op, ends, frame, starts)
        case NegatedSet(forward, backward):
            tables = []
            if forward or not backward:
                tables.append(_pairs(frame.views.without(_ids(forward, frame))))
            if backward:
                tables.append(_swapped(_pairs(frame.views.without(_ids(backward, frame)))))
            return stacked(tables)
        case _:
            assert_never(path)


def mirrored(path: Path) -> Path:
    """The path that leads back."""
    match path:
        case Inverse(inner):
            return inner
        case PathSequence(parts):
            return PathSequence(tuple(mirrored(part) for part in reversed(parts)))
        case PathAlternative(parts):
            return PathAlternative(tuple(mirrored(part) for part in parts))
        case PathRepeat(inner, op):
            return PathRepeat(mirrored(inner), op)
        case NegatedSet(forward, backward):
            return NegatedSet(backward, forward) if forward and backward else Inverse(path)
        case Link():
            return Inverse(path)
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
    return np.array([frame.constant(iri.term) for iri in iris], dtype=np.int32)


def _pairs(edges: Edges) -> Table:
    return Table(edges.events, {"start": edges.subjects, "end": edges.objects}, edges.size)


def _swapped(table: Table) -> Table:
    return Table(table.events, {"start": table.columns["end"], "end": table.columns["start"]}, table.size)


def _sequence(parts: tuple[Path, ...], ends: Ends, frame: Frame, starts: Table | None) -> Table:
    """The steps of the parts in a row; a repetition grows from the nodes that the part before it reached."""
    if not ends.start and starts is None and nullable(parts[0]) and not nullable(parts[-1]):
        back = tuple(mirrored(part) for part in reversed(parts))
        return _swapped(_sequence(back, Ends(ends.end, 0), frame, None))
    last = len(parts) - 1
    result = path_table(parts[0], Ends(ends.start, ends.end if last == 0 else 0), frame, starts)
    for position, part in enumerate(parts[1:], start=1):
        reached = distinct(Table(result.events, {"node": result.columns["end"]}, result.size))
        step = path_table(part, Ends(0, ends.end if position == last else 0), frame, reached)
        result = _composed(result, step)
    return result


def _keys(events: Ids | None, nodes: Ids) -> Keys:
    assert events is not None
    return codes([events, nodes], len(nodes))


def _composed(first: Table, second: Table) -> Table:
    """The pairs that a step of the first and a step of the second connect, with multiplicity."""
    left, right = equal_rows(
        _keys(first.events, first.columns["end"]), _keys(second.events, second.columns["start"])
    )
    return _connected(first, second, left, right)


def _connected(first: Table, second: Table, left: Rows, right: Rows) -> Table:
    assert first.events is not None
    columns = {"start": first.columns["start"][left], "end": second.columns["end"][right]}
    return Table(first.events[left], columns, len(left))


def _repeated(inner: Path, op: str, ends: Ends, frame: Frame, starts: Table | None) -> Table:
    if ends.start:
        starts = _constant_node(ends.start, frame)
    elif ends.end and starts is None:  # grow from the end that is known
        return _swapped(_repeated(mirrored(inner), op, Ends(ends.end), frame, None))
    steps = distinct(path_table(inner, Ends(), frame))
    reached = steps if starts is None else _starting(steps, starts)
    if op != "?":
        reached = _closure(reached, steps)
    if op == "+":
        return reached
    nodes = frame.views.nodes() if starts is None else starts
    if ends.end:
        nodes = stacked([nodes, _constant_node(ends.end, frame)])
    here = Table(nodes.events, {"start": nodes.columns["node"], "end": nodes.columns["node"]}, nodes.size)
    return distinct(stacked([here, reached]))


def _constant_node(node: int, frame: Frame) -> Table:
    """A constant as a node of every event: it has a zero-length path even where the graph lacks it."""
    events = frame.views.all_events()
    return Table(events, {"node": np.full(len(events), node, dtype=np.int32)}, len(events))


def _starting(steps: Table, starts: Table) -> Table:
    """The steps that leave one of the starts."""
    keys = _keys(steps.events, steps.columns["start"])
    return steps.where(has_partner(keys, _keys(starts.events, starts.columns["node"])))


def _closure(seeds: Table, steps: Table) -> Table:
    """All pairs that one or more steps connect, starting with the seeds; each pair once.

    A round looks at all pairs again. That is quick where paths are short; from the nodes whose paths are not, the steps
    are followed node by node.
    """
    reached, frontier = seeds, seeds
    leaving = SortedKeys.of(_keys(steps.events, steps.columns["start"]))
    for _ in range(settings().path_rounds):
        arrivals = _keys(frontier.events, frontier.columns["end"])
        # Where many steps lead to the same nodes a round would make far more rows than there are pairs.
        if not frontier.size or count_of_keys(arrivals, leaving) > 8 * (reached.size + steps.size):
            break
        left, right = rows_of_keys(arrivals, leaving)
        grown = distinct(_connected(frontier, steps, left, right).in_event_order())
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
        reached = stacked([reached, frontier])
        _check_pairs(reached)
    if not frontier.size:
        return reached
    starts = each_once(_keys(frontier.events, frontier.columns["start"]))
    done = reached.where(~has_partner(_keys(reached.events, reached.columns["start"]), starts))
    return stacked([done, _followed(starts, steps)])


def _followed(starts: Keys, steps: Table) -> Table:
    """The pairs of these starts, in order of event and node: one search from each.

    A search does not go on from nodes that the search before reached: what they lead to is known.
    """
    sources, targets = (_keys(steps.events, steps.columns[name]) for name in ("start", "end"))
    nodes, places = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    after: list[set[int]] = [set() for _ in nodes]
    numbers = places.reshape(-1).tolist()
    for source, target in zip(numbers[: len(sources)], numbers[len(sources) :], strict=True):
        after[source].add(target)
    found: list[npt.NDArray[np.int64]] = []
    last, before, count, event = -1, set[int](), 0, -1
    for start in np.searchsorted(nodes, starts).tolist():
        reached: set[int] = set()
        fresh = after[start]
        while fresh:
            reached |= fresh
            if last in fresh:
                reached |= before
                fresh = fresh - before
            fresh = set().union(*(after[node] for node in fresh)) - reached
        last, before = start, reached
        found.append(np.fromiter(reached, np.int64, len(reached)))
        count = len(reached) + (count if int(nodes[start]) >> 32 == event else 0)
        event = int(nodes[start]) >> 32
        _refuse(count)
    ends = nodes[np.concatenate(found)]
    columns = {
        "start": np.repeat(starts, [len(part) for part in found]).astype(np.int32),
        "end": ends.astype(np.int32),
    }
    return Table((ends >> 32).astype(np.int32), columns, len(ends))


def _check_pairs(table: Table) -> None:
    if table.size > settings().max_path_pairs:
        assert table.events is not None
        _refuse(int(np.bincount(table.events).max()))


def _refuse(pairs: int) -> None:
    """Refuse to relate so many pairs of nodes of one graph."""
    if pairs > settings().max_path_pairs:
        raise limit_reached(
            f"a path with `+` or `*` relates {pairs:,} pairs of nodes of one graph", "max_path_pairs"
        )
