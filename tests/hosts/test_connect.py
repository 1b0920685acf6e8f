"""Spark Connect: `read_events` and `match` without a Spark context."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.processes import Process

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SESSION = """
import sys
from pyspark.sql import SparkSession
from spaseq import spark as sps

spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
query = open("examples/first-match/fares.spaseq").read()
power = sps.read_events(spark, "examples/first-match/fares.trig")
straight = sps.match(query, {"power": power}, partitions=2)
filtered = sps.match(query, {"power": power.where("graph IS NOT NULL")}, partitions=2)
with open(sys.argv[1], "w") as out:
    print(sorted(row.after for row in straight.collect()) == sorted(row.after for row in filtered.collect()), file=out)
    print(straight.count(), file=out)
spark.stop()
"""


def test_files_and_rows_are_matched_without_a_context(project_root: Path, tmp_path: Path) -> None:
    """A session whose driver is a server: parts of files and rows, the same answers."""
    more = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": "pyspark-shell",
    }
    out = tmp_path / "out"
    with Process([sys.executable, "-c", SESSION, str(out)], more, project_root) as process:
        assert process.end(300) == 0, process.err
    assert out.read_text().split() == ["True", "3"]
