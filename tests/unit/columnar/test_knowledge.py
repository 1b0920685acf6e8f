"""Background knowledge: named graphs, replacement, RDFS closure (semantics 1.7)."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Triple

from spaseq import Engine, Event, evaluate
from spaseq.algebra.patterns import Pattern, Project
from spaseq.columnar import knowledge as knowledge_module
from spaseq.columnar.graphs import as_ntriples, encoded_graphs
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.plan import compile_pattern
from spaseq.columnar.rdfs import rdfs_closure
from spaseq.errors import InvalidArgument, LimitReached
from spaseq.languages.sparql import lower_query
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import triples_from
from spaseq.syntax import parse_sparql

G, H = "http://e/g", "http://e/h"
PREFIX = "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "


def graph(text: str) -> frozenset[Triple]:
    """The triples of a Turtle text."""
    return triples_from(PREFIX + text, "turtle")


def where(body: str) -> Pattern:
    """The algebra of a group."""
    pattern = lower_query(parse_sparql(f"PREFIX : <http://e/> SELECT * WHERE {{ {body} }}"))
    assert isinstance(pattern, Project)
    return pattern.pattern


def solve(
    body: str, knowledge: Knowledge, events: list[str], dictionary: TermDictionary | None = None
) -> list[str]:
    """The mappings of the events as text, sorted."""
    dictionary = dictionary or TermDictionary()
    batch = encoded_graphs([as_ntriples(graph(text)) for text in events], dictionary)
    table = compile_pattern(where(body)).evaluate(batch, dictionary, knowledge)
    return sorted(
        f"{event} "
        + " ".join(
            f"{name}={dictionary.decode(int(ids[row])).value.removeprefix('http://e/')}"
            for name, ids in table.columns.items()
            if ids[row]
        )
        for row, event in enumerate(table.events.tolist())
    )


RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
<rdf:Description rdf:about="http://e/s1"><e:in rdf:resource="http://e/kitchen"/></rdf:Description></rdf:RDF>
"""
EVENTS = [":t :sensor :s1 .", ":t :sensor :s2 .", ":t :sensor :s3 ."]
PLACES = Knowledge({G: graph(":s1 :in :kitchen . :s2 :in :cellar ."), H: graph(":s2 :in :attic .")})


def test_a_graph_joins_with_the_events() -> None:
    """Def 15: the event's mappings and the background's, compatible."""
    assert solve("?t :sensor ?s GRAPH :g { ?s :in ?p }", PLACES, EVENTS) == [
        "0 t=t s=s1 p=kitchen", "1 t=t s=s2 p=cellar",
    ]  # fmt: skip


def test_a_variable_ranges_over_all_graphs() -> None:
    """And is bound to the graph's name."""
    assert solve("?t :sensor ?s GRAPH ?g { ?s :in ?p }", PLACES, EVENTS) == [
        "0 t=t s=s1 g=g p=kitchen", "1 t=t s=s2 g=g p=cellar", "1 t=t s=s2 g=h p=attic",
    ]  # fmt: skip


def test_exists_looks_into_a_graph_with_the_outer_solution() -> None:
    """Also if a filter inside compares with an outer variable."""
    assert solve("?t :sensor ?s FILTER NOT EXISTS { GRAPH :g { ?s :in ?p } }", PLACES, EVENTS) == [
        "2 t=t s=s3"
    ]
    body = "?t :sensor ?s FILTER EXISTS { GRAPH ?g { ?x :in ?p FILTER(?x = ?s && ?p = :attic) } }"
    assert solve(body, PLACES, EVENTS) == ["1 t=t s=s2"]


def test_a_graph_can_be_optional_or_alone() -> None:
    """The operators around GRAPH are those around any pattern."""
    assert solve("?t :sensor ?s OPTIONAL { GRAPH :h { ?s :in ?p } }", PLACES, EVENTS) == [
        "0 t=t s=s1", "1 t=t s=s2 p=attic", "2 t=t s=s3",
    ]  # fmt: skip
    assert len(solve("GRAPH :h { ?s :in ?p }", PLACES, EVENTS)) == 3


