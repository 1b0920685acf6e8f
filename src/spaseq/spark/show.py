"""The matches of a small input on Spark, in this process: for demonstrations, never for data at large."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from spaseq.model.matches import Match
from spaseq.planner.compiled import CompiledQuery
from spaseq.spark.answer_files import match_of
from spaseq.spark.files import read_events
from spaseq.spark.matching import match_all
from spaseq.spark.problems import kept_log
from spaseq.spark.session import new_session


def matches_on_spark(
    query: CompiledQuery,
    streams: Mapping[str, Path],
    knowledge: Mapping[str, Path],
    master: str = "local[*]",
) -> list[Match]:
    """The matches of a query over files, in order of time, by a Spark session that ends with this call."""
    with ExitStack() as stack:
        log = stack.enter_context(kept_log())
        spark = new_session(master, {"spark.sql.shuffle.partitions": "2"}, log=log)
        stack.callback(spark.stop)
        frames = {name: read_events(spark, str(path)) for name, path in streams.items()}
        answers = match_all({"query": query}, frames, knowledge, provenance=True).orderBy("time", "start")
        return [match_of(row) for row in answers.toArrow().to_pylist()]
