"""Facts about `spaseq.run`: what it reads, in which order it answers, and what it refuses."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq.engine.opening import StreamFiles, sorted_in_memory
from spaseq.engine.run import BadInputWarning
from spaseq.io.sources import find_sources
from spaseq.model.budget import Budget
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.planner.compiled import compile_query
from spaseq.settings import Settings
from support.event_files import nquads

ROOT = Path(__file__).resolve().parents[3]
EX = "http://ex.org/"
RISE = """PREFIX : <http://ex.org/>
SELECT ?c ?p ?q WITHIN 1 MINUTE SLIDING FROM STREAM S1 <http://ex.org/trades>
WHERE { SEQ (A ; B) DEFINE GPM A ON S1 { ?c :price ?p } DEFINE GPM B ON S1 { ?c :price ?q FILTER (?q > ?p) } }"""
PAIR = """PREFIX : <http://ex.org/>
SELECT ?x ?y FROM STREAM S1 <http://ex.org/one> FROM STREAM S2 <http://ex.org/two>
WHERE { SEQ (A ; B) DEFINE GPM A ON S1 { ?x :p ?v } DEFINE GPM B ON S2 { ?y :p ?v } }"""
BACKGROUND = """PREFIX : <http://ex.org/>
SELECT ?n FROM STREAM S1 <http://ex.org/trades>
WHERE { SEQ (A) DEFINE GPM A ON S1 { ?c :price ?p GRAPH :db { ?c :name ?n } } }"""


def trade(second: int, company: str, price: int, stream: str = "trades") -> GraphEvent:
    """A trade, named by its time."""
    triple = Triple(NamedNode(EX + company), NamedNode(EX + "price"), Literal(price))
    return GraphEvent(
        EX + stream, second * 1_000_000, frozenset({triple}), NamedNode(f"{EX}t{second}{company}")
    )


def trades(count: int, seed: int = 1) -> list[GraphEvent]:
    """A walk of five prices, one trade per second."""
    chance = random.Random(seed)
    return [trade(second, f"c{chance.randrange(5)}", chance.randrange(100)) for second in range(count)]


def write(path: Path, events: Iterable[GraphEvent]) -> str:
    """An event file."""
    path.write_text(nquads(events), encoding="utf-8")
    return str(path)


def told(found: Iterable[Match]) -> list[tuple[object, ...]]:
    """What matches say, in their order."""
    return [
        (match.begin, match.instant, *(str(term) for term in match.bindings.values()), match.events)
        for match in found
    ]


@pytest.fixture
def large(change_settings: Callable[..., None]) -> None:
    """Treat every input as a large one."""
    change_settings(sorted_bytes=-1)


# --- order ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["small", "large"])
def test_sorted_unsorted_and_overlapping_files_give_the_same_answer(
    tmp_path: Path, size: str, change_settings: Callable[..., None]
) -> None:
    """The whole input is one finite streamset, however it lies in files."""
    if size == "large":
        change_settings(sorted_bytes=-1)
    events = trades(300)
    wanted = told(spaseq.run(RISE, {"S1": write(tmp_path / "sorted.nq", events)}))
    assert len(wanted) > 100
    mixed = random.Random(2).sample(events, len(events))
    assert told(spaseq.run(RISE, {"S1": write(tmp_path / "mixed.nq", mixed)})) == wanted
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(4):
        write(folder / f"{number}.nq", mixed[number::4])
    assert told(spaseq.run(RISE, {"S1": str(folder)})) == wanted
    assert told(spaseq.run(RISE, {"S1": str(folder / "*.nq")})) == wanted
    assert told(spaseq.run(RISE, {EX + "trades": sorted(folder.iterdir())})) == wanted


def test_an_input_is_sorted_in_memory_if_the_budget_holds_it_many_times(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """Else its files are surveyed first and then read in order."""
    path = Path(write(tmp_path / "trades.nq", trades(20)))
    size = path.stat().st_size
    stream = compile_query(RISE).streams[0]
    inputs = [StreamFiles(stream, tuple(find_sources([path], None)))]
    assert sorted_in_memory(inputs, Budget(16 * size))
    assert not sorted_in_memory(inputs, Budget(16 * size - 1))
    change_settings(sorted_bytes=size - 1)
    assert not sorted_in_memory(inputs, Budget(1 << 40))


def test_streams_are_merged_by_time(tmp_path: Path, large: None) -> None:
    """An event of the second stream counts only after the first one's, whatever file is read first."""
    (tmp_path / "one.nq").write_text(_pair_event("one", 5), encoding="utf-8")
    (tmp_path / "two.nq").write_text(_pair_event("two", 3) + _pair_event("two", 9), encoding="utf-8")
    found = spaseq.run(PAIR, {"S2": tmp_path / "two.nq", "S1": tmp_path / "one.nq"})
    assert [(match.begin, match.instant) for match in found] == [(5_000_000, 9_000_000)]


