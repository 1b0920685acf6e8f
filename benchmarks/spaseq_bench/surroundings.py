"""What a number was measured on: machine, versions, commit."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import spaseq
from spaseq_bench.environments import peer_versions

PACKAGES = ("numpy", "numba", "pyarrow", "pyoxigraph", "pyspark", "rdflib")


def machine() -> dict[str, str]:
    """The machine, as far as it is known."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "load": ", ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def versions() -> dict[str, str]:
    """Python, this project, and the libraries that do the work."""
    found = {"python": platform.python_version(), "spaseq": spaseq.__version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {**found, **_java(), **peer_versions()}


def _java() -> dict[str, str]:
    """The version of Java, which Spark and Flink run on; nothing where there is none."""
    if shutil.which("java") is None:
        return {}
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    told = re.search(r'version "([^"]+)"', done.stderr)
    return {"java": told[1]} if told else {}


def commit() -> str:
    """The commit of the sources, marked if they were changed since; nothing outside a clone."""
    folder = Path(spaseq.__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    head = git("rev-parse", "--short", "HEAD")
    return head + (" with changes" if head and git("status", "--porcelain", "--", ".") else "")


def now() -> str:
    """The present time, for the record."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return "unknown"
    return f"{size / 2**30:.0f} GiB"
