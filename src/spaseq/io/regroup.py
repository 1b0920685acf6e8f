"""A data set in any order as N-Quads in the layout of streams: grouped by graph, each timestamp before its graph.

Lines stand in the order in which the file mentions their graphs first, so every host reads the same events in the
same order. Everything is held in memory as text, with about 20 bytes per line besides.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt
from pyoxigraph import BlankNode, DefaultGraph, Quad

from spaseq.io.assemble import Damage, RawEvent, StartMark, roles_of
from spaseq.io.bad_input import BadInput, OnBad, excerpt
from spaseq.io.options import ReadOptions
from spaseq.io.pieces import hand_over
from spaseq.io.sources import ByteReader, Source
from spaseq.model.terms import is_random
from spaseq.settings import settings

Longs = npt.NDArray[np.int64]

_STRAY, _STAMP, _QUAD = range(3)
_NUMBERED = re.compile(r"anon[0-9]+_*\Z")
_T = TypeVar("_T")

REASONS = {
    "no timestamp": "the graph {graph} has no timestamp in the default graph of the file, nor inside it",
    "two timestamps": "the graph {graph} has more than one timestamp",
    "no graph": "the timestamp of {graph} has no graph in the file",
}


@dataclass(frozen=True, slots=True, eq=False)
class Regrouped:
    """The lines of a data set in the layout of streams; ``positions`` says where each stands in the file."""

    text: bytearray
    starts: Longs
    ends: Longs
    positions: Longs
    bad: list[BadInput]
    """What cannot be read. It spoils the graph whose name it shows; a line without one the graphs beside it."""

    def open(self) -> ByteReader:
        """The lines as a reader takes them."""
        return ByteReader(cast("io.FileIO", io.BytesIO()), self._blocks())

    def _blocks(self) -> Iterator[bytes]:
        view, most = memoryview(self.text), settings().file_bytes
        block: list[memoryview] = []
        size = 0
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            block.append(view[start:end])
            size += end - start
            if size >= most:
                yield b"".join(block)
                block, size = [], 0
        yield b"".join(block)

    def place(self, line: int) -> int:
        """Where one of the lines, counted from 1, stands in the file."""
        return int(self.positions[line - 1])

    def placed(self, on_bad: OnBad) -> OnBad:
        """Bad input among the lines, with its place in the file and in the words of a data set."""

        def report(bad: BadInput) -> None:
            reason = REASONS[bad.fault].format(graph=bad.graph) if bad.fault in REASONS else bad.reason
            on_bad(replace(bad, reason=reason, position=self.place(bad.position)))

        return report


def regroup(source: Source, options: ReadOptions) -> Regrouped:
    """Read a data set and group it by graph."""
    lines = _Lines(options, anonymous=source.format != "nquads")
    hand_over(source, options, lines)
    return lines.grouped(source.name)


class _Lines:
    """Takes quads as lines of N-Quads, each with the number of its graph; ``anonymous`` if nodes may be."""

    def __init__(self, options: ReadOptions, *, anonymous: bool) -> None:
        self.events: list[RawEvent] = []
        self.bad: list[tuple[int, BadInput]] = []
        self._roles = roles_of(options.timestamp_predicate, options.ends)
        self._text = bytearray()
        self._ends = array("q", [0])
        self._keys = array("q")
        """Three times the number of the graph, plus the kind of the line."""
        self._positions = array("q")
        self._numbers: dict[str, int] = {"": 0}
        self._stamps: dict[int, bytes] = {}
        self._inside: dict[int, str] = {}
        self._anonymous = anonymous
        self._labels: dict[str, BlankNode] = {}
        self._damages: list[Damage] = []
        self._last = 0
        """The number of the graph of the last line, 0 if it was not a quad of one."""
        self._unsure = False
        """True behind a line that may be a quad of the graph before it or of the next one."""
        self._spoiled: set[int] = set()

    def quad(self, quad: Quad, at: StartMark, text: str | None = None) -> None:  # noqa: ARG002
        """Take one quad."""
        quad = self._labelled(quad)
        line, role = f"{quad} .\n".encode(), self._roles.get(quad.predicate)
        number = 0
        if not isinstance(quad.graph_name, DefaultGraph):
            number = self._number(str(quad.graph_name))
            if self._unsure:
                self._spoiled.add(number)
            if role in ("time", "end"):
                value = str(quad.object)
                if self._inside.setdefault(number, value) != value:
                    self._inside[number] = ""  # no value is written like this
            self._add(line, number, _QUAD, at)
        elif role is None:
            self._add(line, 0, _STRAY, at)
        else:
            about = self._number(str(quad.subject))
            if self._stamps.setdefault(about, line) is line or self._stamps[about] != line:
                self._add(line, about, _STAMP, at)
        self._last, self._unsure = number, False

    def damaged(self, damage: Damage) -> None:
        """Take something unreadable."""
        self._damages.append(damage)
        if damage.suspect is not None:
            self._spoiled.add(self._last)
            self._unsure = True

    def end(self) -> None:
        """Nothing is left open."""

    def settled(self, end: int) -> int:
        """Everything."""
        return end

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def _add(self, line: bytes, number: int, kind: int, at: StartMark) -> None:
        self._text += line
        self._ends.append(len(self._text))
        self._keys.append(3 * number + kind)
        self._positions.append(at.position)

    def _labelled(self, quad: Quad) -> Quad:
        """The quad with anonymous blank nodes, which pyoxigraph labels at random, numbered through the file."""
        terms = (quad.subject, quad.object, quad.graph_name)
        if not self._anonymous or not any(isinstance(term, BlankNode) for term in terms):
            return quad
        subject, value, name = (self._stable(term) for term in terms)
        return Quad(subject, quad.predicate, value, name)  # type: ignore[arg-type]

    def _stable(self, term: _T) -> _T | BlankNode:
        if not isinstance(term, BlankNode):
            return term
        if is_random(term.value):
            known = self._labels.get(term.value)
            if known is None:
                known = self._labels[term.value] = BlankNode(f"anon{len(self._labels)}")
            return known
        # A label that looks like a number of ours gets a mark, so that it stays another one.
        return BlankNode(f"{term.value}_") if _NUMBERED.match(term.value) else term

    def grouped(self, source: str) -> Regrouped:
        """All lines, grouped."""
        keys = np.frombuffer(self._keys, np.int64) if self._keys else np.zeros(0, np.int64)
        numbers, kinds = keys // 3, keys % 3
        order = np.argsort(keys, kind="stable")
        inside = [number for number, value in self._inside.items() if value]
        spoiled = {
            self._numbers[name] for item in self._damages for name in item.names if name in self._numbers
        }
        spoiled |= self._spoiled - {0}
        left_out = (kinds == _STAMP) & np.isin(numbers, np.array(inside, np.int64))
        left_out |= np.isin(numbers, np.array(sorted(spoiled), np.int64))
        order = order[~left_out[order]]
        ends = np.frombuffer(self._ends, np.int64)
        positions = np.frombuffer(self._positions, np.int64) if self._positions else keys
        bad = [BadInput(d.reason, source, d.at.position, "line", excerpt(d.text)) for d in self._damages]
        return Regrouped(self._text, ends[order], ends[order + 1], positions[order], bad)
