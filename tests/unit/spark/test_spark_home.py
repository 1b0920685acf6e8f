"""Spark's home without the archive that every process would compile."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark
import pytest

from spaseq.spark.spark_session import swift_home


@pytest.fixture(autouse=True)
def nobody_chose(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on which nothing is set, and a cache of its own."""
    monkeypatch.setenv("SPASEQ_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("SPARK_HOME", "PYSPARK_PYTHON"):
        monkeypatch.delenv(name, raising=False)


def test_it_has_all_of_the_real_home_but_the_archives() -> None:
    """Scripts and jars are there; afterwards nothing is set any more."""
    real = Path(pyspark.__file__).parent
    for _ in range(2):  # the second time it is there already
        with swift_home():
            home = Path(os.environ["SPARK_HOME"])
            assert (home / "bin" / "spark-submit").samefile(real / "bin" / "spark-submit")
            assert list((home / "jars").glob("spark-core*.jar"))
            assert not (home / "python").exists()
        assert "SPARK_HOME" not in os.environ


def test_what_somebody_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home, or an interpreter that perhaps has no PySpark of its own."""
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with swift_home():
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    with swift_home():
        assert "SPARK_HOME" not in os.environ
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with swift_home():
        assert "SPARK_HOME" in os.environ


def test_pyspark_that_only_we_have_found_needs_its_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process does not look where it is."""
    monkeypatch.setattr("site.getsitepackages", list)
    with swift_home():
        assert "SPARK_HOME" not in os.environ


def test_a_cache_that_cannot_be_written_costs_only_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Spark starts as it always did."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPASEQ_CACHE_DIR", str(tmp_path / "file"))
    with swift_home():
        assert "SPARK_HOME" not in os.environ
