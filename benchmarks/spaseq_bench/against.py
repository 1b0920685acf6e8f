"""A benchmark against another commit of this project: the same cells, in turn by both, with a claim for each.

The other commit is unpacked into the cache folder and its own worker runs it, so both sides read the same files
within the same round. Two results measured one after the other would compare two states of the machine.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Final

import spaseq
from spaseq.errors import InvalidArgument
from spaseq_bench.declared import Benchmark, Claim, Variant, point_label
from spaseq_bench.input_files import cache_folder

COMPARED: Final = ("run", "push", "start")
"""Tasks of our own engine that need no Spark."""
SOURCES: Final = "sources"
"""The parameter of a variant that says which sources run it."""


def unpacked(commit: str) -> str:
    """The sources of a commit, as a search path for modules: made once, kept in the cache folder."""
    clone = Path(spaseq.__file__).parent
    full = _git(clone, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}").decode().strip()
    place = cache_folder() / "commits" / full
    if not place.exists():
        top = _git(clone, "rev-parse", "--show-toplevel").decode().strip()
        part = place.with_name(f"{full}.part")
        shutil.rmtree(part, ignore_errors=True)
        with tarfile.open(
            fileobj=io.BytesIO(_git(Path(top), "archive", full, "src", "benchmarks"))
        ) as archive:
            archive.extractall(part, filter="data")
        part.rename(place)
    return os.pathsep.join((str(place / "src"), str(place / "benchmarks")))


def worker_module(sources: str) -> str:
    """The module of the worker in a search path: older commits have the harness inside the package."""
    older = any(
        (Path(root) / "spaseq" / "bench" / "worker.py").exists() for root in sources.split(os.pathsep)
    )
    return "spaseq.bench.worker" if older else "spaseq_bench.worker"


def _git(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    if done.returncode:
        raise InvalidArgument(f"git finds no such commit: {done.stderr.decode().strip()}")
    return done.stdout


def against(benchmark: Benchmark, commit: str, profile: str, tolerance: float) -> Benchmark:
    """The benchmark with a second variant, run by another commit, for each of ours that it can be compared in."""
    sources = unpacked(commit)
    # A variant with the answer of another one is the same run with a stopwatch, or with something switched off.
    ours = [each for each in benchmark.variants if each.task in COMPARED and not each.answer]
    variants: list[Variant] = []
    claims: list[Claim] = []
    for variant in ours:
        other = replace(
            variant,
            name=f"{variant.name} ({commit})",
            params={**variant.params, SOURCES: sources},
            answer=variant.name,
        )
        variants += [variant, other]
        claims += [
            Claim(
                says=f"{variant.name} costs at most {1 + tolerance:g} × what it cost at {commit}",
                measure="cpu",
                kind="ratio",
                of=variant.name,
                over=other.name,
                at=point_label(point),
                at_most=1 + tolerance,
            )
            for point in benchmark.points(profile)
        ]
    return replace(benchmark, variants=tuple(variants), claims=tuple(claims))
