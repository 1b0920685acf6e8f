"""Spark sessions as this project likes them: quiet, with a state store that works, and workers that find us."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import spaseq
from spaseq.errors import InvalidArgument
from spaseq.settings import settings as choices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET: Final = Path(__file__).with_name("log4j2.properties")

STATE_STORE: Final = "spark.sql.streaming.stateStore.providerClass"
ARROW_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    STATE_STORE: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""What `new_session` sets unless told otherwise; the README of the state store asks for the last two."""


LOCAL: Final = {
    # Java moves blocks here and looks into none, so its optimising compiler costs more than it gains; and a block must
    # not fill a region of the heap, or every few of them start a collection beside the workers.
    "spark.driver.extraJavaOptions": "{} -XX:TieredStopAtLevel=1 -XX:G1HeapRegionSize=16m",
    # What stays on one machine is not worth packing, nor sealing against a loss on the way.
    "spark.shuffle.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
    # The usual one starts a process for every file of a checkpoint, to see whether it is a link: a quarter of what a
    # micro-batch costs. On a disk both replace a file in one step.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
"""What it adds in local mode."""

_LONGEST: Final = 60 - len("/spaseq-12345678")
"""How long the path of a folder may be in which there is one for Spark's sockets."""


class JavaMissing(InvalidArgument):
    """Spark needs Java, and there is none."""


def check_java() -> None:
    """Complain in one sentence if Spark could not start."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise JavaMissing(
            "Spark needs Java 17 or newer, which was not found: install it (`apt install openjdk-17-jre-headless`, "
            "`brew install openjdk@17`, `conda install openjdk=17`), or use `--engine local`, which works without it"
        )


def new_session(
    master: str | None = None, settings: Mapping[str, str] | None = None, *, log: Path | None = None
) -> SparkSession:
    """A session on a master (default ``local[*]``), or the one that runs already.

    ``log`` is a file for what Java and the workers print; otherwise it goes to standard error.
    """
    check_java()
    from pyspark.sql import SparkSession

    from spaseq.spark.home import swift_home

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _let_workers_find_us()
    master = master or "local[*]"
    if master.startswith("local"):
        # No other machine needs to reach this one, whatever its name resolves to.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("spaseq").master(master)
    java = f"-Dlog4j2.configurationFile=file:{QUIET}"
    wanted = {**DEFAULTS, "spark.driver.extraJavaOptions": java, ARROW_ROWS: str(choices().arrow_rows)}
    if master.startswith("local"):
        wanted |= {name: value.format(java) for name, value in LOCAL.items()} | _sockets()
    for name, value in {**wanted, **(settings or {})}.items():
        builder = builder.config(name, value)
    with _redirected(log), swift_home() if master.startswith("local") else nullcontext():
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _sockets() -> dict[str, str]:
    """Let Java and Python talk over sockets in the file system; packets to oneself can wait 40 ms for each other."""
    if not hasattr(socket, "AF_UNIX") or len(os.fsencode(tempfile.gettempdir())) > _LONGEST:
        return {}
    folder = tempfile.mkdtemp(prefix="spaseq-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # Spark removes none of them
    name = "spark.python.unix.domain.socket"
    return {f"{name}.enabled": "true", f"{name}.dir": folder}


def workers_like_us(spark: SparkSession) -> None:
    """Let workers on this machine run the interpreter that runs us, which has our packages, unless somebody chose one.

    PySpark takes the first ``python3`` on the path, which in a virtual environment that nobody activated is another.
    """
    context = spark.sparkContext
    if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


@contextmanager
def _redirected(log: Path | None) -> Iterator[None]:
    """Let processes that are started here write their standard error to a file."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab", buffering=0) as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _let_workers_find_us() -> None:
    """Workers on this machine import the same package, also from a clone that is not installed."""
    here = str(Path(spaseq.__file__).resolve().parents[1])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, paths)])
