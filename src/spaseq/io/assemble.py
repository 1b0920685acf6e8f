"""From quads and timestamps to events, in plain Python (docs/reference/event-formats.md).

A named graph is one event. Its quads are contiguous and its timestamp is a triple of the default graph
directly before or directly after them, or the one value that the timestamp predicate has inside the graph.
`GraphAssembler` follows the input item by item and says how far it is settled, so that a reader can drop what
is settled and read the rest again with more behind it. `spaseq.io.nquads_kernel` does the same on bytes; this
file is what it must agree with. Data sets in another order are brought into this one first (`spaseq.io.regroup`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, TypeAlias
from typing import Literal as Literal_

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from spaseq.io.bad_input import BadInput, Fault, Unit, excerpt
from spaseq.model.terms import Term
from spaseq.temporal.instants import TimeUnit, format_instant, parse_instant

Role: TypeAlias = Literal_["time", "start", "end"]
_ENDS: Final[tuple[tuple[Role, str], ...]] = (("start", "an end"), ("end", "a start"))
"""Each end of an interval, and the other one."""
NO_TIMESTAMP: Final = "the graph {name} has no timestamp directly before or after it, nor inside it"
TWO_TIMESTAMPS: Final = "the graph {name} has more than one timestamp"
ONE_END: Final = "{name} has {one}, but no {other}"
BESIDES: Final = "{name} has a timestamp besides its start and end"
TWO_ENDS: Final = "{name} has more than one {which}"
BACKWARDS: Final = "{name} starts at {start}, after its end {end}"
NO_GRAPH: Final = "the timestamp of {name} has no graph directly before or after it"
STRAY: Final = "a triple in the default graph belongs to no event"
QUOTED: Final = "a triple term is not supported in an event"


@dataclass(frozen=True, slots=True)
class RawEvent:
    """An event as read: blank nodes still have their written labels, triples may repeat.

    ``position`` is for the user, ``offset`` is where in the piece it begins.
    """

    time: int
    name: NamedNode | BlankNode | None
    triples: list[Triple]
    position: int
    inside: bool = False
    """True if the timestamp stands inside the graph."""
    offset: int = 0
    start: int | None = None
    """Where an interval event begins; ``time`` is its end."""


@dataclass(frozen=True, slots=True)
class StartMark:
    """Where something begins: what the user counts, and where a reader would start again."""

    position: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Stamp:
    """A timestamp triple as read: the instant of an event, or one of its ends."""

    value: Term | Triple
    at: StartMark
    text: str
    role: Role = "time"


class Untimely(Exception):
    """Why some timestamps are not the time of an event; ``stamp`` is the one at fault, if it is a single one."""

    def __init__(self, reason: str, fault: Fault = "", stamp: Stamp | None = None) -> None:
        super().__init__(reason)
        self.reason, self.fault, self.stamp = reason, fault, stamp


def times_of(stamps: Sequence[Stamp], name: str, unit: TimeUnit) -> tuple[int | None, int]:
    """The start, None for an instant, and the time of an event; `Untimely` says why there is none."""
    by_role: dict[Role, list[Stamp]] = {"time": [], "start": [], "end": []}
    for stamp in stamps:
        by_role[stamp.role].append(stamp)
    if not by_role["start"] and not by_role["end"]:
        if len({stamp.value for stamp in stamps}) != 1:
            if not stamps:
                raise Untimely(NO_TIMESTAMP.format(name=name), "no timestamp")
            raise Untimely(TWO_TIMESTAMPS.format(name=name), "two timestamps")
        return None, _read(stamps[0], name, unit)
    graph = f"the graph {name}"
    if by_role["time"]:
        raise Untimely(BESIDES.format(name=graph), "two ends")
    for role, article in _ENDS:
        if not by_role[role]:
            raise Untimely(ONE_END.format(name=graph, one=article, other=role), "one end")
        if len({stamp.value for stamp in by_role[role]}) > 1:
            raise Untimely(TWO_ENDS.format(name=graph, which=role), "two ends")
    start, end = _read(by_role["start"][0], name, unit), _read(by_role["end"][0], name, unit)
    if start > end:
        shown_ends = {"start": format_instant(start), "end": format_instant(end)}
        raise Untimely(BACKWARDS.format(name=graph, **shown_ends), "", by_role["start"][0])
    return start, end


def _read(stamp: Stamp, name: str, unit: TimeUnit) -> int:
    try:
        return instant_of(stamp.value, unit)
    except ValueError as error:
        raise Untimely(unreadable(name, str(error)), "", stamp) from None


def roles_of(predicate: str, ends: tuple[str, str] | None) -> dict[NamedNode, Role]:
    """What the predicates of timestamps say of an event: its instant, or its start and its end."""
    roles: dict[NamedNode, Role] = {NamedNode(predicate): "time"}
    if ends is not None:
        roles |= {NamedNode(ends[0]): "start", NamedNode(ends[1]): "end"}
    return roles


@dataclass(frozen=True, slots=True)
class Damage:
    """Something unreadable, and the graph names its text still shows.

    ``cut`` means that the input ended here in the middle of something. ``apart`` is a statement or a value, not a line
    of a graph. ``suspect`` is the subject ("" if that cannot be read either) of a line that looks like a quad and
    names no graph: it may belong to the one before or after it.
    """

    reason: str
    at: StartMark
    text: str
    names: frozenset[str] = frozenset()
    cut: bool = False
    apart: bool = False
    suspect: str | None = None


@dataclass(slots=True)
class _Group:
    """Successive quads of one graph with the timestamps before, after and inside them."""

    name: NamedNode | BlankNode
    at: StartMark
    text: str
    before: list[Stamp]
    triples: list[Triple] = field(default_factory=list)
    after: list[Stamp] = field(default_factory=list)
    inside: list[Stamp] = field(default_factory=list)
    damage: Damage | None = None
    last: int = 0
    """The offset of its last quad."""


@dataclass(slots=True)
class _Waiting:
    """Timestamps whose graph has not come yet."""

    name: Term | Triple
    stamps: list[Stamp]


class GraphAssembler:
    """Collects quads into events; ``events`` and ``bad`` hold what was found, bad input with its offset.

    Offsets never go back; several quads may have the same.
    """

    __slots__ = ("_clean", "_closed", "_group", "_loose", "_roles", "_source", "_unit", "_waiting", "bad", "counted",
                 "events")  # fmt: skip

    def __init__(
        self,
        predicate: str,
        unit: TimeUnit,
        source: str,
        counted: Unit = "line",
        ends: tuple[str, str] | None = None,
    ) -> None:
        self._roles = roles_of(predicate, ends)
        self._unit: TimeUnit = unit
        self._source = source
        self.counted: Unit = counted
        self._group: _Group | None = None
        self._waiting: _Waiting | None = None
        self._loose: list[Damage] = []
        self.events: list[RawEvent] = []
        self.bad: list[tuple[int, BadInput]] = []
        self._clean = self._closed = 0

    def quad(self, quad: Quad, at: StartMark, text: str | None = None) -> None:
        """Take one quad; ``text`` is how it was written, if that is not a quad."""
        name = quad.graph_name
        if isinstance(name, DefaultGraph):
            if quad.predicate in self._roles:
                self._stamp(quad, at, text)
            else:
                self._report(STRAY, at, text or str(quad))
            return
        group = self._group
        if group is not None and group.name == name:
            if group.after:
                group = self._split(group, at, text or str(quad))
            else:
                self._claim(group)
        else:
            group = self._open(name, at, text or str(quad))
        group.last = at.offset
        if isinstance(quad.object, Triple) or isinstance(quad.subject, Triple):
            group.damage = group.damage or Damage(QUOTED, at, text or str(quad))
            return
        role = self._roles.get(quad.predicate)
        if role is not None:
            group.inside.append(Stamp(quad.object, at, text or str(quad), role))
        group.triples.append(quad.triple)

    def damaged(self, damage: Damage) -> None:
        """Take something unreadable; it spoils the event it stands in, or none."""
        group = self._group
        if group is not None and str(group.name) in damage.names and not group.after:
            group.damage = group.damage or damage
            self._claim(group)
        else:
            self._loose.append(damage)

    def end(self) -> None:
        """The input has ended: settle what is open."""
        cut = self._loose[-1] if self._loose and self._loose[-1].cut else None
        if self._group is not None:
            if cut is not None and self._continues(self._group, cut):
                self._claim(self._group)
            elif cut is None and not self._group.after:
                self._forget(self._suspect(self._group))
        if cut is not None:
            self._waiting = None  # its graph is what was cut off
        self._close()
        self._drop_waiting()
        self._drop_loose()

    def settled(self, end: int) -> int:
        """The offset before which everything is settled, given that the input so far ends at ``end``.

        An assembler that begins there goes on in the same way.
        """
        if self._group is None and self._waiting is None and not self._loose:
            self._settle(end)
        return self._clean

    def _settle(self, offset: int) -> None:
        """Note that nothing before an offset matters any more, unless an event has taken something from behind it."""
        if self._closed < offset:
            self._clean = offset

    # --- the steps --------------------------------------------------------------------------------

    def _stamp(self, quad: Quad, at: StartMark, text: str | None) -> None:
        stamp = Stamp(quad.object, at, text or str(quad), self._roles[quad.predicate])
        group = self._group
        if group is not None and group.name == quad.subject:
            if not group.before and not group.after:
                self._claim(group)
            elif not group.after:
                self._forget(self._suspect(group))
            group.after.append(stamp)
            return
        if group is not None and not group.after:
            self._forget(self._suspect(group))
        self._close()
        waiting = self._waiting
        if waiting is not None and waiting.name == quad.subject:
            waiting.stamps.append(stamp)
            return
        self._drop_waiting()
        self._drop_loose(keep=str(quad.subject))
        self._waiting = _Waiting(quad.subject, [stamp])
        if not self._loose:
            self._settle(at.offset)

    def _open(self, name: NamedNode | BlankNode, at: StartMark, text: str) -> _Group:
        past = self._group
        if past is not None and not past.after:
            found = self._suspect(past, str(name))
            if (not past.before and not past.inside) or any(d.suspect == str(past.name) for d in found):
                self._forget(found)
        self._close()
        waiting = self._waiting
        if waiting is not None and waiting.name != name:  # what is unreadable was its graph
            self._drop_waiting()
            self._drop_loose(keep=str(name))
            waiting = None
        self._waiting = None
        group = _Group(name, at, text, waiting.stamps if waiting is not None else [])
        if waiting is None:
            self._forget(self._suspect(group))
            self._drop_loose(keep=str(name))
        self._claim(group)
        self._group = group
        if waiting is None and group.damage is None:
            self._settle(at.offset)
        return group

    def _claim(self, group: _Group) -> None:
        """Whatever unreadable stands inside an event spoils it."""
        if self._loose:
            group.damage = group.damage or self._loose[0]
            self._loose.clear()

    def _suspect(self, group: _Group, other: str = "") -> list[Damage]:
        """Spoil an event by what stands directly beside it and may be one of its quads: it must not go on without.

        ``other`` is the name of the graph on the other side.
        """
        loose = self._loose if self._group is group else self._loose[::-1]
        found = list(takewhile(lambda damage: damage.suspect is not None, loose))
        if any(damage.names for damage in loose) or (other and any(d.suspect == other for d in found)):
            return []  # it belongs to another graph
        if found:
            group.damage = group.damage or min(found, key=lambda damage: damage.at.offset)
        return found

    def _forget(self, damages: list[Damage]) -> None:
        self._loose = [damage for damage in self._loose if damage not in damages]

    def _split(self, group: _Group, at: StartMark, text: str) -> _Group:
        """The same name again after a timestamp: a new event, which may own some of the timestamps."""
        own, left = group.before, group.after
        if not group.before:
            several = {stamp.role for stamp in group.after[:2]} == {"start", "end"}
            own, left = group.after[: 1 + several], group.after[1 + several :]
        self._finish(group, own)
        self._group = _Group(group.name, at, text, left)
        inside = [damage for damage in self._loose if left and damage.at.offset > left[0].at.offset]
        self._forget(inside)
        if not left:
            self._forget(self._suspect(self._group))
        self._drop_loose(keep=str(group.name))
        self._loose += inside
        self._claim(self._group)
        if self._group.damage is None:
            self._settle(left[0].at.offset if left else at.offset)
        return self._group

    def _continues(self, group: _Group, damage: Damage) -> bool:
        """Whether the text where the input was cut off looks like more of an event without end.

        A timestamp behind the event ends it, and a cut timestamp belongs to the next one.
        """
        if group.after:
            return False
        if damage.apart or not group.before:
            return not group.before and not (damage.apart and group.inside)
        subject, _, rest = damage.text.strip().partition(" ")
        rest, stamps = rest.strip(), [str(predicate) for predicate in self._roles]
        if rest and not any(stamp.startswith(rest) for stamp in stamps):
            return not any(rest.startswith(stamp) for stamp in stamps)
        known = any(str(triple.subject).startswith(subject) for triple in group.triples)
        return known and (not subject or not str(group.name).startswith(subject))

    def _close(self) -> None:
        group, self._group = self._group, None
        if group is not None:
            self._finish(group, group.before + group.after)

    def _finish(self, group: _Group, stamps: list[Stamp]) -> None:
        offsets = [group.at.offset, group.last, *(stamp.at.offset for stamp in stamps)]
        if max(offsets) > min(offsets):
            self._closed = max(self._closed, *offsets)
        stamps = stamps or group.inside
        if group.damage is not None:
            self._report(group.damage.reason, group.damage.at, group.damage.text)
            return
        try:
            start, time = times_of(stamps, shown(group.name), self._unit)
        except Untimely as why:
            if why.stamp is not None:
                self._report(why.reason, why.stamp.at, why.stamp.text)
            else:
                self._report(why.reason, group.at, group.text, why.fault, str(group.name))
            return
        inside = not group.before and not group.after
        event = RawEvent(time, group.name, group.triples, group.at.position, inside, group.at.offset, start)
        self.events.append(event)

    def _drop_waiting(self) -> None:
        """Report timestamps without graph, unless their graph is what was unreadable."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not any(str(waiting.name) in damage.names for damage in self._loose):
            for stamp in waiting.stamps:
                reason = NO_GRAPH.format(name=shown(waiting.name))
                self._report(reason, stamp.at, stamp.text, "no graph", str(waiting.name))

    def _drop_loose(self, keep: str | None = None) -> None:
        """Report unreadable things that stand in no event; keep those whose text names the next one."""
        kept = [damage for damage in self._loose if keep is not None and keep in damage.names]
        for damage in self._loose:
            if damage not in kept:
                self._report(damage.reason, damage.at, damage.text)
        self._loose = kept

    def _report(self, reason: str, at: StartMark, text: str, fault: Fault = "", graph: str = "") -> None:
        bad = BadInput(reason, self._source, at.position, self.counted, excerpt(text), fault, graph)
        self.bad.append((at.offset, bad))


_RANDOM = re.compile(r"_:[0-9a-f]{20,32}\Z")


def shown(name: object) -> str:
    """A graph's name for a message; one that pyoxigraph labelled at random was written as ``[]``."""
    return "[]" if _RANDOM.match(str(name)) else str(name)


def instant_of(value: Term | Triple, unit: TimeUnit) -> int:
    """The instant of a timestamp triple's object; a `ValueError` says why there is none."""
    if not isinstance(value, Literal):
        raise ValueError(f"a timestamp is a literal, not {shown(value)}")
    if value.language is not None:
        raise ValueError("a timestamp is a date-time, a date or a number, not a text with a language")
    return parse_instant(value.value, value.datatype.value, unit)


def unreadable(name: str, why: str) -> str:
    """The reason for a timestamp that stands for no instant."""
    return f"the timestamp of {name} cannot be read: {why}"
