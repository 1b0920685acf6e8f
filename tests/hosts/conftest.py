"""One Spark session for all tests of the Spark host."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spaseq.spark.session import new_session


@pytest.fixture(scope="session", autouse=True)
def short_lived(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let Java compile in haste, since no process here lives long; what killed ones leave behind stays with us."""
    folder = tmp_path_factory.mktemp("conf")
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder}"
    for part in ("driver", "executor"):
        with (folder / "spark-defaults.conf").open("a") as file:
            file.write(f"spark.{part}.defaultJavaOptions {options}\n")
    os.environ["SPARK_CONF_DIR"] = os.environ["TMPDIR"] = str(folder)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A quiet local session with two cores."""
    settings = {"spark.sql.shuffle.partitions": "4", "spark.local.dir": str(tmp_path_factory.mktemp("spark"))}
    session = new_session("local[2]", settings)
    yield session
    session.stop()
