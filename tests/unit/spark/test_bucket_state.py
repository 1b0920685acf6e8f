"""What a bucket keeps between micro-batches: enough to go on, no more than it must, and written in pieces."""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.automaton.stage import TooManyRuns
from spaseq.columnar.knowledge import Knowledge
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import StaleIds
from spaseq.operators.answers import matches
from spaseq.operators.saved_state import IncompatibleState
from spaseq.planner.compiled import compile_query
from spaseq.planner.in_run import Choices, in_run
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.output.answer_rows import RowForm
from spaseq.spark.shared_folder import BadPolicy
from spaseq.spark.shuffle.blocks import Block, decode_block
from spaseq.spark.sources.bad_events import BadEvents
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.spark.stages.mapper import Mapper
from spaseq.spark.stages.sequencer import Sequencer
from spaseq.spark.state import bucket_state
from spaseq.spark.state.bucket_state import BucketState, fingerprint
from spaseq.spark.state.stream_stage import BucketInput, Work

STREAM = "http://ex.org/s"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?k ?v {window} FROM STREAM S <http://ex.org/s> {partition} WHERE {{ SEQ ({seq}) {gpms} }}"""
GPMS = {
    "A": "DEFINE GPM A ON S { ?x :a ?v ; :k ?k }",
    "B": "DEFINE GPM B ON S { ?y :b ?w ; :k ?k }",
    "C": "DEFINE GPM C ON S { ?z :c ?u ; :k ?k }",
}
SECOND = 1_000_000


class Store(dict[str, bytes]):
    """A state store in memory that counts what is written."""

    written = 0

    def read(self, name: str) -> None:
        """Called with every name that is asked for."""

    def get(self, name: str) -> bytes | None:  # type: ignore[override]
        self.read(name)
        return super().get(name)

    def put(self, name: str, data: bytes) -> None:
        self.written += len(data)
        self[name] = data

    def remove(self, name: str) -> None:
        self.pop(name, None)


class Stream:
    """All buckets of one query, usually one, fed micro-batch by micro-batch."""

    def __init__(
        self,
        seq: str,
        window: str = "WITHIN 30 SECONDS SLIDING",
        partition: str = "",
        copies: int = 1,
        buckets: int = 1,
        **job: object,
    ) -> None:
        gpms = " ".join(text for name, text in GPMS.items() if name in seq)
        text = QUERY.format(seq=seq, window=window, partition=partition, gpms=gpms)
        query = compile_query(text)
        tasks, streams = make_tasks({f"q{i}": query for i in range(copies)}, buckets, streaming=True)
        places = tuple(range(buckets))
        self.job = Job("test", tasks, streams, buckets, bad=BadPolicy("skip"), places=places, **job)  # type: ignore[arg-type]
        self.mapper = Mapper(self.job)
        self.stores = [Store() for _ in places]
        self.store = self.stores[0]
        self.late = 0

    def batch(self, events: list[tuple[int, str, str, str]]) -> EventBatch:
        """Events as (time, predicate, key, value)."""
        encode = self.mapper.dictionary.encode_text
        rows = [
            [
                (f"<urn:e{t}>", f"<http://ex.org/{p}>", f'"{v}"'),
                (f"<urn:e{t}>", "<http://ex.org/k>", f"<urn:{k}>"),
            ]
            for t, p, k, v in events
        ]
        columns = [np.array([encode(t[i]) for event in rows for t in event], np.int32) for i in range(3)]
        return EventBatch(
            *columns,
            np.arange(0, 2 * len(events) + 1, 2, dtype=np.int64),
            np.array([time for time, _, _, _ in events], np.int64),
            np.zeros(len(events), np.int16),
            np.zeros(len(events), np.int32),
        )

    def feed(
        self, events: list[tuple[int, str, str, str]], *, cold: bool = True, end: bool = False
    ) -> Iterator[tuple[object, ...]]:
        """The answers of one micro-batch; ``cold`` as if another process took over."""
        if cold:
            bucket_state._warm = bucket_state._Warm()
        given = [BucketInput() for _ in self.stores]
        if events:
            batch = self.batch(events)
            arrivals = np.arange(len(events), dtype=np.int64)
            for query, bucket, _, block in self.mapper.blocks(batch, arrivals, ""):
                given[bucket].blocks.setdefault(query, []).append(block)
            for each in given:
                each.progress.see(STREAM, max(time for time, _, _, _ in events))
        for bucket, (own, store) in enumerate(zip(given, self.stores, strict=True)):
            if end:
                own.progress.promise(STREAM, 2**63 - 1)
            work = Work(self.job, bucket, BucketState(self.job, bucket, store), TaskPlace())
            for found in work.run(
                own, RowForm(together=False).opened(self.job, TaskPlace()), BadEvents(BadPolicy("skip"), "")
            ):
                table = pa.Table.from_batches([found]).cast(
                    pa.schema([pa.field(f.name, f.type) for f in found.schema])
                )
                yield from (tuple(row.values()) for row in table.to_pylist())
            self.late += sum(work.late)


