"""Facts about the example queries: each compiles without warning, explains, and finds what its comment says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, Triple, parse

from spaseq.model.events import GraphEvent, localised
from spaseq.model.matches import Match
from spaseq.model.terms import BlankScopes
from spaseq.planner import CompiledQuery, compile_query, explain
from spaseq.reference import answers
from spaseq.temporal import parse_instant

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("*.spaseq"))
XSD_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def query(name: str) -> CompiledQuery:
    """An example, compiled."""
    return compile_query((FOLDER / f"{name}.spaseq").read_text(encoding="utf-8"), name=f"{name}.spaseq")


def triples(compiled: CompiledQuery, turtle: str) -> frozenset[Triple]:
    """Turtle with the prefixes of the query, and `:` for http://example/."""
    prefixes = {"": "http://example/"}
    prefixes |= dict(re.findall(r"PREFIX (\w*): <([^>]*)>", compiled.text))
    head = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in prefixes.items())
    return frozenset(quad.triple for quad in parse((head + turtle).encode(), format=RdfFormat.TURTLE))


def found(name: str, events: str, knowledge: str = "", graph: str = "") -> list[Match]:
    """The matches of an example over events `STREAM HH:MM turtle`, one a line."""
    compiled = query(name)
    iris = {stream.alias: stream.iri for stream in compiled.rewritten.streams}
    scopes = BlankScopes()
    read = []
    for line in filter(None, (line.strip() for line in events.splitlines())):
        alias, clock, turtle = line.split(" ", 2)
        instant = parse_instant(f"2024-06-01T{clock}:00Z", XSD_DATE_TIME)
        read.append(localised(GraphEvent(iris[alias], instant, triples(compiled, turtle)), scopes))
    background = {graph: triples(compiled, knowledge)} if graph else {}
    return answers(compiled.algebra, read, background, compiled.normal_text)


def rows(matches: list[Match]) -> list[str]:
    """A match as `start-time name=value …`, IRIs by their last part."""
    return [
        f"{m.start:%H:%M}-{m.time:%H:%M} "
        + " ".join(f"{name}={re.split('[/#]', term.value)[-1]}" for name, term in m.bindings.items())
        for m in matches
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_compiles_without_warning(path: Path) -> None:
    """An example that warns would teach the wrong thing."""
    assert compile_query(path.read_text(encoding="utf-8"), name=path.name).warnings == ()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_it_finds_and_can_be_explained(path: Path) -> None:
    """It opens with a comment, and its plan has every section."""
    text = path.read_text(encoding="utf-8")
    assert re.search(r"^# Finds ", text, re.MULTILINE)
    plan = explain(compile_query(text, name=path.name))
    for title in ("Query", "Rewritten", "Automaton", "Steps", "Variables", "Distribution", "Warnings"):
        assert f"\n{title}\n" in f"\n{plan}"


def test_the_six_queries_of_the_paper_are_there() -> None:
    """Query 1 of section 4.2 and Queries 2 to 6 of appendix A."""
    texts = "\n".join(path.read_text(encoding="utf-8") for path in EXAMPLES)
    for number in range(1, 7):
        assert f"# Query {number} of the SPAseq paper" in texts
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES if f"({path.name})" not in index] == []


def test_smart_grid_finds_cheap_storage_after_good_weather() -> None:
    """Query 1: the cloudy event at 10:02 is skipped, both good ones belong to the match."""
    matches = found(
        "smart-grid",
        """
        S1 10:01 :H1 :loc :L1 ; :pow [ :source "fuel" ; :fare 25 ] .
        S2 10:02 :W1 :loc :L1 ; :value [ :light 20 ; :windsp 1 ] .
        S2 10:03 :W1 :loc :L1 ; :value [ :light 50 ; :windsp 5 ] .
        S2 10:04 :W1 :loc :L1 ; :value [ :light 60 ; :windsp 6 ] .
        S3 10:05 :T1 :loc :L1 ; :pow [ :source "solar" ; :fare 10 ] .
        S3 10:06 :T2 :loc :L2 ; :pow [ :source "solar" ; :fare 10 ] .
        """,
        ':H1 :locatedIn "Lyon" ; :nearBy :H2 ; :ownerName "Ada" .',
        "http://smartgrid.org/db",
    )
    assert rows(matches) == ["10:01-10:05 house=H1 fr1=25 fr2=10 house2=H2 city=Lyon oname=Ada"]
    assert [event.step for event in matches[0].events] == ["A", "B", "B", "C"]


