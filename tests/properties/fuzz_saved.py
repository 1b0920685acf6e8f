"""Damaged and crafted state, in a process of its own: a kernel that reads out of bounds takes it along.

`python tests/properties/fuzz_saved.py snapshots SEED COUNT` tries so many snapshots of the engine, ``states`` so many
states of a bucket on Spark. Each must be refused with the error that says so, or be taken up and go on with events.
"""

from __future__ import annotations

import json
import random
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from spaseq import Engine, Event
from spaseq.engine.session import as_query
from spaseq.io.encode import encode_pushed
from spaseq.model.events import GraphEvent
from spaseq.model.packing import pack, unpack
from spaseq.operators.saved_state import STATE_VERSION, IncompatibleState
from spaseq.operators.snapshot import VERSION, IncompatibleSnapshot
from spaseq.planner.compiled import CompiledQuery
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.output.answer_rows import RowForm
from spaseq.spark.shared_folder import BadPolicy
from spaseq.spark.sources.bad_events import BadEvents
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.spark.stages.mapper import Mapper
from spaseq.spark.state import bucket_state
from spaseq.spark.state.stream_stage import BucketInput, Work

STREAM = "http://ex.org/s"
HEAD = "PREFIX : <http://ex.org/> "
GPMS = {
    "A": "DEFINE GPM A ON S { ?x :a ?v ; :k ?k }",
    "B": "DEFINE GPM B ON S { ?y :b ?w ; :k ?k FILTER (?w >= ?v) }",
    "C": "DEFINE GPM C ON S { ?z :c ?u ; :k ?k }",
}
SHAPES = [
    ("SELECT ?k ?v ?w", "A ; B", "WITHIN 30 SECONDS SLIDING", ""),
    ("SELECT ?k ?w (FIRST(?w) AS ?f) (COUNT(B) AS ?n)", "A ; B+", "WITHIN 8 SECONDS SLIDING", ""),
    ("SELECT ?k ?w (SUM(?w) AS ?s)", "A ; B{1,3} ; C", "WITHIN 20 SECONDS", ""),
    ("SELECT ?k", "A , B", "WITHIN 20 SECONDS", "PARTITION BY ?k"),
    ("SELECT ?k", "A ; C! ; B", "WITHIN 20 SECONDS", "PARTITION BY ?k"),
    ("SELECT ?k", "A ; C!", "WITHIN 10 SECONDS", ""),
    ("SELECT ?k", "C! ; A ; B", "WITHIN 10 SECONDS SLIDING", ""),
    ("SELECT ?k", "A : B", "WITHIN 6 EVENTS", "PARTITION BY ?k"),
    ("SELECT DISTINCT ?k", "(A & C) ; B", "WITHIN 15 SECONDS SLIDING", ""),
    ("CONSTRUCT { ?k :v ?v ; :w ?w }", "A ; B", "WITHIN 15 SECONDS SLIDING", ""),
    ("ASK", "A ; B ; C", "WITHIN 15 SECONDS SLIDING", ""),
    ("SELECT ?k", "A ; B AFTER MATCH SKIP PAST LAST EVENT", "WITHIN 20 SECONDS", "PARTITION BY ?k"),
    ("SELECT ?v", "A ; B WITHIN 3 SECONDS ; C! WITHIN 2 SECONDS", "WITHIN 20 SECONDS", ""),
    ("SELECT ?k", "(A ; B){2,3} ; C", "WITHIN 20 SECONDS SLIDING", ""),
    ("SELECT ?k", "A ; B? ; C", "WITHIN 20 SECONDS", ""),
    ("SELECT ?k", "A+ LONGEST ; C", "WITHIN 20 SECONDS", ""),
    ("SELECT ?k", "PERMUTE(A ; B ; C)", "", ""),
]
EXTREMES = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 100, 2**15, 2**31 - 1, 2**31, 2**62, 2**63 - 1]


