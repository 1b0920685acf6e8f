"""What a Spark session needs is asked for in one sentence, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument
from spaseq.spark.spark_session import JavaMissing, check_java, check_master, check_version, planned_tasks


@pytest.fixture
def old_java(tmp_path: Path) -> Path:
    """The folder of a Java that is too old."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    return tmp_path


def test_a_java_home_that_leads_nowhere_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark looks there first, so a `java` on the PATH does not help."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(JavaMissing) as caught:
        check_java()
    assert str(caught.value) == (
        f"JAVA_HOME is `{tmp_path / 'gone'}`, where there is no `bin/java`: set it to the folder of a Java 17 or newer, "
        "or remove it with `unset JAVA_HOME` to use the `java` on the PATH"
    )


def test_a_java_that_is_there_is_not_started_to_be_looked_at(
    monkeypatch: pytest.MonkeyPatch, old_java: Path
) -> None:
    """Starting it takes a moment; Spark says soon enough whether it fits."""
    monkeypatch.setenv("JAVA_HOME", str(old_java))
    check_java()


def test_an_old_java_is_told_with_its_version(monkeypatch: pytest.MonkeyPatch, old_java: Path) -> None:
    """Asked when Spark did not start."""
    monkeypatch.setenv("JAVA_HOME", str(old_java))
    with pytest.raises(JavaMissing, match=r"needs Java 17 or newer, and .* is Java 11"):
        check_version()


@pytest.mark.parametrize(
    "master", ["foo", "", "local[]", "local[x]", "spark://", "spark://host", "http://host:7077"]
)
def test_a_master_that_spark_cannot_read_is_told(master: str) -> None:
    """With the forms that it can read."""
    with pytest.raises(InvalidArgument, match=r"is not a Spark master; use `local`, `local\[4\]`"):
        check_master(master)


@pytest.mark.parametrize(
    "master",
    ["local", "local[4]", "local[*]", "local[*,3]", "local-cluster[2,1,1024]", "spark://a:7077,b:7077", "yarn", "k8s://https://a:6443"],
)  # fmt: skip
def test_masters_of_spark_are_taken(master: str) -> None:
    """All forms of its documentation."""
    check_master(master)


@pytest.mark.parametrize(
    ("master", "cores", "tasks"),
    [
        ("local[2]", 2, 2),
        ("local", 1, 1),
        ("local-cluster[2,1,512]", 2, 16),
        ("spark://h:7077", 2, 16),
        ("yarn", 40, 40),
    ],
)
def test_a_start_before_executors_have_registered_plans_for_them(master: str, cores: int, tasks: int) -> None:
    """Spark then knows of two cores, and a checkpoint would keep that number for ever."""
    assert planned_tasks(master, cores) == tasks
