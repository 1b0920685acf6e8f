"""Facts about rows of an events DataFrame, as a worker gets them from Arrow."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyoxigraph import RdfFormat, parse

from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import EVERY_STREAM
from spaseq.spark.job import SEVERAL
from spaseq.spark.sources import event_rows
from spaseq.spark.sources.event_rows import EventRows, canonical_term
from spaseq.temporal.instants import FIRST_INSTANT, LAST_INSTANT

TRIPLES = pa.list_(pa.struct([("s", pa.string()), ("p", pa.string()), ("o", pa.string())]))


def read(batch: pa.RecordBatch, syntax: str | None = None) -> tuple[list[int], list[tuple[int, str]]]:
    """The times of the events, and row and reason of what is bad."""
    bad: list[BadInput] = []
    rows = EventRows(("urn:s",), 0, syntax, TermDictionary(), ReadOptions(), bad.append, "rows")
    times = [int(time) for events, _ in rows.batches(batch) for time in events.times]
    return times, [(item.position, item.reason) for item in bad]


@pytest.mark.parametrize("syntax", [None, "ntriples"])
def test_a_time_outside_the_years_that_are_written_is_bad_input(syntax: str | None) -> None:
    """A timestamp of Spark reaches far beyond them."""
    times = [FIRST_INSTANT - 1, FIRST_INSTANT, None, LAST_INSTANT, LAST_INSTANT + 1, 2**63 - 1]
    name = "triples" if syntax is None else "value"
    body = (
        pa.array([[{"s": "<urn:s>", "p": "<urn:p>", "o": "_:b"}]] * 6, TRIPLES)
        if syntax is None
        else pa.array(["<urn:s> <urn:p> _:b ."] * 6)
    )
    seen, bad = read(pa.record_batch({"time": pa.array(times, pa.int64()), name: body}), syntax)
    outside = "the time of the row lies outside the years 1 to 9999"
    assert seen == [FIRST_INSTANT, LAST_INSTANT]
    assert bad == [(0, outside), (2, "the row has no time"), (4, outside), (5, outside)]


@pytest.mark.parametrize("syntax", [None, "ntriples"])
def test_a_row_without_payload_is_bad_input_unless_it_says_that_it_is_a_promise(syntax: str | None) -> None:
    """NULL is what a deleted record of Kafka carries; it must not end its stream."""
    name = "triples" if syntax is None else "value"
    one = [{"s": "<urn:s>", "p": "<urn:p>", "o": "_:b"}] if syntax is None else "<urn:s> <urn:p> _:b ."
    body = pa.array([one, None, None, one, None], TRIPLES if syntax is None else pa.string())
    times = pa.array([1, 2, 3, 4, 5], pa.int64())
    bad: list[BadInput] = []
    rows = EventRows(("urn:s",), 0, syntax, TermDictionary(), ReadOptions(), bad.append, "rows")
    promise = pa.array([None, False, True, True, None], pa.bool_())
    found = [
        int(time)
        for batch in (
            pa.record_batch({"time": times, name: body}),
            pa.record_batch({"time": times, name: body, "promise": promise}),
        )
        for events, _ in rows.batches(batch)
        for time in events.times
    ]
    assert found == [1, 4, 1]
    missing = f"the row has no `{name}` (NULL); a row that is a promise needs a column `promise` that is true"
    assert [(each.position, each.reason) for each in bad] == [
        *((row, missing) for row in (1, 2, 4)),
        *((row, missing) for row in (6, 9)),
        (8, f"the row is a promise, which carries no event, but its `{name}` is not NULL"),
    ]
    assert rows.promises.times == {0: 3}


@pytest.mark.parametrize(
    "text",
    [
        "<urn:a>", "<http://e/é>", "<http://e/%41>", '""', '"x"', '"é"', '"1"^^<urn:d>', '"a"@EN', '"a\\tb"', '"a\tb"', '"\x01"', "_:b",
        '"1"^^<http://www.w3.org/2001/XMLSchema#string>', '"1"^^<http://www.w3.org/2001/XMLSchema#integer>',
        "", "<>", "<rel>", "<http://e/%zz>", "<1http:x>", "<:x>", "<http://e:8a/>", "<http://e/a#b#c>", '"x"^^<rel>', '"x"^^<:x>', '"x"<urn:a>', '^^<urn:a>',
        '"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>', '"x"@toolonglanguage', '"x"^^', "<urn:a> ", "5", '"x"y',
    ],
)  # fmt: skip
def test_a_term_is_judged_and_spelled_as_pyoxigraph_does(text: str) -> None:
    """Also where its text is taken as it is."""
    try:
        quads = list(parse(f"<urn:s> <urn:p> {text} .".encode(), format=RdfFormat.N_TRIPLES))
    except SyntaxError:
        with pytest.raises(ValueError, match=r"not a term|not one RDF term"):
            canonical_term(text)
        return
    assert canonical_term(text) == str(quads[0].object)


STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
TIMED = [
    f'<urn:g> {STAMP} "5" .\n<urn:s> <urn:p> "x.", <urn:o> <urn:g> .',  # no N-Quads
    f'<urn:g> {STAMP} "5"^^<http://www.w3.org/2001/XMLSchema#integer> .\n<urn:s> <urn:p> "x." <urn:g> .',
    f'<urn:s> <urn:p> "x" <urn:g> .\n<urn:g> {STAMP} "6"^^<http://www.w3.org/2001/XMLSchema#integer> .\n',
    # The same name again, inside, twice, without time, with two times, without graph.
    f'<urn:s> {STAMP} "1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> <urn:g> .',
    f'<urn:s> {STAMP} "1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> <urn:g> .',
    "<urn:s> <urn:p> _:b <urn:g> .\n\n# a comment.\n_:b <urn:p> <urn:o> <urn:g> .",
    f'<urn:g> {STAMP} "7"^^<http://www.w3.org/2001/XMLSchema#integer> .',
    f'_:g {STAMP} "1970-01-01"^^<http://www.w3.org/2001/XMLSchema#date> .\n_:a <urn:p> _:b _:g .',
    f'<urn:g> {STAMP} "8"^^<http://www.w3.org/2001/XMLSchema#integer> .\n_:a <urn:p> _:b <urn:g> .\n_:a <urn:p> _:b <urn:g> .',
    f'<urn:g> {STAMP} "8"^^<http://www.w3.org/2001/XMLSchema#integer> .\n_:a <urn:p> _:b <urn:g> .',
    f'<urn:h> {STAMP} "9"^^<http://www.w3.org/2001/XMLSchema#integer> .\n<urn:s> <urn:p> <urn:o> <urn:h> .\n<urn:i> {STAMP} "9" .',
    "", "rubbish", "<urn:s> <urn:p> <urn:o> .", "<urn:s> <urn:p> <urn:o> . # a comment.", "<urn:s> <urn:p> <urn:o>.\n<urn:s> <urn:q> \"x\\ny\"@en .",
    "<urn:s> <urn:p> <urn:o> <urn:g> .\n<urn:s> <urn:p> <urn:o> <urn:h> .", "<urn:s> <urn:p> \"\u00fc\ud7ff\" <urn:g> .\r\n<urn:s> <urn:p> <urn:o> <urn:g> .",
    "<urn:s> <urn:p> _:b .\n_:b <urn:p> <urn:o> .", "<urn:s> <urn:p> <rel> <urn:g> .", "<urn:s> <urn:p> <urn:o> <urn:g> .\n<urn:s> <urn:p> <urn:o> .",
]  # fmt: skip
"""Values of all kinds: good, bad, and such that one could be taken for a part of the next."""


def told(
    values: list[str | bytes], syntax: str, *, timed: bool, kernels: bool
) -> tuple[list[object], list[object]]:
    """The events with their rows, and what is bad, with or without the compiled lexer."""
    bad: list[BadInput] = []
    dictionary = TermDictionary()
    options = ReadOptions(interpreted_bytes=0 if kernels else 1 << 40)
    if kernels:
        dictionary.promote()
    rows = EventRows(("urn:s",), 0, syntax, dictionary, options, bad.append, "rows")
    columns: dict[str, pa.Array] = {"value": pa.array(values)}
    if timed:
        columns["time"] = pa.array([None if n == 3 else n * 1000 for n in range(len(values))], pa.int64())
    events = []
    for batch, places in rows.batches(pa.record_batch(columns)):
        for event, place in enumerate(places.tolist()):
            triples = zip(*(ids.tolist() for ids in batch.triples_of(event)), strict=True)
            texts = sorted(" ".join(dictionary.ntriples(i) for i in triple) for triple in triples)
            name = dictionary.ntriples(int(batch.names[event])) if batch.names[event] else ""
            events.append((place, int(batch.times[event]), name, texts))
    return sorted(events), sorted((each.source, each.position, each.reason) for each in bad)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("syntax", "timed"), [("nquads", False), ("nquads", True), ("ntriples", True)])
def test_the_compiled_lexer_reads_values_as_they_are_read_one_by_one(
    syntax: str, timed: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stands beside them, the same events come of the same rows, and the same is bad."""
    chance = random.Random(seed)
    values = [value.encode() for value in chance.choices(TIMED, k=60)] + [b"\xff"]
    fast = told(values, syntax, timed=timed, kernels=True)
    monkeypatch.setattr("spaseq.spark.sources.event_rows.lexed_values", lambda *_: None)
    assert fast == told(values, syntax, timed=timed, kernels=False)
    assert fast[0], "some are good"


