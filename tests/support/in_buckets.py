"""A query in buckets, as Spark runs it, in this process: both stages, the routes between them, and nothing of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from spaseq.columnar.graphs import as_ntriples, encoded_graphs
from spaseq.columnar.knowledge import Knowledge
from spaseq.model.events import GraphEvent, localised
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.matches import Match
from spaseq.model.terms import BlankScopes
from spaseq.planner import CompiledQuery
from spaseq.reference.sparql import Knowledge as Graphs
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.shuffle.blocks import decode_block
from spaseq.spark.stages.mapper import Mapper
from spaseq.spark.stages.sequencer import Sequencer
from spaseq.temporal.instants import FOREVER


def matches_in_buckets(
    query: CompiledQuery,
    events: Sequence[GraphEvent],
    knowledge: Graphs,
    buckets: int,
    *,
    tasks: int = 2,
    streaming: bool = False,
    rdfs: bool = False,
) -> list[Match]:
    """What all buckets report, of an input that is read by so many tasks, or comes in so many micro-batches."""
    declared = {stream.iri for stream in query.streams}
    scopes = BlankScopes()
    own = [
        localised(event, scopes)
        for event in sorted(events, key=lambda event: event.time)
        if event.stream in declared or EVERY_STREAM in declared
    ]
    made, streams = make_tasks({"query": query}, buckets, streaming=streaming)
    job = Job("buckets", made, streams, buckets, Knowledge(knowledge, rdfs=rdfs))
    ends = [len(own) * task // tasks for task in range(tasks + 1)]
    # A finite input is read in pieces that have nothing to do with time.
    pieces = [
        own[first:last] if streaming else own[task::tasks]
        for task, (first, last) in enumerate(pairwise(ends))
    ]
    sequencers = [Sequencer(job, made[0], bucket) for bucket in range(buckets)]
    mapped = [mapped_blocks(job, piece, f"task{number}") for number, piece in enumerate(pieces)]
    found: list[Match] = []
    if streaming:
        for number, blocks in enumerate(mapped):
            for bucket, _, block in blocks:
                sequencers[bucket].add(decode_block(block))
            last = number == len(pieces) - 1
            if last or pieces[number]:
                now = FOREVER if last else pieces[number][-1].time
                found += [match for each in sequencers for match in _advanced(each, now)]
        return found
    for bucket, first, block in sorted(
        (each for blocks in mapped for each in blocks), key=lambda each: each[1]
    ):
        found += _advanced(sequencers[bucket], first)
        sequencers[bucket].add(decode_block(block))
    return found + [match for each in sequencers for match in _advanced(each, FOREVER)]


def mapped_blocks(job: Job, piece: Sequence[GraphEvent], place: str) -> list[tuple[int, int, bytes]]:
    """The blocks of some events that one task reads: bucket, first instant, bytes."""
    if not piece:
        return []
    mapper = Mapper(job)
    every = job.streams == (EVERY_STREAM,)
    batch = replace(
        encoded_graphs([as_ntriples(event.triples) for event in piece], mapper.dictionary),
        times=np.array([event.time for event in piece], np.int64),
        streams=np.array([0 if every else job.streams.index(event.stream) for event in piece], np.int16),
        starts=np.array([each.time if each.start is None else each.start for each in piece], np.int64),
    )
    return [each[1:] for each in mapper.blocks(batch, np.arange(len(piece)), place)]


def _advanced(sequencer: Sequencer, now: int) -> Iterator[Match]:
    for answers in sequencer.advance(now):
        yield from sequencer.machine.matches(answers)
