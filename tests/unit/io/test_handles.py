"""Facts about files of which only so many are open at a time."""

from __future__ import annotations

import gzip
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import spaseq
from spaseq.io.handles import SharedFile
from spaseq.io.sources import find_sources

STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
QUERY = "SELECT ?o FROM STREAM S <urn:s> WHERE { SEQ (A) DEFINE GPM A ON S { ?s <urn:p> ?o } }"


@contextmanager
def few_handles(more: int) -> Iterator[None]:
    """A process that may open only so many files more."""
    used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux shows them")
def test_many_overlapping_files_do_not_run_out_of_handles(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """Every file has an event in every second, so the merge reads all of them side by side."""
    change_settings(open_files=5, sorted_bytes=0, survey_events=1, batch_events=1)
    for number in range(40):
        lines = [
            f'<urn:g{i}> {STAMP} "{1000 * i}"{INTEGER} .\n<urn:s> <urn:p> "{number}-{i}" <urn:g{i}> .\n'
            for i in range(6)
        ]
        text = "".join(lines).encode()
        suffix = ".nq.gz" if number % 2 else ".nq"
        (tmp_path / f"{number}{suffix}").write_bytes(gzip.compress(text) if number % 2 else text)
    with few_handles(20):
        matches = list(spaseq.run(spaseq.compile(QUERY), streams={"S": tmp_path}))
    seen = [match.values["o"] for match in matches]
    assert sorted(seen) == sorted(f"{number}-{i}" for number in range(40) for i in range(6))
    assert [match.time for match in matches] == sorted(match.time for match in matches)


def test_a_file_goes_on_where_it_was_read_to(tmp_path: Path, change_settings: Callable[..., None]) -> None:
    """Also if it was closed for others."""
    change_settings(open_files=1)
    for name in "ab":
        (tmp_path / f"{name}.nq").write_bytes(f"{name}1{name}2".encode())
    first, second = (source.open() for source in find_sources(tmp_path))
    with first, second:
        assert [first.read(2), second.read(2), first.read(2), second.read(9), first.read(9)] == [
            b"a1", b"b1", b"a2", b"b2", b"",
        ]  # fmt: skip


def test_a_file_that_was_replaced_is_not_read_on(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """Its bytes would not be those that the first part belongs to."""
    change_settings(open_files=1)
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"1234")
    other.write_bytes(b"5678")
    with SharedFile(path) as file, SharedFile(other):
        other.replace(path)
        with pytest.raises(OSError, match="it was replaced while it was read"):
            file.read(2)


def test_a_closed_file_stays_closed(tmp_path: Path) -> None:
    """It is not opened again by a later read."""
    path = tmp_path / "a"
    path.write_bytes(b"1234")
    file = SharedFile(path)
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read(1)
