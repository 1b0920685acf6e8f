"""Facts about rows of an events DataFrame, as a worker gets them from Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyoxigraph import RdfFormat, parse

from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.model.dictionary import TermDictionary
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
