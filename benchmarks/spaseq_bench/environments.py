"""Peers: other engines on the same bytes, each in an environment of its own, so that none is a dependency here.

The script `spaseq_bench.peers` uses the protocol of `spaseq_bench.worker` for all of them. It runs in a peer's
environment if that was made (`spaseq-bench peers install NAME`), else in this one if its packages are here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from spaseq.errors import InvalidArgument, SpaseqError, did_you_mean, listed
from spaseq_bench.input_files import cache_folder


class PeerMissing(SpaseqError):
    """A peer that cannot run here; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another engine: what must be installed for it, which module shows that it is, and what it does."""

    name: str
    packages: tuple[str, ...]
    module: str
    about: str


PEERS: Final = {
    peer.name: peer
    for peer in (
        Peer(
            "pyoxigraph",
            ("pyoxigraph>=0.5,<0.6",),
            "pyoxigraph",
            "one SPARQL query per event in a pyoxigraph store, runs in plain Python",
        ),
        Peer(
            "rdflib",
            ("rdflib>=7.1",),
            "rdflib",
            "one prepared SPARQL query per event in an rdflib graph, runs in plain Python",
        ),
        Peer(
            "flink",
            ("apache-flink>=2.0",),
            "pyflink",
            "Flink SQL, MATCH_RECOGNIZE over rows; needs Java 11 or newer",
        ),
    )
}


def peer(name: str) -> Peer:
    """The peer of this name."""
    if name not in PEERS:
        raise InvalidArgument(f"`{name}` is not a peer{did_you_mean(name, PEERS)}; there are {listed(PEERS)}")
    return PEERS[name]


def environment(name: str) -> Path:
    """The folder of a peer's environment."""
    return cache_folder() / "peers" / name


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def peer_python(name: str) -> str | None:
    """The interpreter that can run a peer; None if there is none."""
    own = _python(environment(name))
    if own.exists():
        return str(own)
    return sys.executable if find_spec(peer(name).module) else None


def peer_command(name: str) -> list[str]:
    """How a peer is started."""
    python = peer_python(name)
    if python is None:
        raise PeerMissing(f"{name} is not installed; `spaseq-bench peers install {name}` does that")
    # -P: the modules beside the script are not the peer's
    return [python, "-P", str(Path(__file__).parent / "peers.py"), name]


def peer_versions() -> dict[str, str]:
    """The versions in the environments that peers have of their own."""
    code = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    found: dict[str, str] = {}
    for each in PEERS.values():
        python = _python(environment(each.name))
        if python.exists():
            package = re.split("[<>=]", each.packages[0])[0]
            done = subprocess.run([python, "-c", code, package], capture_output=True, text=True, check=False)
            found[f"{package} (peer)"] = done.stdout.strip() or "unknown"
    return found


def install(name: str) -> Path:
    """Make the environment of a peer and install its packages."""
    folder, wanted = environment(name), peer(name).packages
    venv.create(folder, with_pip=True, clear=True)
    command = [str(_python(folder)), "-m", "pip", "install", "--quiet", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(folder)  # half an environment would pass for a whole one
        raise PeerMissing(f"{name} cannot be installed here: {done.stderr.strip()[-1000:]}")
    return folder
