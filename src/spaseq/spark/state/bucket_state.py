"""What one bucket keeps between micro-batches: a small head, segments of machines by parts of its keys, and blocks that wait."""

from __future__ import annotations

import hashlib
import json
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from spaseq.engine.clocks import wall_microseconds
from spaseq.model.packing import LARGEST, Damaged, OtherVersion, whole_number
from spaseq.operators.answers import Answers
from spaseq.operators.automaton import too_many_runs
from spaseq.operators.saved_state import STATE_VERSION, IncompatibleState, taking_up
from spaseq.operators.segments import Segments
from spaseq.planner.in_run import background_of
from spaseq.settings import settings
from spaseq.spark.job import Job
from spaseq.spark.shuffle.blocks import Block
from spaseq.spark.shuffle.watermark import Progress
from spaseq.spark.stages.parts import ALL, Part, check_cover, divisible
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
    queries = [(task.name, task.program.query) for task in job.tasks]
    facts = [
        [name, query.normal_text, *filter(None, (query.circumstances, background_of(query, job.knowledge)))]
        for name, query in queries
    ]
    text = json.dumps([facts, job.provenance, job.lateness, job.lag, *(["carry"] if job.carries else [])])
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    while len(_fingerprints) >= settings().warm_jobs:
        del _fingerprints[next(iter(_fingerprints))]
    _fingerprints[job.id] = found
    return found


def _places(job: Job) -> int:
    """A checksum of the keys under which Spark keeps the state of buckets, and of where the keys of events go if they do in groups."""
    groups = {number: task.routing.groups for number, task in enumerate(job.tasks) if task.routing.groups}
    return zlib.crc32(json.dumps([job.places, groups] if groups else job.places).encode())


@dataclass(slots=True)
class _Part:
    """What is saved of the keys of a part: its segments, and when it must be looked at again."""

    segments: list[int] = field(default_factory=list)
    due: int | None = None
    runs: int = 0
    """Live runs, and what is saved of them, in bytes."""
    bytes: int = 0


@dataclass(slots=True)
class _Query:
    """What is saved of one query: its parts, the blocks that wait, and when these must be looked at again."""

    parts: dict[Part, _Part] = field(default_factory=lambda: {ALL: _Part()})
    held: list[int] = field(default_factory=list)
    next: int = 0
    first: int | None = None
    """The earliest event that waits."""
    answered: bool = False
    arrived: int = 0
    """Events that have come so far, where their order of arrival matters."""
    bytes: int = 0
    """What events that wait take."""

    @property
    def empty(self) -> bool:
        waits = any(part.segments for part in self.parts.values())
        return not waits and not self.held and not self.answered and not self.arrived

    @property
    def runs(self) -> int:
        """Live runs."""
        return sum(part.runs for part in self.parts.values())

    @property
    def all_bytes(self) -> int:
        """What is saved of runs and of events that wait."""
        return self.bytes + sum(part.bytes for part in self.parts.values())

    def due(self, now: int) -> bool:
        """True if there is something to do without a further event."""
        return (self.first is not None and self.first < now) or any(self.due_parts(now))

    def due_parts(self, now: int) -> Iterator[Part]:
        """The parts in which a window ends, or runs expire."""
        return (part for part, known in self.parts.items() if known.due is not None and known.due < now)

    def merge(self, part: Part) -> None:
        """Let empty halves be one part again."""
        while part.bits and all(
            half in self.parts and not self.parts[half].segments for half in part.parent.halves
        ):
            part = part.parent
            for half in part.halves:
                del self.parts[half]
            self.parts[part] = _Part()

    def to_json(self) -> dict[str, Any]:
        saved = {name: getattr(self, name) for name in _SAVED}
        parts = {
            part.name: [getattr(known, name) for name in _SAVED_OF_PART] for part, known in self.parts.items()
        }
        return {**saved, "parts": parts}


_SAVED = ("held", "next", "first", "answered", "arrived", "bytes")
_SAVED_OF_PART = ("segments", "due", "runs", "bytes")


def _progress(saved: list[Any]) -> Progress:
    """How far the streams have come, as a head says it, if it can be so."""
    found = Progress(*saved)
    clocks = {"clock": found.clock, "started": found.started, "began": found.began}
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
    saved = {"first": saved.get("due"), "bytes": 0, **saved}
    if "parts" not in saved:  # earlier releases kept all keys together
        saved["parts"] = {ALL.name: [saved["segments"], saved["due"], saved.get("runs", 0), saved["bytes"]]}
    for name in ("next", "arrived", "bytes"):
        whole_number(saved, name, 0, LARGEST)
    _check_instant(saved, "first")
    _check_numbers(saved, "held")
    if any(number >= saved["next"] for number in saved["held"]):
        raise Damaged("a block waits that was never written")
    found = _Query(**{name: saved[name] for name in _SAVED})
    found.answered = bool(found.answered)
    found.parts = {Part.named(name): _part(known) for name, known in saved["parts"].items()}
    check_cover(list(found.parts))
    return found


