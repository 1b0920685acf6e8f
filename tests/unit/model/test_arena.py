"""Facts about the hash of the term dictionary: nobody can choose terms that meet."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spaseq
from spaseq.model.arena import Arena

MASK = (1 << 64) - 1


def longest_row(arena: Arena) -> int:
    """The most neighbouring slots that are taken: what a search may have to pass."""
    taken = np.concatenate([[0], (arena.table != 0).astype(np.int8), [0]])
    edges = np.flatnonzero(np.diff(taken))
    return int((edges[1::2] - edges[::2]).max())


def colliding(count: int, multiplier: int = 0x9E3779B97F4A7C15) -> list[bytes]:
    """Terms of two words that a hash without a key, ``x = (x ^ word) * m; x ^= x >> 32``, sends to one slot."""
    words = (int.from_bytes(f"{number:08d}".encode(), "little") for number in range(count))
    state = (16 * multiplier) & MASK
    mixed = [((state ^ word) * multiplier) & MASK for word in words]
    return [
        f"{number:08d}".encode() + (each ^ (each >> 32)).to_bytes(8, "little")
        for number, each in enumerate(mixed)
    ]


def differing_in_top_bits(pairs: int) -> list[bytes]:
    """Terms that such a hash sends to one slot whatever its seed: flipping the highest bit flips two known bits."""
    one = b"abcdefgh" + b"ijklmnop"
    other = (int.from_bytes(one, "little") ^ (1 << 63) ^ (((1 << 63) | (1 << 31)) << 64)).to_bytes(
        16, "little"
    )
    return [b"".join(choice) for choice in itertools.product((one, other), repeat=pairs)]


@pytest.mark.parametrize(
    "terms", [colliding(20_000), differing_in_top_bits(14)], ids=["one slot", "any seed"]
)
def test_crafted_terms_do_not_meet_in_one_place(terms: list[bytes]) -> None:
    """A file of such terms would take quadratic time."""
    arena = Arena()
    ids = arena.encode_all(terms)
    assert ids.tolist() == list(range(1, len(terms) + 1))
    assert longest_row(arena) < 400


def test_every_process_has_a_key_of_its_own() -> None:
    """The same terms lie in other slots, with the same kernels from the cache and the same ids."""
    code = (
        "from spaseq.model.arena import Arena\n"
        "arena = Arena()\n"
        "print(arena.encode_all(b'<urn:%d>' % n for n in range(50)).tolist(), arena.table.nonzero()[0].tolist())"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(Path(spaseq.__file__).parents[1]), "HOME": str(Path.home())},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    ids = {output.partition("]")[0] for output in outputs}
    assert len(ids) == 1
    assert len(set(outputs)) == 2


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48])
def test_terms_that_differ_in_one_byte_are_two(length: int) -> None:
    """Texts are compared many bytes at a time, wherever the difference is."""
    arena, text = Arena(), bytes(range(65, 65 + length))
    known = arena.encode(text)
    others = [text[:at] + b"~" + text[at + 1 :] for at in range(length)]
    assert len({known, *(arena.encode(other) for other in others)}) == length + 1
    assert arena.find(text) == known
