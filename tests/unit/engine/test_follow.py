"""Facts about followed files: what is taken when, and what is told of files that are not what they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spaseq.engine.bookmarks import Bookmark
from spaseq.engine.follow import Look, Watch
from spaseq.engine.opening import InputOptions
from spaseq.io.bad_input import BadInput, OnBad
from spaseq.io.growing import read_source
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import Stream

STREAM = Stream("S", "urn:s")
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
SETTLE = 2.0


def event(number: int) -> str:
    """An event in N-Quads, its timestamp last."""
    quad = f'<urn:s> <urn:p> "{number}" <urn:g{number}> .\n'
    return quad + f'<urn:g{number}> <{STAMP}> "{number}"^^<{INTEGER}> .\n'


class Follower:
    """A watch over a folder with a clock that is set by hand."""

    def __init__(self, folder: Path, marks: tuple[Bookmark, ...] = ()) -> None:
        self.folder, self.now, self.times = folder, 1_000_000.0, list[int]()
        self.bad: OnBad = lambda bad: pytest.fail(str(bad))
        self.watch = Watch(
            [(STREAM, [folder])], InputOptions(), round(SETTLE * 1e6), marks, clock=lambda: self.now
        )

    def write(self, name: str, text: str, mode: str = "a") -> None:
        """Write to a file, as if it happened at the time of the clock."""
        path = self.folder / name
        with path.open(mode) as file:
            file.write(text)
        os.utime(path, (self.now, self.now))

    def look(self, later: float = 0.0) -> Look:
        """Look after some time; the milliseconds of the events that are found are in ``times``."""
        self.now += later
        look = self.watch.look()
        self.times = [
            int(time) // 1000
            for item in look.files
            for source in item.sources
            for batch in read_source(source, "urn:s", 0, TermDictionary(), InputOptions().read, self.bad)
            for time in batch.times
        ]
        self.watch.keep(look.marks)
        return look


@pytest.fixture
def follower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Follower:
    """An empty folder under watch, in which no file looks renamed: its times are set by hand."""
    real = Path.stat

    def stat(self: Path, **options: bool) -> os.stat_result:
        found = list(real(self, **options))
        found[9] = found[8]
        return os.stat_result((*found, *([float(found[8])] * 3), *([found[8] * 10**9] * 3)))

    monkeypatch.setattr(Path, "stat", stat)
    return Follower(tmp_path)


def test_complete_events_are_taken_at_once_and_the_last_one_when_the_file_stands_still(
    follower: Follower,
) -> None:
    """A writer that pauses loses nothing: what comes after the pause is read on."""
    follower.write("a.nq", event(1) + event(2) + event(3)[:20])
    follower.look()
    assert follower.times == [1]
    follower.look(later=SETTLE / 2)
    assert follower.times == []
    follower.write("a.nq", event(3)[20:])
    follower.look()
    assert follower.times == [2]
    follower.look(later=SETTLE)
    assert follower.times == [3]
    follower.look(later=10 * SETTLE)
    follower.write("a.nq", event(4))
    follower.look(later=SETTLE)
    assert follower.times == [4]


def test_an_event_that_is_not_complete_is_waited_for_however_long_it_takes(follower: Follower) -> None:
    """Half a line, a graph without its timestamp: told once, never taken as it is."""
    for name, text in (("a.nq", event(1)[:-20]), ("b.nq", event(2).splitlines(keepends=True)[0])):
        follower.write(name, text)
        assert follower.look().unfinished == ()
        path = str(follower.folder / name)
        assert follower.look(later=SETTLE).unfinished == (path,)
        assert follower.look(later=100 * SETTLE).unfinished == ()
        assert follower.times == []
        assert path in follower.watch.unfinished
        follower.write(name, (event(1) + event(2))[len(text) if name == "a.nq" else len(event(1) + text) :])
        follower.look(later=SETTLE)
        assert len(follower.times) == (2 if name == "a.nq" else 1)
    assert follower.watch.unfinished == ()


def test_a_whole_line_that_is_wrong_is_told_when_the_file_stands_still(follower: Follower) -> None:
    """Nothing that follows makes it right, so it does not keep the last event waiting, nor itself from being told."""
    follower.write("a.nq", event(1) + "<urn:s> <urn:p> 1 <urn:g2> .\n")
    bad: list[BadInput] = []
    follower.bad = bad.append
    assert follower.look(later=SETTLE).unfinished == ()
    assert (follower.times, [each.position for each in bad]) == ([1], [3])
    follower.write("a.nq", event(3))
    follower.look(later=SETTLE)
    assert (follower.times, len(bad)) == ([3], 1)


def test_a_file_that_is_old_is_taken_at_first_sight(follower: Follower) -> None:
    """It has stood still for long enough."""
    follower.write("a.nq", event(1) + event(2))
    follower.look(later=SETTLE)
    assert follower.times == [1, 2]


def test_a_file_renamed_into_place_is_complete_at_once(tmp_path: Path) -> None:
    """A rename changes the status of a file after its content: nothing more will be written to it."""
    follower = Follower(tmp_path)
    hidden = tmp_path / ".a.nq"
    hidden.write_text(event(1) + event(2))
    follower.now = hidden.stat().st_mtime + 0.1
    os.utime(hidden, (follower.now - 1, follower.now - 1))
    hidden.rename(tmp_path / "a.nq")
    follower.look()
    assert follower.times == [1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (event(7), "and now has"),
        (event(7) + event(8) + event(9), "was replaced or rewritten"),
    ],
    ids=["shorter", "rewritten"],
)
def test_a_file_that_is_not_what_it_was_is_told_once_and_left_alone(
    follower: Follower, text: str, words: str
) -> None:
    """Neither skipped silently nor read twice: a reason, and what to do."""
    follower.write("a.nq", event(1) + event(2))
    follower.look(later=SETTLE)
    follower.write("a.nq", text, "w")
    (lost,) = follower.look().lost
    assert words in lost.loss.reason
    assert "give new data a new name" in lost.loss.reason
    assert (lost.loss.source, follower.times) == (str(follower.folder / "a.nq"), [])
    follower.write("a.nq", event(10))
    assert follower.look(later=SETTLE) == Look()


def test_a_file_that_comes_back_unchanged_is_not_read_again(follower: Follower) -> None:
    """Moved away and back; with other content it is told."""
    follower.write("a.nq", event(1))
    follower.look(later=SETTLE)
    (follower.folder / "a.nq").rename(follower.folder / "kept")
    assert follower.look() == Look()
    (follower.folder / "kept").rename(follower.folder / "a.nq")
    assert follower.look(later=SETTLE) == Look()
    (follower.folder / "a.nq").unlink()
    follower.write("a.nq", event(2))
    assert len(follower.look(later=SETTLE).lost) == 1


def test_bookmarks_survive_a_restart(follower: Follower) -> None:
    """What was read is not read again, what has grown since is read on, what was being read is read again."""
    follower.write("a.nq", event(1) + event(2))
    follower.write("b.nq", event(3))
    first = follower.look(later=SETTLE)
    saved = [Bookmark.from_dict(mark.to_dict()) for mark in first.marks]
    follower.write("a.nq", event(4))
    again = Follower(follower.folder, tuple(saved))
    again.now = follower.now
    again.look(later=SETTLE)
    assert again.times == [4]
    begun = Follower(follower.folder)
    files, gone = begun.watch.again(saved)
    assert [len(item.sources) for item in files] == [2]
    assert gone == []
    (follower.folder / "b.nq").unlink()
    assert begun.watch.again(saved)[1] == [str(follower.folder / "b.nq")]


def test_two_streams_may_follow_one_file(tmp_path: Path) -> None:
    """Each has its own bookmark."""
    (tmp_path / "a.nq").write_text(event(1))
    os.utime(tmp_path / "a.nq", (1, 1))
    other = Stream("T", "urn:t")
    watch = Watch([(STREAM, [tmp_path]), (other, [tmp_path, tmp_path / "a.nq"])], InputOptions(), 0)
    look = watch.look()
    assert [(item.stream.iri, len(item.sources)) for item in look.files] == [("urn:s", 1), ("urn:t", 1)]
