"""Conditions that the kernels evaluate by themselves."""

from __future__ import annotations

from spaseq.automaton.kernels import stack
from spaseq.model.values import Kind


def test_the_kernels_know_the_kinds_of_terms_by_their_numbers() -> None:
    """Numba takes no enumeration, so the numbers stand there twice."""
    known = {
        name.removeprefix("_KIND_"): value for name, value in vars(stack).items() if name.startswith("_KIND_")
    }
    assert len(known) == 5
    assert known == {name: Kind[name].value for name in known}