def _pair_event(stream: str, second: int) -> str:
    triple = Triple(NamedNode(EX + stream), NamedNode(EX + "p"), Literal(1))
    return nquads([GraphEvent(EX + stream, second * 1_000_000, frozenset({triple}))], first=second)


def test_events_of_a_program_are_sorted_if_they_are_a_list() -> None:
    """A list is a finite input like a file."""
    events = trades(50)
    wanted = told(spaseq.run(RISE, {"S1": events}))
    assert wanted
    assert told(spaseq.run(RISE, {"S1": list(reversed(events))})) == wanted


def test_an_iterator_is_read_as_matches_are_asked_for() -> None:
    """An endless one gives its first match."""
    taken = 0

    def endless() -> Iterator[spaseq.Event]:
        nonlocal taken
        while True:
            taken += 1
            yield spaseq.Event("S1", taken * 1000, [(EX + "c", EX + "price", Literal(taken))])

    first = next(spaseq.run(RISE, {"S1": endless()}))
    assert (first.begin, first.instant) == (1000, 2000)
    assert taken < 20 * Settings().pushed_events


def test_an_iterator_may_be_out_of_order_up_to_the_lateness(tmp_path: Path) -> None:
    """What comes later than that is bad input: kept, counted, and told."""
    events = [trade(10, "c", 1), trade(8, "c", 2), trade(30, "c", 3), trade(12, "c", 4)]
    kept = tmp_path / "late.jsonl"
    with pytest.warns(BadInputWarning, match="1 piece"):
        found = list(spaseq.run(RISE, {"S1": iter(events)}, lateness="5s", quarantine=kept))
    assert {(match.begin, match.instant) for match in found} == {
        (8_000_000, 30_000_000),
        (10_000_000, 30_000_000),
    }
    assert '"reason": "late: its time is 1970-01-01T00:00:12Z' in kept.read_text(encoding="utf-8")


def test_a_lateness_changes_nothing_for_files_and_says_so(tmp_path: Path) -> None:
    """Files and lists are sorted as a whole: seventeen seconds out of order are not late."""
    events = [trade(20, "c", 3), trade(3, "c", 2), trade(21, "c", 4)]
    path = write(tmp_path / "a.nq", events)
    expected = [match.instant for match in spaseq.run(RISE, {"S1": path})]
    for given in (path, events):
        with pytest.warns(UserWarning, match="`lateness` has no effect here"):
            found = list(spaseq.run(RISE, {"S1": given}, lateness="5s"))
        assert [match.instant for match in found] == expected == [20_000_000, 21_000_000]


def test_matches_come_lazily(tmp_path: Path) -> None:
    """Nothing runs before the first one is asked for; wrong arguments are refused before that."""
    path = write(tmp_path / "a.nq", trades(10))
    found = spaseq.run(RISE, {"S1": path})
    Path(path).unlink()
    with pytest.raises(FileNotFoundError):
        next(found)


# --- what a match has -----------------------------------------------------------------------------


