"""Where this project keeps what it can make again: tables of grammars, kernels, inputs of benchmarks, Spark's home.

``SPASEQ_CACHE_DIR`` names another place. A cache may be removed at any time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_directory() -> Path:
    """The folder of all caches; it need not exist."""
    chosen = os.environ.get("SPASEQ_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "spaseq"
