"""Servers in Java that `make servers` has fetched, on this machine, each in a process of its own: HDFS and Kafka."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spaseq.caches import cache_directory
from support.processes import Process


def archives(name: str) -> list[Path]:
    """The archives of a server; none if it has not been fetched."""
    folder = cache_directory() / "tests" / "servers" / name
    return sorted(folder.glob("*.jar")) if (folder / ".complete").exists() else []


def _java(name: str) -> list[str]:
    return ["java", "-Xmx512m", "-cp", os.pathsep.join(map(str, archives(name)))]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def hadoop_cluster(folder: Path) -> Iterator[str | None]:
    """Host and port of a namenode with a datanode; None if it is not on this machine."""
    if not archives("hadoop"):
        yield None
        return
    port, ready = _free_port(), folder / "cluster.json"
    cluster = ["org.apache.hadoop.test.MiniDFSClusterManager", "-datanodes", "1", "-nnport", str(port)]
    command = [*_java("hadoop"), *cluster, "-format", "-writeDetails", str(ready)]
    with Process(command, folder=folder) as process:
        process.wait_for(ready.exists)
        yield f"127.0.0.1:{port}"


@contextmanager
def kafka_broker(folder: Path) -> Iterator[str | None]:
    """Host and port of a broker whose topics have two partitions; None if it is not on this machine."""
    if not (archives("kafka") and archives("kafka-connector")):
        yield None
        return
    port, control = _free_port(), _free_port()
    settings = folder / "server.properties"
    settings.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{control}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder / "log"}
num.partitions=2
offsets.topic.replication.factor=1
"""
    )
    format_log = [
        "kafka.tools.StorageTool",
        "format",
        "--cluster-id",
        "c3Bhc2VxLXRlc3RzLTAwMQ",
        "--standalone",
    ]
    subprocess.run([*_java("kafka"), *format_log, "--config", str(settings)], check=True, capture_output=True)
    with Process([*_java("kafka"), "kafka.Kafka", str(settings)], folder=folder) as process:
        process.wait_for(lambda: _answers(port))
        yield f"127.0.0.1:{port}"


def _answers(port: int) -> bool:
    with socket.socket() as there:
        return there.connect_ex(("127.0.0.1", port)) == 0
