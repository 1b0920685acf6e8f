"""Facts about the merge: exact order, bounded memory, whole instants."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from spaseq.engine.feeds import ChangedFile, Feed, LateFeed, SurveyedFile, WholeFeed
from spaseq.engine.replay import Merge, Portion, after, with_end
from spaseq.io.survey import Survey
from spaseq.model.batch import EventBatch
from spaseq.temporal.instants import FOREVER


def batch_of(times: list[int], stream: int = 0, first: int = 1, source: str = "file") -> EventBatch:
    """Events without triples; their graph name is a number that tells them apart."""
    count = len(times)
    none = np.zeros(0, np.int32)
    return EventBatch(
        none, none, none, np.zeros(count + 1, np.int64), np.array(times, np.int64),
        np.full(count, stream, np.int16), np.arange(first, first + count, dtype=np.int32) + 1000 * stream,
        (source,), np.zeros(count, np.int32), np.arange(first, first + count, dtype=np.int64),
    )  # fmt: skip


def pieces(times: list[int], size: int, stream: int = 0) -> list[EventBatch]:
    """The events of a file, some at a time."""
    return [batch_of(times[at : at + size], stream, at + 1) for at in range(0, len(times), size)]


def survey_of(batches: list[EventBatch]) -> Survey:
    """A survey with one mark per batch."""
    times = np.concatenate([batch.times for batch in batches])
    least = np.array([batch.times.min() for batch in batches])
    starts = np.array([batch.positions[0] for batch in batches if batch.positions is not None])
    floors = np.minimum.accumulate(least[::-1])[::-1]
    return Survey(len(times), int(times.min()), int(times.max()), starts, floors)


def surveyed(batches: list[EventBatch]) -> SurveyedFile:
    """A file whose times are known."""
    return SurveyedFile("file", lambda: iter(batches), survey_of(batches))


def rows(portions: Iterator[Portion]) -> list[tuple[int, int, int]]:
    """Time, stream and name of every event, in order."""
    return [
        row
        for portion in portions
        for row in zip(
            portion.batch.times.tolist(),
            portion.batch.streams.tolist(),
            portion.batch.names.tolist(),
            strict=True,
        )
    ]


def wanted(files: list[list[EventBatch]]) -> list[tuple[int, int, int]]:
    """What the order must be: time, stream, file, place in the file."""
    every = [
        (time, stream, number, place, name)
        for number, batches in enumerate(files)
        for place, (time, stream, name) in enumerate(
            (t, s, n)
            for batch in batches
            for t, s, n in zip(
                batch.times.tolist(), batch.streams.tolist(), batch.names.tolist(), strict=True
            )
        )
    ]
    return [(time, stream, name) for time, stream, _, _, name in sorted(every)]


@pytest.mark.parametrize("seed", range(20))
def test_the_merge_of_any_files_is_the_sorted_input(seed: int) -> None:
    """Unsorted, overlapping, simultaneous: by time, then by stream, then by arrival."""
    chance = random.Random(seed)
    files = [
        pieces(
            [at // 3 + chance.randrange(1 + seed) for at in range(chance.randrange(1, 200))],
            chance.randrange(1, 30),
            chance.randrange(3),
        )
        for _ in range(chance.randrange(1, 6))
    ]
    feeds: list[Feed] = [
        surveyed(file) if chance.random() < 0.7 else WholeFeed(lambda f=file: iter(f))  # type: ignore[misc]
        for file in files
    ]
    merged = rows(Merge(feeds, whole_instants=True, most=chance.choice([1, 7, 1000])).portions())
    assert merged == wanted(files)


def test_without_whole_instants_the_order_of_times_is_the_same() -> None:
    """Simultaneous events may come in two portions; time never goes back."""
    files = [pieces([1, 1, 2, 2, 3], 2), pieces([1, 2, 2, 3], 3, stream=1)]
    merged = rows(Merge([surveyed(file) for file in files], most=2).portions())
    assert sorted(merged) == sorted(wanted(files))
    assert [row[0] for row in merged] == sorted(row[0] for row in merged)


def test_no_instant_is_split_if_instants_must_stay_whole() -> None:
    """However small the portions should be."""
    files = [pieces([1, 2, 2, 2, 2, 3], 2), pieces([2, 2, 3], 1, stream=1)]
    merge = Merge([surveyed(file) for file in files], whole_instants=True, most=1)
    seen: list[int] = []
    for portion in merge.portions():
        times = set(portion.batch.times.tolist())
        assert not times & set(seen)
        seen += times
    assert seen == [1, 2, 3]


def test_nothing_after_now_says_otherwise() -> None:
    """Events of later portions are never before the ``now`` of an earlier one."""
    files = [pieces([5, 4, 9, 7, 11, 10, 30], 2), pieces([1, 2, 6, 8, 40], 2, stream=1)]
    latest = -FOREVER
    for portion in Merge([surveyed(file) for file in files], most=2).portions():
        assert (portion.batch.times >= latest).all()
        latest = portion.now
    assert latest == FOREVER


def test_a_file_is_opened_only_when_the_merge_reaches_it() -> None:
    """A thousand daily files need not be open at once."""
    opened: list[int] = []

    def file(number: int) -> SurveyedFile:
        batches = pieces([number * 100 + at for at in range(50)], 10)

        def begin() -> Iterator[EventBatch]:
            opened.append(number)
            return iter(batches)

        return SurveyedFile("file", begin, survey_of(batches))

    merge = Merge([file(number) for number in (2, 0, 1)], most=1)
    first = next(merge.portions())
    assert (first.batch.times.tolist(), opened) == ([0], [0])
    assert sum(map(len, merge.held())) < 50


def test_what_is_held_is_the_disorder_not_the_file() -> None:
    """Ten thousand events that go back by ten never pile up."""
    chance = random.Random(1)
    batches = pieces([at + chance.randrange(10) for at in range(10_000)], 50)
    merge = Merge([surveyed(batches)], most=100)
    assert max(sum(map(len, merge.held())) for _ in merge.portions()) < 400


def test_a_file_that_changes_while_it_is_read_is_an_error() -> None:
    """Its events would come too late to be sorted in."""
    batches = pieces([10, 11, 12, 13], 2)
    known = survey_of(batches)
    changed = [batches[0], batch_of([1, 2], first=3)]
    with pytest.raises(ChangedFile, match="`file` was changed while it was read"):
        list(Merge([SurveyedFile("file", lambda: iter(changed), known)]).portions())


def test_late_events_are_handed_over_and_the_rest_is_in_order() -> None:
    """With a lateness nothing is surveyed: what comes too late is late."""
    late: list[int] = []
    feed = LateFeed(
        lambda: iter(pieces([10, 8, 20, 9, 18, 30], 2)),
        5,
        lambda batch, found, _: late.extend(batch.times[found]),
    )
    assert [row[0] for row in rows(Merge([feed]).portions())] == [8, 10, 18, 20, 30]
    assert late == [9]


def test_an_ended_stream_does_not_stall_the_others() -> None:
    """A short file beside a long one."""
    feeds = [
        LateFeed(lambda: iter(pieces([1], 1)), 0, lambda *_: None),
        LateFeed(lambda: iter(pieces(list(range(100)), 1, stream=1)), 0, lambda *_: None),
    ]
    merge = Merge(feeds, most=1)
    assert max(sum(map(len, merge.held())) for _ in merge.portions()) < 5


def test_compaction_reaches_every_event_that_waits() -> None:
    """Ids change while events wait: in parts, in buffers, and sorted for the next portion."""
    feeds = [
        WholeFeed(lambda: iter(pieces([5, 6, 7], 2))),
        LateFeed(lambda: iter(pieces([1, 5, 3, 9], 1, stream=1)), 100, lambda *_: None),
    ]
    merge = Merge(feeds, most=1)
    portions = merge.portions()
    seen = [next(portions)]
    merge.remap(np.arange(3000, dtype=np.int32)[::-1].copy())
    seen += portions
    first, *others = rows(iter(seen))
    assert first == (1, 1, 1001)
    assert others == [
        (3, 1, 2999 - 1003), (5, 0, 2999 - 1), (5, 1, 2999 - 1002), (6, 0, 2999 - 2), (7, 0, 2999 - 3),
        (9, 1, 2999 - 1004),
    ]  # fmt: skip


def test_what_was_handled_before_is_passed_over() -> None:
    """A resumed run sees only what lies after the instant it had reached."""
    portions = iter(
        [Portion(batch_of([1, 2]), 2), Portion(batch_of([2, 3, 4]), 4), Portion(batch_of([5]), 5)]
    )
    assert [portion.batch.times.tolist() for portion in after(portions, 3)] == [[4], [5]]


def test_the_end_of_time_comes_last() -> None:
    """What waits for the end of a window must be decided."""
    *_, last = with_end(iter([Portion(batch_of([1]), 1)]))
    assert (len(last.batch), last.now) == (0, FOREVER)
