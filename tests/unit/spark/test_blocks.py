"""Blocks: what crosses the shuffle comes out as it went in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from spaseq.model.packing import Damaged
from spaseq.settings import changed_settings
from spaseq.spark.shuffle.blocks import (
    Block,
    IncompatibleBlock,
    Mappings,
    concat_blocks,
    decode_block,
    decode_blocks,
    decode_instants,
    encode_block,
    encode_instants,
)
from spaseq.spark.state.held_blocks import load_block, save_block


def block(times: list[int], rows: list[tuple[int, int]], terms: list[str]) -> Block:
    """Events at these times; one GPM with one variable, rows as (event, term number)."""
    events, numbers = np.array([e for e, _ in rows], np.int32), np.array([[n] for _, n in rows], np.int32)
    return Block(
        np.array(times, np.int64),
        np.zeros(len(times), np.int16),
        np.arange(len(times), dtype=np.int64),
        np.zeros(0, np.int32),
        np.zeros((0, 32), np.uint8),
        Mappings(np.zeros(0, np.int32), np.zeros((0, 0), np.int32)),
        (Mappings(events, numbers.reshape(-1, 1)),),
        pa.array(terms, pa.large_string()),
    )


def values(given: Block) -> list[tuple[int, str | None]]:
    """The rows as (time, term)."""
    texts = [None, *given.terms.to_pylist()]
    rows = given.gpms[0]
    pairs = zip(rows.event.tolist(), rows.terms[:, 0].tolist(), strict=True)
    return [(int(given.times[event]), texts[number]) for event, number in pairs]


def test_bytes_bring_back_the_same_block() -> None:
    """Events, rows and terms survive, unbound ones as well."""
    before = block([5, 9], [(0, 1), (1, 0), (1, 2)], ["<urn:a>", '"ü"'])
    after = decode_block(encode_block(before))
    assert values(after) == values(before) == [(5, "<urn:a>"), (9, None), (9, '"ü"')]
    assert after.streams.dtype == np.int16


def test_what_several_patterns_found_crosses_once() -> None:
    """GPMs that share their rows share them on the other side, after every change, and their bytes are there once."""
    one = block([5, 9, 9], [(0, 1), (1, 0), (2, 2)], ["<urn:a>", "<urn:b>"])
    shared, apart = (replace(one, gpms=(one.gpms[0], other)) for other in (one.gpms[0], replace(one.gpms[0])))
    assert (
        len(encode_block(apart)) - len(encode_block(shared)) == 3 * 4 + 3 * 4 + 16
    )  # events, terms and their number
    after = decode_block(encode_block(shared))
    for each in (
        after,
        after.take(np.array([2, 0])),
        after.take(np.array([1])).compact(),
        concat_blocks([after, shared]),
    ):
        assert each.gpms[0] is each.gpms[1]
    assert values(after) == values(shared)
    assert after.nbytes < decode_block(encode_block(apart)).nbytes


def test_blocks_that_share_differently_are_decoded_as_one() -> None:
    """In one block two patterns found the same, in the other they did not."""
    first = block([5], [(0, 1)], ["<urn:a>"])
    first = replace(first, gpms=(first.gpms[0], first.gpms[0]))
    second = block([7, 9], [(0, 1), (1, 2)], ["<urn:b>", "<urn:c>"])
    second = replace(
        second, gpms=(second.gpms[0], Mappings(second.gpms[0].event[:1], second.gpms[0].terms[:1]))
    )
    for blocks in ([first, second], [second, first], [first, first], [second, second]):
        whole, joined = decode_blocks([encode_block(each) for each in blocks]), concat_blocks(blocks)
        for gpm in range(2):
            one, other = (replace(each, gpms=(each.gpms[gpm],)) for each in (whole, joined))
            assert values(one) == values(other)
        assert (whole.gpms[0] is whole.gpms[1]) == (blocks == [first, first])


def test_several_blocks_are_decoded_as_one() -> None:
    """Their columns are joined as bytes: events and terms are numbered on, unbound stays unbound, instants begin where they are."""
    first = block([5, 9], [(0, 1), (1, 0), (1, 2)], ["<urn:a>", '"ü"'])
    nothing = block([7], [], [])
    begun = replace(block([3], [(0, 1)], ["<urn:b>"]), starts=np.array([2], np.int64))
    named = [replace(each, names=np.zeros(len(each), np.int32)) for each in (first, nothing, begun)]
    named[2] = replace(named[2], names=np.array([1], np.int32))
    ticks = encode_instants(np.array([4, 6]))
    whole = decode_blocks([encode_block(each, ticks if each is named[1] else b"") for each in named])
    joined = concat_blocks(named)
    assert values(whole) == values(joined) == [(5, "<urn:a>"), (9, None), (9, '"ü"'), (3, "<urn:b>")]
    assert whole.times.tolist() == [5, 9, 7, 3]
    assert whole.starts.tolist() == joined.starts.tolist() == [5, 9, 7, 2]
    assert whole.names.tolist() == joined.names.tolist() == [0, 0, 0, 3]
    assert [each.tolist() for each in whole.ticks] == [[4, 6]]


def test_starts_of_intervals_survive_everything() -> None:
    """Bytes, a choice of events, blocks of instants beside, and instants of other events."""
    begun = replace(block([5, 9], [(0, 1), (1, 1)], ["<urn:a>"]), starts=np.array([2, 9], np.int64))
    assert decode_block(encode_block(begun)).starts.tolist() == [2, 9]
    ticked = decode_block(encode_block(begun, encode_instants(np.array([7]))))
    assert ticked.with_ticks(separating=False).starts.tolist() == [2, 9, 7]
    assert begun.take(np.array([1, 0])).starts.tolist() == [9, 2]
    plain = block([3], [(0, 1)], ["<urn:b>"])
    assert concat_blocks([plain, begun]).starts.tolist() == [3, 2, 9]
    assert not len(concat_blocks([plain, plain]).starts)
    assert load_block(save_block(begun), 1, (0, 1), named=False, digested=False).starts.tolist() == [2, 9]


def test_a_block_that_waits_may_have_names_and_no_digests() -> None:
    """A query that reads the names of events needs no provenance for that; a block without them is refused."""
    named = replace(block([5, 9], [(0, 1), (1, 1)], ["<urn:a>"]), names=np.array([1, 0], np.int32))
    found = load_block(save_block(named), 1, (0, 1), named=True, digested=False)
    assert found.names.tolist() == [1, 0]
    with pytest.raises(Damaged):
        load_block(save_block(replace(named, names=named.names[:0])), 1, (0, 1), named=True, digested=False)


def test_a_block_of_another_version_is_refused_with_advice() -> None:
    """State that an older release wrote is not guessed at."""
    data = bytes([99]) + encode_block(block([1], [], []))[1:]
    with pytest.raises(IncompatibleBlock, match=r"version 99.*start again with a new checkpoint"):
        decode_block(data)


def test_instants_of_other_events_come_out_as_events_without_rows() -> None:
    """An instant that has an event already is not there twice."""
    after = decode_block(
        encode_block(block([5, 9], [(0, 1)], ["<urn:a>"]), encode_instants(np.array([5, 6, 11])))
    )
    assert (after.first, after.last) == (5, 11)
    after = after.with_ticks(separating=False)
    assert after.times.tolist() == [5, 9, 6, 11]
    assert values(after) == [(5, "<urn:a>")]


def test_of_many_instants_those_that_separate_events_are_enough() -> None:
    """The first one after every event, before the first event, and the last of all; also where parts interleave."""
    first = replace(block([5, 9], [(0, 1)], ["<urn:a>"]), ticks=(np.array([1, 2, 6, 7, 8, 9]),))
    second = replace(block([7, 12], [(0, 1)], ["<urn:b>"]), ticks=(np.array([3, 8, 13, 14, 15]),))
    both = concat_blocks([first, second]).with_ticks(separating=True)
    assert sorted(both.times.tolist()) == [1, 5, 6, 7, 8, 9, 12, 13, 15]
    assert not both.ticks
    assert replace(first, ticks=()).with_ticks(separating=True).times.tolist() == [5, 9]


def test_a_block_is_cut_with_its_ticks() -> None:
    """What is before an instant and the rest; a block that is not cut is the same one."""
    whole = replace(block([5, 9], [(0, 1)], ["<urn:a>"]), ticks=(np.array([1, 6, 11]), np.array([4])))
    early, late = whole.cut(6)
    assert early is not None
    assert late is not None
    assert (early.times.tolist(), [part.tolist() for part in early.ticks]) == ([5], [[1], [4]])
    assert (late.times.tolist(), [part.tolist() for part in late.ticks]) == ([9], [[6, 11]])
    assert whole.cut(1) == (None, whole)
    assert whole.cut(12) == (whole, None)
    kept = load_block(save_block(whole), 1, (0, 1), named=False, digested=False)
    assert [part.tolist() for part in kept.ticks] == [[1, 4, 6, 11]]
    only, rest = whole.cut(5)
    assert only is not None
    assert rest is not None
    assert (len(only), only.first, only.last, rest.first) == (0, 1, 4, 5)
    assert concat_blocks([only, rest]).with_ticks(separating=False).in_order().times.tolist() == [
        1,
        4,
        5,
        6,
        9,
        11,
    ]


@pytest.mark.parametrize("step", [1, 30_000, 86_400_000_000, 2**40])
def test_regular_instants_take_next_to_nothing(step: int) -> None:
    """They are kept as differences, in units that all have in common."""
    instants = np.arange(1000) * step - 7
    data = encode_instants(instants)
    assert decode_instants(data).tolist() == instants.tolist()
    assert len(data) < 100


def test_irregular_instants_survive() -> None:
    """Whatever their distances."""
    chance = np.random.default_rng(3)
    for most in (3, 300, 70_000, 2**40):
        instants = np.unique(chance.integers(-most, most, 500))
        assert decode_instants(encode_instants(instants)).tolist() == instants.tolist()
    assert decode_instants(encode_instants(np.array([-5]))).tolist() == [-5]


def test_buckets_share_the_instants_they_are_told() -> None:
    """A task tells every bucket the same ones; a process decodes them once, and forgets what was long not asked for."""
    with changed_settings(shared_instants=10):
        told = [encode_instants(np.arange(first, first + 4)) for first in (0, 100, 200)]
        first, second = (decode_instants(data) for data in told[:2])
        assert decode_instants(memoryview(bytes(told[0]))) is first
        assert not first.flags.writeable
        decode_instants(told[2])
        assert decode_instants(told[0]) is first
        assert decode_instants(told[1]) is not second
        assert decode_instants(told[1]).tolist() == second.tolist()


def test_blocks_side_by_side_keep_their_own_terms() -> None:
    """Numbers count through each block's terms, so they are shifted when blocks are joined."""
    both = concat_blocks([block([1], [(0, 1)], ["<urn:a>"]), block([2], [(0, 1), (0, 0)], ["<urn:b>"])])
    assert values(both) == [(1, "<urn:a>"), (2, "<urn:b>"), (2, None)]


def test_taking_events_takes_their_rows_along_in_the_new_order() -> None:
    """Rows follow their events, and those of other events are gone."""
    taken = block([1, 2, 3], [(0, 1), (1, 2), (2, 3)], ["<urn:a>", "<urn:b>", "<urn:c>"]).take(
        np.array([2, 0])
    )
    assert values(taken) == [(3, "<urn:c>"), (1, "<urn:a>")]


def test_a_compact_block_forgets_terms_nobody_mentions() -> None:
    """What waits in the state store is no larger than it must be."""
    taken = block([1, 2], [(0, 1), (1, 2)], ["<urn:a>", "<urn:b>"]).take(np.array([1])).compact()
    assert taken.terms.to_pylist() == ["<urn:b>"]
    assert values(taken) == [(2, "<urn:b>")]


def test_events_stand_in_order_of_time_stream_and_arrival() -> None:
    """Semantics 1.8 numbers positions this way."""
    given = block([7, 3, 7], [], [])
    ordered = given.in_order()
    assert ordered.times.tolist() == [3, 7, 7]
    assert ordered.arrivals.tolist() == [1, 0, 2]
