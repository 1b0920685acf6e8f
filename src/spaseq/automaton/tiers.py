"""Two tiers of the same kernels: interpreted for small inputs, compiled for large ones.

The compiled tier is the package `kernels` loaded a second time with every function turned into a Numba
kernel. A big batch loads it at once; many small ones load it in the background, so that no single event
waits for a compiler. Once a process has it ready, everybody uses it.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import ClassVar

from spaseq.automaton import kernels
from spaseq.settings import settings

_NAME = "spaseq.automaton.kernels_compiled"
_lock = threading.Lock()


def compiled() -> ModuleType:
    """The compiled tier, loaded on first use."""
    with _lock:
        if _NAME not in sys.modules:
            spec = importlib.util.spec_from_file_location(
                _NAME, kernels.__file__, submodule_search_locations=list(kernels.__path__)
            )
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[_NAME] = module
            spec.loader.exec_module(module)
        return sys.modules[_NAME]


class Tiers:
    """Chooses the tier for each batch of rows."""

    _warm: ClassVar[ModuleType | None] = None
    """The compiled tier, once every kernel of it has been called in this process."""

    def __init__(self, *, compile_kernels: bool | None = None) -> None:
        """True compiles at the first row, False never, None when it pays."""
        self._allowed = compile_kernels is not False
        self._at_once = 0 if compile_kernels else settings().compiled_rows
        self._rows = 0
        self._ready: ModuleType | None = None
        self._warming: threading.Thread | None = None

    def choose(self, rows: int, warm_up: Callable[[ModuleType], None]) -> ModuleType:
        """The module whose functions handle this many rows; ``warm_up`` compiles what will be called."""
        self._rows += rows
        if not self._allowed:
            return kernels
        if self._ready is None:
            self._ready = Tiers._warm
        if self._ready is not None:
            return self._chosen
        if rows >= self._at_once:
            self._prepare(warm_up)
        elif self._rows >= settings().prepared_rows and self._warming is None:
            self._warming = threading.Thread(target=self._prepare, args=(warm_up,), daemon=True)
            self._warming.start()
        return self._chosen

    @property
    def _chosen(self) -> ModuleType:
        """What is ready by now."""
        return kernels if self._ready is None else self._ready

    def _prepare(self, warm_up: Callable[[ModuleType], None]) -> None:
        module = compiled()
        warm_up(module)
        self._ready = Tiers._warm = module
