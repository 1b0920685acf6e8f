"""What a session of ours does differently on one machine."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from support.processes import Process

SHORT = """
from spaseq.spark.spark_session import new_session

spark = new_session("local[1]")
print(spark.conf.get("spark.python.unix.domain.socket.dir", "none"))
spark.range(9).mapInArrow(lambda batches: batches, "id bigint").collect()
spark.stop()
"""


def _places(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyspark

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"place": [pyspark.__file__]})


def test_workers_load_the_pyspark_that_is_installed(spark: SparkSession) -> None:
    """Not the archive of its sources, which they would compile."""
    found = spark.range(0, 2, 1, 2).mapInArrow(_places, "place string").collect()
    assert {row["place"] for row in found} == {pyspark.__file__}


def test_sockets_stand_in_a_folder_that_goes_with_the_process() -> None:
    """Spark leaves them where they are; where paths are too long there are none."""
    with tempfile.TemporaryDirectory(prefix="spaseq-") as folder:
        long = Path(folder, "a" * 60)
        long.mkdir()
        for place, used in ((Path(folder), True), (long, False)):
            with Process([sys.executable, "-c", SHORT], {"TMPDIR": str(place)}) as process:
                assert process.end() == 0, process.err
                assert process.out.startswith(f"{place}/spaseq-") is used
        assert [each.name for each in Path(folder).rglob("spaseq-*")] == []
