"""What one bucket keeps between micro-batches: a small head, segments of machines, and blocks that wait."""

from __future__ import annotations

import hashlib
import json
import uuid
import zlib
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from spaseq.engine.clocks import wall_microseconds
from spaseq.model.packing import LARGEST, Damaged, OtherVersion, whole_number
from spaseq.operators.saved_state import STATE_VERSION, IncompatibleState, taking_up
from spaseq.operators.segments import Segments
from spaseq.settings import settings
from spaseq.spark.job import Job
from spaseq.spark.shuffle.blocks import Block, concat_blocks
from spaseq.spark.shuffle.watermark import Progress
from spaseq.spark.stages.sequencer import Sequencer
from spaseq.spark.state.held_blocks import load_block, save_block
from spaseq.temporal.instants import FOREVER


class Store(Protocol):
    """Named pieces of bytes; Spark's state store, or a dict in tests."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, data: bytes) -> None: ...

    def remove(self, name: str) -> None: ...


_fingerprints: dict[str, str] = {}
"""The fingerprints of the jobs this process works for."""


def fingerprint(job: Job) -> str:
    """What a checkpoint and a run must agree on: the queries, how rows are spread, what is kept of events."""
    if job.id in _fingerprints:
        return _fingerprints[job.id]
    facts = [[task.name, task.program.query.normal_text] for task in job.tasks]
    text = json.dumps([facts, job.provenance, job.lateness, job.lag, *(["carry"] if job.carries else [])])
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    while len(_fingerprints) >= settings().warm_jobs:
        del _fingerprints[next(iter(_fingerprints))]
    _fingerprints[job.id] = found
    return found


def _places(job: Job) -> int:
    """A checksum of the keys under which Spark keeps the state of buckets."""
    return zlib.crc32(json.dumps(job.places).encode())


@dataclass(slots=True)
class _Query:
    """What is saved of one query: its segments, the blocks that wait, and when it must be looked at again."""

    segments: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    next: int = 0
    due: int | None = None
    answered: bool = False
    arrived: int = 0
    """Events that have come so far, where their order of arrival matters."""
    runs: int = 0
    """Live runs, and what is saved of them and of events that wait, in bytes."""
    bytes: int = 0

    @property
    def empty(self) -> bool:
        return not self.segments and not self.held and not self.answered and not self.arrived


_SAVED = ("segments", "held", "next", "due", "answered", "arrived", "runs", "bytes")


def _progress(saved: list[Any]) -> Progress:
    """How far the streams have come, as a head says it, if it can be so."""
    found = Progress(*saved)
    clocks = {"clock": found.clock, "started": found.started}
    sources = [
        dict(zip(("latest", "heard"), pair, strict=True))
        for own in found.sources.values()
        for pair in own.values()
    ]
    for known in (found.latest, found.promised, found.heard, clocks, *sources):
        for name in known.keys():  # noqa: SIM118 - what is no dict is refused here
            whole_number(known, name, -FOREVER - 1, FOREVER + 1)
    return found


def _query(saved: dict[str, Any]) -> _Query:
    """What a head says of one query, if it can be so."""
    saved = {"runs": 0, "bytes": 0, **saved}  # earlier releases did not count them
    for name in ("next", "arrived", "runs", "bytes"):
        whole_number(saved, name, 0, LARGEST)
    if saved["due"] is not None:
        whole_number(saved, "due", -FOREVER - 1, FOREVER + 1)
    for name in ("segments", "held"):
        numbers = saved[name]
        if type(numbers) is not list or not all(type(number) is int and number >= 0 for number in numbers):
            raise Damaged(f"`{name}` is {numbers!r}, not a list of numbers")
    if any(number >= saved["next"] for number in saved["held"]):
        raise Damaged("a block waits that was never written")
    return _Query(**{**saved, "answered": bool(saved["answered"])})


@dataclass(slots=True)
class Running:
    """A sequencer and what the store holds of it."""

    sequencer: Sequencer
    segments: Segments
    held: dict[int, Block]


class _Warm:
    """Sequencers that this process has at hand from an earlier micro-batch.

    Every head has a token of its own. Only if the store still has the head that was written with these
    sequencers are they what it holds; after a failure, or if another process went on, they are not.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], tuple[str, dict[int, Running]]] = OrderedDict()

    def take(self, place: tuple[str, int], token: str) -> dict[int, Running]:
        known, running = self._known.pop(place, ("", {}))
        return running if known == token else {}

    def keep(self, place: tuple[str, int], token: str, running: dict[int, Running]) -> None:
        self._known[place] = token, running
        while len(self._known) > settings().warm_buckets:
            self._known.popitem(last=False)


_warm = _Warm()


