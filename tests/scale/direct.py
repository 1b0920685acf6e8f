"""Every operator in plain Python: what the engines must find, straight from semantics 1.3 to 1.9, with nothing shared.

All steps of a query join on ``?k``, so an operator is computed key by key. ``Timeline`` is what one key sees: its events by kind,
and which instants there are at all (of all events, or, with PARTITION BY, of those of the key).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from world import KEYS, KINDS, STREAMS, Row

MILLISECONDS = 200
EVENTS = 150
OWN_EVENTS = 6


class Seen(NamedTuple):
    """An event as an operator sees it."""

    time: int
    position: int
    value: int


Bound = dict[str, int]
Found = tuple[int, int, Bound]
"""Start, instant and bindings of a match."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What one key sees."""

    kinds: dict[str, list[Seen]]
    instants: list[int]
    fits: Callable[[Seen, Seen], bool]
    """Whether a match from one event to a later one lies in a window."""
    end: Callable[[int], int]
    """When the window of a match that starts then ends."""

    def after(self, kind: str, time: int) -> Iterator[Seen]:
        """The events of a kind after a time, in order."""
        events = self.kinds[kind]
        for at in range(bisect_right(events, time, key=lambda event: event.time), len(events)):
            yield events[at]

    def between(self, kind: str, first: int, last: int) -> bool:
        """Whether there is an event of a kind strictly between two times."""
        following = next(self.after(kind, first), None)
        return following is not None and following.time < last

    def following(self, time: int) -> int | None:
        """The next instant that has any event."""
        at = bisect_right(self.instants, time)
        return self.instants[at] if at < len(self.instants) else None

    def first_after(self, first: Seen, kind: str, time: int) -> list[Seen]:
        """The events of a kind at the first instant after a time that has one in the window of ``first``."""
        found: list[Seen] = []
        for event in self.after(kind, time):
            if not self.fits(first, event) or (found and event.time > found[0].time):
                break
            found.append(event)
        return found


# --- the operators --------------------------------------------------------------------------------


def next_(line: Timeline) -> Iterator[Found]:
    """``A ; B`` with ``?b > ?a``: the first instant at which a greater B is there."""
    for a in line.kinds["a"]:
        reached = None
        for b in line.after("b", a.time):
            if not line.fits(a, b) or (reached is not None and b.time > reached):
                break
            if b.value > a.value:
                reached = b.time
                yield a.time, b.time, {"a": a.value, "b": b.value}


def any_(line: Timeline) -> Iterator[Found]:
    """``A : B``: every later B; over the rare kinds where nothing else bounds it."""
    for a in line.kinds["a"]:
        for b in line.after("b", a.time):
            if not line.fits(a, b):
                break
            yield a.time, b.time, {"a": a.value, "b": b.value}


def strict(line: Timeline) -> Iterator[Found]:
    """``A , B``: a B at the very next instant."""
    for a in line.kinds["a"]:
        following = line.following(a.time)
        for b in line.after("b", a.time):
            if b.time != following:
                break
            if line.fits(a, b):
                yield a.time, b.time, {"a": a.value, "b": b.value}


def both(line: Timeline) -> Iterator[Found]:
    """``A & B``: at one instant."""
    for a in line.kinds["a"]:
        for b in line.after("b", a.time - 1):
            if b.time > a.time:
                break
            if line.fits(a, b):
                yield a.time, a.time, {"a": a.value, "b": b.value}


def either(line: Timeline) -> Iterator[Found]:
    """``(A | B) ; C``: one or the other."""
    for kind in "ab":
        for one in line.kinds[kind]:
            for c in line.first_after(one, "c", one.time):
                yield one.time, c.time, {kind: one.value, "c": c.value}


def plus(line: Timeline) -> Iterator[Found]:
    """``A ; B+``: the first B by skip-till-next, each further one at the very next instant; every length counts."""
    for a in line.kinds["a"]:
        reached = [[b] for b in line.first_after(a, "b", a.time)]
        while reached:
            longer = []
            for bs in reached:
                last, values = bs[-1], [b.value for b in bs]
                bound = {"a": a.value, "b": last.value, "n": len(values), "sum": sum(values)}
                yield a.time, last.time, bound
                following = line.following(last.time)
                for b in line.after("b", last.time):
                    if b.time != following:
                        break
                    if line.fits(a, b):
                        longer.append([*bs, b])
            reached = longer