def test_a_match_names_its_events(tmp_path: Path) -> None:
    """Step, stream, time and graph, as docs/reference/python.md says."""
    path = write(tmp_path / "a.nq", [trade(1, "c", 1), trade(2, "c", 5)])
    (match,) = spaseq.run(RISE, streams={"S1": path})
    assert [str(event) for event in match.events] == [
        "A@1970-01-01T00:00:01Z <http://ex.org/t1c>",
        "B@1970-01-01T00:00:02Z <http://ex.org/t2c>",
    ]
    assert match.identity.startswith("urn:spaseq:match:")
    assert match.bindings == {"c": NamedNode(EX + "c"), "p": Literal(1), "q": Literal(5)}


def test_without_events_the_same_matches_come_bare(tmp_path: Path, large: None) -> None:
    """The fast way drops triples that no pattern needs, and changes no answer."""
    events = trades(200)
    noisy = [
        GraphEvent(
            event.stream,
            event.time,
            event.triples | {Triple(NamedNode(EX + "x"), NamedNode(EX + "noise"), Literal(event.time))},
            event.name,
        )
        for event in events
    ]
    path = write(tmp_path / "a.nq", noisy)
    bare = list(spaseq.run(RISE, {"S1": path}, with_events=False))
    assert [row[:-1] for row in told(bare)] == [row[:-1] for row in told(spaseq.run(RISE, {"S1": path}))]
    assert {match.events for match in bare} == {()}


def test_ask_ends_at_its_first_match(tmp_path: Path) -> None:
    """Later events are not even read, bad ones included."""
    query = RISE.replace("SELECT ?c ?p ?q", "ASK")
    assert len(list(spaseq.run(query, {"S1": write(tmp_path / "a.nq", trades(300))}))) == 1


# --- background knowledge -------------------------------------------------------------------------


def test_background_graphs_are_paths_or_graphs(tmp_path: Path) -> None:
    """A text is the path of a file."""
    path = write(tmp_path / "a.nq", [trade(1, "c", 1)])
    graph = tmp_path / "kb.ttl"
    graph.write_text('<http://ex.org/c> <http://ex.org/name> "Company" .', encoding="utf-8")
    triples = [Triple(NamedNode(EX + "c"), NamedNode(EX + "name"), Literal("Company"))]
    for given in (str(graph), graph, triples):
        (match,) = spaseq.run(BACKGROUND, {"S1": path}, knowledge={EX + "db": given})
        assert match.bindings == {"n": Literal("Company")}


def test_a_background_graph_may_have_a_plain_name(tmp_path: Path) -> None:
    """A relative IRI in a query over windows without BASE is a name, for background graphs as for streams (semantics 3.1)."""
    path = write(tmp_path / "a.nq", [trade(1, "c", 1)])
    triples = [Triple(NamedNode(EX + "c"), NamedNode(EX + "name"), Literal("Company"))]
    query = (
        f"SELECT ?n FROM STREAM <s> [RANGE 5s] {{ ?x ?p ?o GRAPH <db> {{ <{EX}c> <{EX}name> ?n }} }} LIMIT 1"
    )
    (match,) = spaseq.run(query, {"s": path}, knowledge={"db": triples})
    assert match.bindings == {"n": Literal("Company")}
    with pytest.raises(spaseq.InvalidArgument, match=r'registered as <db>: say `knowledge={"db": …}`'):
        list(spaseq.run(query, {"s": path}, knowledge={"dc": triples}))


def test_a_background_graph_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    """An unregistered one and a path that leads nowhere, before anything runs."""
    path = write(tmp_path / "a.nq", [trade(1, "c", 1)])
    with pytest.raises(
        spaseq.InvalidArgument, match=r"no background graph is registered as <http://ex\.org/db>"
    ):
        spaseq.run(BACKGROUND, {"S1": path})
    with pytest.raises(spaseq.InvalidArgument, match=r"`nowhere\.ttl` does not exist"):
        spaseq.run(BACKGROUND, {"S1": path}, knowledge={EX + "db": "nowhere.ttl"})


# --- what is refused ------------------------------------------------------------------------------