class BucketState:
    """The state of one bucket during one micro-batch."""

    def __init__(self, job: Job, bucket: int, store: Store) -> None:
        self._job, self._bucket, self._store = job, bucket, store
        self.progress = Progress()
        self.passed: dict[int, int] = {}
        """By query, the watermark that it has come to: a stream that was idle does not move it back."""
        self.queries: dict[int, _Query] = {}
        self._warm: dict[int, Running] = {}
        self.warm = self.cold = 0
        """How many queries were at hand when they were needed, and how many had to be loaded."""
        self.load_microseconds = 0
        head = store.get("head")
        if head is not None:
            with taking_up():
                self._read(json.loads(head))

    def _read(self, head: dict[str, Any]) -> None:
        if head["version"] != STATE_VERSION:
            raise OtherVersion(head["version"])
        if head["fingerprint"] != fingerprint(self._job):
            raise IncompatibleState(
                "the checkpoint belongs to other queries or options (query text, provenance, lateness, lag); run them "
                "again with those, or start with a new checkpoint"
            )
        if head["buckets"] != self._job.buckets:
            raise IncompatibleState(
                f"the checkpoint spreads keys over {head['buckets']} buckets, this run over {self._job.buckets}; run "
                f"again with partitions={head['buckets']}, or start with a new checkpoint"
            )
        if head.get("places") != _places(self._job):
            raise IncompatibleState(
                "the checkpoint was written by a release that kept buckets under other keys; finish the run with that "
                "release, or start with a new checkpoint"
            )
        self.progress = _progress(head["progress"])
        self.passed = {int(number): time for number, time in head["passed"].items()}
        for number in head["passed"]:
            whole_number(head["passed"], number, -FOREVER - 1, FOREVER + 1)
        self.queries = {int(number): _query(saved) for number, saved in head["queries"].items()}
        if not self.queries.keys() | self.passed.keys() <= set(range(len(self._job.tasks))):
            raise Damaged("there is state of a query that is none of these")
        self._warm = _warm.take((self._job.id, self._bucket), head["token"])

    def write_head(self) -> None:
        """Save everything but machines and blocks, which are saved one by one."""
        queries = {
            number: {name: getattr(saved, name) for name in _SAVED}
            for number, saved in self.queries.items()
            if not saved.empty
        }
        head = {
            "version": STATE_VERSION,
            "fingerprint": fingerprint(self._job),
            "buckets": self._job.buckets,
            "places": _places(self._job),
            "progress": self.progress.to_list(),
            "passed": self.passed,
            "queries": queries,
            "token": uuid.uuid4().hex,
        }
        self._store.put("head", json.dumps(head).encode())
        live = {number: running for number, running in self._warm.items() if number in queries}
        _warm.keep((self._job.id, self._bucket), str(head["token"]), live)

    def open(self, number: int) -> Running:
        """The sequencer of a query, as it was."""
        if number in self._warm:
            self.warm += 1
            return self._warm[number]
        began = wall_microseconds()
        saved, task = self.queries.setdefault(number, _Query()), self._job.tasks[number]
        sequencer = Sequencer(self._job, self._job.tasks[number], self._bucket)
        sequencer.machine.answered = saved.answered
        segments = Segments()
        streams, widths = len(task.program.streams), (task.pair_width, *map(len, task.columns))
        with taking_up():
            if saved.segments:
                segments.load(sequencer.machine, {i: self._piece(number, f"s{i}") for i in saved.segments})
            held = {
                i: load_block(self._piece(number, f"h{i}"), streams, widths, named=self._job.provenance)
                for i in saved.held
            }
        if saved.segments or saved.held:
            self.cold += 1
            self.load_microseconds += wall_microseconds() - began
        sequencer.hold(list(held.values()))
        self._warm[number] = Running(sequencer, segments, held)
        return self._warm[number]

    def in_order_of_arrival(self, number: int, blocks: list[Block]) -> list[Block]:
        """The blocks of a micro-batch as one, its events numbered on from those that came before."""
        if not self._job.tasks[number].program.needs_positions or not blocks:
            return blocks
        saved = self.queries.setdefault(number, _Query())
        block = concat_blocks(blocks)
        rank = np.empty(len(block), np.int64)
        rank[np.argsort(block.arrivals, kind="stable")] = np.arange(saved.arrived, saved.arrived + len(block))
        saved.arrived += len(block)
        return [replace(block, arrivals=rank)]

    def _piece(self, number: int, name: str) -> bytes:
        data = self._store.get(f"{number}.{name}")
        if data is None:
            raise Damaged(f"`{number}.{name}` is not there")
        return data

    def save(self, number: int, running: Running, now: int, *, over: bool) -> None:
        """Write what a micro-batch changed; ``over`` if the query needs nothing any more."""
        saved, sequencer = self.queries[number], running.sequencer
        saved.answered = sequencer.machine.answered
        if over:
            changes: dict[int, bytes | None] = dict.fromkeys(saved.segments)
            sequencer.hold([])
            saved.segments = []
        else:
            changes = running.segments.save(sequencer.machine, now)
            saved.segments = sorted(running.segments.sizes)
        for piece, data in changes.items():
            self._put(f"{number}.s{piece}", data)
        self._save_held(number, running)
        saved.runs = 0 if over else sequencer.machine.runs
        saved.bytes = sum(running.segments.sizes.values()) + sum(
            block.nbytes for block in running.held.values()
        )
        saved.due = None if over else sequencer.due(now)

    def _save_held(self, number: int, running: Running) -> None:
        """Blocks that were there before are not written again."""
        saved = self.queries[number]
        known = {id(block): i for i, block in running.held.items()}
        now: dict[int, Block] = {}
        for block in running.sequencer.held:
            i = known.get(id(block))
            if i is None:
                i, saved.next = saved.next, saved.next + 1
                self._put(f"{number}.h{i}", save_block(block))
            now[i] = block
        for i in set(running.held) - set(now):
            self._put(f"{number}.h{i}", None)
        running.held = now
        saved.held = sorted(now)

    def _put(self, name: str, data: bytes | None) -> None:
        if data is None:
            self._store.remove(name)
        else:
            self._store.put(name, data)
