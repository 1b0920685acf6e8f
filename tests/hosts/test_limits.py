"""Nothing but metrics and errors reaches the driver."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

SCRIPT = """
import sys
from pyspark.sql import functions as F
from spaseq import spark as sps
from spaseq.spark.spark_session import new_session

spark = new_session("local[2]", {"spark.driver.maxResultSize": "64k", "spark.sql.shuffle.partitions": "2"})
triple = lambda p: F.array(F.struct(
    F.concat(F.lit("<urn:k"), F.col("id") % 50, F.lit(">")).alias("s"), F.lit(f"<urn:{p}>").alias("p"),
    F.concat(F.lit('"'), F.sha2(F.col("id").cast("string"), 512), F.lit('"')).alias("o")))
events = spark.range(20000).select(
    F.timestamp_micros(F.col("id") * 1000).alias("time"),
    F.when(F.col("id") % 100 < 50, triple("a")).otherwise(triple("b")).alias("triples"))
query = '''SELECT ?k ?v ?w WITHIN 1 SECONDS SLIDING FROM STREAM S <urn:s>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?k <urn:a> ?v } DEFINE GPM B ON S { ?k <urn:b> ?w } }'''
sps.match(query, {"S": events}).write.parquet(sys.argv[1])
print(spark.read.parquet(sys.argv[1]).count())
"""


def test_answers_larger_than_the_driver_may_take_are_written(tmp_path: Path) -> None:
    """With room for 64 kilobytes on the driver, megabytes of answers go from worker to file."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "answers")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) == 10_000
    assert sum(file.stat().st_size for file in (tmp_path / "answers").glob("*.parquet")) > 1_000_000
