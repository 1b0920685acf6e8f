"""Spark sessions with the settings this project needs: little logging, the state store, and the Python of the workers."""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import site
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import spaseq
from spaseq.caches import cache_directory
from spaseq.errors import InvalidArgument
from spaseq.settings import settings as choices
from spaseq.stores import adopt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
"""What `new_session` sets by default; the README of the state store asks for the last two."""


LOCAL: Final = {
    # Java moves blocks here and looks into none, so its optimising compiler costs more than it gains; and a block must
    # not fill a region of the heap, or every few of them start a collection beside the workers.
    "spark.driver.extraJavaOptions": "{} -XX:TieredStopAtLevel=1 -XX:G1HeapRegionSize=16m",
    # Compression and checksums are off: shuffle files stay on one machine.
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


_LEFT_OUT: Final = ("python", "__pycache__")
"""What our home for Spark lacks; the first is the folder of PySpark's archives."""


class JavaMissing(InvalidArgument):
    """Spark needs Java, and there is none."""


_INSTALL: Final = (
    "install it (`apt install openjdk-17-jre-headless`, `brew install openjdk@17`, `conda install openjdk=17`), "
    "or use `--engine local`, which works without it"
)


def check_java() -> None:
    """Complain in one sentence if Spark could not start. Like Spark, look at JAVA_HOME first."""
    home = os.environ.get("JAVA_HOME")
    if home and not shutil.which("java", path=str(Path(home) / "bin")):
        raise JavaMissing(
            f"JAVA_HOME is `{home}`, where there is no `bin/java`: set it to the folder of a Java 17 or newer, or "
            "remove it with `unset JAVA_HOME` to use the `java` on the PATH"
        )
    if not home and shutil.which("java") is None:
        raise JavaMissing(f"Spark needs Java 17 or newer, which was not found: {_INSTALL}")


def check_version() -> None:
    """Complain if Java is too old; asked only when Spark did not start, since starting Java takes a moment."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None) or "java"
    try:
        told = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaMissing(f"`{java}` does not start: {error}; {_INSTALL}") from None
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    if found is None or int(found[1]) < 17:
        seen = f"Java {found[1]}" if found else "no working Java"
        where = f" (JAVA_HOME is `{home}`)" if home else ""
        raise JavaMissing(f"Spark needs Java 17 or newer, and `{java}` is {seen}{where}: {_INSTALL}")


def check_master(master: str) -> None:
    """Complain about a master URL that Spark cannot parse."""
    if not _MASTER.fullmatch(master):
        raise InvalidArgument(
            f"`{master}` is not a Spark master; use `local`, `local[4]`, `local[*]`, `spark://HOST:PORT`, `yarn` or `k8s://URL`"
        )


_MASTER: Final = re.compile(
    r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|local-cluster\[.*\]|spark://.+:\d+.*|yarn|k8s://.+"
)


def new_session(
    master: str | None = None, settings: Mapping[str, str] | None = None, *, log: Path | None = None
) -> SparkSession:
    """A session on a master (default ``local[*]``), or the one that runs already.

    ``log`` is a file for what Java and the workers print; otherwise it goes to standard error.
    """
    check_java()
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _let_workers_find_us()
    master = master or "local[*]"
    if master.startswith("local"):
        # No other machine needs to reach this one, whatever its name resolves to.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("spaseq").master(master)
    java = f"-Dlog4j2.configurationFile={QUIET.as_uri()}"  # a path with a space would be two options
    wanted = {**DEFAULTS, "spark.driver.extraJavaOptions": java, ARROW_ROWS: str(choices().arrow_rows)}
    if master.startswith("local"):
        wanted |= {name: value.format(java) for name, value in LOCAL.items()} | _sockets()
    for name, value in {**wanted, **(settings or {})}.items():
        builder = builder.config(name, value)
    with _redirected(log), swift_home() if master.startswith("local") else nullcontext():
        try:
            session = builder.getOrCreate()
        except PySparkRuntimeError:
            check_version()
            raise
    session.sparkContext.setLogLevel("ERROR")
    return session


def _sockets() -> dict[str, str]:
    """Connect Java and Python by Unix sockets: loopback TCP can stall 40 ms (Nagle's algorithm)."""
    if not hasattr(socket, "AF_UNIX") or len(os.fsencode(tempfile.gettempdir())) > _LONGEST:
        return {}
    folder = tempfile.mkdtemp(prefix="spaseq-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # Spark removes none of them
    name = "spark.python.unix.domain.socket"
    return {f"{name}.enabled": "true", f"{name}.dir": folder}


def is_one_process(master: str | None) -> bool:
    """True if the workers of a master are started by the driver and share its working folder."""
    return re.match(r"local(\[|$)", master or "local") is not None


def plan_text(frame: DataFrame) -> str:
    """How Spark understands a DataFrame, as a text."""
    if is_connected(frame.sparkSession):
        return str(frame._explain_string(extended=True))  # type: ignore[operator]
    return str(frame._jdf.queryExecution().analyzed().treeString())


_OF_ONE_START: Final = re.compile(
    r"#\d+L?|@[0-9a-f]+|plan_id=\d+|\bspaseq_\w+|\bparallelism=\d+|^.*CollectMetrics .*$", re.MULTILINE
)
"""What plans number or name anew each time, and what follows from the number of cores."""


def lasting_plan(frame: DataFrame) -> str:
    """What a DataFrame is made of: the same when the program that has made it is started again."""
    return _OF_ONE_START.sub("", plan_text(frame))


def is_connected(spark: SparkSession) -> bool:
    """True for a session of Spark Connect: its driver is elsewhere, and there are no broadcasts."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def parallel_tasks(spark: SparkSession) -> int:
    """How many tasks at a time to plan for."""
    if is_connected(spark):
        return choices().cluster_tasks
    return planned_tasks(spark.sparkContext.master, spark.sparkContext.defaultParallelism)


def planned_tasks(master: str | None, parallelism: int) -> int:
    """The cores of one process; on a cluster not fewer than a fixed number, since executors may still be registering."""
    return parallelism if is_one_process(master) else max(parallelism, choices().cluster_tasks)


def workers_like_us(spark: SparkSession) -> None:
    """Let workers on this machine run the interpreter that runs us, which has our packages, unless another one was chosen.

    PySpark takes the first ``python3`` on the path, which is another one if the virtual environment is not activated.
    """
    if is_connected(spark):
        return
    context = spark.sparkContext
    if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable


_STORES: Final = {
    "access.key": "AWS_ACCESS_KEY_ID",
    "secret.key": "AWS_SECRET_ACCESS_KEY",
    "session.token": "AWS_SESSION_TOKEN",
    "endpoint.region": "AWS_REGION",
    "endpoint": "AWS_ENDPOINT_URL",
}
"""Settings of Hadoop for S3, and the variables that stand for them here."""


def reach_stores(spark: SparkSession) -> None:
    """Reach stores as the session's settings for Hadoop say, where the environment says nothing."""
    prefix = "spark.hadoop.fs.s3a."
    found = {variable: spark.conf.get(prefix + name, None) for name, variable in _STORES.items()}
    known = {variable: value for variable, value in found.items() if value}
    endpoint = known.get("AWS_ENDPOINT_URL")
    if endpoint and "://" not in endpoint:
        plain = spark.conf.get(prefix + "connection.ssl.enabled", None) == "false"
        known["AWS_ENDPOINT_URL"] = f"{'http' if plain else 'https'}://{endpoint}"
    adopt(known)


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


@contextmanager
def swift_home() -> Iterator[None]:
    """Let a Java that is started here have our home, unless another one, or another interpreter, was chosen.

    Spark puts an archive of PySpark's sources first on the path of every Python process it starts, and each of them
    compiles it again: half a second, several times in a run. So its home is a folder of ours, which has all of the
    real one but that archive, and its processes find the PySpark that is installed for us.
    """
    import pyspark

    real = Path(pyspark.__file__).parent
    chosen = "SPARK_HOME" in os.environ or os.environ.get("PYSPARK_PYTHON", sys.executable) != sys.executable
    # Elsewhere only we may have found it.
    installed = str(real.parent) in {*site.getsitepackages(), site.getusersitepackages()}
    home = _home_of(real, pyspark.__version__) if installed and not chosen else None
    if home is None:
        yield
        return
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def _home_of(real: Path, version: str) -> Path | None:
    """The folder, made now if it is not there; None if it cannot be made, since only speed depends on it."""
    digest = hashlib.sha256(f"{real} {version}".encode()).hexdigest()[:16]
    home = cache_directory() / "spark" / digest
    if home.exists():
        return home
    part = home.with_name(f"{home.name}.part{os.getpid()}")
    try:
        part.mkdir(parents=True)
        for each in real.iterdir():
            if each.is_dir() and each.name not in _LEFT_OUT:
                (part / each.name).symlink_to(each)
        part.rename(home)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
    return home if home.exists() else None
