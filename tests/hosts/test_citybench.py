"""CityBench's questions on Spark: all of them, in both spellings, as one job."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spaseq import spark as sps
from spaseq.io.readers import read_graph_events
from support.citybench import ANSWERS, SPELLINGS, digest, file_of, graphs, question
from support.spark_trials import event_row, events_frame, matches_by_query


@pytest.mark.spark
def test_spark_gives_the_same_answers(spark: SparkSession) -> None:
    """What the in-process engine gives, however the events are spread."""
    queries = {f"{number} {each}": question(number, each) for number in ANSWERS for each in SPELLINGS}
    streams = {stream.iri for query in queries.values() for stream in query.streams}
    rows = [
        event_row(stream, event)
        for stream in sorted(streams)
        for event in read_graph_events(file_of(stream), stream=stream)
    ]
    frame = sps.match_all(queries, events_frame(spark, rows, 3), graphs(), provenance=True, partitions=3)
    found = matches_by_query(frame)
    assert {name: digest(found.get(name, [])) for name in queries} == {
        f"{number} {each}": ANSWERS[number] for number in ANSWERS for each in SPELLINGS
    }
