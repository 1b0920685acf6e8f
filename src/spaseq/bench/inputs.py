"""Input files of a benchmark: made once, kept in the cache folder, found again by the digest of how they are made."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from spaseq.bench import workloads
from spaseq.bench.declared import Params
from spaseq.errors import InvalidArgument, did_you_mean, listed

SHAPES: frozenset[str] = frozenset(
    "events seed interval_ms companies cards segments together places kb knowledge".split()
)
"""The parameters that say how data looks; all others speak of the query or the machine."""


@dataclass(frozen=True, slots=True)
class Input:
    """The files of one cell, and how much is in them."""

    streams: dict[str, str]
    knowledge: dict[str, str]
    events: int
    quads: int
    size: int


def cache_folder() -> Path:
    """Where generated inputs and the environments of peers are kept."""
    root = os.environ.get("SPASEQ_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "spaseq" / "bench"


def make_input(workload: str, params: Params, folder: Path | None = None) -> Input:
    """The files of a workload with these parameters, made now if they are not there."""
    if workload not in workloads.WORKLOADS:
        known = list(workloads.WORKLOADS)
        raise InvalidArgument(
            f"`{workload}` is no workload{did_you_mean(workload, known)}; there are {listed(known)}"
        )
    shape = {name: value for name, value in sorted(params.items()) if name in SHAPES}
    text = json.dumps([workload, shape, _source_digest()])
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    place = (folder or cache_folder()) / "inputs" / f"{workload}-{digest}"
    facts = place / "facts.json"
    if not facts.exists():
        made = _make(workload, params, place)
        part = facts.with_suffix(".part")
        part.write_text(json.dumps({**made, "shape": shape}), encoding="utf-8")
        part.rename(facts)  # the facts come last, so that a broken-off run is made again
    found = json.loads(facts.read_text(encoding="utf-8"))
    return Input(
        {alias: str(place / name) for alias, name in found["streams"].items()},
        {iri: str(place / name) for iri, name in found["knowledge"].items()},
        found["events"],
        found["quads"],
        found["size"],
    )


def _source_digest() -> str:
    """Inputs made by older code are not the same inputs."""
    return hashlib.sha256(Path(workloads.__file__).read_bytes()).hexdigest()


def _make(workload: str, params: Params, place: Path) -> dict[str, object]:
    place.mkdir(parents=True, exist_ok=True)
    names: dict[str, str] = {}
    events = quads = 0
    with ExitStack() as stack:
        files = {}
        for alias, count, text in workloads.WORKLOADS[workload](params):
            if alias not in files:
                names[alias] = f"{alias}.nq"
                files[alias] = stack.enter_context((place / names[alias]).open("w", encoding="utf-8"))
            files[alias].write(text)
            events += 1
            quads += count
    knowledge = {}
    if "knowledge" in params:
        with (place / "knowledge.nt").open("w", encoding="utf-8") as out:
            out.writelines(workloads.FACTS[workload](workloads.number(params, "kb", 1000)))
        knowledge[str(params["knowledge"])] = "knowledge.nt"
    size = sum((place / name).stat().st_size for name in names.values())
    return {"streams": names, "knowledge": knowledge, "events": events, "quads": quads, "size": size}
