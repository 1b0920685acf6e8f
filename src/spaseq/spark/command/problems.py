"""What went wrong on a worker, as errors of this project: no Java stack trace for what a user can fix."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from spaseq.errors import IncompatibleCheckpoint, InvalidArgument, SpaseqError

_OURS: Final = re.compile(
    r"^(spaseq\.[\w.]+): (.*?)(?=^\s+at |^\s*SQLSTATE|^\s*$|\Z)", re.MULTILINE | re.DOTALL
)
_LAST: Final = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt)): (.*)$", re.MULTILINE)
_SYSTEM: Final = re.compile(r"^\w+Error: \[Errno \d+\] (.*?)(?:: '([^']*)')?$", re.MULTILINE)
"""An error of the operating system, such as a file that is gone."""
_JAVA: Final = re.compile(r"^(?:Caused by)?: ([A-Za-z_][\w.$]*(?:Error|Exception))(?:: (.*))?$", re.MULTILINE)
"""What Java says, the cause of all last."""
_FULL: Final = "No space left on device"
_WRONG: Final = ("InvalidArgument", "IncompatibleState", "IncompatibleBlock", "IncompatibleCheckpoint")
"""Errors that a user mends on the command line or by another checkpoint."""


class SparkFailed(SpaseqError):
    """The run failed on Spark."""


class UnknownFailure(SparkFailed):
    """A failure that none of our errors explains."""


@contextmanager
def kept_log() -> Iterator[Path]:
    """A file for what Java prints; it stays if something failed that none of our errors explains."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    number, name = tempfile.mkstemp(prefix="spaseq-spark-", suffix=".log")
    os.close(number)
    try:
        yield Path(name)
    except (PySparkException, Py4JError) as error:
        problem = problem_of(error)
        if isinstance(problem, UnknownFailure):
            raise UnknownFailure(f"{problem}; Spark's own report is in {name}") from None
        Path(name).unlink()
        raise problem from None
    except BaseException:
        Path(name).unlink()
        raise
    Path(name).unlink()


def problem_of(error: Exception) -> SpaseqError:
    """The error of ours that Spark's error carries, or one that says what is known."""
    text = str(error)
    found = _OURS.findall(text)
    if found:
        name, message = found[-1][0].rsplit(".", 1)[-1], found[-1][1].strip()
        if name == "InvalidArgument":
            return InvalidArgument(message)
        return IncompatibleCheckpoint(message) if name in _WRONG else SparkFailed(message)
    system = _SYSTEM.findall(text)
    if system:
        what, where = system[-1]
        if what == os.strerror(errno.ENOENT) and where and Path(where).exists():
            return SparkFailed(
                f"a worker does not see `{where}`, which the driver sees: mount one shared folder under this path on the "
                "driver and on every worker (docs/how-to/run-on-a-cluster.md)"
            )
        return SparkFailed(f"the run failed:{f' `{where}`' if where else ''} {what.lower()}")
    if _FULL in text:
        return SparkFailed(f"the run failed: {_FULL.lower()}")
    last = _JAVA.findall(text) or _LAST.findall(text)
    what = f"{last[-1][0]}: {last[-1][1]}" if last else text.strip().splitlines()[0]
    return UnknownFailure(f"the run failed on Spark: {what.strip()}")
