"""Input files of a benchmark: made once, kept in the cache folder, found again by the digest of how they are made."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import spaseq
from spaseq.caches import cache_directory
from spaseq.workloads.catalogue import START, generate
from spaseq.workloads.production import write
from spaseq.workloads.timed_events import instant_ms
from spaseq_bench import interval_streams, window_streams
from spaseq_bench.declared import Params, Value

SHAPES: Final = ("events", "seed", "keys", "interval", "jitter", "kb")
"""The parameters that say how data looks; all others concern the query or the machine."""


@dataclass(frozen=True, slots=True)
class Input:
    """The files of one cell, and how much is in them; quads count the timestamps too."""

    streams: dict[str, str]
    knowledge: dict[str, str]
    events: int
    quads: int
    size: int


def cache_folder() -> Path:
    """Where generated inputs and the environments of peers are kept."""
    return cache_directory() / "bench"


def make_input(workload: str, params: Params, folder: Path | None = None) -> Input:
    """The files of a workload with these parameters, made now if they are not there."""
    over_time = interval_streams.known(workload)
    cut = not over_time and window_streams.cut_up(params)
    wanted = interval_streams.SHAPES if over_time else window_streams.SHAPES if cut else SHAPES
    shape = {name: value for name, value in sorted(params.items()) if name in wanted}
    text = json.dumps([workload, shape, _source_digest(workload, cut=cut, over_time=over_time)])
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    place = (folder or cache_folder()) / "inputs" / f"{workload}-{digest}"
    if not place.exists():
        part = place.with_name(f"{place.name}.part{os.getpid()}")
        if over_time:
            interval_streams.write_stream(workload, shape, part)
        elif cut:
            window_streams.write_stream(workload, shape, part)
        else:
            _make(workload, shape, part)
        try:
            part.rename(place)  # all or nothing: a broken-off run leaves only the part
        except OSError:
            shutil.rmtree(part)  # another process was faster
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    streams = {each["name"]: place / each["file"] for each in manifest["streams"]}
    return Input(
        {name: str(path) for name, path in streams.items()},
        {each["iri"]: str(place / each["file"]) for each in manifest["background"]},
        manifest["events"],
        manifest["quads"] + manifest["events"],
        sum(path.stat().st_size for path in streams.values()),
    )


def _make(workload: str, shape: Params, place: Path) -> None:
    production = generate(
        workload,
        events=_whole(shape.get("events", 1000)),
        seed=_whole(shape.get("seed", 7)),
        start=instant_ms(START),
        keys=_whole(shape["keys"]) if "keys" in shape else None,
        interval=_whole(shape["interval"]) if "interval" in shape else None,
        background_triples=_whole(shape.get("kb", 0)),
        jitter=_whole(shape.get("jitter", 0)),
    )
    write(production, place)


def _whole(value: Value) -> int:
    return int(value)


def _source_digest(workload: str, *, cut: bool = False, over_time: bool = False) -> str:
    """Inputs made by other code are not the same inputs."""
    room = Path(spaseq.__file__).parent / "workloads"
    digest = hashlib.sha256()
    for path in (*sorted(room.glob("*.py")), room / "generators" / f"{workload}.py"):
        digest.update(path.read_bytes() if path.exists() else b"")
    if cut:
        digest.update(Path(window_streams.__file__).read_bytes())
    if over_time:
        digest.update(Path(interval_streams.__file__).read_bytes())
    return digest.hexdigest()
