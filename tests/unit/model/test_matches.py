"""The identity of matches."""

from __future__ import annotations

from spaseq.model.matches import Numbering, event_digest, match_key
from spaseq.model.terms import scoped_label


def test_an_event_is_the_same_event_however_many_were_read_before_it() -> None:
    """What tells blank nodes of two events apart is no part of what an event says; labels are."""

    def digest(label: str, scope: int) -> bytes:
        node = scoped_label(label, scope)
        return event_digest("http://ex.org/s", 1, None, [f"_:{node} <http://ex.org/p> _:{node}"])

    assert digest("b", 1) == digest("b", 2) != digest("c", 1)


def test_a_key_is_made_of_query_events_and_reported_bindings() -> None:
    """Every part counts, and parts cannot be mistaken for each other."""
    whole = match_key("q", [("A", b"1")], [("v", '"5"')])
    assert whole == match_key("q", [("A", b"1")], [("v", '"5"')])
    others = [
        match_key("r", [("A", b"1")], [("v", '"5"')]),
        match_key("q", [("B", b"1")], [("v", '"5"')]),
        match_key("q", [("A", b"2")], [("v", '"5"')]),
        match_key("q", [("A", b"1")], [("w", '"5"')]),
        match_key("q", [("A", b"1")], [("v", '"6"')]),
        match_key("q", [("A", b"1")], []),
        match_key("q", [], [("v", '"5"')]),
    ]
    assert len({whole, *others}) == 1 + len(others)


def test_a_reported_blank_node_counts_by_the_label_of_its_event() -> None:
    """What a process adds to tell nodes apart does not count, nor the random label of a node that BNODE() made."""

    def key(label: str) -> bytes:
        return match_key("q", [], [("v", f"_:{label}")])

    assert key(scoped_label("b", 1)) == key(scoped_label("b", 2)) != key(scoped_label("c", 1))
    assert key("6f1c") == key("a77e")


def test_equal_matches_are_numbered_within_their_instant() -> None:
    """Counts of earlier instants are forgotten: a key cannot come again."""
    numbering = Numbering()
    assert [numbering.next(1, key) for key in (b"a", b"a", b"b", b"a")] == [0, 1, 0, 2]
    assert numbering.next(2, b"c") == 0
    assert list(numbering.counts) == [b"c"]
