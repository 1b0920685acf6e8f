"""Background knowledge: named static graphs that GRAPH reads (SEMANTICS 1.7, Def 15).

A graph is kept as terms, exactly as written, and encoded once per dictionary into a batch with one event
per graph; a GRAPH pattern is then evaluated like any other pattern, once per version of the knowledge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple, parse

from spaseq.algebra.patterns import Graph
from spaseq.columnar.rdfs import rdfs_closure
from spaseq.columnar.table import Ids, Table
from spaseq.columnar.views import Views
from spaseq.errors import InvalidArgument, listed
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import triples_from

if TYPE_CHECKING:
    from spaseq.model.events import GraphLike

    Source = GraphLike | Path


class Knowledge:
    """Named background graphs; `replace` gives a graph new content while queries run.

    A source is a path (syntax by extension), a text, an rdflib Graph or an iterable of
    triples. ``syntax`` names a text's syntax. With ``rdfs`` the RDFS closure of every graph is materialised at loading.
    """

    __slots__ = ("_encoded", "_graphs", "_rdfs", "_tables", "_version")

    def __init__(self, graphs: Mapping[str, Source] | None = None, *, rdfs: bool = False) -> None:
        self._graphs: dict[str, frozenset[Triple]] = {}
        self._rdfs = rdfs
        self._version = 0
        self._encoded: _Encoded | None = None
        self._tables: dict[Graph, Table] = {}
        for name, source in (graphs or {}).items():
            self.replace(name, source)

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._version

    @property
    def names(self) -> tuple[str, ...]:
        """The IRIs of the registered graphs, in order of registration."""
        return tuple(self._graphs)

    def triples(self, name: str) -> frozenset[Triple]:
        """The triples of a registered graph, entailed ones included."""
        return self._graphs[name]

    def replace(self, name: str, source: Source, syntax: str | None = None) -> None:
        """Register a graph, or give a registered one new content; later evaluations see it."""
        triples = _local(_read(source, syntax), self._version)
        self._graphs[name] = rdfs_closure(triples) if self._rdfs else triples
        self._version += 1
        self._encoded = None
        self._tables.clear()

    def require(self, names: Iterable[str]) -> None:
        """An unregistered graph is an error at start, not an empty result."""
        for name in names:
            if name not in self._graphs:
                raise InvalidArgument(
                    f"no background graph is registered as <{name}>; registered: {listed(self._graphs)}"
                )

    def views(self, dictionary: TermDictionary) -> Views:
        """The graphs as a batch: event ``i`` is graph ``i`` of `names`."""
        return self._for(dictionary).views

    def name_ids(self, dictionary: TermDictionary) -> Ids:
        """The ids of the graphs' names, by event of `views`."""
        return self._for(dictionary).names

    def tables(self, dictionary: TermDictionary) -> dict[Graph, Table]:
        """Where evaluated GRAPH patterns are kept for this version and this dictionary."""
        self._for(dictionary)
        return self._tables

    def _for(self, dictionary: TermDictionary) -> _Encoded:
        if self._encoded is None or not self._encoded.fits(dictionary):
            self._encoded = _Encoded(self._graphs, dictionary)
            self._tables.clear()
        return self._encoded

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _restored, (dict(self._graphs), self._rdfs, self._version)


def _restored(graphs: dict[str, frozenset[Triple]], rdfs: bool, version: int) -> Knowledge:
    """A pickled knowledge base again; the graphs are closed already and their blank nodes local."""
    knowledge = Knowledge(rdfs=rdfs)
    knowledge._graphs = graphs
    knowledge._version = version
    return knowledge


class _Encoded:
    """The graphs as ids of one dictionary."""

    __slots__ = ("_dictionary", "_generation", "names", "views")

    def __init__(self, graphs: Mapping[str, frozenset[Triple]], dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self._generation = dictionary.generation
        self.views = Views(encoded_graphs(list(graphs.values()), dictionary))
        self.names: Ids = np.array([dictionary.encode(NamedNode(name)) for name in graphs], dtype=np.int32)

    def fits(self, dictionary: TermDictionary) -> bool:
        return self._dictionary is dictionary and self._generation == dictionary.generation


def encoded_graphs(graphs: list[frozenset[Triple]], dictionary: TermDictionary) -> EventBatch:
    """Graphs as a batch of events without time: event ``i`` is graph ``i``."""
    subjects: list[str] = []
    predicates: list[str] = []
    objects: list[str] = []
    for text in map(str, chain.from_iterable(graphs)):
        # A triple as N-Triples: neither subject nor predicate holds a blank, so two cuts give its terms.
        subject, predicate, value = text.split(" ", 2)
        subjects.append(subject)
        predicates.append(predicate)
        objects.append(value)
    count = len(graphs)
    return EventBatch(
        _column(subjects, dictionary),
        _column(predicates, dictionary),
        _column(objects, dictionary),
        np.concatenate([[0], np.cumsum([len(graph) for graph in graphs])]).astype(np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.int16),
        np.zeros(count, dtype=np.int32),
    )


def _column(texts: list[str], dictionary: TermDictionary) -> Ids:
    """The ids of some terms; each distinct one is looked up once."""
    distinct = list(dict.fromkeys(texts))
    for text in distinct:
        if text.startswith("<<"):
            raise InvalidArgument(f"a triple term is not supported: {text}")
    known = dict(zip(distinct, dictionary.encode_texts(distinct), strict=True))
    return np.array([known[text] for text in texts], dtype=np.int32)


def _read(source: Source, name: str | None) -> frozenset[Triple]:
    if not isinstance(source, Path):
        return triples_from(source, name)
    syntax = RdfFormat.from_extension(source.suffix.lstrip("."))
    if syntax is None:
        raise InvalidArgument(f"the syntax of `{source}` is unknown; use .ttl, .nt, .rdf or .jsonld")
    try:
        return frozenset(quad.triple for quad in parse(path=source, format=syntax))
    except (OSError, SyntaxError) as error:
        raise InvalidArgument(f"the background graph `{source}` cannot be read: {error}") from None


def _local(triples: frozenset[Triple], version: int) -> frozenset[Triple]:
    """The triples with blank nodes that no event and no other graph has."""
    local: dict[object, BlankNode] = {
        node: BlankNode(f"{node.value}-k{version}")
        for triple in triples
        for node in (triple.subject, triple.object)
        if isinstance(node, BlankNode)
    }
    if not local:
        return triples
    return frozenset(
        Triple(local.get(t.subject, t.subject), t.predicate, local.get(t.object, t.object)) for t in triples
    )
