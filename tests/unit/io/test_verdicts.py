"""Named cases of one verdict on bad input: each once depended on the size, the piece or the predicates of a query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import spaseq
from spaseq.engine.run import BadInputWarning
from spaseq.errors import LimitReached
from spaseq.io.bad_input import BadInput
from spaseq.io.cuts import cut_after
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.io.result_json import match_line
from spaseq.model.dictionary import TermDictionary

STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"

Verdict = tuple[list[int], list[tuple[int, str]]]
"""The times of the events in milliseconds, and line and reason of bad input."""


def found(bad: list[BadInput]) -> list[tuple[int, str]]:
    """Lines and reasons."""
    return [(item.position, item.reason) for item in bad]


def verdict(file: Path, data: str | bytes) -> Verdict:
    """The one verdict of all readings: as a whole and in pieces, by kernels, with and without needed predicates."""
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    bad: list[BadInput] = []
    plain = ReadOptions(layout="stream", triples_per_event=1)
    events = read_graph_events(file, stream="urn:s", options=plain, on_bad=bad.append)
    whole = [event.time // 1000 for event in events], found(bad)
    for needed in (None, frozenset({"urn:p"}), frozenset[str]()):
        for tier in (0, 1 << 20):
            for chunk in (7, 60, 1 << 20):
                options = ReadOptions(
                    layout="stream", triples_per_event=1, needed_predicates=needed, keep_names=needed is None,
                    interpreted_bytes=tier, chunk_bytes=chunk,
                )  # fmt: skip
                bad = []
                batches = read_events(
                    file, stream="urn:s", streams=["urn:s"], dictionary=TermDictionary(), options=options,
                    on_bad=bad.append,
                )  # fmt: skip
                times = [int(time) // 1000 for batch in batches for time in batch.times]
                assert (times, found(bad)) == whole, f"{needed}, {tier}, {chunk}"
    return whole


def event(number: int, *quads: str, before: bool = False) -> str:
    """An event; a quad may leave out its graph."""
    name = f"<urn:g{number}>"
    stamp = f'{name} {STAMP} "{number}"{INTEGER} .\n'
    lines = "".join(f"{quad} {name} .\n" for quad in quads or ("<urn:a> <urn:p> <urn:b>",))
    return stamp + lines if before else lines + stamp


INVALID = [
    "<rel>", "<urn:a b>", '<urn:"a">', "<urn:{a}>", "<urn:%zz>", "<http://e:8a/>", "<urn:a#b#c>", "<urn:a`b>",
    '"\\q"', '"\\u12"', '"\\ud800"', '"a"@1', '"a"@en_GB', '"a"^^<rel>', '"1.5"^^<"http://e/t>',
    '"a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>', "_:a:b", "5", "'a'",
]  # fmt: skip


@pytest.mark.parametrize("term", INVALID)
def test_an_invalid_term_spoils_its_event_whether_a_query_needs_it_or_not(tmp_path: Path, term: str) -> None:
    """In a triple that is needed, in one that is not, and in no other event."""
    for predicate in ("<urn:p>", "<urn:unneeded>"):
        for before in (False, True):
            hurt = event(2, "<urn:a> <urn:p> <urn:b>", f"<urn:a> {predicate} {term}", before=before)
            text = event(1, before=before) + hurt + event(3, before=before)
            times, bad = verdict(tmp_path / "a.nq", text)
            assert times == [1, 3]
            assert [line for line, _ in bad] == [5 if before else 4]


@pytest.mark.parametrize("term", ["<rel>", "<urn:a b>", "_:a:b"])
@pytest.mark.parametrize("place", ["subject", "predicate", "graph"])
def test_an_invalid_term_in_any_other_place_spoils_its_event(tmp_path: Path, term: str, place: str) -> None:
    """The first, a middle and the last quad of an event, with its timestamp before or after it."""
    good = ["<urn:a>", "<urn:unneeded>", '"x"', "<urn:g2>"]
    wrong = list(good)
    wrong[{"subject": 0, "predicate": 1, "graph": 3}[place]] = term
    stamp = f'<urn:g2> {STAMP} "2"{INTEGER} .'
    for at in range(3):
        lines = [" ".join(wrong if i == at else good) + " ." for i in range(3)]
        for before in (False, True):
            hurt = "\n".join([stamp, *lines] if before else [*lines, stamp]) + "\n"
            text = event(1, before=before) + hurt + event(3, before=before)
            assert verdict(tmp_path / "a.nq", text)[0] == [1, 3]


def test_an_event_does_not_go_on_without_a_quad_whose_graph_cannot_be_read(tmp_path: Path) -> None:
    """One flipped character in a graph name would make NOT EXISTS true."""
    for before in (False, True):
        text = event(1, "<urn:a> <urn:p> <urn:b>", "<urn:a> <urn:alarm> <urn:b>", before=before)
        text += event(2, before=before)
        broken = text.replace("<urn:alarm> <urn:b> <urn:g1>", "<urn:alarm> <urn:b> <urn|g1>")
        times, bad = verdict(tmp_path / "a.nq", broken)
        assert times == [2]
        assert [line for line, _ in bad] == [3 if before else 2]


def test_an_invalid_datatype_of_a_timestamp_is_one_piece_of_bad_input(tmp_path: Path) -> None:
    """Before or after its graph; the words are pyoxigraph's."""
    for before in (False, True):
        wrong = event(2, before=before).replace(INTEGER, '^^<"http://e/t>')
        times, bad = verdict(tmp_path / "a.nq", event(1, before=before) + wrong + event(3, before=before))
        assert times == [1, 3]
        assert len(bad) == 1