def test_values_of_bytes_are_lexed_together_and_bad_ones_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand records only those are parsed one by one that the lexer does not take."""
    alone: list[bytes] = []
    real = event_rows.events_of_value

    def watched(data: bytes, *more: object) -> object:
        alone.append(data)
        return real(data, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(event_rows, "events_of_value", watched)
    line = '<urn:g> {} "{}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n<urn:s> <urn:p> <urn:o> <urn:g> .'
    values = [b"rubbish" if n == 500 else line.format(STAMP, n).encode() for n in range(1000)]
    events, bad = told(values, "nquads", timed=False, kernels=True)
    assert (len(events), len(bad), alone) == (999, 1, [b"rubbish"])


@pytest.mark.parametrize("value", ["rubbish", None])
def test_a_bad_row_is_reported_by_its_partition_and_offset(value: str | None) -> None:
    """A user looks for it in Kafka, not in a task of Spark."""
    bad: list[BadInput] = []
    rows = EventRows(("urn:s",), 0, "nquads", TermDictionary(), ReadOptions(), bad.append, "rows")
    for offset in (70, 71):
        batch = pa.record_batch(
            {"value": pa.array([value], pa.string()), "origin": ["trades/3"], "position": [offset]}
        )
        assert list(rows.batches(batch)) == []
    assert [(each.source, each.position) for each in bad] == [("trades/3", 70), ("trades/3", 71)]


def test_a_column_of_starts_makes_interval_events() -> None:
    """A row without start is an instant; one that starts after its time is bad input."""
    one = [{"s": "<urn:s>", "p": "<urn:p>", "o": "<urn:o>"}]
    batch = pa.record_batch(
        {
            "time": pa.array([5, 6, 7], pa.int64()),
            "triples": pa.array([one] * 3, TRIPLES),
            "start": pa.array([2, None, 8], pa.int64()),
        }
    )
    bad: list[BadInput] = []
    rows = EventRows(("urn:s",), 0, None, TermDictionary(), ReadOptions(), bad.append, "rows")
    (events,) = [events for events, _ in rows.batches(batch)]
    assert events.starts is not None
    assert (events.starts.tolist(), events.times.tolist()) == ([2, 6], [5, 6])
    assert [each.reason for each in bad] == ["the start of the row is after its time"]


def test_a_row_without_time_after_a_bad_one_is_bad_as_well() -> None:
    """Whatever was found wrong before it; and bad rows have the columns that their events would carry."""
    bad: list[BadInput] = []
    rows = EventRows(("urn:s",), 0, "turtle", TermDictionary(), ReadOptions(), bad.append, "rows")
    given = {
        "time": pa.array([1, None], pa.int64()),
        "value": pa.array(["rubbish", "<urn:s> <urn:p> 1 ."]),
        "carried": pa.array(['{"key": "a"}', '{"key": "b"}']),
    }
    assert not list(rows.batches(pa.record_batch(given)))
    assert bad[1].reason == "the row has no time"
    assert [each.carried for each in bad] == [{"key": "a"}, {"key": "b"}]


def test_rows_of_one_table_go_to_the_streams_they_name() -> None:
    """Those of streams that no query declares do not exist, unless a query reads whatever it is given."""
    names = ["S", "urn:t", "X", "Both", None]
    body = pa.array([[{"s": "<urn:s>", "p": "<urn:p>", "o": "<urn:o>"}]] * 5, TRIPLES)
    batch = pa.record_batch({"time": pa.array(range(5), pa.int64()), "triples": body, "stream": names})
    known = {"urn:s": 0, "S": 0, "urn:t": 1, "T": 1, "Both": SEVERAL}
    for more, expected in (({}, {0: [0], 1: [1]}), ({EVERY_STREAM: 2}, {0: [0], 1: [1], 2: [2, 4]})):
        bad: list[BadInput] = []
        streams = ("urn:s", "urn:t", EVERY_STREAM)
        rows = EventRows(streams, known | more, None, TermDictionary(), ReadOptions(), bad.append, "rows")
        found = {int(events.streams[0]): events.times.tolist() for events, _ in rows.batches(batch)}
        assert found == expected
        reasons = {item.position: item.reason for item in bad}
        assert "which is another one in each query" in reasons.pop(3)
        assert reasons == ({} if more else {4: "the row names no stream"})
