"""RDF terms and their one canonical spelling, N-Triples; blank nodes that are local to an event.

pyoxigraph's classes are the project's term classes; they keep the lexical form. Two terms are the same
exactly if their canonical N-Triples texts are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, Protocol, TypeAlias, TypeVar

from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, RdfFormat, Triple, parse

Term: TypeAlias = NamedNode | BlankNode | Literal
"""An RDF term."""

RELATIVE: Final = "urn:spaseq:name:"
"""Begins the IRIs of names that have no scheme: ``<w1>`` in a query without BASE, ``--kb g=PATH``."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN_ESCAPES: Final = {
    "t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\",
}  # fmt: skip


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _PLAIN_ESCAPES[found[3]]


_IRI: Final = r'<[^\x00-\x20<>"]*>'
_TERM: Final = re.compile(
    rf'{_IRI}|_:[^\x00-\x20]+|"(?:[^"\\\n\r]|\\[^\n\r])*"(?:@[^\x00-\x20<>"]+|\^\^{_IRI})?'
)
"""A term that is delimited as it must be; whether it is one, the parser says."""


def iri_of(name: str) -> str:
    """The IRI that a name stands for; an IRI is one by itself.

    >>> iri_of("g"), iri_of("http://ex.org/g")
    ('urn:spaseq:name:g', 'http://ex.org/g')
    """
    return name if _SCHEME.match(name) else RELATIVE + name


def check_terms(texts: Sequence[str]) -> None:
    """Raise ValueError if one of these texts is not the N-Triples text of a term."""
    for text in texts:
        if not _TERM.fullmatch(text):
            raise ValueError(f"`{text}` is not a term")
    lines = "".join(f"<s:> <p:> {text} .\n" for text in texts).encode()
    count = sum(1 for _ in parse(lines, format=RdfFormat.N_TRIPLES))  # SyntaxError if a term is wrong
    if count != len(texts):
        raise ValueError("a text is not one term")


def term_of(text: str) -> Term:
    """The term with a canonical N-Triples spelling; the inverse of ``str`` on terms.

    >>> term_of('"5"^^<http://www.w3.org/2001/XMLSchema#integer>').value
    '5'
    """
    if text[0] == "<":
        return NamedNode(text[1:-1])
    if text[0] == "_":
        return BlankNode(text[2:])
    close = text.rindex('"')
    value, tail = text[1:close], text[close + 1 :]
    if "\\" in value:
        value = _ESCAPE.sub(_unescaped, value)
    if not tail:
        return Literal(value)
    if tail[0] == "@":
        language, _, direction = tail[1:].partition("--")
        if direction:
            return Literal(value, language=language, direction=BaseDirection(direction))
        return Literal(value, language=language)
    return Literal(value, datatype=NamedNode(tail[3:-1]))


_MASK: Final = (1 << 64) - 1
_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3


def fnv1a(data: bytes, seed: int = _OFFSET) -> int:
    """The 64-bit FNV-1a hash: short enough to be the same in Python and in a kernel."""
    for byte in data:
        seed = ((seed ^ byte) * _PRIME) & _MASK
    return seed


_SCOPED: Final = re.compile(r"(_:\S+)-e[0-9a-f]{16}(?=\s|$)")


def scoped_label(label: str, scope: int) -> str:
    """The label of an event's blank node: still readable, and no other event's.

    >>> scoped_label("b0", 255)
    'b0-e00000000000000ff'
    """
    return f"{label}-e{scope:016x}"


def unscoped(text: str) -> str:
    """Text of triples with the labels of blank nodes as they were written.

    >>> unscoped("_:b0-e00000000000000ff <http://ex.org/p> _:b1-e00000000000000ff")
    '_:b0 <http://ex.org/p> _:b1'
    """
    return _SCOPED.sub(r"\1", text) if "_:" in text else text


_RANDOM: Final = re.compile(r"[0-9a-f]{20,32}\Z")
_T = TypeVar("_T")
_U = TypeVar("_U")


def is_random(label: str) -> bool:
    """True if pyoxigraph made up the label of an anonymous blank node, or took one that is none, as in JSON-LD."""
    if _RANDOM.match(label) is not None or ":" in label:
        return True
    try:
        BlankNode(label)
    except ValueError:
        return True
    return False


def stable_labels(name: _T, triples: list[Triple]) -> tuple[_T | BlankNode, list[Triple]]:
    """A graph with its anonymous blank nodes, which pyoxigraph labels at random, numbered as they first occur."""
    terms = [name, *(term for triple in triples for term in (triple.subject, triple.object))]
    labels = dict.fromkeys(term.value for term in terms if isinstance(term, BlankNode))
    random = [label for label in labels if is_random(label)]
    if not random:
        return name, triples
    free = (f"anon{i}" for i in range(len(labels) * 2) if f"anon{i}" not in labels)
    names = {label: BlankNode(new) for label, new in zip(random, free, strict=False)}

    def stable(term: _U) -> _U | BlankNode:
        return names.get(term.value, term) if isinstance(term, BlankNode) else term

    return stable(name), [Triple(stable(t.subject), t.predicate, stable(t.object)) for t in triples]


def event_key(stream: str, time: int, name: str) -> int:
    """A number for an event: of its stream, its instant and its graph's name as written."""
    return fnv1a(f"{stream}\n{time}\n{name}".encode("utf-8", "surrogatepass"))


def event_scope(key: int, repetition: int) -> int:
    """The scope of the blank nodes of the event that repeats a key for the n-th time."""
    return fnv1a(f"\n{repetition}".encode(), key) if repetition else key


class Scopes(Protocol):
    """Whatever gives events their scopes: `BlankScopes`, or a dictionary, which keeps less."""

    def blank_scope(self, stream: str, time: int, name: str, labels: Iterable[str]) -> int:
        """The scope of the blank nodes of one event, which occur with these labels."""


class BlankScopes:
    """Gives every event its own scope, so that equal labels in two events are two blank nodes.

    A scope follows from the event's stream, instant and graph name, so hosts that read the same events
    print the same labels. Events that agree in all three are numbered.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    @property
    def counts(self) -> dict[int, int]:
        """How often each key was seen, the one seen last at the end: what a snapshot keeps."""
        return self._counts

    def next(self, key: int, most: int | None = None) -> int:
        """The scope of the next event with this key.

        With ``most`` keys half of them are dropped, those that were not seen for the longest time. Then
        the caller must see to it that no scope of a living event is given again (`TermDictionary.blank_scope`).
        """
        counts = self._counts
        repetition = counts.pop(key, 0)
        if most is not None and len(counts) >= most:
            for old in list(islice(counts, len(counts) - most // 2)):
                del counts[old]
        counts[key] = repetition + 1
        return event_scope(key, repetition)

    def blank_scope(self, stream: str, time: int, name: str, labels: Iterable[str]) -> int:  # noqa: ARG002
        """The scope of the blank nodes of one event; nothing is ever dropped."""
        return self.next(event_key(stream, time, name))