def bounded(line: Timeline) -> Iterator[Found]:
    """``A ; B{2,3}[;]``: two or three, each the next one."""
    for a in line.kinds["a"]:
        for b1 in line.first_after(a, "b", a.time):
            for b2 in line.first_after(a, "b", b1.time):
                yield a.time, b2.time, {"a": a.value, "b": b2.value, "n": 2}
                for b3 in line.first_after(a, "b", b2.time):
                    yield a.time, b3.time, {"a": a.value, "b": b3.value, "n": 3}


def without(line: Timeline) -> Iterator[Found]:
    """``A ; B! ; C``: the next C, if no B lies between."""
    for a in line.kinds["a"]:
        for c in line.first_after(a, "c", a.time):
            if not line.between("b", a.time, c.time):
                yield a.time, c.time, {"a": a.value, "c": c.value}


def optional(line: Timeline) -> Iterator[Found]:
    """``A ; B? ; C``: with the next B, or without any."""
    yield from without(line)
    for a in line.kinds["a"]:
        for b in line.first_after(a, "b", a.time):
            for c in line.first_after(a, "c", b.time):
                yield a.time, c.time, {"a": a.value, "b": b.value, "c": c.value}


def never(line: Timeline) -> Iterator[Found]:
    """``A ; B!`` at the end: no B until the window has ended."""
    for a in line.kinds["a"]:
        end = line.end(a.time)
        if not line.between("b", a.time, end + 1):
            yield a.time, end, {"a": a.value}


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: its sequence, what it selects, and its direct computation."""

    sequence: str
    select: str
    compute: Callable[[Timeline], Iterator[Found]]
    kinds: str


OPERATORS = {
    "next": Operator("A ; B", "?a ?b", next_, "ab"),
    "any": Operator("A : B", "?a ?b", any_, "ab"),
    "strict": Operator("A , B", "?a ?b", strict, "ab"),
    "both": Operator("A & B", "?a ?b", both, "ab"),
    "either": Operator("(A | B) ; C", "?a ?b ?c", either, "abc"),
    "plus": Operator("A ; B+", "?a ?b (COUNT(B) AS ?n) (SUM(?b) AS ?sum)", plus, "ab"),
    "bounded": Operator("A ; B{2,3}[;]", "?a ?b (COUNT(B) AS ?n)", bounded, "ab"),
    "optional": Operator("A ; B? ; C", "?a ?b ?c", optional, "abc"),
    "without": Operator("A ; B! ; C", "?a ?c", without, "abc"),
    "never": Operator("A ; B!", "?a", never, "ab"),
}
WINDOWS = {
    "tumbling": f"WITHIN {MILLISECONDS} MILLISECONDS",
    "sliding": f"WITHIN {MILLISECONDS} MILLISECONDS SLIDING",
    "events": f"WITHIN {EVENTS} EVENTS",
    "events-sliding": f"WITHIN {EVENTS} EVENTS SLIDING",
    "none": "",
    "partition": f"WITHIN {MILLISECONDS} MILLISECONDS SLIDING",
    "partition-events": f"WITHIN {OWN_EVENTS} EVENTS SLIDING",
}
TIMED = ("tumbling", "sliding", "partition")
"""The windows that end at a time, as a negation at the end needs."""


def cases() -> Iterator[tuple[str, str]]:
    """Every operator with every window that it allows."""
    for operator in OPERATORS:
        for window in WINDOWS:
            if operator != "never" or window in TIMED:
                yield operator, window


def rare(operator: str, window: str) -> bool:
    """Whether a query asks for the rare kinds: without a window every pair of ``A : B`` counts."""
    return operator == "any" and window == "none"


def query(operator: str, window: str) -> str:
    """The text of a query."""
    asked = OPERATORS[operator]
    gpms = []
    for kind in asked.kinds:
        stream = next(name for name, kinds in KINDS.items() if kind in kinds)
        name = kind.upper() if rare(operator, window) else kind
        condition = " FILTER(?b > ?a)" if operator == "next" and kind == "b" else ""
        gpms.append(f"DEFINE GPM {kind.upper()} ON {stream} {{ ?k <urn:{name}> ?{kind}{condition} }}")
    streams = " ".join(f"FROM STREAM {name} <{iri}>" for name, iri in STREAMS.items())
    partition = "PARTITION BY ?k" if window.startswith("partition") else ""
    where = f"WHERE {{ SEQ ({asked.sequence}) {' '.join(gpms)} }}"
    return f"SELECT ?k {asked.select} {WINDOWS[window]} {streams} {partition} {where}\n"


# --- what they find -------------------------------------------------------------------------------


def expected(operator: str, window: str, streams: dict[str, list[Row]]) -> Iterator[str]:
    """The lines that a query must write over these streams, in any order."""
    asked, name = OPERATORS[operator], f"{operator}-{window}"
    upper = rare(operator, window)
    for key, line in enumerate(_timelines(asked.kinds, window, streams, upper=upper)):
        for start, time, bound in asked.compute(line):
            yield _line(name, key, start, time, bound)


def _timelines(kinds: str, window: str, streams: dict[str, list[Row]], *, upper: bool) -> Iterator[Timeline]:
    everything = sorted(
        ((row.time, order, row) for order, rows in enumerate(streams.values()) for row in rows),
        key=lambda item: item[:2],
    )
    own: list[list[Row]] = [[] for _ in range(KEYS)]
    position = dict[int, int]()
    partitioned = window.startswith("partition")
    for at, (_, _, row) in enumerate(everything):
        asked = any((kind.upper() if upper else kind) in row.kinds for kind in kinds)
        if asked:
            position[row.number] = len(own[row.key]) if partitioned else at
            own[row.key].append(row)
    everywhen = sorted({time for time, _, _ in everything})
    for rows in own:
        instants = sorted({row.time for row in rows}) if partitioned else everywhen
        seen = {
            kind: [
                Seen(row.time, position[row.number], row.value)
                for row in rows
                if (kind.upper() if upper else kind) in row.kinds
            ]
            for kind in kinds
        }
        yield Timeline(seen, instants, _fits(window), _end(window))


def _fits(window: str) -> Callable[[Seen, Seen], bool]:
    if window == "tumbling":
        return lambda first, last: last.time <= (first.time // MILLISECONDS + 1) * MILLISECONDS
    if window in ("sliding", "partition"):
        return lambda first, last: last.time - first.time <= MILLISECONDS
    if window == "events":
        return lambda first, last: last.position // EVENTS == first.position // EVENTS
    if window == "events-sliding":
        return lambda first, last: last.position - first.position < EVENTS
    if window == "partition-events":
        return lambda first, last: last.position - first.position < OWN_EVENTS
    return lambda _first, _last: True


def _end(window: str) -> Callable[[int], int]:
    if window == "tumbling":
        return lambda time: (time // MILLISECONDS + 1) * MILLISECONDS
    return lambda time: time + MILLISECONDS


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ORDER = ("a", "b", "c", "n", "sum")


@lru_cache(maxsize=1 << 12)
def _second(seconds: int) -> str:
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}"


def _instant(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{_second(seconds)}{f'.{rest:03d}'.rstrip('0') if rest else ''}Z"


def _line(name: str, key: int, start: int, time: int, bound: Bound) -> str:
    cells = [f'"k":{{"type":"uri","value":"urn:k{key}"}}']
    for variable in _ORDER:
        if variable in bound:
            datatype = "http://www.w3.org/2001/XMLSchema#integer"
            cells.append(
                f'"{variable}":{{"type":"literal","value":"{bound[variable]}","datatype":"{datatype}"}}'
            )
    head = f'{{"query":"{name}","time":"{_instant(time)}","start":"{_instant(start)}"'
    return f'{head},"bindings":{{{",".join(cells)}}}}}'