def query(shape: tuple[str, str, str, str]) -> CompiledQuery:
    """A query of some shape."""
    form, sequence, window, partition = shape
    steps, _, skip = sequence.partition(" AFTER MATCH")
    gpms = " ".join(text for name, text in GPMS.items() if name in re.findall(r"\w+", steps))
    body = f"WHERE {{ SEQ ({steps}) {skip and 'AFTER MATCH' + skip} {gpms} }}"
    return as_query(f"{HEAD}{form} {window} FROM STREAM S <{STREAM}> {partition} {body}")


def events(seed: int, first: int, count: int) -> list[Event]:
    """Events of some keys, some of them simultaneous, some of them late by less than the lateness."""
    chance = random.Random(seed)
    found = []
    for number in range(first, first + count):
        at = number * 500_000 - chance.randrange(2) * 500_000 + 10_000_000
        value, kind, key = chance.randrange(9), chance.choice("aabbc"), chance.randrange(3)
        graph = f'_:e <http://ex.org/{kind}> {value} ; <http://ex.org/k> "k{key}"@en .'
        found.append(Event("S", at, graph, format="turtle"))
    return found


# --- other bytes --------------------------------------------------------------------------------


def mutated(plain: bytes, version: int, chance: random.Random) -> bytes:
    """Other bytes: flipped or cut, or numbers, shapes and words changed under a right checksum."""
    kind = chance.randrange(9)
    if kind == 0:
        return plain[: chance.randrange(len(plain))]
    if kind == 1:
        at = chance.randrange(len(plain))
        return plain[:at] + bytes([chance.randrange(256)]) + plain[at + 1 :]
    header, views = unpack(plain, version)
    arrays: dict[str, Any] = {name: array.copy() for name, array in views.items()}
    for _ in range(chance.choice((1, 1, 1, 2, 5)) if arrays else 0):
        name = chance.choice(list(arrays))
        if kind == 2:
            header = other_json(header, chance)
        elif kind == 3:
            arrays[name] = _other_shape(arrays[name], chance)
        elif kind == 4 and chance.random() < 0.2:
            del arrays[name]
            break
        elif arrays[name].size:
            _other_number(arrays[name], chance)
    return pack(header, arrays, version)


def _other_number(array: np.ndarray[Any, Any], chance: random.Random) -> None:
    flat = array.reshape(-1)
    at = chance.randrange(len(flat))
    wanted = chance.choice([*EXTREMES, int(flat[at]) + 1, int(flat[at]) - 1, chance.randrange(60)])
    bits = 8 * array.dtype.itemsize
    flat[at : at + 1].view(f"u{array.dtype.itemsize}")[0] = wanted % (1 << bits)


