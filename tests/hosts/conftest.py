"""One Spark session for all tests of the Spark host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spaseq.spark.session import new_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A quiet local session with two cores."""
    settings = {"spark.sql.shuffle.partitions": "4", "spark.local.dir": str(tmp_path_factory.mktemp("spark"))}
    session = new_session("local[2]", settings)
    yield session
    session.stop()
