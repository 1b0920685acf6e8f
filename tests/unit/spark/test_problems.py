"""What Spark raises, in our words."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaseq.errors import IncompatibleCheckpoint, InvalidArgument, SpaseqError
from spaseq.spark.command.problems import SparkFailed, UnknownFailure, problem_of

TRACE = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 7, in main
    process()
{error}

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:581)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ("spaseq.errors.InvalidArgument: no such option", InvalidArgument, "no such option"),
        ("spaseq.operators.packing.IncompatibleState: another\nrun", IncompatibleCheckpoint, "another\nrun"),
        ("spaseq.automaton.errors.TooManyRuns: 8 runs wait", SparkFailed, "8 runs wait"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'in.nq'",
            SparkFailed,
            "the run failed: `in.nq` no such file or directory",
        ),
        (
            "OSError: [Errno 28] No space left on device",
            SparkFailed,
            "the run failed: no space left on device",
        ),
        ("ValueError: what?", UnknownFailure, "the run failed on Spark: ValueError: what?"),
    ],
)
def test_a_trace_becomes_a_sentence(error: str, kind: type[SpaseqError], text: str) -> None:
    """Ours as it was raised, the system's as the other engine says it, the rest with what is known."""
    found = problem_of(Exception(TRACE.format(error=error)))
    assert isinstance(found, kind)
    assert str(found) == text


def test_a_file_that_only_the_driver_sees_is_told_as_such(tmp_path: Path) -> None:
    """It is not gone: a mount is missing on a worker."""
    seen = tmp_path / "in.nq"
    seen.touch()
    error = f"FileNotFoundError: [Errno 2] No such file or directory: '{seen}'"
    found = problem_of(Exception(TRACE.format(error=error)))
    assert isinstance(found, SparkFailed)
    assert str(found).startswith(f"a worker does not see `{seen}`, which the driver sees: mount")


JAVA = """py4j.protocol.Py4JJavaError: An error occurred while calling o265.collectToPython.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.Dataset.collectToPython(Dataset.scala:1)
Caused by: {cause}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 9 more
"""


@pytest.mark.parametrize(
    ("cause", "kind", "text"),
    [
        (
            "java.io.IOException: No space left on device",
            SparkFailed,
            "the run failed: no space left on device",
        ),
        (
            "org.apache.spark.SparkException: the file is gone",
            UnknownFailure,
            "the run failed on Spark: org.apache.spark.SparkException: the file is gone",
        ),
    ],
)
def test_the_cause_that_java_names_is_told(cause: str, kind: type[SpaseqError], text: str) -> None:
    """Not that a call of Java failed."""
    found = problem_of(Exception(JAVA.format(cause=cause)))
    assert isinstance(found, kind)
    assert str(found) == text
