"""Facts about synthetic workloads: same seed same bytes, valid event files, and queries that find something."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

import spaseq
from spaseq.errors import InvalidArgument
from spaseq.io.readers import read_graph_events
from spaseq.model.events import GraphEvent
from spaseq.workloads.catalogue import START, WORKLOADS, generate
from spaseq.workloads.production import Manifest, Production, write
from spaseq.workloads.timed_events import instant_ms

ALL = list(WORKLOADS)
XSD = "http://www.w3.org/2001/XMLSchema#"


def made(workload: str, events: int = 1000, seed: int = 7, **options: int) -> Production:
    """A workload with the usual start."""
    return generate(workload, events=events, seed=seed, start=instant_ms(START), **options)  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def events(folder: Path, manifest: Manifest) -> list[GraphEvent]:
    """The events of all streams."""
    found = [read_graph_events(folder / each["file"], stream=each["iri"]) for each in manifest["streams"]]
    return [event for stream in found for event in stream]


@pytest.mark.parametrize("workload", ALL)
def test_the_same_seed_gives_the_same_bytes(workload: str, tmp_path: Path) -> None:
    """Another seed gives others."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(made(workload, 300, seed), tmp_path / name)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")


@pytest.mark.parametrize("workload", ALL)
def test_with_jitter_events_come_irregularly_and_in_order(workload: str, tmp_path: Path) -> None:
    """Up to so many milliseconds after their turn, the same for a seed; all else stays as it is."""
    plain, late, again = (made(workload, 300, interval=100, jitter=each) for each in (0, 100, 100))
    folders = [tmp_path / name for name in ("plain", "late", "again")]
    manifests = [write(each, folder) for each, folder in zip((plain, late, again), folders, strict=True)]
    assert contents(folders[1]) == contents(folders[2])
    usual, shifted = (events(folder, each) for folder, each in zip(folders, manifests[:2], strict=False))
    delays = [(b.time - a.time) // 1000 for a, b in zip(usual, shifted, strict=True)]
    assert (set(delays) <= set(range(100)) and len(set(delays)) > 20) or workload == "traffic"
    by_stream: dict[str, list[int]] = {}
    for event in shifted:
        by_stream.setdefault(event.stream, []).append(event.time)
    assert all(times == sorted(times) for times in by_stream.values())


def test_jitter_is_at_most_the_interval() -> None:
    """Events would not be in order of time."""
    with pytest.raises(InvalidArgument, match="`jitter` must be at most `interval`, 100, not 101"):
        made("stocks", 10, interval=100, jitter=101)


@pytest.mark.parametrize("workload", ALL)
def test_a_longer_stream_begins_like_a_shorter_one(workload: str) -> None:
    """Generation looks no further than the event it makes."""
    short, long = made(workload, 200), made(workload, 400)
    assert list(short.events) == list(islice(long.events, 200))


@pytest.mark.parametrize("workload", ALL)
def test_event_files_are_read_without_loss(workload: str, tmp_path: Path) -> None:
    """Readers find as many events and quads as the manifest says, in time order within each stream."""
    manifest = write(made(workload), tmp_path)
    found = events(tmp_path, manifest)
    assert len(found) == manifest["events"] == 1000
    assert sum(len(event.triples) for event in found) == manifest["quads"]
    for stream in manifest["streams"]:
        times = [event.time for event in found if event.stream == stream["iri"]]
        assert times == sorted(times)


@pytest.mark.parametrize("workload", ALL)
def test_each_timestamp_stands_directly_before_its_graph(workload: str) -> None:
    """The first line of an event names its graph, all others lie in it (docs/reference/event-formats.md)."""
    for _, text in made(workload, 50).events:
        first, *rest = text.splitlines()
        name = re.fullmatch(r"(<[^>]+>) <http://www.w3.org/ns/prov#generatedAtTime> \S+ \.", first)
        assert name is not None
        assert all(line.endswith(f" {name[1]} .") for line in rest)


@pytest.mark.parametrize("workload", ALL)
def test_the_query_of_the_manifest_finds_something(workload: str, tmp_path: Path) -> None:
    """A workload on which its own query is silent is of no use."""
    write(made(workload, 4000), tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    streams = {each["name"]: tmp_path / each["file"] for each in manifest["streams"]}
    knowledge = {each["iri"]: tmp_path / each["file"] for each in manifest["background"]}
    for hint in manifest["queries"]:
        query = spaseq.compile(hint["query"])
        assert query.warnings == ()
        assert next(iter(spaseq.run(query, streams, knowledge)), None) is not None, hint["finds"]


@pytest.mark.parametrize("workload", ALL)
def test_background_graphs_are_turtle_of_the_size_that_was_asked_for(workload: str, tmp_path: Path) -> None:
    """Figure 18 of the paper needs graphs from ten thousand triples to a million."""
    manifest = write(made(workload, 10, background_triples=5000), tmp_path)
    (graph,) = manifest["background"]
    triples = sum(1 for _ in parse((tmp_path / graph["file"]).read_bytes(), format=RdfFormat.TURTLE))
    assert 5000 <= graph["triples"] < 5050
    assert triples == graph["triples"]


@pytest.mark.parametrize(
    ("query", "workload"),
    [
        ("vessels/crossing", "vessels"),
        ("cards/rise-then-drop-in-a-day", "cards"),
        ("traffic/spreading-congestion", "traffic"),
        ("stocks/head-and-shoulders", "stocks"),
    ],
)
def test_queries_of_the_use_cases_find_something_in_synthetic_streams(
    query: str, workload: str, tmp_path: Path, project_root: Path
) -> None:
    """Real and synthetic streams speak one vocabulary."""
    manifest = write(made(workload, 20_000), tmp_path)
    text = (project_root / "examples" / f"{query}.spaseq").read_text(encoding="utf-8")
    streams = {each["name"]: tmp_path / each["file"] for each in manifest["streams"]}
    knowledge = {each["iri"]: tmp_path / each["file"] for each in manifest["background"]}
    assert next(iter(spaseq.run(text, streams, knowledge, with_events=False)), None) is not None


def test_memory_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    """Ten times the events, the same peak: blocks of a megabyte, whatever comes after."""
    peaks = []
    for events in (5_000, 50_000):
        tracemalloc.start()
        write(made("stocks", events), tmp_path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_a_compressed_stream_holds_the_same_events(tmp_path: Path) -> None:
    """And the archive depends on nothing else."""
    for name, compress in (("plain", False), ("packed", True), ("again", True)):
        write(made("stocks", 100), tmp_path / name, compress=compress)
    plain = list(read_graph_events(tmp_path / "plain" / "stocks.nq", stream="urn:s"))
    packed = list(read_graph_events(tmp_path / "packed" / "stocks.nq.gz", stream="urn:s"))
    assert [(e.time, e.triples) for e in plain] == [(e.time, e.triples) for e in packed]
    assert contents(tmp_path / "packed") == contents(tmp_path / "again")


def test_stocks_have_a_hundred_companies_and_five_quads_an_event() -> None:
    """Prices walk: two trades of a company differ by at most ten cents."""
    latest: dict[str, float] = {}
    for _, text in made("stocks", 5000).events:
        assert text.count("\n") == 6
        company = re.search(r"company/(C\d+)", text)
        price = re.search(r'"([\d.]+)"\^\^<' + XSD + "decimal>", text)
        assert company is not None
        assert price is not None
        assert abs(latest.get(company[1], float(price[1])) - float(price[1])) < 0.101
        latest[company[1]] = float(price[1])
    assert len(latest) == 100


def test_keys_can_be_chosen() -> None:
    """`--companies 3` gives three."""
    text = "".join(text for _, text in made("stocks", 200, keys=3).events)
    assert len(set(re.findall(r"company/C\d+", text))) == 3


def test_lubm_has_the_18_predicates_of_the_benchmark() -> None:
    """16 of univ-bench.owl, rdf:type and owl:imports, as in the experiments of SPECTRA."""
    text = "".join(text for _, text in made("lubm", 3000).events)
    predicates = set(re.findall(r"^<[^>]+> (<[^>]+>) ", text, re.MULTILINE))
    predicates.discard("<http://www.w3.org/ns/prov#generatedAtTime>")
    assert len(predicates) == 18


def test_lubm_keeps_the_ratios_of_the_benchmark() -> None:
    """For each member of faculty 8 to 14 undergraduates and 3 to 4 graduates, over whole departments."""
    text = "".join(text for _, text in made("lubm", 40_000).events)
    kinds = Counter(re.findall(r"type> <[^#>]+#(\w+)> <[^>]+> \.$", text, re.MULTILINE))
    faculty = sum(
        kinds[rank] for rank in ("FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer")
    )
    assert 8 <= kinds["UndergraduateStudent"] / faculty <= 14
    assert 2.8 <= kinds["GraduateStudent"] / faculty <= 4.2
    assert 30 <= faculty / kinds["Department"] <= 42
    assert kinds["TeachingAssistant"] < kinds["ResearchAssistant"] < kinds["GraduateStudent"] / 2


def test_in_synthetic_traffic_all_segments_report_at_the_same_instants(tmp_path: Path) -> None:
    """A conjunction needs simultaneous readings."""
    manifest = write(made("traffic", 800, keys=40), tmp_path)
    assert set(Counter(event.time for event in events(tmp_path, manifest)).values()) == {40}


@pytest.mark.parametrize(("option", "value"), [("events", -1), ("keys", 0), ("interval", 0)])
def test_a_plan_that_makes_no_sense_is_refused(option: str, value: int) -> None:
    """The sentence shows the value."""
    options = {"events": 1, "keys": 1, "interval": 1, option: value}
    with pytest.raises(InvalidArgument, match=f"`{option}` must be at least .*, not {value}"):
        made("stocks", **options)


def test_an_unknown_workload_is_named_with_the_nearest_one() -> None:
    """A slip of the finger costs one look."""
    with pytest.raises(InvalidArgument, match="did you mean `stocks`"):
        made("stoks")
