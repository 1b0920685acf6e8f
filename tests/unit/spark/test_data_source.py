"""Facts about how far followed files were read, as Spark's log keeps it."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest

from spaseq.engine.bookmarks import Bookmark
from spaseq.io.growing import Cut
from spaseq.operators.saved_state import IncompatibleState
from spaseq.spark.sources.offsets import Offset

MARK = Bookmark("", "/in/0.nq", Cut(70, 2), 90, "tail")


def packed(value: Any) -> str:
    """Marks as an offset has them."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


def test_an_offset_is_read_as_it_was_written() -> None:
    """Marks, end and clock."""
    offset = Offset({MARK.path: MARK}, ended=True, clock=5)
    assert Offset.from_dict(json.loads(json.dumps(offset.to_dict()))) == offset


@pytest.mark.parametrize(
    "change",
    [
        {"marks": "!"},
        {"marks": "AAAA"},
        {"marks": packed({})[:-6]},
        {"marks": packed([{}])},
        {"marks": packed([{**MARK.to_dict(), "size": "x"}])},
        {"marks": packed([{**MARK.to_dict(), "cut": {"byte": None}}])},
        {"clock": -1},
        {"clock": "x"},
    ],
)
def test_a_damaged_offset_is_refused_with_advice(change: dict[str, object]) -> None:
    """No error of a decoder comes out."""
    with pytest.raises(IncompatibleState, match="start again with a new checkpoint"):
        Offset.from_dict({**Offset({MARK.path: MARK}).to_dict(), **change})
