"""Facts about the byte kernel of N-Quads that no reading shows."""

from __future__ import annotations

import numpy as np

from spaseq.io.nquads_kernel import triple_hash


def test_triples_that_collide_under_one_secret_do_not_under_another() -> None:
    """Ids count the terms of a file, so its writer chooses them, but not the slots they fall into."""
    one, other = np.array([11, 0x5E6D_3C4B_2A19_0F07]), np.array([13, 0x1234_5678_9ABC_DEF1])
    mask = 63
    ids = [i for i in range(1, 6000) if int(triple_hash(one, i, 7, 9)) & mask == 5]
    assert len(ids) > 50
    assert len({int(triple_hash(other, i, 7, 9)) & mask for i in ids}) > 25


def test_every_term_of_a_triple_counts() -> None:
    """Else all triples of one subject, or with one object, would share a slot."""
    secret = np.array([11, 0x5E6D_3C4B_2A19_0F07])
    for place in range(3):
        hashes = {int(triple_hash(secret, *np.roll([i, 3, 4], place).tolist())) & 1023 for i in range(1000)}
        assert len(hashes) > 500
