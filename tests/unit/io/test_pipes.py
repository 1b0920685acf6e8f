"""Standard input and other pipes as sources."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument
from spaseq.io.pipes import kept_in
from spaseq.io.sources import PipeSource, Source, find_sources


def pipe_of(path: str | Path, file_format: str | None = None) -> PipeSource:
    """The pipe that a path leads to."""
    (source,) = find_sources(path, file_format)
    assert isinstance(source, PipeSource)
    return source


@pytest.mark.parametrize("path", ["-", "/dev/stdin", "/dev/fd/0"])
def test_standard_input_is_n_quads_unless_a_format_is_given(path: str) -> None:
    """Under one name, whatever the path."""
    assert (pipe_of(path).format, pipe_of(path).name) == ("nquads", "standard input")
    assert pipe_of(path, "trig").format == "trig"


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """A named pipe."""
    path = tmp_path / "events.trig"
    os.mkfifo(path)
    return path


def test_a_pipe_is_kept_in_a_file_under_its_own_name(fifo: Path, tmp_path: Path) -> None:
    """All that is written into it, from whenever somebody writes; its extension tells the format."""
    writer = threading.Thread(target=fifo.write_bytes, args=(b"# nothing\n" * 100_000,))
    writer.start()
    source = kept_in(tmp_path, pipe_of(fifo))
    writer.join()
    assert (source.format, source.name, source.path.suffix) == ("trig", str(fifo), ".trig")
    assert type(source) is Source
    assert source.path.read_bytes() == b"# nothing\n" * 100_000


def test_compressed_data_in_a_pipe_is_unpacked(fifo: Path, tmp_path: Path) -> None:
    """By how it begins, since a pipe has no extension."""
    writer = threading.Thread(target=fifo.write_bytes, args=(gzip.compress(b"<urn:g> {}"),))
    writer.start()
    source = kept_in(tmp_path, pipe_of(fifo))
    writer.join()
    with source.open() as reader:
        assert reader.read() == b"<urn:g> {}"


def test_whoever_waits_for_a_pipe_can_be_stopped(fifo: Path, tmp_path: Path) -> None:
    """Before anybody writes, and between two writes."""
    looks = 0

    class Stopped(Exception):
        """Asked to stop."""

    def poll() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            raise Stopped

    with pytest.raises(Stopped):
        kept_in(tmp_path, pipe_of(fifo), poll)


def test_a_pipe_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(InvalidArgument, match=r"gone cannot be read: no such file or directory"):
        kept_in(tmp_path, PipeSource(tmp_path / "gone", "nquads"))