def test_card_big_then_small_finds_every_run_of_small_sums() -> None:
    """Query 2: two small sums after a big one give two matches; the other card does not break the row."""
    matches = found(
        "card-big-then-small",
        """
        S1 10:00 :c1 :id "1" ; :amount 500 ; :loc "Lyon" .
        S1 10:01 :c2 :id "2" ; :amount 80 ; :loc "Lyon" .
        S1 10:02 :c1 :id "1" ; :amount 20 ; :loc "Lyon" .
        S1 10:03 :c1 :id "1" ; :amount 50 ; :loc "Lyon" .
        S1 10:04 :c1 :id "1" ; :amount 60 ; :loc "Lyon" .
        """,
        ':c1 :cardHolder "Ada" ; :holderAddress "Lyon" . :c2 :cardHolder "Bela" ; :holderAddress "Paris" .',
        "http://creditcard.org/db",
    )
    assert rows(matches) == [
        "10:00-10:02 card=c1 id=1 amount1=500 amount2=20 name=Ada address=Lyon",
        "10:00-10:03 card=c1 id=1 amount1=500 amount2=50 name=Ada address=Lyon",
    ]


def trades(*prices: int) -> str:
    """One trade of a company a minute."""
    return "\n".join(f"S1 10:{m:02} :Google :price {p} ; :volume {m} ." for m, p in enumerate(prices))


def test_head_and_shoulders_finds_the_seven_trades() -> None:
    """Query 3: left shoulder 12, head 15, right shoulder 14."""
    matches = found("stock-head-and-shoulders", trades(10, 12, 11, 15, 12, 14, 13, 20))
    assert len(matches) == 1
    assert rows(matches)[0].startswith(
        "10:00-10:06 company=Google p1=10 p2=12 p3=11 p4=15 p5=12 p6=14 p7=13 "
    )


def test_a_right_shoulder_above_the_head_is_none() -> None:
    """Query 3: the sixth price must not take out the peak."""
    assert found("stock-head-and-shoulders", trades(10, 12, 11, 15, 12, 16, 13)) == []


def test_v_shape_finds_a_rise_and_a_fall_in_a_row() -> None:
    """Query 4: of 10 12 11 13 the peak at 12, and not the valley at 11."""
    assert rows(found("stock-v-shape", trades(10, 12, 11, 13))) == [
        "10:00-10:02 company=Google p1=10 p2=12 p3=11 vol1=0 vol2=1 vol3=2"
    ]


def test_spreading_congestion_needs_both_segments_at_one_instant() -> None:
    """Query 5: at 10:05 only one segment reports, at 10:10 both do."""
    observed = "ssn:observedProperty :CongestionLevel ; sao:hasValue"
    matches = found(
        "traffic-spreading-congestion",
        f"""
        S1 10:00 :o1 {observed} 4 .
        S2 10:05 :o2 {observed} 5 .
        S2 10:10 :o3 {observed} 5 .
        S3 10:10 :o4 {observed} 6 .
        """,
    )
    assert rows(matches) == [
        "10:00-10:10 p1=CongestionLevel v1=4 v2=5 v3=6 traffic1=o1 traffic2=o3 traffic3=o4"
    ]


def test_fishing_trip_follows_one_vessel_from_harbour_to_fishing_area() -> None:
    """Query 6: the trip of one vessel among the reports of another."""
    matches = found(
        "vessel-fishing-trip",
        """
        S1 10:00 :v1 :speed 3 ; :location "harbour" ; :direction "N" .
        S1 10:01 :v2 :speed 9 ; :location "open sea" ; :direction "W" .
        S1 10:05 :v1 :speed 8 ; :location "open sea" ; :direction "N" .
        S1 10:10 :v1 :speed 9 ; :location "open sea" ; :direction "N" .
        S1 10:15 :v1 :speed 0 ; :location "fishingarea" ; :direction "N" .
        """,
        ':v1 :name "Nautilus" ; :operatedBy :k . :k :name "Fish & Co" .',
        "http://harbour.org/db",
    )
    assert rows(matches) == ["10:00-10:15 vessel=v1 n=Nautilus cname=Fish & Co"]
    assert len(matches[0].events) == 4


def test_rise_then_drop_wants_three_rising_sums_and_a_drop() -> None:
    """Use case 3: of 10 20 30 40 and 3 both rises that end at 40 count; 25 between would break them."""
    rising = "\n".join(
        f"S1 10:{minute:02} :c1 :amount {amount} ." for minute, amount in enumerate([10, 20, 30, 40, 3])
    )
    assert rows(found("card-rise-then-drop", rising)) == [
        "10:00-10:04 card=c1 withdrawals=4 from=10 to=40 small=3",
        "10:01-10:04 card=c1 withdrawals=3 from=20 to=40 small=3",
    ]
    assert found("card-rise-then-drop", rising.replace(":amount 30", ":amount 15")) == []