def _other_shape(array: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
    kind = chance.randrange(5)
    if kind == 0:
        return array[: chance.randrange(len(array) + 1)]
    if kind == 1:
        return np.concatenate([array, array[-1:]])
    if kind == 2:
        return array.reshape(-1)
    if kind == 3:
        return array.astype(chance.choice([np.int64, np.int32, np.int16, np.uint8, np.bool_]))
    return array[..., None]


def other_json(known: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """A header with one value changed, at any depth."""
    changed = json.loads(json.dumps(known))
    place = changed
    while (inner := [value for value in place.values() if isinstance(value, dict) and value]) and (
        chance.random() < 0.6
    ):
        place = chance.choice(inner)
    if not place:
        return dict(changed)
    name = chance.choice(list(place))
    others: list[Any] = [*EXTREMES, None, True, [], {}, "x", ["A"], ["A", "A"], [[]], 0.5, 10**30, [0], [9]]
    if chance.random() < 0.2:
        del place[name]
    else:
        place[name] = chance.choice(others)
    return dict(changed)


# --- snapshots of the engine --------------------------------------------------------------------


def try_snapshots(chance: random.Random, seed: int) -> Callable[[int], str]:
    """Restore a changed snapshot and go on."""
    known = []
    for shape in SHAPES:
        compiled = query(shape)
        for with_events in (True, False):
            engine = Engine(compiled, lateness="2s", with_events=with_events, compile_kernels=True)
            engine.push(events(seed, 0, chance.randrange(5, 25)))
            known.append((compiled, {"lateness": "2s", "with_events": with_events}, engine.snapshot()))

    def once(number: int) -> str:
        compiled, options, blob = chance.choice(known)
        if chance.random() < 0.1:
            at = chance.randrange(len(blob))
            changed = blob[:at] + bytes([blob[at] ^ (1 << chance.randrange(8))]) + blob[at + 1 :]
        else:
            changed = zlib.compress(mutated(zlib.decompress(blob), VERSION, chance))
        try:
            engine = Engine.restore(compiled, changed, **options, compile_kernels=True)
        except IncompatibleSnapshot:
            return "refused"
        more = events(number, 30, 12)
        engine.push(more[:6])
        engine.push(more[6:])
        # The state that it has come to is as good as any.
        again = Engine.restore(compiled, engine.snapshot(), **options, compile_kernels=False)
        assert len(engine.finish()) == len(again.finish())
        return "worked"

    return once


# --- states of a bucket -------------------------------------------------------------------------


class Store(dict[str, bytes]):
    """A state store in memory."""

    def put(self, name: str, data: bytes) -> None:
        """Keep a piece."""
        self[name] = data

    def remove(self, name: str) -> None:
        """Drop a piece."""
        self.pop(name, None)


class Bucket:
    """The only bucket of a query, taken up anew for every micro-batch."""

    def __init__(self, compiled: CompiledQuery, *, provenance: bool) -> None:
        tasks, streams = make_tasks({"q": compiled}, 1, streaming=True)
        self.job = Job(
            f"{id(compiled)}{provenance}",
            tasks,
            streams,
            1,
            bad=BadPolicy("skip"),
            places=(0,),
            provenance=provenance,
        )
        self.mapper, self.store = Mapper(self.job), Store()

    def feed(self, given: list[Event], *, end: bool = False) -> None:
        """One micro-batch."""
        bucket_state._warm = bucket_state._Warm()
        rows, dictionary = BucketInput(), self.mapper.dictionary
        plain: list[GraphEvent] = [event.to_graph_event(STREAM, dictionary) for event in given]
        if plain:
            batch = encode_pushed(plain, (STREAM,), dictionary)
            arrivals = np.arange(len(plain), dtype=np.int64)
            rows.blocks = {0: [block for _, _, _, block in self.mapper.blocks(batch, arrivals, "")]}
            rows.progress.see(STREAM, max(event.time for event in plain))
        if end:
            rows.progress.promise(STREAM, 2**63 - 1)
        work = Work(self.job, 0, bucket_state.BucketState(self.job, 0, self.store), TaskPlace())
        for _ in work.run(
            rows, RowForm(together=False).opened(self.job, TaskPlace()), BadEvents(BadPolicy("skip"), "")
        ):
            pass


def try_states(chance: random.Random, seed: int) -> Callable[[int], str]:
    """Change a piece of a bucket's state and go on."""
    known = []
    for shape in SHAPES:
        for provenance in (True, False):
            bucket = Bucket(query(shape), provenance=provenance)
            for batch in range(4):
                bucket.feed(events(seed, 8 * batch, 8))
            known.append((bucket, dict(bucket.store)))

    def once(number: int) -> str:
        bucket, store = chance.choice(known)
        bucket.store = Store(store)
        name = chance.choice(list(store))
        if name != "head":
            bucket.store[name] = mutated(store[name], STATE_VERSION, chance)
        elif chance.random() < 0.3:
            bucket.store[name] = store[name][: chance.randrange(len(store[name]))]
        else:
            bucket.store[name] = json.dumps(other_json(json.loads(store[name]), chance)).encode()
        if chance.random() < 0.02:
            del bucket.store[name]
        try:
            bucket.feed(events(number, 32, 10))
        except IncompatibleState:
            return "refused"
        try:
            bucket.feed(events(number, 42, 10))
            bucket.feed([], end=True)
        except IncompatibleState:  # what was not looked at before
            return "refused later"
        return "worked"

    return once


def main(what: str, seed: int, count: int) -> None:
    """Try so many; say how many were refused and how many worked."""
    chance, told = random.Random(seed), Counter[str]()
    once = {"snapshots": try_snapshots, "states": try_states}[what](chance, seed)
    for number in range(count):
        try:
            told[once(number)] += 1
        except Exception:
            sys.stderr.write(f"number {number} of seed {seed}\n")
            raise
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
