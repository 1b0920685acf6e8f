"""Compiled kernels are kept by what they are made of."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import spaseq

USE = """
from spaseq.model import values_kernel
found = [each for each in vars(values_kernel).values() if hasattr(each, "_cache")]
print(found[0]._cache.cache_path)
"""


def test_a_copy_of_the_project_elsewhere_uses_the_same_compiled_kernels(tmp_path: Path) -> None:
    """Where a clone is, or where Spark unpacks the project, says nothing about its kernels."""
    source = Path(spaseq.__file__).parent
    shutil.copytree(source, tmp_path / "spaseq", ignore=shutil.ignore_patterns("*.pyc"))
    places = [
        subprocess.run(
            [sys.executable, "-c", USE],
            env={"PYTHONPATH": str(folder), "SPASEQ_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for folder in (source.parent, tmp_path)
    ]
    assert places[0] == places[1] != ""


CALL = """
import numpy as np
from spaseq.model.arena import Arena
arena = Arena()
print(arena.encode_all([b"<urn:a>", b"<urn:b>", b"<urn:a>"]).tolist())
"""


def run_kernels(cache: Path) -> None:
    """A process that needs compiled kernels; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        env={"PYTHONPATH": str(Path(spaseq.__file__).parents[1]), "SPASEQ_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1, 2, 1]\n", "")


def damaged(number: int, data: bytes) -> bytes:
    """Other bytes in a file: none, too few, nonsense, or one wrong bit in the middle."""
    half = len(data) // 2
    flipped = data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]
    return (b"", data[:half], data[:-1], b"nonsense", flipped)[number % 5]


def test_damaged_kernel_files_are_compiled_and_written_again(tmp_path: Path) -> None:
    """Nobody needs to remove anything by hand, and the next run has nothing to compile."""
    run_kernels(tmp_path)
    for suffix in (".nbi", ".nbc"):
        files = sorted(tmp_path.rglob(f"*{suffix}"))
        assert len(files) >= 5
        bad = {path: damaged(number, path.read_bytes()) for number, path in enumerate(files)}
        for path, data in bad.items():
            path.write_bytes(data)
        run_kernels(tmp_path)
        mended = {path: path.read_bytes() for path in files}
        assert all(mended[path] != bad[path] for path in files)
        times = {path: path.stat().st_mtime_ns for path in files}
        run_kernels(tmp_path)
        assert {path: path.stat().st_mtime_ns for path in files} == times
