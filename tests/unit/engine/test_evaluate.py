"""`spaseq.evaluate`: SELECT, ASK and CONSTRUCT over one graph."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
import rdflib
from pyoxigraph import Literal, NamedNode, Triple

import spaseq

DATA = "@prefix : <http://e/> . :a :v 3 . :b :v 1 . :c :v 2 . :c :v 2.5 ."
PREFIX = "PREFIX : <http://e/> "


def ask(text: str, **options: object) -> object:
    """The answer over the data above."""
    return spaseq.evaluate(PREFIX + text, DATA, "turtle", **options)


def names(rows: object) -> list[str]:
    """The local names of ?s."""
    return [row["s"].value.removeprefix("http://e/") for row in rows]


def test_select_gives_dicts_of_terms() -> None:
    """An unbound variable is absent."""
    assert ask("SELECT ?v ?w { :a :v ?v OPTIONAL { :a :w ?w } }") == [{"v": Literal(3)}]


def test_ask_gives_a_truth_value() -> None:
    """True if there is a solution."""
    assert ask("ASK { :a :v 3 }") is True
    assert ask("ASK { :a :v 4 }") is False


def test_construct_gives_triples() -> None:
    """Each once; incomplete ones are left out."""
    made = ask("CONSTRUCT { ?s :w ?v ; :x ?nothing } WHERE { ?s :v ?v FILTER(?v > 2) }")
    assert {str(triple.subject) for triple in made} == {"<http://e/a>", "<http://e/c>"}
    assert all(isinstance(triple, Triple) for triple in made)


def test_solutions_are_ordered_and_cut() -> None:
    """ORDER BY, OFFSET and LIMIT; the order of values, not of spellings."""
    assert names(ask("SELECT ?s { ?s :v ?v } ORDER BY ?v")) == ["b", "c", "c", "a"]
    assert names(ask("SELECT ?s { ?s :v ?v } ORDER BY DESC(?v) LIMIT 2 OFFSET 1")) == ["c", "c"]


def test_duplicates_stay_unless_distinct() -> None:
    """SPARQL's solutions are a multiset."""
    assert len(ask("SELECT ?s { ?s :v ?v }")) == 4
    assert len(ask("SELECT DISTINCT ?s { ?s :v ?v }")) == 3


def test_groups_and_having() -> None:
    """Aggregates in SELECT and HAVING."""
    rows = ask("SELECT ?s (SUM(?v) AS ?n) { ?s :v ?v } GROUP BY ?s HAVING(COUNT(*) > 1)")
    assert [(row["s"].value, row["n"].value) for row in rows] == [("http://e/c", "4.5")]


def test_graphs_come_in_several_forms() -> None:
    """Rdflib graphs, triples of either library, text."""
    graph = rdflib.Graph().parse(data=DATA, format="turtle")
    triple = Triple(NamedNode("http://e/a"), NamedNode("http://e/v"), Literal(3))
    query = PREFIX + "ASK { :a :v 3 }"
    assert spaseq.evaluate(query, graph) is True
    assert spaseq.evaluate(query, [triple]) is True
    assert spaseq.evaluate(query, list(graph)) is True


def test_now_can_be_given() -> None:
    """Otherwise it is the present."""
    moment = datetime(2020, 1, 2, tzinfo=UTC)
    assert ask("SELECT (YEAR(NOW()) AS ?y) {}", now=moment) == [{"y": Literal(2020)}]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT ?s { ?s :v }", None),
        ("SELECT * { SERVICE :x { ?s ?p ?o } }", "SPQ401"),
        ("DESCRIBE :a", "SPQ403"),
    ],
)
def test_a_wrong_query_has_a_place(text: str, code: str | None) -> None:
    """QueryError with line and column."""
    with pytest.raises(spaseq.QueryError) as caught:
        ask(text)
    assert caught.value.line == 1
    assert caught.value.column >= 1
    assert code is None or caught.value.code == code


def test_a_small_query_loads_no_compiler() -> None:
    """Ten events must not wait for LLVM."""
    code = (
        "import sys, spaseq; spaseq.evaluate('ASK { ?s ?p ?o FILTER(?o + 1 > 5) }', []); "
        "sys.exit(any(name in sys.modules for name in ('numba', 'pyarrow', 'pandas', 'pyspark')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
