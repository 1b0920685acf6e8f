"""From answers in part files to one output: the driver merges what the workers have written, in order of time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
from pyoxigraph import Triple

from spaseq.model.matches import Match, MatchedEvent
from spaseq.model.terms import term_of
from spaseq.settings import settings
from spaseq.stores import Place, files_in
from spaseq.temporal.instants import from_datetime


def merged(folder: Place) -> Iterator[tuple[str, Match]]:
    """The query and the match of every row, by time; every part file is in order of time itself."""
    files = files_in(folder, "part-*.parquet")
    for _, _, _, row in heapq.merge(*(_rows(number, file) for number, file in enumerate(files))):
        yield row["query"], match_of(row)


def written_rows(folder: Place) -> int:
    """How many rows there are."""
    return sum(pq.ParquetFile(file.open("rb")).metadata.num_rows for file in folder.glob("part-*.parquet"))


def _rows(number: int, file: Place) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
    count = 0
    # Spark writes timestamps of 96 bits, which would be read as nanoseconds: only the years 1678 to 2261 are such.
    found = pq.ParquetFile(file.open("rb"), coerce_int96_timestamp_unit="us")
    for batch in found.iter_batches(settings().answer_rows):
        times = batch.column("time").cast("int64").to_pylist()
        for time, row in zip(times, batch.to_pylist(), strict=True):
            yield time, number, count, row
            count += 1


def match_of(row: dict[str, Any]) -> Match:
    """A row of `match_all` as a match."""
    triples = row["triples"]
    return Match(
        from_datetime(row["time"]),
        from_datetime(row["start"]),
        {name: term_of(text) for name, text in row["bindings"] or ()},
        tuple(_event(event) for event in row.get("events") or ()),
        None if triples is None else frozenset(_triple(triple) for triple in triples),
        row.get("match") or "",
        row["query"],
        row["boolean"],
    )


def _event(event: dict[str, Any]) -> MatchedEvent:
    graph = None if event["graph"] is None else term_of(event["graph"])
    return MatchedEvent(event["step"], event["stream"], from_datetime(event["time"]), graph)


def _triple(triple: dict[str, str]) -> Triple:
    return Triple(term_of(triple["s"]), term_of(triple["p"]), term_of(triple["o"]))  # type: ignore[arg-type]
