"""The embedded host: the same Program in this process.

Loaded when it is first used: other hosts take single modules from this room.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaseq.engine.embedded import Engine, Metrics

__all__ = ["Engine", "Metrics"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module `spaseq.engine` has no attribute `{name}`")
    globals()[name] = found = getattr(import_module("spaseq.engine.embedded"), name)
    return found
