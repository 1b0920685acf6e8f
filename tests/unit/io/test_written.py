"""The digest of what was written, whoever digests it."""

from __future__ import annotations

import hashlib
import io

import pytest

from spaseq.io.written import Digest, Written
from spaseq.settings import changed_settings


@pytest.mark.parametrize("aside", [1, 5, 1 << 20])
def test_pieces_are_digested_in_their_order(aside: int) -> None:
    """Large ones on a thread of its own, small ones between them at once; what was written may be asked at any time."""
    digest, whole = Digest(), b""
    with changed_settings(digested_aside=aside):
        for number in range(200):
            piece = bytes([number]) * (number % 11)
            digest.update(piece if number % 3 else memoryview(piece))
            whole += piece
            if number % 50 == 0:
                assert digest.written == Written(len(whole), hashlib.sha256(whole).hexdigest())
    assert digest.written == Written(len(whole), hashlib.sha256(whole).hexdigest())


def test_what_may_change_is_digested_at_once() -> None:
    """The caller fills its buffer again."""
    digest, buffer = Digest(), bytearray(1 << 20)
    with changed_settings(digested_aside=1):
        for number in range(8):
            buffer[:] = bytes([number]) * len(buffer)
            digest.update(memoryview(buffer))
    whole = b"".join(bytes([number]) * len(buffer) for number in range(8))
    assert digest.written == Written(len(whole), hashlib.sha256(whole).hexdigest())


def test_what_a_buffered_writer_hands_on_is_digested_at_once() -> None:
    """It shows its own buffer, and says that nobody may write there."""
    digest = Digest()

    class Sink(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: memoryview) -> int:  # type: ignore[override]
            digest.update(data)
            return len(data)

    pieces = [bytes([number]) * 3000 for number in range(200)]
    with changed_settings(digested_aside=1), io.BufferedWriter(Sink(), 1 << 13) as file:
        for piece in pieces:
            file.write(piece)
    whole = b"".join(pieces)
    assert digest.written == Written(len(whole), hashlib.sha256(whole).hexdigest())
