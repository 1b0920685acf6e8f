"""Spark's home on this machine, with PySpark compiled.

Spark puts an archive of PySpark's sources first on the path of every Python process it starts, and each of them
compiles it again: half a second, several times in a run. So its home is a folder of ours, which has all of the real
one but that archive, and its processes find the PySpark that is installed for us.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import site
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from spaseq.caches import cache_directory

_LEFT_OUT: Final = ("python", "__pycache__")
"""The first is the folder of the archives."""


@contextmanager
def swift_home() -> Iterator[None]:
    """Let a Java that is started here have our home, unless another one, or another interpreter, was chosen."""
    real = Path(pyspark.__file__).parent
    chosen = "SPARK_HOME" in os.environ or os.environ.get("PYSPARK_PYTHON", sys.executable) != sys.executable
    # Elsewhere only we may have found it.
    installed = str(real.parent) in {*site.getsitepackages(), site.getusersitepackages()}
    home = _home_of(real) if installed and not chosen else None
    if home is None:
        yield
        return
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def _home_of(real: Path) -> Path | None:
    """The folder, made now if it is not there; None if it cannot be made, since only speed depends on it."""
    digest = hashlib.sha256(f"{real} {pyspark.__version__}".encode()).hexdigest()[:16]
    home = cache_directory() / "spark" / digest
    if home.exists():
        return home
    part = home.with_name(f"{home.name}.part{os.getpid()}")
    try:
        part.mkdir(parents=True)
        for each in real.iterdir():
            if each.is_dir() and each.name not in _LEFT_OUT:
                (part / each.name).symlink_to(each)
        part.rename(home)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
    return home if home.exists() else None
