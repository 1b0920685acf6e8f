"""Blocks that wait in the state store, as bytes: checked when they come back, unlike those that cross the shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from spaseq.model.ordered import each_once
from spaseq.model.packing import INSTANT, Arrays, Damaged, Field, check_arrays
from spaseq.operators.saved_state import pack, unpack
from spaseq.operators.term_texts import packed_terms, unpacked_terms
from spaseq.spark.shuffle.blocks import DIGEST, Block, Mappings

_FIELDS: Final[dict[str, Field]] = {
    "times": Field(np.int64, ("events",), INSTANT),
    "streams": Field(np.int16, ("events",), (0, "streams")),
    "arrivals": Field(np.int64, ("events",)),
    "names": Field(np.int32, ("named",), (0, "ids")),
    "digests": Field(np.uint8, ("digested", DIGEST)),
    "ends": Field(np.int64, ("terms",)),
    "texts": Field(np.uint8, ("bytes",)),
}


def save_block(block: Block) -> bytes:
    """A block as bytes."""
    arrays: Arrays = {
        "times": block.times,
        "streams": block.streams,
        "arrivals": block.arrivals,
        "names": block.names,
        "digests": block.digests,
        **packed_terms(block.terms),
    }
    for number, rows in enumerate((block.pairs, *block.gpms)):
        arrays |= {f"event.{number}": rows.event, f"rows.{number}": rows.terms}
    if len(block.starts):
        arrays["starts"] = block.starts
    if block.ticks:
        arrays["ticks"] = each_once(np.concatenate(block.ticks))
    return pack({}, arrays)


def load_block(data: bytes, streams: int, widths: Sequence[int], *, named: bool, digested: bool) -> Block:
    """The block that `save_block` wrote, of a query with so many streams.

    ``widths`` are the numbers of partition variables, and of the variables of every GPM; ``named`` says whether events
    have names, ``digested`` whether they have digests.
    """
    _, arrays = unpack(data)
    events = len(arrays["times"])
    sizes = {"streams": streams, "ids": len(arrays["ends"]) + 1, "events": events}
    sizes |= {"named": events if named else 0, "digested": events if digested else 0}
    tables = {
        name: wanted
        for number, width in enumerate(widths)
        for name, wanted in (
            (f"event.{number}", Field(np.int32, (f"rows {number}",), (0, "events"))),
            (f"rows.{number}", Field(np.int32, (f"rows {number}", width), (0, "ids"))),
        )
    }
    if "starts" in arrays:
        tables["starts"] = _FIELDS["times"]
    if "ticks" in arrays:
        tables["ticks"] = Field(np.int64, ("ticks",), INSTANT)
    check_arrays(arrays, {**_FIELDS, **tables}, sizes)
    ticks = arrays.get("ticks", np.zeros(0, np.int64))
    if (np.diff(ticks) <= 0).any():
        raise Damaged("instants are not in order")
    rows = [Mappings(arrays[f"event.{number}"], arrays[f"rows.{number}"]) for number in range(len(widths))]
    return Block(
        arrays["times"], arrays["streams"], arrays["arrivals"], arrays["names"], arrays["digests"],
        rows[0], tuple(rows[1:]), unpacked_terms(arrays), arrays.get("starts", np.zeros(0, np.int64)),
        (ticks,) if len(ticks) else (),
    )  # fmt: skip
