"""Answers as rows, however the operator hands them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import spaseq
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.output.answer_rows import RowForm
from spaseq.spark.shuffle.blocks import decode_block
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.spark.stages.sequencer import Sequencer
from support.in_buckets import mapped_blocks
from support.trades import HEAD, STREAM, trade

QUERY = f"{HEAD}SELECT ?c WITHIN 1 MINUTE SLIDING {STREAM} WHERE {{ SEQ(A) DEFINE GPM A ON S1 {{ ?c :price ?p }} }}"


@pytest.mark.parametrize("slice_matches", [1, 2, 1 << 14])
def test_equal_matches_of_an_instant_that_comes_in_pieces_have_identities_of_their_own(
    slice_matches: int, change_settings: Callable[..., None]
) -> None:
    """Those that they have in process, where the numbers of equal ones go on as well."""
    events = [replace(trade(second, "c1", 5), name=None) for second in (1, 1, 1, 2, 2)]
    wanted = [match.identity for match in spaseq.run(QUERY, {"S1": events})]
    assert len(set(wanted)) == len(events)
    change_settings(slice_matches=slice_matches)
    tasks, streams = make_tasks({"query": spaseq.compile(QUERY)}, 1)
    job = Job("pieces", tasks, streams, 1, provenance=True)
    sequencer, taker = (
        Sequencer(job, tasks[0], 0),
        RowForm(together=False).opened(job, TaskPlace()).taker(0, 0),
    )
    for _, _, block in mapped_blocks(job, events, "t"):
        sequencer.add(decode_block(block))
    pieces = [rows for answers in sequencer.finish() for rows in taker.take(answers, sequencer.dictionary)]
    assert [name for rows in pieces for name in rows.column("match").to_pylist()] == wanted
    assert (max(len(rows) for rows in pieces) < len(events)) == (slice_matches < len(events))
