"""Continuous queries by views, over finite inputs in pieces of any size: what is compared with the reference."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from spaseq.algebra.events import AskForm, ConstructForm, SelectForm
from spaseq.algebra.windows import WindowQuery
from spaseq.columnar.graphs import as_ntriples, encoded_graphs
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.plan import compile_pattern
from spaseq.columnar.views import Views
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import GraphEvent
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.mappings import MappingTable
from spaseq.model.matches import Match
from spaseq.reference.answers import constructed
from spaseq.reference.sparql import EMPTY
from spaseq.reference.sparql import Knowledge as Graphs
from spaseq.temporal.instants import FOREVER
from spaseq.windowed.continuous import ContinuousQuery, Outcome
from spaseq.windowed.inputs import EventInput, Input, window_inputs


def followed_answers(
    query: WindowQuery,
    events: Iterable[GraphEvent],
    knowledge: Graphs = EMPTY,
    normal_text: str = "",
    seed: int = 1,
) -> list[Match]:
    """All that is reported, in order; the seed decides how the input is cut into steps."""
    del normal_text
    chance, dictionary = random.Random(seed), TermDictionary()
    running = ContinuousQuery(query, dictionary, Knowledge(knowledge))
    declared = {stream.iri for stream in query.streams}
    own = [event for event in events if event.stream in declared or EVERY_STREAM in declared]
    ordered, found, at = sorted(own, key=lambda event: event.time), list[Match](), 0
    while at < len(ordered):
        size = chance.randrange(1, 5)
        part, at = ordered[at : at + size], at + size
        # What is certain lies between the last event of the step and the first one after it.
        later = at < len(ordered) and chance.random() < 0.2
        now = (ordered[at] if later else part[-1]).time
        found += _taken(running, query, part, now, dictionary)
    return found + list(_taken(running, query, [], FOREVER, dictionary))


def _taken(
    running: ContinuousQuery,
    query: WindowQuery,
    part: Sequence[GraphEvent],
    now: int,
    dictionary: TermDictionary,
) -> Iterator[Match]:
    times = np.array([event.time for event in part], np.int64)
    tables = {each: _matched(each, part, dictionary) for each in window_inputs(query)}
    for outcome in running.step(tables, times, now):
        yield from _matches(query, outcome, dictionary)


def _matched(
    each: Input | EventInput, part: Sequence[GraphEvent], dictionary: TermDictionary
) -> MappingTable:
    batch: EventBatch = encoded_graphs([as_ntriples(event.triples) for event in part], dictionary)
    own = np.array([each.stream in (EVERY_STREAM, event.stream) for event in part], np.bool_)
    return compile_pattern(each.pattern).evaluate(Views(batch), dictionary, within=own)


def _matches(query: WindowQuery, outcome: Outcome, dictionary: TermDictionary) -> Iterator[Match]:
    period, reported = outcome.period, outcome.reported
    solutions = [
        {name: dictionary.decode(term) for name, term in zip(reported.names, ids, strict=True) if term}
        for ids in reported.ids.tolist()
    ]
    for at in range(len(period)):
        mine = np.flatnonzero(reported.at == at).tolist()
        time, start = int(period.instants[at]), int(period.starts[at])
        match query.form:
            case SelectForm(items):
                names = [item.variable.name for item in items]
                for row in mine:
                    bindings = {name: solutions[row][name] for name in names if name in solutions[row]}
                    yield Match(time, start, bindings, ())
            case ConstructForm(template):
                labels = (f"{period.first + at}-{row}" for row in mine)
                graphs = [
                    constructed(template, solutions[row], label)
                    for row, label in zip(mine, labels, strict=True)
                ]
                if triples := frozenset(chain.from_iterable(graphs)):
                    yield Match(time, start, {}, (), triples)
            case AskForm():
                assert reported.answers is not None
                yield from (Match(time, start, {}, (), boolean=bool(reported.answers[row])) for row in mine)