def test_later_evaluations_see_a_replaced_graph() -> None:
    """The table of a GRAPH pattern is made once per version."""
    knowledge = Knowledge({G: graph(":s1 :in :kitchen .")})
    dictionary = TermDictionary()
    body = "?t :sensor ?s GRAPH :g { ?s :in ?p }"
    assert solve(body, knowledge, EVENTS, dictionary) == ["0 t=t s=s1 p=kitchen"]
    before = knowledge.version
    knowledge.replace(G, graph(":s3 :in :garden ."))
    assert knowledge.version > before
    assert solve(body, knowledge, EVENTS, dictionary) == ["2 t=t s=s3 p=garden"]


def test_one_knowledge_base_serves_several_dictionaries() -> None:
    """Ids of one are not used with another."""
    body = "?t :sensor ?s GRAPH :g { ?s :in ?p }"
    first, second = TermDictionary(), TermDictionary()
    second.encode(NamedNode("http://e/other"))
    assert solve(body, PLACES, EVENTS, first) == solve(body, PLACES, EVENTS, second)


def test_blank_nodes_of_graphs_and_events_are_different() -> None:
    """Equal labels in two places are two nodes."""
    knowledge = Knowledge({G: graph("_:x :in :kitchen .")})
    assert solve("?s :at ?t GRAPH :g { ?s :in ?p }", knowledge, ["_:x :at :noon ."]) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kb.ttl", PREFIX + ":s1 :in :kitchen ."),
        ("kb.nt", "<http://e/s1> <http://e/in> <http://e/kitchen> ."),
        ("kb.jsonld", '{"@id": "http://e/s1", "http://e/in": {"@id": "http://e/kitchen"}}'),
        (
            "kb.rdf",
            RDF_XML,
        ),
    ],
)
def test_graphs_are_read_from_files_by_extension(tmp_path: Path, name: str, text: str) -> None:
    """Turtle, N-Triples, JSON-LD and RDF/XML."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    knowledge = Knowledge({G: tmp_path / name})
    assert knowledge.triples(G) == graph(":s1 :in :kitchen .")


@pytest.mark.parametrize(("name", "text"), [("kb.xyz", ""), ("kb.ttl", "no turtle"), ("absent.ttl", None)])
def test_unreadable_files_are_an_argument_error(tmp_path: Path, name: str, text: str | None) -> None:
    """With the file's name in the message."""
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=name):
        Knowledge({G: tmp_path / name})


DOUBLING = '<!ENTITY a "0123456789">' + "".join(
    f'<!ENTITY {two} "&{one};&{one};">' for one, two in pairwise("abcdefghijklmnopqrst")
)
RDFXML = """<!DOCTYPE rdf:RDF [{entities}]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
<rdf:Description rdf:about="http://e/s"><e:p>{text}</e:p></rdf:Description></rdf:RDF>"""


@pytest.mark.parametrize(
    ("entities", "text"),
    [(DOUBLING, "&t;"), (DOUBLING, ""), ('<!ENTITY a "0123456789">', "&a;" * 20_000)],
    ids=["nested", "declared-only", "many-references"],
)
def test_entities_that_expand_too_far_are_refused(
    tmp_path: Path, change_settings: Callable[..., None], entities: str, text: str
) -> None:
    """Before they are expanded; the cure names the setting."""
    change_settings(entity_bytes=100_000)
    path, data = tmp_path / "kb.rdf", RDFXML.format(entities=entities, text=text)
    path.write_text(data)
    with pytest.raises(
        LimitReached, match=r"kb.rdf` expand to .* raise it: SPASEQ_SETTINGS=entity_bytes=200000"
    ):
        Knowledge({"http://e/g": path})
    with pytest.raises(LimitReached, match="SPASEQ_SETTINGS=entity_bytes"):
        triples_from(data, "rdfxml")


