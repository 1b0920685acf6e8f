"""One Spark session for all tests of the Spark host, and Java that starts fast."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from spaseq.caches import cache_directory
from spaseq.spark.spark_session import new_session
from support.processes import Process

USUAL = """
import sys
from spaseq.spark.spark_session import new_session

spark = new_session("local[1]")
rows = spark.range(9).selectExpr("id % 2 AS k", "timestamp_micros(id) AS time", "array(struct(id)) AS more")
rows.repartition(1, "k").sortWithinPartitions("time").write.parquet(f"{sys.argv[1]}/rows")
read = spark.readStream.schema(rows.schema).parquet(f"{sys.argv[1]}/rows")
query = read.groupBy("k").count().writeStream.outputMode("update").foreachBatch(lambda rows, _: rows.collect())
query.option("checkpointLocation", f"{sys.argv[1]}/points").trigger(availableNow=True).start().awaitTermination()
spark.stop()
"""
"""A little of what every run does."""


@pytest.fixture(scope="session", autouse=True)
def swift_java() -> Iterator[None]:
    """Let Java load Spark's classes from an archive and compile in haste, since no process here lives long.

    The first run on a machine makes the archive; Java ignores one that does not fit. What killed processes leave
    behind stays with us, in a folder whose path is short enough for sockets.
    """
    folder = Path(tempfile.mkdtemp(prefix="spaseq-tests-"))
    java = Path(shutil.which("java") or Path(os.environ["JAVA_HOME"], "bin", "java")).resolve()
    known = (java, java.stat().st_mtime, pyspark.__file__, pyspark.__version__, cache_directory())
    archive = cache_directory() / "tests" / f"{hashlib.sha256(str(known).encode()).hexdigest()[:16]}.jsa"
    os.environ["TMPDIR"] = str(folder)
    # Workers import the module of a test whose functions they run, and with it what tests share.
    shared = str(Path(__file__).resolve().parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([shared, *filter(None, [os.environ.get("PYTHONPATH")])])
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder}"
    if not archive.exists():
        _use(f"{options} -XX:ArchiveClassesAtExit={folder / archive.name}")
        with Process([sys.executable, "-c", USUAL, str(folder)]) as process:
            assert process.end() == 0, process.err
            process.leaves_nobody(120)
        archive.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / archive.name, archive)
    _use(f"{options} -XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off")
    yield
    shutil.rmtree(folder, ignore_errors=True)


def _use(options: str) -> None:
    """Have every Java of Spark started with these options."""
    given = [f'--conf "spark.{part}.defaultJavaOptions={options}"' for part in ("driver", "executor")]
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*given, "pyspark-shell"])
    os.environ["SPARK_DAEMON_JAVA_OPTS"] = options


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, swift_java: None) -> Iterator[SparkSession]:
    """A quiet local session with two cores."""
    settings = {"spark.sql.shuffle.partitions": "4", "spark.local.dir": str(tmp_path_factory.mktemp("spark"))}
    session = new_session("local[2]", settings)
    yield session
    session.stop()