def test_a_carriage_return_ends_a_line(tmp_path: Path) -> None:
    """As pyoxigraph reads it: two quads and a comment may stand between two line feeds, but not half a literal."""
    text = event(1).replace(".\n<", ".\r<") + event(2).replace(".\n<", ". # comment\r<") + event(3)
    assert verdict(tmp_path / "a.nq", text) == ([1, 2, 3], [])
    assert verdict(tmp_path / "a.nq", event(1) + event(2, '<urn:a> <urn:q> "x\ry"') + event(3))[0] == [1, 3]
    triples = "".join(f'<urn:a> <urn:p> "{n}" .\r<urn:a> {STAMP} "{n}"{INTEGER} .\n' for n in range(3))
    assert verdict(tmp_path / "a.nt", triples) == ([0, 1, 2], [])


@pytest.mark.parametrize("space", ["\x0b", "\x0c", "\xa0", "\ufeff"])
def test_only_blanks_and_tabs_are_white_space(tmp_path: Path, space: str) -> None:
    """A form feed on a line of its own is not an empty line."""
    assert verdict(tmp_path / "a.nq", f"{event(1)}{space}\n{event(2)}")[0] == [1, 2]
    assert len(verdict(tmp_path / "a.nq", f"{event(1)}{space}\n{event(2)}")[1]) == 1


