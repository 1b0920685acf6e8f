"""A server that speaks the protocol of S3, on this machine, in a process of its own."""

from __future__ import annotations

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
