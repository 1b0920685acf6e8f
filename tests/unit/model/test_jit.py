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
