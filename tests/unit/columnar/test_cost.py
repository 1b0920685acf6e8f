"""Facts about the cost of evaluation: paths take time by their pairs, strings and pairs have limits."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import pytest
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq.columnar import property_paths
from spaseq.columnar.table import Ids, Keys, codes
from spaseq.engine import Engine
from spaseq.errors import LimitReached
from spaseq.model.budget import TooMuchMemory
from spaseq.model.events import GraphEvent

EX = "http://ex.org/"
Edges = set[tuple[int, int]]
CHANCE = random.Random(5)
GRAPHS: dict[str, Edges] = {
    "a cycle": {(n, (n + 1) % 40) for n in range(40)},
    "a chain": {(n, n + 1) for n in range(40)},
    "all to all": set(product(range(25), repeat=2)),
    "all to later ones": {(n, m) for n, m in product(range(25), repeat=2) if n < m},
    "two cycles with a bridge": {(n, (n + 1) % 12) for n in range(12)}
    | {(n, 20 + (n - 19) % 12) for n in range(20, 32)}
    | {(3, 25)},
    "by chance": {(CHANCE.randrange(40), CHANCE.randrange(40)) for _ in range(70)},
}


def node(number: int) -> NamedNode:
    """A node of the graphs."""
    return NamedNode(f"{EX}n{number}")


def graph(edges: Edges) -> list[Triple]:
    """The edges as triples."""
    return [Triple(node(one), NamedNode(EX + "a"), node(other)) for one, other in sorted(edges)]


def ask(where: str, edges: Edges) -> list[dict[str, str]]:
    """The solutions of a pattern over a graph."""
    found = spaseq.evaluate(f"PREFIX : <{EX}> SELECT * {{ {where} }}", graph(edges))
    assert isinstance(found, list)
    return [{name: str(term.value) for name, term in row.items()} for row in found]


def closure(edges: Edges) -> Edges:
    """The pairs that one or more edges connect, the plain way."""
    pairs = set(edges)
    while more := {(a, d) for a, b in pairs for c, d in edges if b == c} - pairs:
        pairs |= more
    return pairs


@pytest.mark.parametrize("rounds", [1, 4, 1000])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_repeated_path_has_the_pairs_of_the_closure(
    name: str, rounds: int, change_settings: Callable[..., None]
) -> None:
    """Each once; whether all pairs grow together or one node is followed after the other."""
    change_settings(path_rounds=rounds)
    edges = GRAPHS[name]
    expected = sorted((f"{EX}n{a}", f"{EX}n{b}") for a, b in closure(edges))
    assert sorted((row["x"], row["y"]) for row in ask("?x :a+ ?y", edges)) == expected
    for constant in ("n3", "n20"):
        assert sorted(row["y"] for row in ask(f":{constant} :a+ ?y", edges)) == [
            end for start, end in expected if start == EX + constant
        ]
        assert sorted(row["x"] for row in ask(f"?x :a+ :{constant}", edges)) == [
            start for start, end in expected if end == EX + constant
        ]


def test_a_path_along_a_cycle_takes_time_by_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs that are known are not looked at once more for every step of the cycle."""
    looked = 0

    def counted(arrays: list[Ids], size: int) -> Keys:
        nonlocal looked
        looked += size
        return codes(arrays, size)

    monkeypatch.setattr(property_paths, "codes", counted)
    assert len(ask("?x :a+ ?y", {(n, (n + 1) % 300) for n in range(300)})) == 90_000
    assert looked < 100_000


@pytest.mark.parametrize("rounds", [1, 1000])
def test_too_many_pairs_are_refused(rounds: int, change_settings: Callable[..., None]) -> None:
    """The error names the limit; it holds for one graph, however many there are in a batch."""
    change_settings(path_rounds=rounds, max_path_pairs=1500)
    with pytest.raises(
        LimitReached, match=r"relates 1,[56][0-9]+ pairs .* SPASEQ_SETTINGS=max_path_pairs=3000"
    ):
        ask("?x :a+ ?y", GRAPHS["a cycle"])
    query = f"PREFIX : <{EX}> SELECT ?x ?y FROM STREAM S <{EX}s> WHERE {{ SEQ (A) DEFINE GPM A ON S {{ ?x :a+ ?y }} }}"
    events = [GraphEvent(EX + "s", time, frozenset(graph(GRAPHS["a chain"]))) for time in range(3)]
    assert len(Engine(query).push(events)) == 3 * 820


STRINGS = {
    "CONCAT": "CONCAT(?s, ?s)",
    "CONCAT with a constant": 'CONCAT(?s, "0123456789012345678901234567890123456789", ?s)',
    "REPLACE": 'REPLACE(?s, ".", "$0$0")',
    "REPLACE by itself": 'REPLACE(?s, "a", ?s)',
    "ENCODE_FOR_URI": 'CONCAT("%%%%", ENCODE_FOR_URI(?s), ENCODE_FOR_URI(?s))',
}


@pytest.mark.parametrize("name", STRINGS)
def test_a_string_that_grows_and_grows_is_refused(name: str, change_settings: Callable[..., None]) -> None:
    """34 lines that double a string would make 17 GB of one character."""
    change_settings(max_string_length=1000)
    lines = [f"BIND({STRINGS[name].replace('?s', f'?s{number}')} AS ?s{number + 1})" for number in range(34)]
    with pytest.raises(
        LimitReached, match=r"characters; the limit is 1,000\. .* SPASEQ_SETTINGS=max_string_length=2000"
    ):
        ask('?x :a ?y BIND("aaaa" AS ?s0) ' + " ".join(lines), {(1, 2)})


def test_group_concat_has_the_same_limit(change_settings: Callable[..., None]) -> None:
    """It joins as many strings as there are solutions."""
    query = f"PREFIX : <{EX}> SELECT (GROUP_CONCAT(?y) AS ?all) {{ ?x :a ?y }}"
    edges = graph(GRAPHS["a chain"])
    assert len(spaseq.evaluate(query, edges)) == 1  # type: ignore[arg-type]
    change_settings(max_string_length=500)
    with pytest.raises(LimitReached, match="max_string_length"):
        spaseq.evaluate(query, edges)


def test_long_strings_count_before_they_are_kept() -> None:
    """One batch may compute many; the memory budget is asked at each."""
    doubled = " ".join(f"BIND(CONCAT(?s{n}, ?s{n}) AS ?s{n + 1})" for n in range(12))
    query = (
        f"PREFIX : <{EX}> SELECT ?s12 FROM STREAM S <{EX}s> WHERE {{ SEQ (A) DEFINE GPM A ON S {{ ?x :v ?v "
        f"BIND(STR(?v) AS ?s0) {doubled} }} }}"
    )
    events = [
        GraphEvent(EX + "s", n, frozenset({Triple(node(n), NamedNode(EX + "v"), Literal(n))}))
        for n in range(1000)
    ]
    engine = Engine(query, max_memory=15_000_000)
    with pytest.raises(TooMuchMemory, match=r"It holds terms 1[0-9]\.[0-9] MB"):
        engine.push(events)
