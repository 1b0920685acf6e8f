"""The embedded engine as hosts for specs and scenarios: the ways its input may come, all with one answer."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from typing import Any

from pyoxigraph import Triple

from spaseq.engine import Engine
from spaseq.model.events import GraphEvent
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.matches import Match
from spaseq.planner import CompiledQuery
from spaseq.testing.runner import Host

Knowledge = dict[str, frozenset[Triple]]
Events = tuple[GraphEvent, ...]
Options = dict[str, Any]
"""What engines are told besides: the policy and whether RDFS holds."""


def _own(query: CompiledQuery, events: Events) -> list[GraphEvent]:
    """The events of declared streams, in time order; others do not exist for a query."""
    declared = {stream.iri for stream in query.streams}
    own = [event for event in events if event.stream in declared or EVERY_STREAM in declared]
    return sorted(own, key=lambda event: event.time)


def _engine(
    query: CompiledQuery, knowledge: Knowledge, options: Options, *, compiled: bool = False
) -> Engine:
    return Engine(query, knowledge=knowledge, compile_kernels=compiled, **options)


def _at_once(
    query: CompiledQuery, events: Events, knowledge: Knowledge, *, compiled: bool = False, **options: Any
) -> list[Match]:
    engine = _engine(query, knowledge, options, compiled=compiled)
    return [*engine.push(_own(query, events)), *engine.finish()]


def _in_pieces(
    query: CompiledQuery, events: Events, knowledge: Knowledge, *, size: int, **options: Any
) -> list[Match]:
    engine, own, found = _engine(query, knowledge, options), _own(query, events), list[Match]()
    for start in range(0, len(own), size):
        found += engine.push(own[start : start + size])
    return found + engine.finish()


def restored(
    query: CompiledQuery, events: Events, knowledge: Knowledge, *, every: int = 1, **options: Any
) -> list[Match]:
    """A snapshot and a new engine after every event, or after so many."""
    engine, found = _engine(query, knowledge, options), list[Match]()
    for number, event in enumerate(_own(query, events)):
        found += engine.push(event)
        if number % every == 0:
            engine = Engine.restore(
                query, engine.snapshot(), knowledge=knowledge, compile_kernels=False, **options
            )
    return found + engine.finish()


def _disordered(query: CompiledQuery, events: Events, knowledge: Knowledge, **options: Any) -> list[Match]:
    """Events out of order by up to five seconds; simultaneous ones of one stream keep their order."""
    engine, found = _engine(query, knowledge, {"lateness": "6s", **options}), list[Match]()
    for event in disordered(_own(query, events), 5_000_000):
        found += engine.push(event)
    assert engine.metrics.late == 0
    return found + engine.finish()


def disordered(events: Iterable[GraphEvent], most: int) -> list[GraphEvent]:
    """The events shifted by up to ``most`` microseconds, the same way every time."""
    known = list(events)
    chance = random.Random(len(known))
    delay = {(event.stream, event.time): chance.randint(0, most) for event in known}
    return sorted(known, key=lambda event: event.time + delay[event.stream, event.time])


ENGINE_HOSTS: tuple[Host, ...] = (
    Host("engine, all at once", _at_once),
    Host("engine, one by one", partial(_in_pieces, size=1)),
    Host("engine, three by three", partial(_in_pieces, size=3)),
    Host("engine, restored after every event", restored),
    Host("engine, out of order", _disordered),
)
"""Every way in which the embedded engine must give the reference's answer."""

COMPILED_HOST = Host("engine, compiled kernels", partial(_at_once, compiled=True))