def test_wrong_arguments_are_refused_before_anything_runs(tmp_path: Path) -> None:
    """Each with a sentence that shows what is wrong."""
    path = write(tmp_path / "a.nq", trades(3))
    (tmp_path / "empty").mkdir()
    cases: list[tuple[str, dict[str, object], dict[str, object]]] = [
        ("declares no stream `S9`, only `S1`", {"S1": path, "S9": path}, {}),
        ("did you mean `S1`", {"S1": path, "S11": path}, {}),
        ("the stream `S1` <http://ex.org/trades> has no input", {}, {}),
        ("`nothing.nq` does not exist", {"S1": "nothing.nq"}, {}),
        ("empty` has no files", {"S1": str(tmp_path / "empty")}, {}),
        ("`soon` is not a duration", {"S1": path}, {"lateness": "soon"}),
        ("not -1", {"S1": path}, {"lateness": -1}),
        ("`csv` is not an event format", {"S1": path}, {"format": "csv"}),
        ("`h` is not a time unit", {"S1": path}, {"time_unit": "h"}),
        ("`ignore` is not a policy", {"S1": path}, {"on_bad_input": "ignore"}),
        ("`max_runs=` is a number of at least 1, or None, not 0", {"S1": path}, {"max_runs": 0}),
        ("say `triples_per_event=`", {"S1": path}, {"format": "ntriples"}),
    ]
    for words, streams, options in cases:
        with pytest.raises(spaseq.InvalidArgument) as caught:
            spaseq.run(RISE, streams, **options)  # type: ignore[arg-type]
        assert words in str(caught.value)


def test_an_event_of_another_stream_is_refused() -> None:
    """It would silently count as one of this stream."""
    with pytest.raises(spaseq.InvalidArgument, match="an event of the stream `S2` is among those of `S1`"):
        list(spaseq.run(RISE, {"S1": [spaseq.Event("S2", 1, [])]}))


def test_too_many_runs_end_in_an_error_that_names_the_step(tmp_path: Path) -> None:
    """Never in silent loss."""
    query = RISE.replace("A ; B", "A : B").replace("?q > ?p", "?q > ?p + 1000").replace("MINUTE", "DAY")
    path = write(tmp_path / "a.nq", trades(10_000))
    with pytest.raises(spaseq.SpaseqError, match="runs wait, more than max_runs=10"):
        list(spaseq.run(query, {"S1": path}, max_runs=10))


# --- files ----------------------------------------------------------------------------------------


def test_compressed_files_are_read_like_others(tmp_path: Path, large: None) -> None:
    """By their extension."""
    events = trades(100)
    wanted = told(spaseq.run(RISE, {"S1": write(tmp_path / "a.nq", events)}))
    (tmp_path / "a.nq.gz").write_bytes(gzip.compress((tmp_path / "a.nq").read_bytes()))
    assert told(spaseq.run(RISE, {"S1": tmp_path / "a.nq.gz"})) == wanted


def test_more_overlapping_files_than_pieces_fit_in_memory(tmp_path: Path, large: None) -> None:
    """Two hundred files, all open at the same time."""
    events = trades(1000)
    wanted = told(spaseq.run(RISE, {"S1": write(tmp_path / "a.nq", events)}))
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(200):
        write(folder / f"{number:03d}.nq", events[number::200])
    assert told(spaseq.run(RISE, {"S1": folder})) == wanted


def test_a_small_run_loads_no_compiler(tmp_path: Path) -> None:
    """Ten events must not wait for LLVM, Arrow, Spark or a progress bar."""
    path = write(tmp_path / "a.nq", trades(10))
    code = (
        "import sys, spaseq; list(spaseq.run(sys.argv[1], {'S1': sys.argv[2]})); "
        "print([n for n in ('numba', 'llvmlite', 'pyarrow', 'pandas', 'pyspark', 'rich') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, RISE, path],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_a_query_without_stream_clause_takes_events_of_any_stream() -> None:
    """The name of an event's stream means nothing to it."""
    query = spaseq.compile("SELECT ?x { ?x <urn:p> ?y }", language="rsepql")
    graph = "<urn:a> <urn:p> <urn:b> ."
    events = [spaseq.Event(name, at, graph, format="turtle") for at, name in enumerate(("one", "two"), 1)]
    assert [match.instant for match in spaseq.run(query, {"any": events})] == [1]
