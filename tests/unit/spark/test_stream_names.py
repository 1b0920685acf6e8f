"""Names of streams: both hosts resolve them in one way and say what is wrong in the same words."""

from __future__ import annotations

import pytest

import spaseq
from spaseq import InvalidArgument
from spaseq.engine.inputs import NamedQuery, resolve_streams
from spaseq.spark.job import SEVERAL, named_streams, stream_numbers

PATTERN = "SELECT * WITHIN 1 HOUR FROM STREAM {alias} <urn:{iri}> WHERE {{ SEQ (A) DEFINE GPM A ON {alias} {{ ?s ?p ?o }} }}"
QUERIES = {
    name: spaseq.compile(PATTERN.format(alias=alias, iri=iri))
    for name, alias, iri in (("first", "S", "s"), ("second", "T", "t"), ("third", "S", "other"))
}


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (("first",), ["X"], "the query declares no stream `X`, only `S` <urn:s>"),
        (("first", "second"), ["S"], "the stream `T` <urn:t> has no input"),
        (
            ("first", "third"),
            ["S"],
            "`S` is <urn:s> in first and <urn:other> in third: name the stream by its IRI",
        ),
    ],
)
def test_both_hosts_refuse_a_wrong_name_in_the_same_words(
    names: tuple[str, ...], given: list[str], message: str
) -> None:
    """Unknown, missing, ambiguous."""
    queries = {name: QUERIES[name] for name in names}
    streams = tuple(dict.fromkeys(stream.iri for query in queries.values() for stream in query.streams))
    told = []
    for call in (
        lambda: resolve_streams(
            [NamedQuery(*item) for item in queries.items()], [(name, 0) for name in given]
        ),
        lambda: stream_numbers(queries, streams, given),
    ):
        with pytest.raises(InvalidArgument) as caught:
            call()
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert message in told[0]


def test_streams_are_numbered_by_alias_or_iri() -> None:
    """In the order of the job's streams; no stream twice."""
    queries = {name: QUERIES[name] for name in ("first", "second")}
    assert stream_numbers(queries, ("urn:s", "urn:t"), ["urn:t", "S"]) == {"S": 0, "urn:t": 1}
    with pytest.raises(InvalidArgument, match="is given twice, as `S` and as `urn:s`"):
        stream_numbers(queries, ("urn:s", "urn:t"), ["S", "urn:s", "T"])


def test_rows_name_their_streams_by_alias_or_iri() -> None:
    """An alias of which queries mean different streams names none."""
    known = named_streams({name: QUERIES[name] for name in ("first", "second")}, ("urn:s", "urn:t"))
    assert known == {"urn:s": 0, "urn:t": 1, "S": 0, "T": 1}
    known = named_streams(QUERIES, ("urn:s", "urn:t", "urn:other"))
    assert known == {"urn:s": 0, "urn:t": 1, "urn:other": 2, "S": SEVERAL, "T": 1}
