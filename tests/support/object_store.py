"""A server that speaks the protocol of S3, and a cluster of HDFS, on this machine, in processes of their own."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from support.processes import Process
from support.trades import wait_for

_SERVER: Final = """
import signal, sys
from pathlib import Path
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
Path(sys.argv[1] + ".part").write_text(f"http://{host}:{port}")
Path(sys.argv[1] + ".part").rename(sys.argv[1])
signal.pause()
"""


@contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """The address of a server that has no buckets yet."""
    address = folder / "address"
    with Process([sys.executable, "-c", _SERVER, str(address)]):
        wait_for(address.exists, 60)
        yield address.read_text()


_HADOOP: Final = ("org/apache/hadoop/hadoop-client-minicluster/3.4.1", "org/apache/hadoop/hadoop-client-api/3.4.1",
                  "org/apache/hadoop/hadoop-client-runtime/3.4.1", "org/slf4j/slf4j-api/1.7.36", "commons-logging/commons-logging/1.2",
                  "junit/junit/4.13.2", "org/hamcrest/hamcrest-core/1.3")  # fmt: skip
"""Where Maven keeps the archives of Hadoop's own test cluster."""


@contextmanager
def hadoop_cluster(folder: Path) -> Iterator[str | None]:
    """Host and port of a namenode with a datanode; None if their archives are not here.

    ``mvn dependency:get -Dartifact=org.apache.hadoop:hadoop-client-minicluster:3.4.1`` fetches them.
    """
    kept = Path.home() / ".m2" / "repository"
    found = [str(jar) for place in _HADOOP for jar in kept.joinpath(place).glob("*.jar")]
    if len(found) < len(_HADOOP):
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ready = folder / "cluster.json"
    cluster = ["org.apache.hadoop.test.MiniDFSClusterManager", "-datanodes", "1", "-nnport", port, "-format"]
    command = ["java", "-cp", ":".join(found), *cluster, "-writeDetails", str(ready)]
    with Process(command, folder=folder) as process:
        process.wait_for(ready.exists)
        yield f"127.0.0.1:{port}"