def test_a_term_beyond_the_buffer_of_pyoxigraph_is_bad_input_in_every_tier(tmp_path: Path) -> None:
    """It is not an error of memory, and a kernel does not take it either."""
    file = tmp_path / "a.nq"
    file.write_text(event(1) + event(2, f'<urn:a> <urn:p> "{"x" * (1 << 24)}"') + event(3))
    for tier in (0, 1 << 26):
        bad: list[BadInput] = []
        options = ReadOptions(layout="stream", interpreted_bytes=tier)
        batches = read_events(
            file, stream="urn:s", streams=["urn:s"], dictionary=TermDictionary(), options=options, on_bad=bad.append
        )  # fmt: skip
        assert [int(time) // 1000 for batch in batches for time in batch.times] == [1, 3]
        assert ["too long" in item.reason for item in bad] == [True]


def test_every_output_line_is_json_whatever_the_input(tmp_path: Path) -> None:
    """A datatype with a quote in it once reached the output."""
    file = tmp_path / "a.nq"
    filler = "".join(event(n) for n in range(10, 20_000))
    file.write_text(event(1, '<urn:a> <urn:p> "1.5"^^<"http://e/t>') + event(2) + filler)
    assert file.stat().st_size > 1 << 20
    query = spaseq.compile(
        "SELECT ?v FROM STREAM S <urn:s> WHERE { SEQ (A) DEFINE GPM A ON S { ?x <urn:p> ?v } }"
    )
    bad = tmp_path / "bad.jsonl"
    with pytest.warns(BadInputWarning):
        matches = list(spaseq.run(query, streams={"S": file}, on_bad_input="quarantine", quarantine=bad))
    assert len(matches) == 19_991
    assert all(json.loads(match_line(match)) for match in matches)
    assert len(bad.read_text().splitlines()) == 1


# --- TriG and JSON-LD -----------------------------------------------------------------------------------


def node(number: int) -> str:
    """An event as a JSON-LD object."""
    return f'{{"@id":"urn:g{number}","{STAMP[1:-1]}":{number},"@graph":[{{"@id":"urn:a","urn:p":"}} ] {number}"}}]}}'


@pytest.mark.parametrize(
    ("text", "times", "faults"),
    [
        ("[{1},{2}]", [1, 2], 0),
        ("{1}{2}", [1, 2], 0),
        ("[{1}][{2}]", [1, 2], 0),
        ('{"@context":{},"@graph":[{1},{2}]}{"@graph":[{3}]}', [1, 2, 3], 0),
        ("[{1}{2}]", [1, 2], 1),
        ("[{1},,{2}]", [1, 2], 1),
        ("[{1},{2},]", [1, 2], 1),
        ("[{1},{2}", [1, 2], 1),
        ("[{1}]]{2}", [1, 2], 1),
        ('[{1}"]', [1], 1),
        ("{1},{2}", [1, 2], 1),
        ("{1}#{2}", [1, 2], 1),
        ("{1}#{2}x,]", [1, 2], 2),
        ('[{1},{"@id":"urn:x",}},{2}]', [1, 2], 1),
        ('[{1},{"@id":"urn:x","@graph":[{},{2},{3}]', [1, 2, 3], 1),
        ('[{1},{"@id":"urn:x,"@graph":[{}]},{2},{3}]', [1, 2, 3], 1),
        ('{"@context":{},"@graph":[{1},{"@id":5},{2}]}', [1, 2], 1),
        ('{"@context":{},"@graph":[{1},{"@id":"urn:x"}},{2}]}', [1, 2], 1),
        ('{"@context":{},"@graph":[{1},{2}]', [1, 2], 1),
        ('{"@context":{},x"@graph":[{1},{2}]}', [1, 2], 1),
    ],
)  # fmt: skip
def test_what_stands_between_json_ld_values_is_judged(
    tmp_path: Path, text: str, times: list[int], faults: int
) -> None:
    """What pyoxigraph refuses is bad input, and every event that can be read is read, also on one line."""
    for number in (1, 2, 3):
        text = text.replace(f"{{{number}}}", node(number))
    seen, bad = verdict(tmp_path / "a.jsonld", text)
    assert (seen, len(bad)) == (times, faults), bad


def test_words_about_a_timestamp_without_label_are_the_same_in_every_reading(tmp_path: Path) -> None:
    """The label that pyoxigraph gives an anonymous node is random."""
    _, bad = verdict(
        tmp_path / "a.jsonld",
        f'{{"@id": "urn:g", "{STAMP[1:-1]}": {{"urn:p": 1}}, "@graph": [{{"urn:p": 1}}]}}',
    )
    assert (1, "the timestamp of <urn:g> cannot be read: a timestamp is a literal, not []") in bad


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("jsonld", '[\n {\n  "@id": "urn:g1",\n  }\n  "@graph": [\n   {\n    "urn:p": 1\n  "urn:q": 1,\n  ]\n }\n'),
        ("trig", f"<urn:g> <http://www.w3].org/ns/prov#generatedAtTime> 2 .\n<urn:g> {{ <urn:a> {STAMP} 3 . }}\n"),
    ],
    ids=["unreadable-value", "bracket-in-an-iri"],
)  # fmt: skip
def test_a_data_set_in_pieces_has_the_bad_input_of_the_whole(tmp_path: Path, suffix: str, text: str) -> None:
    """A collector that keeps nothing back must not be given what a later piece changes."""
    file = tmp_path / f"a.{suffix}"
    file.write_text(text)
    readings = []
    for chunk in range(1, len(text) + 1):
        bad: list[BadInput] = []
        options = ReadOptions(layout="dataset", chunk_bytes=chunk)
        list(read_graph_events(file, stream="urn:s", options=options, on_bad=bad.append))
        readings.append(found(bad))
    assert readings == readings[-1:] * len(readings)


def test_a_json_ld_label_that_is_none_gets_another(tmp_path: Path) -> None:
    """`_:a:b` is no blank node in N-Quads, which a CONSTRUCT writes."""
    file = tmp_path / "a.jsonld"
    file.write_text(node(1).replace('"urn:a"', '"_:a:b"'))
    (found_event,) = read_graph_events(file, stream="urn:s")
    assert [str(triple.subject).split("-e")[0] for triple in found_event.triples] == ["_:anon0"]


