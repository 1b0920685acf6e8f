"""Plans over batches of events: what they see, what they leave out, what they promise."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.functions import XSD
from spaseq.algebra.patterns import Pattern, Project
from spaseq.columnar.graphs import as_ntriples, encoded_graphs
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.needs import needed_predicates
from spaseq.columnar.plan import PatternPlan, compile_pattern
from spaseq.columnar.views import Views
from spaseq.errors import InvalidArgument
from spaseq.languages.sparql import lower_query
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import triples_from
from spaseq.model.mappings import MappingTable
from spaseq.syntax import parse_sparql

PREFIXES = "@prefix : <http://e/> . "
EVENTS = [
    ":t1 :company :c1 ; :price 5 .",
    ":t2 :company :c2 ; :price 50, 60 ; :note 'x' .",
    ":t3 :company :c1 .",
    "",
]


def where(body: str) -> Pattern:
    """The algebra of a group."""
    pattern = lower_query(parse_sparql(f"PREFIX : <http://e/> SELECT * WHERE {{ {body} }}"))
    assert isinstance(pattern, Project)
    return pattern.pattern


def plan(body: str) -> PatternPlan:
    """A compiled group."""
    return compile_pattern(where(body))


class Stream:
    """The events above as a batch, with their dictionary."""

    def __init__(self, events: list[str] = EVENTS) -> None:
        self.dictionary = TermDictionary()
        graphs = [triples_from(PREFIXES + text, "turtle") for text in events]
        self.batch = encoded_graphs([as_ntriples(graph) for graph in graphs], self.dictionary)

    def rows(self, table: MappingTable) -> list[tuple[int, dict[str, str]]]:
        """A table as (event, mapping) rows, local names only."""
        decode = self.dictionary.decode
        return [
            (
                int(event),
                {
                    name: decode(int(ids[row])).value.removeprefix("http://e/")
                    for name, ids in table.columns.items()
                    if ids[row]
                },
            )
            for row, event in enumerate(table.events)
        ]

    def solve(self, body: str, **options: object) -> list[tuple[int, dict[str, str]]]:
        """The mappings of every event."""
        return self.rows(plan(body).evaluate(self.batch, self.dictionary, **options))


def test_one_row_per_event_and_mapping_in_event_order() -> None:
    """An event that matches in two ways yields two rows (semantics 1.2)."""
    found = Stream().solve("?t :company ?c ; :price ?p")
    assert [event for event, _ in found] == [0, 1, 1]
    assert sorted(row["p"] for _, row in found) == ["5", "50", "60"]
    assert found[0] == (0, {"t": "t1", "c": "c1", "p": "5"})


def test_equal_mappings_of_one_event_are_one() -> None:
    """They may come from UNION, paths or sub-SELECT."""
    assert len(Stream().solve("{ ?x :company ?c } UNION { ?x :company ?c }")) == 3


def test_blank_nodes_of_the_pattern_join_but_are_no_result() -> None:
    """Two prices of one trade are one company."""
    assert Stream().solve("[] :company ?c ; :price []") == [(0, {"c": "c1"}), (1, {"c": "c2"})]


def test_equal_mappings_of_two_events_stay_two() -> None:
    """A match records which events it is made of."""
    assert Stream().solve("[] :company :c1") == [(0, {}), (2, {})]


def test_the_empty_pattern_matches_every_event() -> None:
    """Also the event without triples; so does inline data."""
    assert [event for event, _ in Stream().solve("")] == [0, 1, 2, 3]
    assert len(Stream().solve("VALUES ?x { 1 2 }")) == 8


def test_negation_sees_the_event_only() -> None:
    """What one event says does not count in another."""
    assert Stream().solve("?t :company ?c FILTER NOT EXISTS { ?t :price ?p }") == [
        (2, {"t": "t3", "c": "c1"})
    ]
    assert Stream().solve("?t :company ?c MINUS { ?t :price ?p }") == [(2, {"t": "t3", "c": "c1"})]


def test_aggregates_are_per_event() -> None:
    """An event without solutions counts zero."""
    assert Stream().solve("{ SELECT (COUNT(?p) AS ?n) { ?t :price ?p } }") == [
        (0, {"n": "1"}), (1, {"n": "2"}), (2, {"n": "0"}), (3, {"n": "0"}),
    ]  # fmt: skip


def test_slices_are_per_event() -> None:
    """Each event has its own first row."""
    assert Stream().solve("{ SELECT ?p { ?t :price ?p } ORDER BY DESC(?p) LIMIT 1 }") == [
        (0, {"p": "5"}), (1, {"p": "60"}),
    ]  # fmt: skip


def test_within_leaves_other_events_out() -> None:
    """A GPM looks at the events of its stream only, tables without triples included."""
    mask = np.array([False, True, True, False])
    assert [event for event, _ in Stream().solve("?t :company ?c", within=mask)] == [1, 2]
    assert [event for event, _ in Stream().solve("VALUES ?x { 1 }", within=mask)] == [1, 2]
    assert [event for event, _ in Stream().solve(":z :p* ?x", within=mask)] == [1, 2]
    assert [e for e, _ in Stream().solve("{ SELECT (COUNT(*) AS ?n) { ?t :price ?p } }", within=mask)] == [
        1,
        2,
    ]


def test_plans_share_the_views_of_a_batch() -> None:
    """The graph summary is made once for all patterns of a query."""
    stream = Stream()
    views = Views(stream.batch)
    for body in ("?t :company ?c", "?t :company ?c ; :price ?p"):
        fresh = plan(body).evaluate(stream.batch, stream.dictionary)
        assert stream.rows(plan(body).evaluate(views, stream.dictionary)) == stream.rows(fresh)


def test_a_slice_of_a_batch_is_a_batch() -> None:
    """Event numbers count from the slice."""
    stream = Stream()
    table = plan("?t :company ?c").evaluate(stream.batch.slice(1, 3), stream.dictionary)
    assert table.events.tolist() == [0, 1]


def test_now_is_an_argument() -> None:
    """The evaluator reads no clock; without the argument NOW() is an error."""
    moment = Literal("2020-01-01T00:00:00Z", datatype=NamedNode(XSD + "dateTime"))
    body = "?t :price 5 BIND(NOW() AS ?n)"
    assert Stream().solve(body, now=moment) == [(0, {"t": "t1", "n": "2020-01-01T00:00:00Z"})]
    assert Stream().solve(body) == [(0, {"t": "t1"})]


def test_a_plan_survives_pickling() -> None:
    """It travels to other processes with terms, never ids."""
    stream = Stream()
    original = plan("?t :company ?c FILTER(STRENDS(STR(?c), '1'))")
    copy = pickle.loads(pickle.dumps(original))
    assert copy == original
    assert len(copy.evaluate(stream.batch, stream.dictionary)) == 2


def test_a_compacted_dictionary_forgets_what_functions_said() -> None:
    """Ids of another generation mean other terms."""
    stream = Stream()
    body = plan("?t :price ?p FILTER(STRLEN(STR(?p)) = 2 && ?p > 55)")
    assert len(body.evaluate(stream.batch, stream.dictionary)) == 1
    batch = stream.batch
    live = np.concatenate([batch.subjects, batch.predicates, batch.objects])
    mapping = stream.dictionary.compact(live[::-1])
    assert len(body.evaluate(batch.remapped(mapping), stream.dictionary)) == 1


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        ("?t :company ?c ; :price ?p", {"company", "price"}),
        (
            "?t :company ?c OPTIONAL { ?t :note ?n } FILTER EXISTS { ?t :price ?p }",
            {"company", "note", "price"},
        ),
        ("?t ?p ?o", None),
        ("?t :a/:b* ?o", {"a", "b"}),
        ("?t :b* ?o", None),
        (":x :b* ?o", {"b"}),
        ("?t !:a ?o", None),
        ("?t :a ?o GRAPH :g { ?o ?p ?z }", {"a"}),
        ("", set()),
    ],
)
def test_needed_predicates(body: str, needed: set[str] | None) -> None:
    """What a reader may prune to; None needs everything."""
    found = needed_predicates(where(body))
    assert found == (None if needed is None else {NamedNode("http://e/" + name) for name in needed})


def test_fallbacks_name_what_pyoxigraph_computes() -> None:
    """`explain` shows them."""
    names = [one.part for one in plan("?t :note ?n FILTER(REGEX(?n, 'x') && STRLEN(?n) > 0)").fallbacks]
    assert names == ["REGEX"]
    assert plan("?t :company ?c ; :price ?p FILTER(?p * 2 > 10)").fallbacks == ()


def test_unregistered_graphs_are_an_error_at_start() -> None:
    """Not an empty result (semantics 1.7)."""
    with pytest.raises(InvalidArgument, match="no background graph is registered as <http://e/g>"):
        Knowledge().require(plan("?t :company ?c GRAPH :g { ?c ?p ?o }").graphs)
