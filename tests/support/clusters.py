"""A standalone cluster of Spark on one machine: a master and workers, each a process that can be killed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from support.processes import Process

SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
_WHERE = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
_ENVIRONMENT = {"PYTHONPATH": "", "SPARK_DAEMON_MEMORY": "256m"}


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker with a folder of its own."""

    process: Process
    folder: Path

    @property
    def has_mapped(self) -> bool:
        """True if a task of the stage before the shuffle has ended here."""
        return any(self.folder.rglob("shuffle_*.data"))


@dataclass(slots=True)
class Cluster:
    """A master and its workers."""

    url: str
    folder: Path
    master: Process
    workers: list[Worker] = field(default_factory=list)
    started: int = 0

    def add_worker(self, cores: int = 1, before: Sequence[str] = ()) -> Worker:
        """Start a worker and wait until the master knows it; ``before`` is what its command stands behind."""
        folder = self.folder / f"worker{self.started}"
        self.started += 1
        arguments = ["--cores", str(cores), "--memory", "1g", "--work-dir", str(folder / "work")]
        local = {"SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_WORKER_DIR": str(folder / "work")}
        command = [
            *before,
            SPARK_CLASS,
            "org.apache.spark.deploy.worker.Worker",
            *_WHERE,
            *arguments,
            self.url,
        ]
        worker = Worker(Process(command, {**_ENVIRONMENT, **local}), folder)
        self.workers.append(worker)
        self.master.wait_for(lambda: self.master.err.count("Registering worker") >= self.started)
        return worker

    def end_worker(self, worker: Worker) -> None:
        """Kill a worker and all that it has started."""
        worker.process.__exit__(None, None, None)
        self.workers.remove(worker)


@contextmanager
def running_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster on ports that the system chooses, with workers of one core."""
    with Process([SPARK_CLASS, "org.apache.spark.deploy.master.Master", *_WHERE], _ENVIRONMENT) as master:
        master.wait_for(lambda: "New state: ALIVE" in master.err)
        found = re.search(r"spark://127\.0\.0\.1:\d+", master.err)
        assert found is not None
        cluster = Cluster(found[0], folder, master)
        try:
            for _ in range(workers):
                cluster.add_worker()
            yield cluster
        finally:
            for worker in list(cluster.workers):
                cluster.end_worker(worker)
