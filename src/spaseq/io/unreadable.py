"""An input of which no event can be read: what was looked for, and what its files have instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad

from spaseq.errors import SpaseqError
from spaseq.io.assemble import Damage, RawEvent, StartMark, instant_of
from spaseq.io.bad_input import BadInput
from spaseq.io.lines import End
from spaseq.io.options import ReadOptions
from spaseq.io.pieces import parser_of
from spaseq.io.sources import GROUPED, Source
from spaseq.settings import settings
from spaseq.temporal.instants import XSD

_TIMES: Final = {f"{XSD}{name}" for name in ("dateTime", "dateTimeStamp", "date")}
_TIMELY: Final = re.compile(r"time|date|stamp", re.IGNORECASE)
_TITLES: Final = {
    "nquads": "N-Quads", "trig": "TriG", "jsonld": "JSON-LD", "ntriples": "N-Triples", "jelly": "Jelly",
}  # fmt: skip
_BEGINNINGS: Final = (
    (rb"[\[{]", "jsonld"),
    (rb"(?i)@prefix|@base|prefix\s|base\s|graph\s|(?:[<_][^\n{]*)?\{", "trig"),
    (rb"<|_:", "nquads"),
)
"""How files of other formats begin."""


class UnreadableInput(SpaseqError):
    """No event of an input can be read, so the query has nothing to look at."""


class IncompleteInput(SpaseqError):
    """Files whose rest cannot be read: what came before was answered, what is missing is unknown.

    ``faults`` say for each what is wrong, and where.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        more = f" (and {len(faults) - 1} more files)" if len(faults) > 1 else ""
        super().__init__(
            f"an input is not complete: {faults[0]}{more}; the matches of the events before it were reported\n"
            'help: get the whole file, or do without its rest: `on_bad_input="skip"`'
        )


def unreadable_input(
    stream: str, sources: Sequence[Source], options: ReadOptions, bad: int
) -> UnreadableInput:
    """The error for the files of a stream in which everything is bad input."""
    first = sources[0]
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    pieces = "1 piece" if bad == 1 else f"{bad:,} pieces"
    found, cure = _found(first, options)
    return UnreadableInput(
        f"no event of the stream `{stream}` can be read: `{first.name}`{more} has {pieces} of bad input and nothing else\n"
        f"looked for: {_wanted(first, options)}\n"
        f"found: {found}\n"
        f"help: {cure}"
    )


def _wanted(source: Source, options: ReadOptions) -> str:
    predicate = f"<{options.timestamp_predicate}>"
    if options.ends is not None:
        predicate += (
            f" (or a start with <{options.start_predicate}> and an end with <{options.end_predicate}>)"
        )
    title = _TITLES[source.format]
    if source.format == "ntriples":
        return f"{title}, {options.triples_per_event} triples and a timestamp with {predicate} per event"
    if source.format == "jelly":
        return f"{title}, a graph and a timestamp with {predicate} in every frame"
    where = {
        "stream": "in the default graph, directly before or after the graph, or inside the graph",
        "dataset": "anywhere in the default graph, or inside the graph",
        "auto": "in the default graph or inside the graph",
    }[options.layout]
    return f"{title} with a named graph per event, and for each the timestamp predicate {predicate} {where}"


def _found(source: Source, options: ReadOptions) -> tuple[str, str]:
    """What a file has, and what to do about it."""
    if source.format not in GROUPED:
        return (
            "the reasons are with the bad input",
            "see the quarantine for the reason and place of each piece",
        )
    with source.open() as reader:
        data = reader.read(settings().diagnosed_bytes)
        end = End() if not reader.read(1) else None
    seen = _Seen(options)
    parser_of(source, options, lambda: seen).step(data, 1, end)
    if seen.quads == 0:
        return _not_this_format(source, data, seen)
    if not seen.graphs:
        return (
            f"{_many(seen.quads, 'triple')}, all in the default graph; there are no named graphs",
            "put the triples of each event into a named graph of its own",
        )
    graphs = f"{_many(len(seen.graphs), 'named graph')}"
    if seen.stamps:
        if seen.unreadable is not None:
            return f"{graphs}, but timestamps such as {seen.unreadable}", f"{seen.why}"
        return (
            f"{graphs} and {_many(seen.stamps, 'timestamp')}, which do not belong together",
            'the subject of a timestamp is the name of its graph; `layout="dataset"` looks for it anywhere in the file',
        )
    if not seen.timely:
        return (
            f"{graphs} without timestamps, and no date-time in any of them",
            "give every graph a timestamp: a date-time, or a number with `time_unit=`",
        )
    iri = next(name for name, _ in seen.timely.most_common(1))
    return (
        f"{graphs} without that predicate; date-times are values of "
        + ", ".join(f"<{other}> ({_many(number, 'time')})" for other, number in seen.timely.most_common(3)),
        f'name the predicate that has the times, perhaps `timestamp_predicate="{iri}"`',
    )


_RELATIVE: Final = "No scheme found"
"""What the reader says of a relative IRI where there is no base."""


def _not_this_format(source: Source, data: bytes, seen: _Seen) -> tuple[str, str]:
    begin = data.lstrip()[:60].decode("utf-8", "replace").split("\n")[0]
    reason = f" ({seen.reason})" if seen.reason else ""
    if _RELATIVE in (seen.reason or ""):
        based = ", or begin the file with `@base <http://…/> .`" if source.format == "trig" else ""
        return f"{_TITLES[source.format]} with relative IRIs{reason}", f"write IRIs with their scheme{based}"
    text = f"text that begins with `{begin}` and is not {_TITLES[source.format]}{reason}"
    for pattern, name in _BEGINNINGS:
        if name != source.format and re.match(pattern, data.lstrip()):
            return text, f'it looks like {_TITLES[name]}: `format="{name}"`'
    return text, "name the format of the file with `format=`"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


class _Seen:
    """Counts what is in the beginning of a file."""

    def __init__(self, options: ReadOptions) -> None:
        self.events: list[RawEvent] = []
        self.bad: list[tuple[int, BadInput]] = []
        self._stamps = options.stamps
        self._unit = options.time_unit
        self.quads = 0
        self.stamps = 0
        self.graphs: set[NamedNode | BlankNode] = set()
        self._dated: Counter[str] = Counter()
        self._named: Counter[str] = Counter()
        self.reason = ""
        self.unreadable: str | None = None
        self.why = ""

    def quad(self, quad: Quad, at: StartMark, text: str | None = None) -> None:  # noqa: ARG002
        """Take one quad."""
        self.quads += 1
        if not isinstance(quad.graph_name, DefaultGraph):
            self.graphs.add(quad.graph_name)
        if quad.predicate.value in self._stamps:
            self.stamps += 1
            try:
                instant_of(quad.object, self._unit)
            except ValueError as error:
                self.unreadable, self.why = str(quad.object), str(error)
        elif isinstance(quad.object, Literal):
            local = re.split(r"[/#]", quad.predicate.value)[-1]
            if quad.object.datatype.value in _TIMES:
                self._dated[quad.predicate.value] += 1
            elif _TIMELY.search(local):
                self._named[quad.predicate.value] += 1

    @property
    def timely(self) -> Counter[str]:
        """Predicates that have times as values, or else whose names say so, and how often they occur."""
        return self._dated or self._named

    def damaged(self, damage: Damage) -> None:
        """Keep the first reason."""
        self.reason = self.reason or damage.reason

    def end(self) -> None:
        """Nothing is left open."""

    def settled(self, end: int) -> int:
        """Everything."""
        return end
