"""The identity of matches."""

from __future__ import annotations

from spaseq.model.matches import event_digest
from spaseq.model.terms import scoped_label


def test_an_event_is_the_same_event_however_many_were_read_before_it() -> None:
    """What tells blank nodes of two events apart is no part of what an event says; labels are."""

    def digest(label: str, scope: int) -> bytes:
        node = scoped_label(label, scope)
        return event_digest("http://ex.org/s", 1, None, [f"_:{node} <http://ex.org/p> _:{node}"])

    assert digest("b", 1) == digest("b", 2) != digest("c", 1)
