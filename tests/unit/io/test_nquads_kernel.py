"""Facts about the byte kernel of N-Quads that no reading shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from spaseq.io.bad_input import BadInput
from spaseq.io.nquads_kernel import triple_hash
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events
from spaseq.model.dictionary import TermDictionary


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


def test_room_for_labels_grows_from_nothing(tmp_path: Path, change_settings: Callable[..., None]) -> None:
    """With the least room the first label did not fit, and the same room was tried again for ever."""
    change_settings(arena_terms=2, arena_bytes=64)
    file = tmp_path / "a.nq"
    stamp = '<http://www.w3.org/ns/prov#generatedAtTime> "5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    file.write_text(f"_:b <urn:p> _:c <urn:g> .\n_:d <urn:p> _:e <urn:g> .\n<urn:g> {stamp} .\n")
    batches = read_events(
        file,
        stream="urn:s",
        streams=["urn:s"],
        dictionary=TermDictionary(),
        options=ReadOptions(interpreted_bytes=0),
    )
    assert [len(batch.triples_of(0)[0]) for batch in batches] == [2]


def test_a_name_is_looked_at_again_when_it_differs(tmp_path: Path) -> None:
    """A graph, its timestamp and its triples share a name that is looked at once; another one is looked at itself."""
    stamp = '<http://www.w3.org/ns/prov#generatedAtTime> "5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    counts = []
    for number, subject in enumerate(("urn:g", "urn:h", "ur g", "ur{g")):
        file = tmp_path / f"{number}.nq"
        file.write_text(f"<urn:g> {stamp} .\n<{subject}> <urn:p> <urn:o> <urn:g> .\n" * 2)
        bad: list[BadInput] = []
        found = read_events(
            file,
            stream="urn:s",
            streams=["urn:s"],
            dictionary=TermDictionary(),
            options=ReadOptions(interpreted_bytes=0, needed_predicates=frozenset()),
            on_bad=bad.append,
        )
        counts.append((sum(map(len, found)), bool(bad)))
    assert counts == [(2, False), (2, False), (0, True), (0, True)]


def test_a_timestamp_with_escaped_quotes_is_read_to_its_end(tmp_path: Path) -> None:
    """The first quote of a literal need not close it."""
    file = tmp_path / "a.nq"
    value = '"5\\"^^<http://www.w3.org/2001/XMLSchema#integer>"^^<http://www.w3.org/2001/XMLSchema#integer>'
    good = '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    lines = [
        f"<urn:g{n}> <http://www.w3.org/ns/prov#generatedAtTime> {v} .\n<urn:s> <urn:p> <urn:o> <urn:g{n}> .\n"
        for n, v in enumerate((good, value, good))
    ]
    file.write_text("".join(lines))
    bad: list[str] = []
    found = read_events(
        file,
        stream="urn:s",
        streams=["urn:s"],
        dictionary=TermDictionary(),
        options=ReadOptions(interpreted_bytes=0),
        on_bad=lambda item: bad.append(item.reason),
    )
    assert [batch.times.tolist() for batch in found if len(batch)] == [[5000, 5000]]
    assert len(bad) == 1