@pytest.mark.parametrize(
    ("text", "times", "faults"),
    [
        (f"<urn:g> {{ <urn:a> <urn:p> 1 }}<urn:g> {STAMP} 5.GRAPH <urn:h> {{ <urn:a> <urn:p> 1 }}<urn:h> {STAMP} 6 .", [5, 6], 0),
        (f'<urn:g> {{ <urn:a> <urn:p> "1"@en.}}<urn:g> {STAMP} 5 .GRAPH <urn:h> {{ <urn:a> <urn:p> "}} . {{" }}<urn:h> {STAMP} 6 .', [5, 6], 0),
        (f"<urn:g> {{ <urn:a> <urn:p> 1 }} <urn:g> {STAMP} 5 .\x0b", [5], 1),
        (f"<urn:g> {{ <urn:a> <urn:p> 1 }} }} <urn:g> {STAMP} 5 .", [], 1),
    ],
)  # fmt: skip
def test_trig_is_cut_where_pyoxigraph_ends_a_statement(
    tmp_path: Path, text: str, times: list[int], faults: int
) -> None:
    """A dot needs no white space around it, and a vertical tab is none."""
    seen, bad = verdict(tmp_path / "a.trig", text)
    assert (seen, len(bad)) == (times, faults), bad


# --- limits -----------------------------------------------------------------------------------------------


Reader = Callable[[Path, ReadOptions], Iterable[object]]


def in_batches(file: Path, options: ReadOptions) -> Iterable[object]:
    """Events as an engine gets them, by kernels."""
    terms = TermDictionary()
    return read_events(
        file, stream="urn:s", streams=["urn:s"], dictionary=terms, options=options, on_bad=lambda _: None
    )


def as_objects(file: Path, options: ReadOptions) -> Iterable[object]:
    """Events by pyoxigraph."""
    return read_graph_events(file, stream="urn:s", options=options, on_bad=lambda _: None)


@pytest.mark.parametrize("read", [in_batches, as_objects])
@pytest.mark.parametrize(
    ("suffix", "text", "what"),
    [
        (".nq", '<urn:a> <urn:p> "', "a line"),
        (".nt", "<urn:a", "a line"),
        (".trig", '<urn:g> { <urn:a> <urn:p> "', "a statement"),
        (".trig", '<urn:g> { <urn:a> <urn:p> """', "a statement"),
        (".trig", "a", "a statement"),
        (".jsonld", '[{"@id":"', "a value"),
        (".jsonld", "[" + node(1) + ",", "a value"),
    ],
)
def test_what_has_no_end_is_refused_with_the_name_of_the_limit(
    tmp_path: Path, change_settings: Callable[..., None], suffix: str, text: str, what: str, read: Reader
) -> None:
    """Instead of taking all memory; the cure names the setting."""
    change_settings(max_line_bytes=1000, chunk_bytes=100)
    file = tmp_path / f"a{suffix}"
    file.write_text(text + "x" * 5000)
    options = ReadOptions(layout="stream", triples_per_event=1, interpreted_bytes=0)
    with pytest.raises(LimitReached) as error:
        list(read(file, options))
    assert f"{file}:1: {what} has no end" in str(error.value)
    assert "SPASEQ_SETTINGS=max_line_bytes=2000" in str(error.value)


def test_a_cut_is_not_looked_for_in_an_endless_line(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """A part of a file on Spark begins at the next cut."""
    change_settings(max_line_bytes=1000, file_bytes=100)
    path = tmp_path / "a.nq"
    path.write_text(event(1) + event(2) + "a" * 2000)
    with path.open("rb") as file:
        assert cut_after(file, 1, STAMP[1:-1]) == len(event(1))
        with pytest.raises(
            LimitReached, match=r"a.nq: a line has no end after .* SPASEQ_SETTINGS=max_line_bytes"
        ):
            cut_after(file, len(event(1)) + 1, STAMP[1:-1])


def test_a_long_json_ld_document_with_more_than_nodes_is_refused_not_misread(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """Behind its nodes may stand that they all are one graph."""
    change_settings(whole_document_bytes=200, chunk_bytes=50)
    file = tmp_path / "a.jsonld"
    nodes = ",".join(f'{{"@id":"urn:a{n}","urn:p":{n}}}' for n in range(50))
    file.write_text(f'{{"@context":{{}},"@graph":[{nodes}],"@id":"urn:g","{STAMP[1:-1]}":5}}')
    with pytest.raises(LimitReached, match="whole_document_bytes"):
        list(read_graph_events(file, stream="urn:s", on_bad=lambda _: None))
    change_settings(whole_document_bytes=20_000)
    (found_event,) = read_graph_events(file, stream="urn:s")
    assert len(found_event.triples) == 50
