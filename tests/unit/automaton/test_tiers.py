"""Which tier of the kernels handles a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
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


def chosen(tiers: Tiers, rows: int, warm_up: Callable[[ModuleType], None] = asked) -> ModuleType:
    """The tier that handles this many rows, once it is ready."""
    tiers.count(rows, warm_up)
    while tiers.awaited:
        tiers.wait()
    return tiers.module


def test_few_rows_are_interpreted_and_many_are_compiled() -> None:
    """Ten events never wait for a compiler."""
    tiers = Tiers()
    assert chosen(tiers, 10) is kernels
    assert chosen(tiers, AT_ONCE) is not kernels
    assert chosen(tiers, 1) is not kernels


def test_the_rows_of_queries_that_run_together_count_together() -> None:
    """A hundred queries with a few rows each are as much work as one with many."""
    together, ready = Tiers(), threading.Event()
    for _ in range(20):
        together.count(Settings().prepared_rows // 20, lambda _: ready.set())
    assert ready.wait(60)


def test_a_process_that_has_compiled_kernels_uses_them_from_the_first_row() -> None:
    """A second query need not begin slowly."""
    ready = chosen(Tiers(compile_kernels=True), 1)
    assert chosen(Tiers(), 1) is ready


def test_whoever_forbids_compiling_is_never_given_compiled_kernels() -> None:
    """Also if they are there."""
    chosen(Tiers(compile_kernels=True), 1)
    assert chosen(Tiers(compile_kernels=False), AT_ONCE) is kernels


def test_a_kernel_that_does_not_compile_ends_the_wait_with_its_error() -> None:
    """It is compiled in another thread, whose errors nobody would see."""

    def fails(_: ModuleType) -> None:
        raise NotImplementedError("no such instruction")

    with pytest.raises(NotImplementedError, match="no such instruction"):
        chosen(Tiers(compile_kernels=True), 1, fails)