def test_entities_in_moderation_are_read(tmp_path: Path, change_settings: Callable[..., None]) -> None:
    """As ontologies write them; what they expand to is counted exactly."""
    text = RDFXML.format(entities='<!ENTITY a "0123456789"> <!ENTITY b "&a;&a;">', text="&b;&lt;&#49;")
    change_settings(entity_bytes=10 + 26 + 26)  # a declared, b with its text, b used
    (triple,) = triples_from(text, "rdfxml")
    assert str(triple.object) == '"01234567890123456789<1"'
    change_settings(entity_bytes=10 + 26 + 26 - 1)
    with pytest.raises(LimitReached):
        triples_from(text, "rdfxml")


def test_knowledge_survives_pickling() -> None:
    """It travels as a broadcast."""
    copy = pickle.loads(pickle.dumps(PLACES))
    assert copy.names == PLACES.names
    assert copy.version == PLACES.version
    assert solve("GRAPH ?g { ?s :in ?p }", copy, [""]) == solve("GRAPH ?g { ?s :in ?p }", PLACES, [""])


def test_rdfs_closure_has_the_entailed_triples() -> None:
    """Subclass, subproperty, domain and range, and what they give together."""
    schema = """
        :Cat rdfs:subClassOf :Mammal . :Mammal rdfs:subClassOf :Animal .
        :owns rdfs:subPropertyOf :has ; rdfs:domain :Person ; rdfs:range :Cat .
        :has rdfs:range :Thing .
        :ann :owns :tom .
    """
    closed = rdfs_closure(graph(schema))
    wanted = graph(
        """
        :Cat rdfs:subClassOf :Animal . :ann :has :tom . :ann a :Person .
        :tom a :Cat, :Mammal, :Animal, :Thing .
        """
    )
    assert wanted <= closed
    assert closed - wanted == graph(schema)


def test_rdfs_is_materialised_on_request() -> None:
    """And queried like any triple."""
    data = graph(":Cat rdfs:subClassOf :Animal . :tom a :Cat .")
    body = "GRAPH :g { ?x a :Animal }"
    assert solve(body, Knowledge({G: data}), [""]) == []
    assert solve(body, Knowledge({G: data}, rdfs=True), [""]) == ["0 x=tom"]


def test_evaluate_reads_named_graphs() -> None:
    """A name that is not there has no triples."""
    named = {G: graph(":s1 :in :kitchen .")}
    assert len(evaluate("SELECT * { GRAPH ?g { ?s ?p ?o } }", [], named=named)) == 1
    assert evaluate("SELECT * { GRAPH <http://e/none> { ?s ?p ?o } }", [], named=named) == []


def test_a_background_graph_is_encoded_once_per_dictionary_whoever_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Engines that share background graphs take turns, and none encodes them again; a new version is encoded anew."""
    encoded = 0

    def counted(graphs: list[bytes], dictionary: TermDictionary) -> EventBatch:
        nonlocal encoded
        encoded += 1
        return encoded_graphs(graphs, dictionary)

    monkeypatch.setattr(knowledge_module, "encoded_graphs", counted)
    shared = Knowledge({G: graph(":s1 :in :kitchen .")})
    query = f"""SELECT ?room WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE {{ SEQ (A) DEFINE GPM A ON S {{
    ?s <urn:v> ?v GRAPH <{G}> {{ ?s ?p ?room }} }} }}"""
    engines = [Engine(query, knowledge=shared) for _ in range(3)]
    subject = next(iter(shared.triples(G))).subject
    for second in range(1, 4):
        event = Event("S", second * 1_000_000, f"{subject} <urn:v> {second} .", format="turtle")
        assert [len(engine.push(event)) for engine in engines] == [1, 1, 1]
    assert encoded == 3
    shared.replace(G, graph(":s1 :in :hall ."))
    event = Event("S", 9_000_000, f"{subject} <urn:v> 1 .", format="turtle")
    found = [engine.push(event)[0].bindings["room"].value for engine in engines]
    assert {value.rsplit("/", 1)[-1] for value in found} == {"hall"}
    assert encoded == 6
