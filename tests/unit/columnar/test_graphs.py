"""Facts about graphs as N-Triples and as columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.columnar.graphs import as_ntriples, encoded_graphs, from_ntriples, with_blanks
from spaseq.errors import InvalidArgument
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import changed_settings

IRIS = st.sampled_from([NamedNode(f"http://e/{name}") for name in ("a", "b", "é", "long" * 9)])
BLANKS = st.sampled_from([BlankNode(label) for label in ("x", "y.z", "x-1")])
LITERALS = st.one_of(
    st.builds(Literal, st.text(max_size=12)),
    st.builds(lambda text: Literal(text, language="en-gb"), st.text(max_size=5)),
    st.builds(lambda text: Literal(text, datatype=NamedNode("http://e/kind")), st.text(max_size=5)),
    st.sampled_from([Literal('_:x ."'), Literal(" _:x ."), Literal("<< \n _:x .\n")]),
)
GRAPHS = st.lists(
    st.frozensets(st.builds(Triple, IRIS | BLANKS, IRIS, IRIS | BLANKS | LITERALS), max_size=6), max_size=3
)


def decoded(batch: EventBatch, dictionary: TermDictionary) -> list[frozenset[tuple[str, ...]]]:
    """The triples of every event, as texts."""
    return [
        frozenset(
            tuple(dictionary.ntriples(int(known)) for known in triple)
            for triple in zip(*batch.triples_of(event), strict=True)
        )
        for event in range(len(batch))
    ]


@given(GRAPHS)
def test_both_ways_to_encode_give_every_triple_once(graphs: list[frozenset[Triple]]) -> None:
    """By cuts in Python, and by the compiled kernel in pieces; repeated lines are one triple."""
    texts = [as_ntriples(graph) * 2 for graph in graphs]
    wanted = [frozenset((str(t.subject), str(t.predicate), str(t.object)) for t in graph) for graph in graphs]
    for large in (0, 1 << 30):
        with changed_settings(compiled_graph_bytes=large):
            dictionary = TermDictionary()
            batch = encoded_graphs(texts, dictionary)
        assert decoded(batch, dictionary) == wanted
        assert np.diff(batch.offsets).tolist() == [len(graph) for graph in graphs]


@given(GRAPHS)
def test_blank_nodes_are_renamed_and_nothing_else(graphs: list[frozenset[Triple]]) -> None:
    """Whatever literals look like."""
    for graph in graphs:
        found = from_ntriples(with_blanks(as_ntriples(graph), "-k7"))
        assert found == {Triple(_renamed(t.subject), t.predicate, _renamed(t.object)) for t in graph}  # type: ignore[arg-type]


def _renamed(term: object) -> object:
    return BlankNode(f"{term.value}-k7") if isinstance(term, BlankNode) else term


def test_a_graph_in_several_pieces_is_whole() -> None:
    """The kernel takes pieces that end with lines; no triple is lost at a cut."""
    lines = b"".join(b'<urn:s%d> <urn:p> "%d" .\n' % (n, n) for n in range(200_000))
    dictionary = TermDictionary()
    batch = encoded_graphs([lines], dictionary)
    assert len(lines) > 1 << 22
    assert len(batch.subjects) == 200_000
    assert len(dictionary) == 400_001


def test_a_triple_term_is_refused() -> None:
    """Before anything runs."""
    with pytest.raises(InvalidArgument, match="a triple term is not supported"):
        encoded_graphs([b"<urn:a> <urn:b> <<( <urn:s> <urn:p> <urn:o> )>> .\n"], TermDictionary())
