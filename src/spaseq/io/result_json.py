"""Matches as JSON lines (docs/reference/cli.md): one at a time, and whole columns of ids at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from json.encoder import encode_basestring
from operator import add
from typing import TYPE_CHECKING, Final

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.model.matches import Match, MatchedEvent
from spaseq.model.terms import Term, term_of
from spaseq.settings import settings
from spaseq.temporal.instants import XSD, format_instant

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from spaseq.model.dictionary import TermDictionary

_STRING: Final = XSD + "string"
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
"""Numpy prints the years 1 to 9999 as results have them."""
_NEWLINE: Final = ord("\n")


def text_json(text: str) -> str:
    """A text as JSON."""
    return encode_basestring(text)


def term_json(term: Term) -> str:
    """A term as in SPARQL 1.1 Query Results JSON.

    >>> term_json(NamedNode("http://ex.org/H1"))
    '{"type":"uri","value":"http://ex.org/H1"}'
    """
    value = text_json(term.value)
    match term:
        case NamedNode():
            return f'{{"type":"uri","value":{value}}}'
        case BlankNode():
            return f'{{"type":"bnode","value":{value}}}'
        case Literal() if term.language is not None:
            return f'{{"type":"literal","value":{value},"xml:lang":{text_json(term.language)}}}'
        case Literal() if term.datatype.value != _STRING:
            return f'{{"type":"literal","value":{value},"datatype":{text_json(term.datatype.value)}}}'
        case _:
            return f'{{"type":"literal","value":{value}}}'


def ntriples_json(text: str) -> str:
    """The same for a term given as canonical N-Triples, without making the term where that can be avoided.

    >>> ntriples_json('"5"^^<http://www.w3.org/2001/XMLSchema#integer>')
    '{"type":"literal","value":"5","datatype":"http://www.w3.org/2001/XMLSchema#integer"}'
    """
    if text[0] == "<":
        return f'{{"type":"uri","value":{text_json(text[1:-1])}}}'
    close = text.rfind('"')
    tail = text[close + 1 :]
    if close < 0 or "\\" in text or "--" in tail:
        return term_json(term_of(text))
    if tail[:1] == "^":
        return f'{{"type":"literal","value":{text[: close + 1]},"datatype":{text_json(tail[3:-1])}}}'
    if tail:
        return f'{{"type":"literal","value":{text[: close + 1]},"xml:lang":{text_json(tail[1:])}}}'
    return f'{{"type":"literal","value":{text}}}'


def bindings_json(bindings: dict[str, Term]) -> str:
    """The bound variables of a match, in their order."""
    return "{" + ",".join(f"{text_json(name)}:{term_json(term)}" for name, term in bindings.items()) + "}"


def event_json(event: MatchedEvent) -> str:
    """One event of a match."""
    fields = f'"step":{text_json(event.step)},"stream":{text_json(event.stream)}'
    fields += f',"time":"{format_instant(event.instant)}"'
    if event.graph is not None:
        name = event.graph.value if isinstance(event.graph, NamedNode) else str(event.graph)
        fields += f',"graph":{text_json(name)}'
    return "{" + fields + "}"


def events_json(events: Sequence[MatchedEvent]) -> str:
    """The events of a match, in step order."""
    return "[" + ",".join(map(event_json, events)) + "]"


def graph_json(triples: frozenset[Triple]) -> str:
    """The graph of a CONSTRUCT query as a text in N-Triples, sorted."""
    return text_json("".join(sorted(f"{triple} .\n" for triple in triples)))


def match_line(match: Match, *, query: str | None = None, provenance: bool = False, ask: bool = False) -> str:
    """One line, keys in their fixed order."""
    head = "" if query is None else f'"query":{text_json(query)},'
    if provenance:
        head += f'"match":{text_json(match.identity)},'
    body = f'"time":"{format_instant(match.instant)}","start":"{format_instant(match.begin)}"'
    if ask:
        body += ',"boolean":' + ("false" if match.boolean is False else "true")
    elif match.triples is not None:
        body += f',"graph":{graph_json(match.triples)}'
    else:
        body += f',"bindings":{bindings_json(match.bindings)}'
    tail = f',"events":{events_json(match.events)}' if provenance else ""
    return f"{{{head}{body}{tail}}}\n"


def no_match_line(query: str | None = None) -> str:
    """What ASK says of a finite input without match."""
    head = "" if query is None else f'"query":{text_json(query)},'
    return f'{{{head}"boolean":false}}\n'


class ColumnLines:
    """Matches given as columns of ids, as JSON lines; every distinct term is spelled once.

    Follows a `compact` of the dictionary by itself: ids of an older generation are dropped from the cache, and refused.
    """

    __slots__ = ("_dictionary", "_fractions", "_generation", "_seconds", "_terms")

    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self._generation = dictionary.generation
        self._terms: dict[int, str] = {}
        self._seconds: dict[int, str] = {}
        self._fractions: dict[int, str] = {}

    def lines(
        self,
        times: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        columns: Sequence[tuple[str, npt.NDArray[np.int32]]],
        *,
        generation: int,
        query: str | None = None,
    ) -> tuple[bytes | memoryview, npt.NDArray[np.int64]]:
        """The lines of many matches, and where each ends; 0 is unbound and absent. ``generation`` is that of the ids."""
        import numpy as np

        self._dictionary.require(generation)
        loaded = "spaseq.io.result_kernel" in sys.modules
        least = settings().copied_lines if loaded else settings().compiled_lines
        if self._dictionary.promoted and len(times) >= least:
            made = self._compiled(times, starts, columns, query)
            if made is not None:
                return made
        if self._generation != self._dictionary.generation:
            self._generation = self._dictionary.generation
            self._terms.clear()
        head = "" if query is None else f'"query":{text_json(query)},'.replace("%", "%%")
        keys = [f"{text_json(name)}:" for name, _ in columns]
        spelled = [self._spelled(ids) for _, ids in columns]
        if all(bool(ids.all()) for _, ids in columns):
            slots = ",".join(f"{key.replace('%', '%%')}%s" for key in keys)
            template = f'{{{head}"time":"%sZ","start":"%sZ","bindings":{{{slots}}}}}\n'
            rows = zip(self._instants(times), self._instants(starts), *spelled, strict=True)
        else:
            template = f'{{{head}"time":"%sZ","start":"%sZ","bindings":{{%s}}}}\n'
            bound = (_bound(keys, row) for row in zip(*spelled, strict=True))
            rows = zip(self._instants(times), self._instants(starts), bound, strict=True)
        text = "".join(map(template.__mod__, rows)).encode()
        return text, np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE) + 1

    def _compiled(
        self,
        times: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        columns: Sequence[tuple[str, npt.NDArray[np.int32]]],
        query: str | None,
    ) -> tuple[memoryview, npt.NDArray[np.int64]] | None:
        """The lines by a kernel that copies terms, and where each ends; None if a term must be escaped."""
        import numpy as np

        from spaseq.io.result_kernel import column_lines

        arena = self._dictionary.promote()
        head = "" if query is None else f'"query":{text_json(query)},'
        keys = [f"{text_json(name)}:".encode() for name, _ in columns]
        ids = np.column_stack([ids for _, ids in columns]) if columns else np.zeros((len(times), 0), np.int32)
        return column_lines(
            arena.buffer, arena.starts, ids, times, starts, f'{{{head}"time":"'.encode(), keys
        )

    def _spelled(self, ids: npt.NDArray[np.int32]) -> list[str]:
        """For every row the term, or nothing where it is unbound."""
        if len(self._terms) > settings().cached_texts:
            self._terms.clear()
        known = self._terms
        known[0] = ""
        listed: list[int] = ids.tolist()
        for term in set(listed).difference(known):
            known[term] = ntriples_json(self._dictionary.ntriples(term))
        return [known[term] for term in listed]

    def _instants(self, instants: npt.NDArray[np.int64]) -> list[str]:
        """Instants without their ``Z``; every second and every fraction is spelled once."""
        if len(self._seconds) + len(self._fractions) > settings().cached_texts:
            self._seconds.clear()
            self._fractions.clear()
        whole = instants // 1_000_000
        seconds: list[int] = whole.tolist()
        fractions: list[int] = (instants - whole * 1_000_000).tolist()
        new = list(set(seconds).difference(self._seconds))
        self._seconds.update(zip(new, _seconds_text(new), strict=True))
        for fraction in set(fractions).difference(self._fractions):
            self._fractions[fraction] = f".{fraction:06d}".rstrip("0") if fraction else ""
        # A list, since the next call may empty the caches.
        known = map(self._seconds.__getitem__, seconds), map(self._fractions.__getitem__, fractions)
        return list(map(add, *known))


def _seconds_text(seconds: list[int]) -> list[str]:
    """Whole seconds as `format_instant` prints them, without the ``Z``; many at once by numpy."""
    if (
        len(seconds) < settings().looped_seconds
        or min(seconds) < _FIRST_SECOND
        or max(seconds) > _LAST_SECOND
    ):
        return [format_instant(second * 1_000_000)[:-1] for second in seconds]
    import numpy as np

    texts: list[str] = np.datetime_as_string(np.array(seconds, "datetime64[s]")).tolist()
    return texts


def _bound(keys: Sequence[str], row: Sequence[str]) -> str:
    """The bindings of one match, without the variables that are unbound."""
    return ",".join(key + term for key, term in zip(keys, row, strict=True) if term)
