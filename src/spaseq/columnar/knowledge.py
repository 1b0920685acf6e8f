"""Background knowledge: named static graphs that GRAPH reads (semantics 1.7, Def 15).

A graph is kept as canonical N-Triples, its terms exactly as written, and encoded once per dictionary into a batch with one event
per graph; a GRAPH pattern is then evaluated like any other pattern, once per version of the knowledge.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from pyoxigraph import NamedNode, RdfFormat, Triple, parse

from spaseq.algebra.patterns import Graph
from spaseq.columnar.graphs import as_ntriples, encoded_graphs, from_ntriples, with_blanks
from spaseq.columnar.rdfs import rdfs_closure
from spaseq.columnar.table import Ids, Table
from spaseq.columnar.views import Views
from spaseq.errors import InvalidArgument, listed
from spaseq.model.dictionary import TermDictionary
from spaseq.model.entities import check_entities
from spaseq.model.events import triples_from
from spaseq.model.terms import RELATIVE, iri_of
from spaseq.stores import StorePath

if TYPE_CHECKING:
    from spaseq.model.events import GraphLike

    Source = GraphLike | Path | StorePath

_BLANK = re.compile(rb"_:[^\s]+")
_numbers = count()
Made = TypeVar("Made")


class Knowledge:
    """Named background graphs; `replace` gives a graph new content while queries run.

    A source is a path (syntax by extension), a text, an rdflib Graph or an iterable of
    triples. ``syntax`` names a text's syntax. With ``rdfs`` the RDFS closure of every graph is materialised at loading.
    """

    __slots__ = ("_derived", "_graphs", "_key", "_rdfs", "_version")

    def __init__(self, graphs: Mapping[str, Source] | None = None, *, rdfs: bool = False) -> None:
        self._graphs: dict[str, bytes] = {}
        self._rdfs = rdfs
        self._version = 0
        self._derived: dict[str, tuple[int, object]] = {}
        self._key = f"knowledge {next(_numbers)}"
        """Where dictionaries keep its graphs encoded."""
        for name, source in (graphs or {}).items():
            self.replace(name, source)

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._version

    @property
    def rdfs(self) -> bool:
        """Whether the RDFS closure of every graph is taken."""
        return self._rdfs

    @property
    def names(self) -> tuple[str, ...]:
        """The IRIs of the registered graphs, in order of registration."""
        return tuple(self._graphs)

    def triples(self, name: str) -> frozenset[Triple]:
        """The triples of a registered graph, entailed ones included."""
        return from_ntriples(self._graphs[iri_of(name)])

    def replace(self, name: str, source: Source, syntax: str | None = None) -> None:
        """Register a graph, or give a registered one new content; later evaluations see it."""
        name = iri_of(name)
        # Blank nodes that no event and no other graph has.
        lines = with_blanks(_read(source, syntax), f"-k{self._version}")
        self._graphs[name] = as_ntriples(rdfs_closure(from_ntriples(lines))) if self._rdfs else lines
        self._version += 1

    def derived(self, name: str, make: Callable[[], Made]) -> Made:
        """What is made of these graphs, once per version."""
        found = self._derived.get(name)
        if found is None or found[0] != self._version:
            found = self._derived[name] = (self._version, make())
        return found[1]  # type: ignore[return-value]  # made by the same function

    @property
    def digest(self) -> str:
        """The same for graphs of the same names and triples, however these are ordered; blank nodes, which are named anew at each loading, all count alike."""

        def made() -> str:
            found = hashlib.sha256()
            for name in sorted(self._graphs):
                lines = sorted(_BLANK.sub(b"_:", self._graphs[name]).splitlines())
                found.update(b"\n".join([name.encode("utf-8", "surrogatepass"), *lines, b""]))
            return found.hexdigest()

        return self.derived("digest", made)

    def require(self, names: Iterable[str]) -> None:
        """An unregistered graph is an error at start, not an empty result."""
        for name in names:
            if name not in self._graphs:
                name = name.removeprefix(RELATIVE)
                known = listed(f"<{each.removeprefix(RELATIVE)}>" for each in self._graphs)
                raise InvalidArgument(
                    f'no background graph is registered as <{name}>: say `knowledge={{"{name}": …}}`; '
                    f"registered: {known}"
                )

    def views(self, dictionary: TermDictionary) -> Views:
        """The graphs as a batch: event ``i`` is graph ``i`` of `names`."""
        return self._for(dictionary).views

    def name_ids(self, dictionary: TermDictionary) -> Ids:
        """The ids of the graphs' names, by event of `views`."""
        return self._for(dictionary).names

    def tables(self, dictionary: TermDictionary) -> dict[Graph, Table]:
        """Where evaluated GRAPH patterns are kept for this version and this dictionary."""
        return self._for(dictionary).tables

    def _for(self, dictionary: TermDictionary) -> _Encoded:
        """The graphs over this dictionary, which keeps them: machines that share background graphs have their own dictionaries."""
        found = dictionary.caches.get(self._key)
        known = self._version, dictionary.generation
        if not isinstance(found, _Encoded) or found.known != known:
            found = dictionary.caches[self._key] = _Encoded(self._graphs, dictionary, known)
        return found

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _restored, (dict(self._graphs), self._rdfs, self._version)


def _restored(graphs: dict[str, bytes], rdfs: bool, version: int) -> Knowledge:
    """A pickled knowledge base again; the graphs are closed already and their blank nodes local."""
    knowledge = Knowledge(rdfs=rdfs)
    knowledge._graphs = graphs
    knowledge._version = version
    return knowledge


class _Encoded:
    """The graphs as ids of one dictionary."""

    __slots__ = ("known", "names", "tables", "views")

    def __init__(
        self, graphs: Mapping[str, bytes], dictionary: TermDictionary, known: tuple[int, int]
    ) -> None:
        self.known = known
        """The version of the graphs and the generation of the dictionary."""
        self.tables: dict[Graph, Table] = {}
        self.views = Views(encoded_graphs(list(graphs.values()), dictionary))
        self.names: Ids = np.array([dictionary.encode(NamedNode(name)) for name in graphs], dtype=np.int32)


def _read(source: Source, name: str | None) -> bytes:
    if not isinstance(source, (Path, StorePath)):
        return as_ntriples(triples_from(source, name))
    syntax = RdfFormat.from_extension(source.suffix.lstrip("."))
    if syntax is None:
        raise InvalidArgument(f"the syntax of `{source}` is unknown; use .ttl, .nt, .rdf or .jsonld")
    try:
        if syntax == RdfFormat.RDF_XML:
            check_entities(source.read_bytes(), f"the background graph `{source}`")
        if isinstance(source, StorePath):
            quads = parse(source.read_bytes(), format=syntax)
        else:
            quads = parse(path=source, format=syntax)
        # A dataset counts as the union of its graphs.
        return as_ntriples((quad.triple for quad in quads) if syntax.supports_datasets else quads)
    except (OSError, SyntaxError) as error:
        raise InvalidArgument(f"the background graph `{source}` cannot be read: {error}") from None
