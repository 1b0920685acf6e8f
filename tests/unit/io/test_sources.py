"""Paths to event files: what is found, in which order, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.io.sources import Source, find_sources, format_of
from spaseq.model.dictionary import TermDictionary


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.nq", "nquads"),
        ("a.NQ.gz", "nquads"),
        ("a.trig.zst", "trig"),
        ("a.jsonld", "jsonld"),
        ("a.nt", "ntriples"),
        ("a.jelly.gz", "jelly"),
        ("a.csv", None),
        ("nq", None),
    ],
)
def test_the_extension_tells_the_format(name: str, expected: str | None) -> None:
    """Compression aside."""
    assert format_of(Path(name)) == expected


def test_a_directory_gives_its_event_files_sorted(tmp_path: Path) -> None:
    """Hidden files, markers of writers and unknown extensions are passed over; subfolders are not."""
    for name in ("b.nq", "a.nq.gz", ".hidden.nq", "_SUCCESS", "notes.txt", "c.trig"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "d.nq").write_bytes(b"")
    names = [str(source.path.relative_to(tmp_path)) for source in find_sources(tmp_path)]
    assert names == ["a.nq.gz", "b.nq", "c.trig", "sub/d.nq"]


def test_a_glob_gives_what_it_matches_sorted(tmp_path: Path) -> None:
    """The order of a run must not depend on the file system."""
    for name in ("2.nq", "10.nq", "1.nq", "x.trig"):
        (tmp_path / name).write_bytes(b"")
    found = find_sources(str(tmp_path / "*.nq"))
    assert [source.path.name for source in found] == ["1.nq", "10.nq", "2.nq"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing.nq", "does not exist"),
        ("*.nq", "no file matches"),
        (".", "has no file"),
        ("plain", "format="),
    ],
)
def test_what_names_no_event_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, reason: str
) -> None:
    """A missing path, a glob without match, a directory without event files, an unknown extension."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_bytes(b"")
    with pytest.raises(InvalidArgument, match=reason):
        find_sources(path)


def test_an_empty_directory_and_an_empty_list_are_refused(tmp_path: Path) -> None:
    """Silence would look like a stream without events."""
    with pytest.raises(InvalidArgument, match="no files"):
        find_sources(tmp_path)
    with pytest.raises(InvalidArgument, match="no event files"):
        find_sources([])


def test_a_wrong_format_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    """The cure is in the message."""
    with pytest.raises(InvalidArgument, match="did you mean `nquads`"):
        find_sources(tmp_path, "nquad")


def test_gzip_members_one_after_the_other_are_one_file(tmp_path: Path) -> None:
    """As `cat a.gz b.gz` makes them, with padding behind."""
    file = tmp_path / "a.nq.gz"
    file.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n" * 500_000) + bytes(100))
    with Source(file, "nquads").open() as reader:
        data = reader.read()
    assert data == b"one\n" + b"two\n" * 500_000
    assert reader.damage is None


def test_zstd_frames_one_after_the_other_are_one_file(tmp_path: Path) -> None:
    """As `cat a.zst b.zst` makes them."""
    from zstandard import compress

    file = tmp_path / "a.nq.zst"
    file.write_bytes(compress(b"one\n") + compress(b"two\n" * 100_000))
    with Source(file, "nquads").open() as reader:
        assert reader.read(2) == b"on"
        assert reader.read() == b"e\n" + b"two\n" * 100_000
    assert reader.damage is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"time_unit": "h"}, "`h` is not a time unit"),
        ({"timestamp_predicate": "no iri"}, "timestamp predicate"),
        ({"triples_per_event": 0}, "triples_per_event"),
        ({"chunk_bytes": 0}, "chunk_bytes"),
    ],
)
def test_wrong_options_are_refused_at_the_door(options: dict[str, object], reason: str) -> None:
    """Each error shows the value."""
    with pytest.raises(InvalidArgument, match=reason):
        ReadOptions(**options)  # type: ignore[arg-type]


def test_n_triples_need_to_be_told_how_many_make_an_event(tmp_path: Path) -> None:
    """They have no graphs."""
    (tmp_path / "a.nt").write_bytes(b"")
    with pytest.raises(InvalidArgument, match="triples_per_event="):
        list(read_graph_events(tmp_path / "a.nt", stream="urn:s"))


def test_a_stream_that_was_not_declared_is_refused(tmp_path: Path) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidArgument, match="urn:x"):
        read_events(tmp_path, stream="urn:x", streams=["urn:s"], dictionary=TermDictionary())


def test_a_file_that_several_paths_name_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory, a glob in it and a relative path, in the order of the first."""
    for name in ("b.nq", "a.nq"):
        (tmp_path / name).write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = find_sources(
        [tmp_path / "b.nq", str(tmp_path / "*.nq"), tmp_path, "a.nq", f"../{tmp_path.name}/b.nq"]
    )
    assert [source.path.name for source in found] == ["b.nq", "a.nq"]
