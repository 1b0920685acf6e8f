"""Arrays as bytes: what comes back is what went in, in as few bytes as its numbers need."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spaseq.model.packing import Damaged, pack, unpack

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    "columns",
    [
        [[7]],
        [[0, 1]],
        [[-1, 300]],
        [[LEAST, MOST]],
        [[MOST, MOST - 70_000]],
        [[LEAST, LEAST + 2**33], [5], [0, 255]],
    ],
)
def test_columns_come_back_whatever_their_numbers(columns: list[list[int]]) -> None:
    """The least number and what is more; a column of equal numbers takes no bytes."""
    rows = 200
    table = np.array([np.resize(np.array(column, np.int64), rows) for column in columns]).T
    data = pack({}, {"table": table, "few": table[:3], "flat": table[:, 0]}, 1)
    found = unpack(data, 1)[1]
    for name, wanted in (("table", table), ("few", table[:3]), ("flat", table[:, 0])):
        assert found[name].dtype == np.int64
        assert np.array_equal(found[name], wanted)
    if columns == [[7]]:
        assert len(data) < 300


def test_columns_that_say_more_than_there_is_are_damage() -> None:
    """Nothing is believed that the bytes do not hold."""
    data = pack({}, {"table": np.arange(300)}, 1)
    _, arrays = unpack(data, 1)
    assert arrays["table"][-1] == 299
    for wrong in ([[0, 3]], [[0.5, 2]], [[0, 2], [0, 2]], [[2**70, 2]], [[0, 8]]):
        header = {"arrays": [["table", "<i8", [300], wrong]]}
        with pytest.raises(Damaged):
            unpack(_forged(header, data), 1)
    with pytest.raises(Damaged):
        unpack(_forged({"arrays": [["table", "<i8", [10**15], [[0, 0]]]]}, data), 1)


def _forged(header: dict[str, object], data: bytes) -> bytes:
    """The bytes of an array behind a header that does not fit, with a right checksum."""
    import struct
    import zlib

    text = json.dumps(header).encode()
    body = text + data[-600:]
    return struct.pack("<6sBIQ", b"spaseq", 1, zlib.crc32(body), len(text)) + body
