"""Ways to evaluate an EP-SPARQL query on the engine's columns, without a host around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np
from pyoxigraph import Triple

from spaseq.algebra.events import SelectForm
from spaseq.algebra.intervals import IntervalQuery
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.intervals.closure import PLACES
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.interval_rows import IntervalRows
from spaseq.intervals.schema import selected
from spaseq.intervals.timed_expressions import TimedEvaluator
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.temporal.instants import LAST_INSTANT

Portions = Callable[[Sequence[GraphEvent]], Iterator[tuple[Sequence[GraphEvent], int]]]
"""How events are handed over: some at a time, with the time before which no more will come."""


def at_once(events: Sequence[GraphEvent]) -> Iterator[tuple[Sequence[GraphEvent], int]]:
    """All of them together."""
    yield events, LAST_INSTANT


def by_instant(events: Sequence[GraphEvent]) -> Iterator[tuple[Sequence[GraphEvent], int]]:
    """What ends at one instant together."""
    for time, same in groupby(events, key=lambda event: event.time):
        yield list(same), time + 1


def one_by_one(events: Sequence[GraphEvent]) -> Iterator[tuple[Sequence[GraphEvent], int]]:
    """Each by itself: more may come at its instant."""
    for event in events:
        yield [event], event.time


WAYS: dict[str, Portions] = {"at once": at_once, "by instant": by_instant, "one by one": one_by_one}


def column_answers(
    query: IntervalQuery,
    events: Sequence[GraphEvent],
    knowledge: dict[str, frozenset[Triple]],
    portions: Portions,
    *,
    rdfs: bool = False,
    watch: Callable[[IntervalEvaluation], None] = lambda _: None,
) -> list[Match]:
    """The answers, by the engine's evaluation alone, which can be watched after every portion."""
    dictionary = TermDictionary()
    rows = RowEvaluator(dictionary)
    known = Knowledge(knowledge, rdfs=rdfs)
    evaluation = IntervalEvaluation(query, dictionary, known, rows)
    ordered = sorted(events, key=lambda event: event.time)
    found: list[Match] = []
    for part, now in (*portions(ordered), ([], LAST_INSTANT)):
        occurrences = _occurrences(part, dictionary)
        given = {triple: selected(occurrences, triple, TimedEvaluator(rows)) for triple in evaluation.inputs}
        answers = evaluation.step(given, now)
        found += _matches(query, answers, dictionary)
        watch(evaluation)
    return _finished(query, found)


def _occurrences(events: Sequence[GraphEvent], dictionary: TermDictionary) -> IntervalRows:
    triples = [(event, triple) for event in events for triple in event.triples]
    ids = [[dictionary.encode(term) for term in triple] for _, triple in triples]
    table = np.array(ids, np.int32).reshape(-1, 3)
    end = np.array([event.time for event, _ in triples], np.int64)
    start = np.array([event.time if event.start is None else event.start for event, _ in triples], np.int64)
    return IntervalRows({place: table[:, at] for at, place in enumerate(PLACES)}, start, end)


def _matches(query: IntervalQuery, rows: IntervalRows, dictionary: TermDictionary) -> Iterator[Match]:
    if query.asked is None:
        graphs: dict[tuple[int, int], set[Triple]] = {}
        for row in range(len(rows)):
            terms = [dictionary.decode(int(rows.columns[place][row])) for place in PLACES]
            interval = int(rows.end[row]), int(rows.start[row])
            graphs.setdefault(interval, set()).add(Triple(*terms))  # type: ignore[arg-type]
        for (end, start), triples in graphs.items():
            yield Match(end, start, {}, (), frozenset(triples))
        return
    form = query.asked.form
    names = [item.variable.name for item in form.items] if isinstance(form, SelectForm) else []
    shown = rows.named(names).columns
    for row in range(len(rows)):
        bindings = {name: dictionary.decode(int(ids[row])) for name, ids in shown.items() if ids[row]}
        truth = None if isinstance(form, SelectForm) else True
        yield Match(int(rows.end[row]), int(rows.start[row]), bindings, (), boolean=truth)


def _finished(query: IntervalQuery, found: list[Match]) -> list[Match]:
    """What hosts do: DISTINCT and ASK."""
    asked = query.asked
    if asked is None:
        return found
    ordered = sorted(found, key=lambda match: (match.time, match.start))
    if not isinstance(asked.form, SelectForm):
        return ordered[:1]
    if not asked.distinct:
        return found
    kept: dict[object, Match] = {}
    for match in ordered:
        kept.setdefault((match.time, frozenset(match.bindings.items())), match)
    return list(kept.values())