def _part(saved: list[Any]) -> _Part:
    """What a head says of one part, if it can be so."""
    known = dict(zip(_SAVED_OF_PART, saved, strict=True))
    for name in ("runs", "bytes"):
        whole_number(known, name, 0, LARGEST)
    _check_instant(known, "due")
    _check_numbers(known, "segments")
    return _Part(**known)


def _check_instant(saved: dict[str, Any], name: str) -> None:
    if saved[name] is not None:
        whole_number(saved, name, -FOREVER - 1, FOREVER + 1)


def _check_numbers(saved: dict[str, Any], name: str) -> None:
    numbers = saved[name]
    if type(numbers) is not list or not all(type(number) is int and number >= 0 for number in numbers):
        raise Damaged(f"`{name}` is {numbers!r}, not a list of numbers")


@dataclass(slots=True)
class Running:
    """A sequencer and what the store holds of it."""

    sequencer: Sequencer
    held: dict[int, Block]
    segments: dict[Part, Segments] = field(default_factory=dict)
    """Those of the parts that are at hand."""
    touched: set[Part] = field(default_factory=set)
    """The parts that this micro-batch may have changed."""


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
        """How many parts were at hand when they were needed, and how many had to be loaded."""
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
                "the checkpoint belongs to other queries or options (query text, provenance, lateness, lag, or the policy, "
                "RDFS and background graphs of an EP-SPARQL query); run them again with those, or start with a new checkpoint"
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
        if head.get("apart", self._job.apart) != self._job.apart:
            self.progress.sources = {}  # nothing comes from them any more, and they would be waited for without end
        self.passed = {int(number): time for number, time in head["passed"].items()}
        for number in head["passed"]:
            whole_number(head["passed"], number, -FOREVER - 1, FOREVER + 1)
        self.queries = {int(number): _query(saved) for number, saved in head["queries"].items()}
        if not self.queries.keys() | self.passed.keys() <= set(range(len(self._job.tasks))):
            raise Damaged("there is state of a query that is none of these")
        self._warm = _warm.take((self._job.id, self._bucket), head["token"])

    def write_head(self) -> None:
        """Save everything but machines and blocks, which are saved one by one."""
        queries = {number: saved.to_json() for number, saved in self.queries.items() if not saved.empty}
        head = {
            "version": STATE_VERSION,
            "fingerprint": fingerprint(self._job),
            "buckets": self._job.buckets,
            "places": _places(self._job),
            "apart": self._job.apart,
            "progress": self.progress.to_list(),
            "passed": self.passed,
            "queries": queries,
            "token": uuid.uuid4().hex,
        }
        self._store.put("head", json.dumps(head).encode())
        live = {number: running for number, running in self._warm.items() if number in queries}
        _warm.keep((self._job.id, self._bucket), str(head["token"]), live)

    def open(self, number: int) -> Running:
        """The events of a query that wait, and what is at hand of its parts."""
        if number not in self._warm:
            saved, task = self.queries.setdefault(number, _Query()), self._job.tasks[number]
            streams, widths = len(task.program.streams), (task.pair_width, *map(len, task.columns))
            named, digested = self._job.keeps_names, self._job.provenance
            with taking_up():
                held = {
                    i: load_block(
                        self._piece(f"{number}.h{i}"), streams, widths, named=named, digested=digested
                    )
                    for i in saved.held
                }
            sequencer = Sequencer(self._job, task, self._bucket)
            sequencer.hold(list(held.values()))
            self._warm[number] = Running(sequencer, held)
        self._warm[number].touched.clear()
        return self._warm[number]

    def answers(self, number: int, running: Running, now: int) -> Iterator[Answers]:
        """Handle every event before ``now`` and what is due; only what that touches is loaded."""
        saved = self.queries[number]
        given = running.sequencer.ready(now, list(saved.parts))
        for part in sorted({*given, *saved.due_parts(now)}):
            self._load(number, running, part)
            yield from running.sequencer.step(part, given.get(part), now)

    def _load(self, number: int, running: Running, part: Part) -> None:
        """Have a part at hand, as it was."""
        running.touched.add(part)
        if part in running.segments:
            self.warm += 1
            return
        began = wall_microseconds()
        saved = self.queries[number]
        machine, segments = running.sequencer.add_machine(part), Segments()
        machine.answered = saved.answered
        if saved.parts[part].segments:
            with taking_up():
                segments.load(
                    machine,
                    {i: self._piece(_segment(number, part, i)) for i in saved.parts[part].segments},
                )
            self.cold += 1
            self.load_microseconds += wall_microseconds() - began
        running.segments[part] = segments

    def in_order_of_arrival(self, number: int, block: Block) -> Block:
        """The events of a micro-batch, numbered on from those that came before where that matters.

        Those of a punctual input have the numbers that they have in all of it, whatever is read first.
        """
        if not self._job.tasks[number].program.needs_positions or self._job.punctual:
            return block
        saved = self.queries.setdefault(number, _Query())
        rank = np.empty(len(block), np.int64)
        rank[np.argsort(block.arrivals, kind="stable")] = np.arange(saved.arrived, saved.arrived + len(block))
        saved.arrived += len(block)
        return replace(block, arrivals=rank)

    def _piece(self, name: str) -> bytes:
        data = self._store.get(name)
        if data is None:
            raise Damaged(f"`{name}` is not there")
        return data

    def save(self, number: int, running: Running, now: int) -> None:
        """Write what a micro-batch changed."""
        saved, sequencer = self.queries[number], running.sequencer
        saved.answered = any(machine.answered for machine in sequencer.machines.values())
        if now == FOREVER or saved.answered:  # the query needs nothing any more
            for part, known in saved.parts.items():
                self._remove(number, part, known.segments)
            saved.parts = {ALL: _Part()}
            sequencer.hold([])
        else:
            self._divide(number, running, now)
            self._check_limit(number, running, now)
            for part in sorted(running.touched):
                self._save_part(number, running, part, now)
            for part in sorted(running.touched):
                saved.merge(part)
        self._save_held(number, running)

    def _save_part(self, number: int, running: Running, part: Part, now: int) -> None:
        machine, segments = running.sequencer.machines[part], running.segments[part]
        for piece, data in segments.save(machine, now).items():
            self._put(_segment(number, part, piece), data)
        self.queries[number].parts[part] = _Part(
            sorted(segments.sizes), machine.operator.due(now), machine.runs, sum(segments.sizes.values())
        )
        if not segments.sizes:
            self._forget(running, part)

    def _forget(self, running: Running, part: Part) -> None:
        """Have a part no more at hand."""
        running.sequencer.remove_machine(part)
        del running.segments[part]

    def _remove(self, number: int, part: Part, segments: Iterable[int]) -> None:
        for piece in segments:
            self._put(_segment(number, part, piece), None)

    def _divide(self, number: int, running: Running, now: int) -> None:
        """Divide parts that have become large."""
        waiting = sorted(running.touched) if divisible(self._job.tasks[number]) else []
        while waiting:
            part = waiting.pop()
            halves = running.sequencer.divide(part, now)
            if halves:
                saved = self.queries[number].parts
                self._remove(number, part, saved.pop(part).segments)
                self._forget(running, part)
                saved |= {half: _Part() for half in halves}
                running.segments |= {half: Segments() for half in halves}
                running.touched |= set(halves)
                running.touched.discard(part)
                waiting += halves

    def _check_limit(self, number: int, running: Running, now: int) -> None:
        """Refuse more runs than were allowed; those of parts that are not at hand may have expired."""
        most, saved = self._job.max_runs, self.queries[number]
        machines = running.sequencer.machines
        known = {
            part: machines[part].runs if part in machines else saved.parts[part].runs for part in saved.parts
        }
        if len(known) == 1 or most is None or sum(known.values()) <= most:
            return
        for part in known:
            self._load(number, running, part)
            machines[part].dump(now=now)
        if (live := sum(machines[part].runs for part in known)) > most:
            raise too_many_runs(live, most, f"those of {len(known)} groups of keys in one bucket")

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
        saved.first = min((block.first for block in now.values()), default=None)
        saved.bytes = sum(block.nbytes for block in now.values())

    def _put(self, name: str, data: bytes | None) -> None:
        if data is None:
            self._store.remove(name)
        else:
            self._store.put(name, data)


def _segment(number: int, part: Part, piece: int) -> str:
    """How the state store calls a segment."""
    return f"{number}.s{piece}" if part == ALL else f"{number}.{part.name}.s{piece}"
