"""Which tier of the kernels handles a batch."""

from __future__ import annotations

from types import ModuleType

import pytest

from spaseq.automaton import kernels
from spaseq.automaton.tiers import Tiers
from spaseq.settings import Settings


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has not compiled anything."""
    monkeypatch.setattr(Tiers, "_warm", None)


AT_ONCE = Settings().compiled_rows


def asked(_: ModuleType) -> None:
    """A warm-up that costs nothing."""


def test_few_rows_are_interpreted_and_many_are_compiled() -> None:
    """Ten events never wait for a compiler."""
    tiers = Tiers()
    assert tiers.choose(10, asked) is kernels
    assert tiers.choose(AT_ONCE, asked) is not kernels
    assert tiers.choose(1, asked) is not kernels


def test_a_process_that_has_compiled_kernels_uses_them_from_the_first_row() -> None:
    """A second query need not begin slowly."""
    ready = Tiers(compile_kernels=True).choose(1, asked)
    assert Tiers().choose(1, asked) is ready


def test_whoever_forbids_compiling_is_never_given_compiled_kernels() -> None:
    """Also if they are there."""
    Tiers(compile_kernels=True).choose(1, asked)
    assert Tiers(compile_kernels=False).choose(AT_ONCE, asked) is kernels
