"""How far a stream of files was read: as an offset that names all files, or as one that counts the entries of a log.

Spark writes an offset for every micro-batch, so one that names every file ever taken makes each micro-batch cost more than the last. With
a log, a directory that outlives the query as its checkpoint does, an offset is the number of an entry, and an entry names what its
micro-batch took. Every so many entries all files are written together, and older entries go.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from spaseq.engine.bookmarks import Bookmark
from spaseq.model.packing import LARGEST, Damaged, whole_number
from spaseq.operators.saved_state import taking_up
from spaseq.settings import settings
from spaseq.stores import Place, files_in, one_name, write_whole

KEPT: Final = 20
"""Sets of all files that stay in a log: Spark keeps the offsets of the last hundred micro-batches."""

Taken = Mapping[str, tuple[Bookmark, Bookmark | None]]
"""What a micro-batch took, by path: how far the file was read after it, and how far before."""


@dataclass(frozen=True, slots=True)
class Offset:
    """How far files were read, by path, or the number of an entry of a log; whether that is all there will be; the wall clock
    in microseconds, now and when the run began.
    """

    marks: Mapping[str, Bookmark] = field(default_factory=dict)
    ended: bool = False
    clock: int = 0
    entry: int | None = None
    anew: frozenset[str] = frozenset()
    """Files that are read from their beginning although the offset before names them: others under the same name."""
    began: int = 0
    log: str = ""
    """The folder of the log of this query; empty in one of an earlier release, which had no folder of its own."""

    def to_dict(self) -> dict[str, Any]:
        """The offset as Spark's log keeps it."""
        known = {"ended": self.ended, "clock": self.clock, "began": self.began}
        if self.entry is not None:
            return {"entry": self.entry, **known, **({"log": self.log} if self.log else {})}
        named = {"anew": sorted(self.anew)} if self.anew else {}
        return {"files": len(self.marks), "marks": _packed(self.marks.values()), **known, **named}

    @staticmethod
    def from_dict(saved: Mapping[str, Any]) -> Offset:
        """The offset that `to_dict` wrote; `IncompatibleState` if it cannot have."""
        with taking_up():
            saved = {"began": 0, **saved}  # earlier releases did not note it
            clock, began = (whole_number(saved, name, 0, LARGEST) for name in ("clock", "began"))
            ended = bool(saved["ended"])
            if "entry" in saved:
                entry, log = whole_number(saved, "entry", 0, LARGEST), saved.get("log", "")
                if not isinstance(log, str) or not _LOG.fullmatch(log):
                    raise Damaged(f"`log` is {log!r}, which is not the name of a log")
                return Offset({}, ended, clock, entry, began=began, log=log)
            anew = frozenset(map(one_name, saved.get("anew", ())))
            return Offset(_unpacked(saved["marks"]), ended, clock, anew=anew, began=began)


def between(first: Offset, last: Offset) -> Taken:
    """What was taken from one offset to the next, if both name all files."""
    known = {path: mark for path, mark in first.marks.items() if path not in last.anew}
    changes = ((path, mark, known.get(path)) for path, mark in last.marks.items())
    return {path: (mark, before) for path, mark, before in changes if mark != before}


_LOG: Final = re.compile(r"(q[0-9a-f]+)?")  # no number, as entries are


class FileLog:
    """A log of what every micro-batch took.

    It belongs to one query: others that are given the same directory, such as two over one DataFrame, have other folders in it.
    """

    @staticmethod
    def of(folder: Place, offset: Offset) -> FileLog:
        """The log that an offset counts on."""
        return FileLog(folder / offset.log if offset.log else folder)

    def __init__(self, folder: Place) -> None:
        self._folder = folder
        self._at = -1
        self._marks: dict[str, Bookmark] = {}

    def marks(self, entry: int) -> Mapping[str, Bookmark]:
        """How far all files were read after an entry; read once, then kept."""
        if entry != self._at:
            with taking_up():
                for number, file in self._lists().items():
                    if number > entry:  # of micro-batches that a rollback has undone
                        file.unlink()
                self._marks, self._at = self.marks_at(entry), entry
        return self._marks

    def marks_at(self, entry: int) -> dict[str, Bookmark]:
        """The same, read anew, also of an entry that is not the last."""
        with taking_up():
            whole = max((number for number in self._lists() if number <= entry), default=0)
            found = _unpacked(self._read(f"{whole:012d}.all")) if whole else {}
            for number in range(whole + 1, entry + 1):
                taken, gone = self._entry(number)
                found = _after(found, taken, gone)
        return found

    def _lists(self) -> dict[int, Place]:
        """The lists of all files, by the entry after which each was written."""
        return {int(file.name.removesuffix(".all")): file for file in files_in(self._folder, "*.all")}

    def add(self, entry: int, taken: Taken, forgotten: Collection[str] = ()) -> None:
        """Write what the micro-batch after an entry takes, and what is forgotten before; one that Spark has not noted is written again."""
        known = self.marks(entry)
        number, every = entry + 1, max(settings().compacted_entries, 1)
        pairs = [
            [mark.to_dict(), None if before is None else before.to_dict()] for mark, before in taken.values()
        ]
        self._write(f"{number:012d}.json", json.dumps([*pairs, *sorted(forgotten)]))
        self._marks, self._at = _after(known, taken, forgotten), number
        if number % every == 0:
            self.compact(number)
            for file in files_in(self._folder, "*"):
                stem = file.name.partition(".")[0]
                if stem.isdigit() and int(stem) < number - KEPT * every:
                    file.unlink()

    def compact(self, entry: int) -> None:
        """Write all files together, as they were read after an entry."""
        self._write(f"{entry:012d}.all", _packed(self.marks(entry).values()))

    def between(self, first: int, last: int) -> Taken:
        """What was taken after one entry up to another."""
        found: dict[str, tuple[Bookmark, Bookmark | None]] = {}
        with taking_up():
            for number in range(first + 1, last + 1):
                for path, (mark, before) in self._entry(number)[0].items():
                    goes_on = before is not None and path in found
                    found[path] = (mark, found[path][1] if goes_on else before)
        return found

    def _entry(self, number: int) -> tuple[Taken, list[str]]:
        """What a micro-batch took, and the paths of files that were forgotten."""
        saved = json.loads(self._read(f"{number:012d}.json"))
        read = [
            (Bookmark.from_dict(each[0]), None if each[1] is None else Bookmark.from_dict(each[1]))
            for each in saved
            if not isinstance(each, str)
        ]
        gone = [each for each in saved if isinstance(each, str)]
        return {mark.path: (mark, before) for mark, before in read}, gone

    def _read(self, name: str) -> str:
        return (self._folder / name).read_text(encoding="utf-8")

    def _write(self, name: str, text: str) -> None:
        if isinstance(self._folder, Path):
            self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / name, text)


def _after(known: Mapping[str, Bookmark], taken: Taken, gone: Collection[str]) -> dict[str, Bookmark]:
    """How far all files were read after a micro-batch: those that are gone may have come again in it."""
    kept = {path: mark for path, mark in known.items() if path not in gone}
    return {**kept, **{path: mark for path, (mark, _) in taken.items()}}


def _packed(marks: Iterable[Bookmark]) -> str:
    text = json.dumps([mark.to_dict() for mark in marks])
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _unpacked(text: str) -> dict[str, Bookmark]:
    marks = map(Bookmark.from_dict, json.loads(zlib.decompress(base64.b64decode(text))))
    # A relative path and an absolute one are the same file.
    known = [replace(mark, path=one_name(mark.path)) for mark in marks]
    return {mark.path: mark for mark in known}
