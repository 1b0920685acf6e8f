"""The embedded host: the same Program in this process.

Loaded when it is first used: other hosts take single modules from this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaseq.engine.embedded import Engine
    from spaseq.engine.session import Metrics, Session

__all__ = ["Engine", "Metrics", "Session"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module `spaseq.engine` has no attribute `{name}`")
    module = import_module("spaseq.engine.embedded" if name == "Engine" else "spaseq.engine.session")
    globals()[name] = found = getattr(module, name)
    return found