def random_events(seed: int, count: int, keys: int) -> list[tuple[int, str, str, str]]:
    """Events of some keys, two a second."""
    chance = random.Random(seed)
    return [
        (i * SECOND // 2, chance.choice("aabbc"), f"k{chance.randrange(keys)}", str(i)) for i in range(count)
    ]


SHAPES = [
    ("A ; B", "WITHIN 30 SECONDS SLIDING", ""),
    ("A+ ; B", "WITHIN 5 SECONDS SLIDING", ""),
    ("A , B", "WITHIN 20 SECONDS", "PARTITION BY ?k"),
    ("A ; C! ; B", "WITHIN 20 SECONDS", "PARTITION BY ?k"),
    ("A ; B!", "WITHIN 10 SECONDS", ""),
    ("C! ; A ; B", "WITHIN 10 SECONDS SLIDING", ""),
    ("A : B", "WITHIN 6 EVENTS", "PARTITION BY ?k"),
    ("A ; B", "WITHIN 5 EVENTS SLIDING", ""),
]


@pytest.mark.parametrize(("seq", "window", "partition"), SHAPES)
@pytest.mark.parametrize("provenance", [False, True])
def test_a_state_taken_up_anywhere_goes_on_as_if_nothing_had_happened(
    seq: str, window: str, partition: str, provenance: bool, change_settings: Callable[..., None]
) -> None:
    """Taken up by the same process, by another one, or never put down: the same answers."""
    change_settings(segment_tails=3, segment_runs=8)
    events = random_events(3, 160, 4)
    found = []
    for size, cold, part_runs in (
        (160, False, 9999),
        (7, False, 2),
        (7, True, 2),
        (1, True, 2),
        (1, True, 9999),
    ):
        change_settings(part_runs=part_runs)
        stream = Stream(seq, window, partition, provenance=provenance)
        answers: Counter[object] = Counter()
        for at in range(0, len(events), size):
            answers.update(str(row) for row in stream.feed(events[at : at + size], cold=cold))
        answers.update(str(row) for row in stream.feed([], cold=cold, end=True))
        found.append(answers)
        assert set(stream.store) <= {"head"} or "EVENTS" in window, "nothing is kept after the end"
    assert found[0], "the shape finds something"
    for answers in found[1:]:
        assert answers == found[0]


@pytest.mark.parametrize(("seq", "window", "partition"), SHAPES)
@pytest.mark.parametrize("promoted", [3, 10**9])
def test_a_compacted_dictionary_changes_no_answer(
    seq: str, window: str, partition: str, promoted: int, change_settings: Callable[..., None]
) -> None:
    """Answers are shown with the terms they were found with, however often ids are given anew."""
    events = random_events(3, 160, 4)
    found = []
    for size in (10**9, 4):
        change_settings(compacted_bucket_terms=size, promoted_terms=promoted)
        stream = Stream(seq, window, partition, provenance=True)
        rows = [row for at in range(0, 160, 7) for row in stream.feed(events[at : at + 7], cold=False)]
        found.append(sorted(str(row) for row in [*rows, *stream.feed([], cold=False, end=True)]))
    assert found[0]
    assert found[0] == found[1]


def test_answers_of_an_older_generation_are_refused(change_settings: Callable[..., None]) -> None:
    """Their ids mean other terms by now, so showing them must fail, not lie."""
    change_settings(compacted_bucket_terms=4)
    stream = Stream("A ; B")
    sequencer = Sequencer(stream.job, stream.job.tasks[0], 0)
    batch = stream.batch([(1, "a", "k", "1"), (2, "b", "k", "2")])
    for _, _, _, block in stream.mapper.blocks(batch, np.arange(2), ""):
        sequencer.add(decode_block(block))
    (answers,) = sequencer.advance(10)
    assert len(answers) == 1
    list(sequencer.advance(20))
    taker = RowForm(together=False).opened(stream.job, TaskPlace()).taker(0, 0)
    with pytest.raises(StaleIds):
        list(taker.take(answers, sequencer.dictionary))
    with pytest.raises(StaleIds):
        list(matches(stream.job.tasks[0].program, answers, sequencer.dictionary, ""))


@pytest.mark.parametrize("cold", [False, True])
def test_events_of_an_instant_that_comes_in_pieces_are_not_forgotten(
    cold: bool, change_settings: Callable[..., None]
) -> None:
    """A conjunction waits for the rest of its instant, whatever is swept and saved in between."""
    change_settings(segment_runs=0)
    stream = Stream("(A & C) ; B", provenance=True)
    others = [(i, "a", f"k{i}", "1") for i in range(5000)]
    pieces = [others, [(9000, "a", "k", "1")], [(9000, "c", "k", "2")], [(9001, "b", "k", "3")]]
    found = [row for piece in pieces for row in stream.feed(piece, cold=cold)]
    found += stream.feed([], cold=cold, end=True)
    ((*_, events),) = found
    assert [(event["step"], event["time"].microsecond) for event in events] == [
        ("A", 9000),
        ("C", 9000),
        ("B", 9001),
    ]


@pytest.mark.parametrize("partition", ["", "PARTITION BY ?k"])
def test_idle_keys_leave_nothing_behind(partition: str) -> None:
    """Keys with one event each: after their windows only the head is left, whoever else comes."""
    stream = Stream("A ; B", "WITHIN 10 SECONDS SLIDING", partition)
    list(stream.feed([(i, "a", f"k{i}", "1") for i in range(5000)]))
    full = sum(map(len, stream.store.values()))
    list(stream.feed([(60 * SECOND, "c", "other", "1")]))
    assert set(stream.store) <= {"head", "0.h1", "0.h2"}
    assert sum(map(len, stream.store.values())) < full / 100


def test_a_small_micro_batch_writes_little_of_a_large_state() -> None:
    """What was there before is not written again."""
    stream = Stream("A ; B", "WITHIN 1 HOUR SLIDING")
    list(stream.feed([(i, "a", f"k{i}", "1") for i in range(20_000)]))
    list(stream.feed([(30_000, "c", "x", "1")]))
    full = sum(map(len, stream.store.values()))
    before = stream.store.written
    list(stream.feed([(40_000 + i, "a", f"n{i}", "1") for i in range(200)]))
    list(stream.feed([(50_000, "c", "x", "1")]))
    assert stream.store.written - before < full / 10


@pytest.mark.parametrize("partition", ["", "PARTITION BY ?k"])
def test_a_micro_batch_loads_only_the_parts_that_its_events_touch(
    partition: str, change_settings: Callable[..., None]
) -> None:
    """Of many parts one event reads one, and the answers are those of all together; at the end nothing is left."""
    change_settings(part_runs=64)
    stream = Stream("A ; B", "WITHIN 1 HOUR SLIDING", partition)
    list(stream.feed([(i, "a", f"k{i % 500}", str(i)) for i in range(2000)]))
    list(stream.feed([(3000, "b", "k77", "1")]))
    segments = [name for name in stream.store if ".s" in name]
    assert len(segments) > 2000 / 64
    reads: list[str] = []
    stream.store.read = reads.append  # type: ignore[method-assign]
    found = list(stream.feed([(4000, "c", "k1", "1"), (5000, "b", "k78", "1")]))
    assert sorted(row[3] for row in found) == ['"1077"', '"1577"', '"577"', '"77"']
    assert len({name.rpartition(".")[0] for name in reads if ".s" in name}) == 1
    list(stream.feed([(9 * 3600 * SECOND, "a", "k1", "1")]))
    assert not [name for name in stream.store if ".s" in name], "expired parts are gone"


def test_one_key_is_not_divided(change_settings: Callable[..., None]) -> None:
    """However many runs it has: its events belong together."""
    change_settings(part_runs=8)
    stream = Stream("A ; B", "WITHIN 1 HOUR SLIDING")
    list(stream.feed([(i, "a", "k", str(i)) for i in range(100)]))
    list(stream.feed([(200, "b", "k", "1")]))
    assert [name for name in stream.store if ".s" in name] == ["0.s0", "0.s2"]
    assert len(list(stream.feed([], end=True))) == 100


def test_max_runs_bounds_the_runs_of_all_parts_together(change_settings: Callable[..., None]) -> None:
    """Those that have expired do not count, wherever they are."""
    change_settings(part_runs=16)
    stream = Stream("A ; B", "WITHIN 10 SECONDS SLIDING", max_runs=150)
    for first in (0, 60 * SECOND, 120 * SECOND):
        list(stream.feed([(first + i, "a", f"k{first + i}", "1") for i in range(140)]))
    more = [(120 * SECOND + 140 + i, "a", f"k{i}", "1") for i in range(140)]
    with pytest.raises(TooManyRuns, match="more than max_runs=150"):
        list(stream.feed(more))


def test_parts_that_do_not_make_up_a_bucket_are_refused(change_settings: Callable[..., None]) -> None:
    """Keys would be lost, or be there twice."""
    change_settings(part_runs=4)
    stream = Stream("A ; B")
    list(stream.feed([(i, "a", f"k{i}", "1") for i in range(100)]))
    head = json.loads(stream.store["head"])
    parts = head["queries"]["0"]["parts"]
    for wrong in (
        dict(list(parts.items())[1:]),
        {**parts, "0-0": [[], None, 0, 0]},
        {"77-0": [[], None, 0, 0]},
        {},
    ):
        head["queries"]["0"]["parts"] = wrong
        stream.store["head"] = json.dumps(head).encode()
        with pytest.raises(IncompatibleState, match="start again with a new checkpoint"):
            list(stream.feed([(2000, "b", "k", "1")]))


def test_the_state_of_earlier_releases_is_taken_up() -> None:
    """They kept all keys of a bucket together."""
    stream = Stream("A ; B")
    list(stream.feed([(i, "a", f"k{i}", str(i)) for i in range(100)]))
    head = json.loads(stream.store["head"])
    known = head["queries"]["0"]
    segments, due, runs, size = known.pop("parts")["0-0"]
    del known["first"]
    head["queries"]["0"] = {**known, "segments": segments, "due": due, "runs": runs, "bytes": size}
    stream.store["head"] = json.dumps(head).encode()
    list(stream.feed([(2000, "b", "k9", "1")]))
    assert [row[3] for row in stream.feed([], end=True)] == ['"9"']


@pytest.mark.parametrize("copies", [1, 2])
def test_late_events_are_left_out_and_counted_once(copies: int) -> None:
    """They came after the watermark had passed them, however many queries see them."""
    stream = Stream("A ; B", lateness=2 * SECOND, copies=copies)
    list(stream.feed([(10 * SECOND, "a", "k", "1")]))
    given = stream.batch([(7 * SECOND, "a", "k", "late"), (8 * SECOND, "a", "k", "in time")])
    blocks: dict[int, list[bytes]] = {}
    for query, _, _, block in stream.mapper.blocks(given, np.arange(2), ""):
        blocks.setdefault(query, []).append(block)
    clock = Block(
        given.times, given.streams, np.array([4, 5]), np.ones(2, np.int32), np.zeros((0, 32), np.uint8),
        decode_block(blocks[0][0]).pairs, (), pa.array(["line file.nq"], pa.large_string()),
    )  # fmt: skip
    work = Work(stream.job, 0, BucketState(stream.job, 0, stream.store), TaskPlace())
    told: list[str] = []
    given = BucketInput(blocks=blocks, clocks=[clock])
    list(work.run(given, RowForm(together=False).opened(stream.job, TaskPlace()), _Told(told)))  # type: ignore[arg-type]
    assert work.late == [1]
    assert told == [
        "file.nq:4: late: its time is 1970-01-01T00:00:07Z, and the watermark has reached 1970-01-01T00:00:08Z"
    ]
    answers = list(stream.feed([(20 * SECOND, "b", "k", "9")], end=True))
    assert sorted(row[3] for row in answers) == sorted(['"1"', '"in time"'] * copies)


class _Told:
    def __init__(self, told: list[str]) -> None:
        self._told = told

    def __call__(self, bad: object) -> None:
        self._told.append(str(bad))


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ({"version": 0}, "version 0.*start again with a new checkpoint"),
        ({"fingerprint": "other"}, "other queries or options"),
        ({"buckets": 9}, "9 buckets.*partitions=9"),
        ({"places": 1}, "under other keys.*new checkpoint"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_with_advice(
    change: dict[str, object], advice: str
) -> None:
    """Taking it up would give wrong answers."""
    stream = Stream("A ; B")
    list(stream.feed([(1, "a", "k", "1")]))
    head = json.loads(stream.store["head"])
    stream.store["head"] = json.dumps({**head, **change}).encode()
    with pytest.raises(IncompatibleState, match=advice):
        list(stream.feed([(2, "b", "k", "1")]))


def test_a_checkpoint_that_spread_keys_over_all_buckets_where_they_go_in_groups_is_refused() -> None:
    """Keys would be looked for in other buckets than those that have their runs."""
    stream = Stream("A , B", buckets=9)
    list(stream.feed([(1, "a", "k", "1")]))
    head = json.loads(stream.store["head"])
    earlier = zlib.crc32(json.dumps(stream.job.places).encode())
    assert head["places"] != earlier
    stream.store["head"] = json.dumps({**head, "places": earlier}).encode()
    with pytest.raises(IncompatibleState, match="under other keys"):
        list(stream.feed([(2, "b", "k", "1")]))


def test_a_checkpoint_of_epsparql_belongs_to_its_policy_and_its_background() -> None:
    """What came is joined with the background once; other languages read it anew for each event."""

    def made(language: str, text: str, value: int | None = None, policy: str = "unrestricted") -> str:
        graph = [Triple(NamedNode("urn:a"), NamedNode("urn:b"), Literal(value or 0))]
        known = Knowledge({} if value is None else {"http://ex.org/kb": graph})
        (query,) = in_run([compile_query(text, language)], known, Choices(policy))
        tasks, _ = make_tasks({"q": query}, 1, streaming=True)
        return fingerprint(Job(f"{len(seen)}", tasks, (STREAM,), 1, known))

    seen: list[str] = []
    text = "PREFIX : <http://ex.org/> SELECT ?x { { ?x :a ?v } SEQ { ?x :b ?w } }"
    for value, policy in (
        (None, "unrestricted"),
        (1, "unrestricted"),
        (2, "unrestricted"),
        (None, "recent"),
    ):
        seen.append(made("epsparql", text, value, policy))
    assert len(set(seen)) == len(seen)
    plain = QUERY.format(
        window="WITHIN 30 SECONDS SLIDING", partition="", seq="A ; B", gpms=GPMS["A"] + GPMS["B"]
    )
    first = made("spaseq", plain)
    seen.append(first)
    assert made("spaseq", plain, 1) == first


@pytest.mark.parametrize("piece", ["head", "0.s0", "0.h0"])
@pytest.mark.parametrize("damage", ["cut", "bit", "gone"])
def test_damaged_state_is_refused_with_advice(piece: str, damage: str) -> None:
    """Neither an error of a decoder nor wrong answers."""
    stream = Stream("A ; B", lateness=SECOND)
    list(stream.feed([(1, "a", "k", "1"), (SECOND, "a", "k", "2"), (5 * SECOND, "a", "k", "3")]))
    name = next(name for name in sorted(stream.store) if name.startswith(piece[:3]))
    data = stream.store[name]
    stream.store[name] = data[:-3] if damage == "cut" else data[:20] + bytes([data[20] ^ 4]) + data[21:]
    if damage == "gone":
        del stream.store[name]
        if piece == "head":  # then it is a new bucket
            return
    with pytest.raises(IncompatibleState, match=r"start (again )?with a new checkpoint"):
        list(stream.feed([(9 * SECOND, "b", "k", "1")]))


def test_a_run_takes_few_bytes_and_what_is_kept_is_counted() -> None:
    """At most 120 bytes for each, terms included; a bucket that another process has is loaded, and says so."""
    stream = Stream("A ; B", window="WITHIN 1 HOUR SLIDING")
    count = 3000
    events = [(n * 1_234_567 // 2, "a", f"key-{n}", str(n)) for n in range(count)]
    list(stream.feed([*events, (count * SECOND, "c", "k", "0")]))
    told = []
    for cold in (False, True):
        if cold:
            bucket_state._warm = bucket_state._Warm()
        work = Work(stream.job, 0, BucketState(stream.job, 0, stream.store), TaskPlace())
        given = BucketInput()
        time = count * SECOND + 1 + cold
        batch = stream.batch([(time, "b", "key-5", "5")])
        for query, _, _, block in stream.mapper.blocks(batch, np.arange(1), ""):
            given.blocks.setdefault(query, []).append(block)
        given.progress.see(STREAM, time + 1)
        list(
            work.run(
                given,
                RowForm(together=False).opened(stream.job, TaskPlace()),
                BadEvents(BadPolicy("skip"), ""),
            )
        )
        told.append(work.counts())
        assert work.watermark == time + 1
    assert [(each["warm"], each["cold"]) for each in told] == [(1, 0), (0, 1)]
    assert told[0]["live_runs"] >= count
    assert 0 < told[0]["state_bytes"] / count <= 120


def test_a_late_event_takes_no_instants_of_other_keys_along() -> None:
    """A bucket hears of the instants of all keys in one block, and the first of them may be late."""
    for events, count in (([(2, "a", "k2", "1")], 1), ([(2, "a", "k2", "1"), (5, "a", "k2", "1")], 0)):
        stream = Stream("A , B", buckets=4)
        found = list(stream.feed([(4, "a", "k1", "1")]))
        found += [*stream.feed(events), *stream.feed([(10, "b", "k1", "2")]), *stream.feed([], end=True)]
        assert len(found) == count
