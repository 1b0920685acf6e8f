"""What the tests of the use cases share: running an example's query, converting a data set, reading its tables."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

import spaseq
from spaseq.model.matches import Match
from spaseq.workloads.catalogue import convert
from spaseq.workloads.production import Manifest, write
from spaseq.workloads.selection import Selection

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

Table: TypeAlias = list[dict[str, str]]
Found: TypeAlias = Callable[..., list[Match]]
Converted: TypeAlias = Callable[..., tuple[Path, Manifest]]


@pytest.fixture
def found() -> Found:
    """The matches of an example's query over a folder with a manifest, its own folder if none is given."""

    def run(query: str, folder: Path | str | None = None) -> list[Match]:
        path = EXAMPLES / query
        compiled = spaseq.compile(path.read_text(encoding="utf-8"), name=query)
        place = path.parent if folder is None else EXAMPLES / folder
        names = {stream.alias: stream.iri for stream in compiled.rewritten.streams}
        streams = {alias: next(place.glob(f"{alias}.nq*")) for alias in names}
        return list(spaseq.run(compiled, streams, _knowledge(place), with_events=False))

    return run


def _knowledge(folder: Path) -> dict[str, Path]:
    """The background graphs that the folder's manifest names."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return {graph["iri"]: folder / graph["file"] for graph in manifest["background"]}


@pytest.fixture(scope="module")
def converted(shared_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converted]:
    """Data sets, whole or only some keys, converted; they are large, so the folders go when the tests of a module are done."""
    made: list[Path] = []

    def make(dataset: str, *only: str) -> tuple[Path, Manifest]:
        made.append(tmp_path_factory.mktemp(dataset))
        chosen = Selection(only=frozenset(only))
        return made[-1], write(convert(dataset, shared_dir / "data", chosen), made[-1])

    yield make
    for folder in made:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def table(shared_dir: Path) -> Callable[[str], Table]:
    """The rows of a table of the data folder, read without any code of the project."""

    def read(name: str) -> Table:
        path = shared_dir / "data" / name
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode("utf-8")
        return list(csv.DictReader(text.splitlines()))

    return read
