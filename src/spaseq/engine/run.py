"""`spaseq.run`: a query over files and iterables of events, matches one by one (docs/reference/python.md)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from spaseq.columnar.knowledge import Knowledge
from spaseq.engine.inputs import (
    NamedQuery,
    StreamInput,
    as_lateness,
    as_paths,
    declared_streams,
    pairs,
    resolve_streams,
)
from spaseq.engine.opening import InputOptions, Opened, Opener, StreamEvents, StreamFiles, find_inputs
from spaseq.engine.paths import Reads, check_paths
from spaseq.engine.piped import check_pipes, keep_pipes, pipes_of
from spaseq.engine.query_group import GroupOptions, QueryGroup, matches_of
from spaseq.engine.replay import Merge, with_end
from spaseq.engine.reports import Reports
from spaseq.engine.session import as_knowledge, as_query, wall_clock
from spaseq.engine.tally import Tally, mistaken, mistaken_unit
from spaseq.errors import InvalidArgument, described
from spaseq.io.bad_input import BadInputHandler, Policy, checked_policy
from spaseq.io.options import TIMESTAMP_PREDICATE, ReadOptions
from spaseq.io.quarantine import QuarantineFile
from spaseq.io.sources import Layout, PathLike
from spaseq.io.unreadable import IncompleteInput
from spaseq.model.matches import Match
from spaseq.planner.compiled import CompiledQuery
from spaseq.planner.in_run import RULE_LIMIT, UNRESTRICTED, Choices
from spaseq.stores import place_of
from spaseq.temporal.instants import TimeUnit, as_duration

if TYPE_CHECKING:
    from spaseq.columnar.knowledge import Source

QUARANTINE = "quarantine.jsonl"
"""Where bad input is kept by default."""


class BadInputWarning(UserWarning):
    """A run that passed over bad input; says how much and where it is."""


def run(
    query: CompiledQuery | str,
    streams: Mapping[str, StreamInput],
    knowledge: Knowledge | Mapping[str, Source] | None = None,
    *,
    rdfs: bool = False,
    policy: str = UNRESTRICTED,
    rule_limit: int = RULE_LIMIT,
    lateness: str | int | None = None,
    max_lead: str | int | None = None,
    format: str | None = None,  # noqa: A002 - the public name
    timestamp_predicate: str = TIMESTAMP_PREDICATE,
    start_predicate: str | None = None,
    end_predicate: str | None = None,
    time_unit: TimeUnit = "ms",
    triples_per_event: int | None = None,
    layout: Layout = "auto",
    on_bad_input: Policy = "quarantine",
    quarantine: PathLike = QUARANTINE,
    max_runs: int | None = 10_000_000,
    max_memory: int | None = None,
    with_events: bool = True,
) -> Iterator[Match]:
    """The matches of a query over a finite input, in order of time, found as you ask for them.

    ``streams`` gives every declared stream, by alias or IRI, a file, a directory, a glob, a list of those, or
    events; ``-`` is standard input. Files and lists need not be in time order: the whole input is sorted. An iterator of events is
    read as you ask for matches and must be in time order up to the ``lateness``; events that come later are
    bad input. So are events more than ``max_lead`` ahead of the wall clock; by default any time is accepted.

    ``layout`` says where timestamps stand: ``stream`` directly before or after their graph, or inside it;
    ``dataset`` anywhere in a file, with quads in any order; ``auto`` finds out for each file. ``start_predicate`` and
    ``end_predicate`` name what links the graph of an interval event to its two ends.

    ``knowledge`` gives background graphs by IRI: paths or graphs; with ``rdfs`` their RDFS closure, in EP-SPARQL also that of events.
    ``policy`` and ``rule_limit`` are those of EP-SPARQL's sequences and rules. ``on_bad_input`` is ``fail``, ``skip`` or
    ``quarantine``, which keeps it in the file ``quarantine``. ``max_runs`` bounds the partial
    matches that wait, ``max_memory`` (bytes; default: half of the memory there is) all that the run holds; reaching
    them is an error that says what grows. Without ``with_events`` matches name neither
    their events nor themselves, and large inputs are read much faster.
    """
    if not isinstance(quarantine, (str, os.PathLike)):
        raise InvalidArgument(f"`quarantine=` is the path of a file, not {described(quarantine)}")
    checked_policy(on_bad_input)
    compiled = as_query(query)
    queries = [NamedQuery(compiled.name, compiled)]
    options = InputOptions(
        ReadOptions(
            timestamp_predicate,
            time_unit,
            triples_per_event,
            layout=layout,
            start_predicate=start_predicate,
            end_predicate=end_predicate,
        ),
        format,
        as_lateness(lateness),
        None if max_lead is None else as_duration(max_lead, "max_lead"),
    )
    resolved = resolve_streams(queries, pairs(streams))
    inputs = find_inputs(declared_streams(queries), resolved, options)
    check_pipes(pipes_of(inputs))
    if on_bad_input == "quarantine":
        given = [path for values in resolved.values() for value in values for path in as_paths(value) or ()]
        graphs = (
            [path for path in knowledge.values() if isinstance(path, (str, os.PathLike))]
            if isinstance(knowledge, Mapping)
            else []
        )
        check_paths({"quarantine": place_of(quarantine)}, Reads(given, format, {"background graph": graphs}))
    if lateness is not None and not any(isinstance(i, StreamEvents) and not i.is_sorted for i in inputs):
        warnings.warn(
            "`lateness` has no effect here: files and lists of events are sorted as a whole; "
            "it is for iterators of events",
            stacklevel=2,
        )
    kept = QuarantineFile(place_of(quarantine))
    handler = BadInputHandler(on_bad_input, kept if on_bad_input == "quarantine" else None)
    choices = Choices(policy, rule_limit)
    limits = GroupOptions(max_runs, with_events, max_memory=max_memory, choices=choices)
    session = QueryGroup(queries, as_knowledge(knowledge, rdfs=rdfs), wall_clock(), limits)
    return _matches(session, inputs, options, Reports(handler, session.dictionary), kept)


def _matches(
    session: QueryGroup, inputs: list[Opened], options: InputOptions, reports: Reports, kept: QuarantineFile
) -> Iterator[Match]:
    with kept, ExitStack() as stack:
        inputs = keep_pipes(inputs, stack)
        opener = Opener(session, reports, options)
        feeds = opener.feeds(inputs)
        whole, most = session.needs_whole_instants, options.read.batch_events
        merge = Merge(feeds, whole_instants=whole, most=most, poll=session.budget.check)
        session.budget.count("events", lambda: merge.nbytes)
        tally = Tally(session.streams, (), session.dictionary, unit=options.read.time_unit)
        for portion in with_end(merge.portions()):
            tally.read(portion.batch)
            for answered in session.step(portion):
                yield from (match for _, match in matches_of(answered))
            if session.finished:
                break
            session.compact([merge])
        else:
            opener.check_readable(inputs)
    for stream in {item.stream for item in inputs if isinstance(item, StreamFiles)}:
        unit = mistaken(tally.counts, stream.iri)
        if unit is not None:
            warnings.warn(mistaken_unit(stream.alias, unit), stacklevel=2)
    if reports.incomplete:
        raise IncompleteInput(reports.incomplete)
    if reports.count:
        what = "piece of bad input was" if reports.count == 1 else "pieces of bad input were"
        where = f"; it is in {kept.path}" if kept.count else ""
        warnings.warn(f"{reports.count} {what} passed over{where}", BadInputWarning, stacklevel=2)
