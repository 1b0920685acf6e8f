"""N-Triples without graphs: every N data triples with one timestamp triple are an event (docs/reference/event-formats.md)."""

from __future__ import annotations

from pyoxigraph import Quad, Triple

from spaseq.io.assemble import QUOTED, Damage, RawEvent, Stamp, StartMark, Untimely, roles_of, times_of
from spaseq.io.bad_input import BadInput, excerpt
from spaseq.temporal.instants import TimeUnit


class TripleCounter:
    """Counts triples into events, for data made for the original SPAseq engine.

    The timestamp is among an event's triples or right after them; it is any triple with the timestamp
    predicate, whatever its subject, and not part of the event's graph; of an interval event so are its two ends. An unreadable
    line counts as the triple it was meant to be, so that the events after it are cut as before.
    """

    __slots__ = ("_damage", "_roles", "_seen", "_size", "_source", "_stamps", "_start", "_triples", "_unit",
                 "bad", "events")  # fmt: skip

    def __init__(
        self, predicate: str, unit: TimeUnit, source: str, size: int, ends: tuple[str, str] | None = None
    ) -> None:
        self._roles = roles_of(predicate, ends)
        self._unit: TimeUnit = unit
        self._source = source
        self._size = size
        self.events: list[RawEvent] = []
        self.bad: list[tuple[int, BadInput]] = []
        self._begin()

    def _begin(self) -> None:
        self._triples: list[Triple] = []
        self._stamps: list[Stamp] = []
        self._damage: Damage | None = None
        self._start: tuple[StartMark, str] | None = None
        self._seen = 0

    def quad(self, quad: Quad, at: StartMark) -> None:
        """Take one triple."""
        role = self._roles.get(quad.predicate)
        if role is not None:
            self._note(at, str(quad))
            self._stamps.append(Stamp(quad.object, at, str(quad), role))
            if self._seen == self._size and self._stamped:
                self._finish()
            return
        self._data(at, str(quad))
        if isinstance(quad.object, Triple) or isinstance(quad.subject, Triple):
            self._damage = self._damage or Damage(QUOTED, at, str(quad))
        else:
            self._triples.append(quad.triple)
        if self._seen == self._size and self._stamped:
            self._finish()

    @property
    def _stamped(self) -> bool:
        """Whether the time is known: of an interval both ends."""
        roles = {stamp.role for stamp in self._stamps}
        return "time" in roles or roles == {"start", "end"}

    def damaged(self, damage: Damage) -> None:
        """Take an unreadable line: it spoils its event."""
        stamp = any(str(predicate) in damage.text for predicate in self._roles)
        if stamp:
            self._note(damage.at, damage.text)
        else:
            self._data(damage.at, damage.text)
        self._damage = self._damage or damage
        stamped = self._stamped or stamp
        if self._seen == self._size and stamped:
            self._finish()

    def end(self) -> None:
        """The input has ended: an event that is not full is none."""
        if self._start is not None:
            self._finish()

    def settled(self, end: int) -> int:
        """The offset before which everything is settled, given that the input so far ends at ``end``."""
        return end if self._start is None else self._start[0].offset

    def _data(self, at: StartMark, text: str) -> None:
        if self._seen == self._size:  # full, and no timestamp right after it
            self._finish()
        self._note(at, text)
        self._seen += 1

    def _note(self, at: StartMark, text: str) -> None:
        if self._start is None:
            self._start = (at, text)

    def _finish(self) -> None:
        at, text = self._start if self._start is not None else (StartMark(0), "")
        reason = self._reason()
        if self._damage is not None:
            self._report(self._damage.reason, self._damage.at, self._damage.text)
        elif reason is not None:
            self._report(reason, at, text)
        else:
            try:
                start, time = times_of(self._stamps, "the event", self._unit)
            except Untimely as why:
                place = (at, text) if why.stamp is None else (why.stamp.at, why.stamp.text)
                self._report(why.reason.replace("the graph the event", "the event"), *place)
            else:
                event = RawEvent(time, None, self._triples, at.position, offset=at.offset, start=start)
                self.events.append(event)
        self._begin()

    def _reason(self) -> str | None:
        if self._seen < self._size:
            return f"the input ends after {self._seen} of the {self._size} triples of an event"
        if not self._stamps:
            return f"{self._size} triples have no timestamp among or right after them"
        if len(self._stamps) > 1 and all(stamp.role == "time" for stamp in self._stamps):
            return f"{self._size} triples have more than one timestamp"
        return None

    def _report(self, reason: str, at: StartMark, text: str) -> None:
        self.bad.append((at.offset, BadInput(reason, self._source, at.position, "line", excerpt(text))))
