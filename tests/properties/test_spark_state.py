"""The buckets of the Spark host on random queries: state that is put down and taken up changes no answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from spaseq.columnar.knowledge import Knowledge
from spaseq.io.encode import encode_pushed
from spaseq.model.events import GraphEvent, localised
from spaseq.planner import compile_query
from spaseq.settings import changed_settings
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.output.across_buckets import NUMBERED
from spaseq.spark.output.answer_rows import RowForm
from spaseq.spark.schemas import EQUAL, SPREAD
from spaseq.spark.shared_folder import BadPolicy
from spaseq.spark.sources.bad_events import BadEvents
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.spark.stages.mapper import Mapper
from spaseq.spark.state import bucket_state
from spaseq.spark.state.bucket_state import BucketState
from spaseq.spark.state.stream_stage import BucketInput, Work
from spaseq.temporal.instants import FOREVER
from support.engine_hosts import disordered
from support.scenarios import Scenario, scenarios

BUCKETS = 3


class Store(dict[str, bytes]):
    """A state store in memory."""

    def put(self, name: str, data: bytes) -> None:
        self[name] = data

    def remove(self, name: str) -> None:
        self.pop(name, None)


@pytest.fixture(scope="module", autouse=True)
def _many_segments() -> Iterator[None]:
    """Merge and sweep after every few micro-batches, and divide the keys of a bucket."""
    with changed_settings(segment_tails=2, segment_runs=2, part_runs=0):
        yield


class Buckets:
    """All buckets of a query, fed micro-batch by micro-batch."""

    def __init__(self, scenario: Scenario, buckets: int = BUCKETS) -> None:
        query = compile_query(scenario.query)
        tasks, streams = make_tasks({"q": query}, buckets, streaming=True)
        known = Knowledge(dict(scenario.knowledge))
        places = tuple(range(buckets))
        self.job = Job(
            "test", tasks, streams, buckets, known, provenance=True, lateness=1_000_000, places=places
        )
        self.mapper = Mapper(self.job)
        self.stores = [Store() for _ in range(buckets)]
        own = (event for event in scenario.events if event.stream in streams)
        scopes = self.mapper.dictionary
        self.events = [localised(event, scopes) for event in disordered(own, 1_000_000)]

    def answers(self, size: int, *, cold: bool) -> Counter[str]:
        """All rows of the answers; ``cold`` as if another process took over after every micro-batch."""
        found: Counter[str] = Counter()
        pieces = [self.events[at : at + size] for at in range(0, len(self.events), size)]
        for piece in [*pieces, None]:
            if cold:
                bucket_state._warm = bucket_state._Warm()
            for bucket, brought in enumerate(self._brought(piece)):
                work = Work(self.job, bucket, BucketState(self.job, bucket, self.stores[bucket]), TaskPlace())
                for batch in work.run(
                    brought,
                    RowForm(together=True).opened(self.job, TaskPlace()),
                    BadEvents(BadPolicy("fail"), ""),
                ):
                    for row in pa.Table.from_batches([batch]).to_pylist():
                        shown = _shown(row)
                        found[shown] = 1 if _compared(row) else found[shown] + 1
        return found

    def _brought(self, piece: list[GraphEvent] | None) -> list[BucketInput]:
        """What a micro-batch brings to every bucket; None is the end of all streams."""
        brought = [BucketInput() for _ in self.stores]
        for stream in self.job.streams:
            for each in brought:
                if piece is None:
                    each.progress.promise(stream, FOREVER)
                for event in piece or ():  # of all streams, so that none holds time up
                    each.progress.see(stream, event.time)
        batch = encode_pushed(piece or [], self.job.streams, self.mapper.dictionary)
        for query, bucket, _, block in self.mapper.blocks(batch, np.arange(len(batch)), ""):
            brought[bucket].blocks.setdefault(query, []).append(block)
        return brought


def _compared(row: dict[str, object]) -> bool:
    """True if one of equal answers is kept when those of all buckets meet; each bucket, and each part of it, may give one."""
    equal = row.get(EQUAL)
    return isinstance(equal, str) and not equal.startswith(NUMBERED)


def _shown(row: dict[str, object]) -> str:
    """A row, comparable: which of equal answers DISTINCT and ASK keep is open, labels mean nothing, nor does the place of a row."""
    chooses = row.get(EQUAL) is not None
    left_out = (SPREAD, *(("match", "events") if chooses else ()))
    kept = {name: value for name, value in row.items() if name not in left_out}
    return re.sub(r"_:[^\s'\"]+", "_:", str(kept))


@settings(max_examples=max(settings().max_examples // 3, 10))
@given(scenario=scenarios() | scenarios(partitioned=True))
def test_a_state_taken_up_by_another_process_changes_no_answer(scenario: Scenario) -> None:
    """Put down after every event, or kept at hand, or all in one micro-batch; keys in buckets, or in parts of one."""
    wanted = Buckets(scenario).answers(1000, cold=False)
    for count, size, cold in ((BUCKETS, 1, True), (1, 3, False), (1, 1, True)):
        buckets = Buckets(scenario, count)
        assert buckets.answers(size, cold=cold) == wanted
        if "EVENTS" not in scenario.query:
            assert all(len(store) <= 1 for store in buckets.stores), "only the head is left"
