"""Facts about what a worker keeps from one task to the next."""

from __future__ import annotations

from dataclasses import replace

import pytest

import spaseq
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.shuffle.blocks import decode_block
from spaseq.spark.stages.gpm_stage import mapper_of
from support.in_buckets import mapped_blocks
from support.trades import HEAD, RISE, STREAM, trades


def test_two_queries_of_one_session_keep_what_they_have_loaded() -> None:
    """Dictionary and background graphs of each stay, however their tasks alternate."""
    tasks, streams = make_tasks({"rise": spaseq.compile(RISE)}, 2)
    jobs = [Job(name, tasks, streams, 2) for name in ("first", "second")]
    mappers = [mapper_of(job) for job in jobs]
    assert [mapper_of(replace(job)) for _ in range(3) for job in jobs] == mappers * 3


@pytest.mark.parametrize(
    ("second", "once"),
    [
        ("?c :price ?q FILTER(?q > ?p)", True),  # a condition between steps is not part of the pattern
        ("?c :price ?q FILTER(?q > 50)", False),
        ("?q :price ?c", False),
        ("?c :price ?p", True),
    ],
)
@pytest.mark.parametrize("buckets", [1, 5])
def test_what_two_patterns_found_alike_is_sent_once(second: str, once: bool, buckets: int) -> None:
    """Whatever the names of their variables."""
    body = f"WHERE {{ SEQ(A; B) DEFINE GPM A ON S1 {{ ?c :price ?p }} DEFINE GPM B ON S1 {{ {second} }} }}"
    query = spaseq.compile(f"{HEAD}SELECT ?c WITHIN 1 MINUTE SLIDING {STREAM} {body}")
    tasks, streams = make_tasks({"query": query}, buckets)
    found = [
        decode_block(data) for _, _, data in mapped_blocks(Job("j", tasks, streams, buckets), trades(40), "t")
    ]
    assert found
    assert all((block.gpms[0] is block.gpms[1]) == once for block in found)
