"""Which layout a finite file has: the layout of streams, or that of a data set in any order (docs/reference/event-formats.md).

A file is first taken for a stream. What does not fit, a graph without timestamp or a timestamp without graph, is
collected as `Clues`. If there are any, a second pass over the file counts how much of it grouping by graph name
would mend and how much it would spoil: a stream may use one name for many events, a data set cannot.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad

from spaseq.io.assemble import Damage, RawEvent, StartMark
from spaseq.io.bad_input import BadInput, OnBad
from spaseq.io.lines import PieceResult
from spaseq.io.options import ReadOptions
from spaseq.io.pieces import hand_over
from spaseq.io.sources import GROUPED, Source
from spaseq.settings import settings

FOLLOWED: Final = (
    "; with --follow a timestamp stands directly before or after its graph, or inside it: a data set in another "
    "order is read without --follow (--layout dataset)"
)
"""What to do about bad input of files that are followed."""
NOT_GROUPED: Final = "; --layout dataset finds timestamps anywhere in the file"
"""What to do about bad input of files that were taken for streams without judging all of them."""


def with_cure(on_bad: OnBad, cure: str) -> OnBad:
    """Bad input that may be due to the layout, with words that say what to do."""

    def report(bad: BadInput) -> None:
        misplaced = bad.fault in ("no timestamp", "no graph", "one end")
        on_bad(replace(bad, reason=bad.reason + cure) if misplaced else bad)

    return report if cure else on_bad


class Clues:
    """What of a file does not fit the layout of streams; takes bad input and events of a reader."""

    __slots__ = ("_inside", "graphless", "timeless", "twofold")

    def __init__(self) -> None:
        self.timeless: Counter[str] = Counter()
        """Graphs without timestamp, by name."""
        self.graphless: Counter[str] = Counter()
        """Timestamps without graph, by the name of the graph."""
        self.twofold: Counter[str] = Counter()
        """Graphs with two timestamps, by name."""
        self._inside = array("q")

    def __call__(self, bad: BadInput) -> None:
        """Take bad input."""
        match bad.fault:
            case "no timestamp" | "one end":
                self.timeless[bad.graph] += 1
            case "no graph":
                self.graphless[bad.graph] += 1
            case "two timestamps" | "two ends":
                self.twofold[bad.graph] += 1
            case "":
                pass

    def take(self, step: PieceResult) -> None:
        """Take what a piece of input gave."""
        for bad in step.bad:
            self(bad)
        self.see(step.events)

    def see(self, events: Iterable[RawEvent]) -> None:
        """Take events."""
        for event in events:
            if event.inside:
                self.see_inside(str(event.name).encode(), event.time)

    def see_inside(self, name: bytes, time: int) -> None:
        """Take an event whose timestamp stands inside its graph: the same one again is another part of it."""
        self._inside.append(hash((name, time)))

    @property
    def repeated(self) -> int:
        """How many parts of graphs with timestamps inside repeat the name and the time of another."""
        if not self._inside:
            return 0
        import numpy as np

        from spaseq.model.ordered import each_once

        return len(self._inside) - len(each_once(np.frombuffer(self._inside, np.int64)))

    @property
    def lack_timestamps(self) -> bool:
        """True if graphs without timestamp are all that grouping by name could mend."""
        return not (self.graphless or self.repeated)

    def __bool__(self) -> bool:
        return bool(self.timeless or self.graphless or self.repeated)


def judged(source: Source, options: ReadOptions, clues: Clues) -> Literal["stream", "dataset"]:
    """The layout of a file in which some things do not fit a stream: the one in which fewer are bad input."""
    if not clues or source.format not in GROUPED:
        return "stream"
    whole = source.format == "nquads" and options.judged_bytes is None
    if whole and clues.lack_timestamps and not _stamped(source, options.stamps, clues.timeless):
        return "stream"  # nothing can be mended
    tally = _Tally(options.stamps - {options.start_predicate}, clues)
    hand_over(source, options, tally)
    return "dataset" if tally.mended > tally.spoiled else "stream"


_IRI: Final = re.compile(rb"<[^>\n]*>")


def _stamped(source: Source, predicates: Iterable[str], graphs: Iterable[str]) -> bool:
    """True if a line of N-Quads has a timestamp of one of these graphs, or may have: it is not parsed, which would take much longer."""
    wanted, left = {name.encode() for name in graphs}, b""
    stamps = [f"<{predicate}>".encode() for predicate in predicates]
    if any(name.startswith(b"_:") for name in wanted):
        return True
    with source.open() as reader:
        while read := reader.read(settings().chunk_bytes):
            lines = left + read
            end = lines.rfind(b"\n") + 1
            left = lines[end:]
            if _names_stamped(lines[:end], stamps, wanted):
                return True
    return _names_stamped(left, stamps, wanted)


def _names_stamped(lines: bytes, stamps: Sequence[bytes], wanted: Container[bytes]) -> bool:
    if b"\\u" in lines or b"\\U" in lines:  # names may be written in other ways
        return True
    for stamp in stamps:
        at = lines.find(stamp)
        while at >= 0:
            end = lines.find(b"\n", at)
            line = lines[lines.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(lines)]
            if any(iri in wanted for iri in _IRI.findall(line)):
                return True
            at = lines.find(stamp, end) if end >= 0 else -1
    return False


@dataclass(slots=True)
class _Stamps:
    """The timestamps of one graph: how many in the default graph, which first, whether there are others."""

    present: bool = False
    beside: str | None = None
    count: int = 0
    differ: bool = False
    inside: str | None = None
    others: int = 0

    @property
    def is_event(self) -> bool:
        """True if all quads of this name together are an event."""
        one_inside = self.inside is not None and not self.others
        return one_inside or (self.present and self.beside is not None and not self.differ)


class _Tally:
    """Counts the timestamps of graphs: of all that do not fit a stream, and of as many others as there is room for."""

    def __init__(self, predicates: frozenset[str], clues: Clues) -> None:
        self.events: list[RawEvent] = []
        self.bad: list[tuple[int, BadInput]] = []
        self._predicates = predicates
        self._clues = clues
        self._stamps = {name: _Stamps() for name in clues.timeless | clues.graphless}
        self._room = len(self._stamps) + settings().tallied_names
        self._last: NamedNode | BlankNode | DefaultGraph | None = None

    def quad(self, quad: Quad, at: StartMark, text: str | None = None) -> None:  # noqa: ARG002
        """Take one quad."""
        graph = quad.graph_name
        if quad.predicate.value in self._predicates:
            beside = isinstance(graph, DefaultGraph)
            found = self._of(str(quad.subject if beside else graph))
            if found is not None:
                _note(found, str(quad.object), beside)
        if graph != self._last:
            self._last = graph
            known = self._stamps.get(str(graph))
            if known is not None:
                known.present = True

    def _of(self, name: str) -> _Stamps | None:
        found = self._stamps.get(name)
        if found is None and len(self._stamps) < self._room:
            found = self._stamps[name] = _Stamps(present=True)  # else its timestamp would not fit a stream
        return found

    def damaged(self, damage: Damage) -> None:
        """What is unreadable is so in every layout."""

    def end(self) -> None:
        """Nothing is left open."""

    def settled(self, end: int) -> int:
        """Everything."""
        return end

    @property
    def mended(self) -> int:
        """How much that does not fit a stream becomes part of an event if quads are grouped by name."""
        clues = self._clues
        pieces = clues.timeless + clues.graphless
        return clues.repeated + sum(count for name, count in pieces.items() if self._stamps[name].is_event)

    @property
    def spoiled(self) -> int:
        """How many events of a stream would become one graph with different timestamps."""
        return sum(self._events(name, found) for name, found in self._stamps.items() if not found.is_event)

    def _events(self, name: str, found: _Stamps) -> int:
        """About how many events of this name a stream has."""
        clues = self._clues
        if found.count:
            return max(0, found.count - clues.graphless[name] - 2 * clues.twofold[name])
        return found.others + 1 if found.others and not clues.twofold[name] else 0


def _note(found: _Stamps, value: str, beside: bool) -> None:
    if beside:
        found.count += 1
        found.beside = found.beside or value
        found.differ = found.differ or value != found.beside
    elif found.inside is None:
        found.inside, found.present = value, True
    elif value != found.inside:
        found.others += 1
