"""Two tiers of the same kernels: interpreted for small inputs, compiled for large ones.

The compiled tier is the package `kernels` loaded a second time with every function turned into a Numba
kernel. A big batch waits until it is loaded; many small ones go on meanwhile, so that no single event
waits for a compiler. Once it is compiled in a process, every engine there uses it.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import ClassVar, Final

from spaseq.automaton import kernels
from spaseq.settings import settings

_NAME = "spaseq.automaton.kernels_compiled"
_MOMENT: Final = 0.1
"""Seconds that `Tiers.wait` takes at most."""
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
    """Chooses the tier by the rows there are, of one query or of several that run together.

    Kernels are compiled in another thread also where a batch waits for them: the waiting thread can still handle a signal.
    """

    _warm: ClassVar[ModuleType | None] = None
    """The compiled tier, once every kernel of it has been called in this process."""

    def __init__(self, *, compile_kernels: bool | None = None) -> None:
        """True compiles at the first row, False never, None when it pays."""
        self._allowed = compile_kernels is not False
        self._at_once = 0 if compile_kernels else settings().compiled_rows
        self._rows = 0
        self._ready: ModuleType | None = None
        self._warming: threading.Thread | None = None
        self._failure: Exception | None = None
        self.awaited = False
        """True if the rows are so many that they should wait for the compiled tier."""

    def count(self, rows: int, warm_up: Callable[[ModuleType], None]) -> None:
        """There are this many rows more; ``warm_up`` compiles what will be called for them."""
        self._rows += rows
        if not self._allowed or self.module is not kernels:
            return
        self.awaited = self.awaited or rows >= self._at_once
        if self._warming is None and (self.awaited or self._rows >= settings().prepared_rows):
            self._warming = threading.Thread(target=self._prepare, args=(warm_up,), daemon=True)
            self._warming.start()

    def wait(self) -> None:
        """Wait a moment for the compiled tier."""
        assert self._warming is not None
        self._warming.join(_MOMENT)
        self.awaited = self.module is kernels

    @property
    def module(self) -> ModuleType:
        """What is ready by now."""
        if self._failure is not None:
            raise self._failure
        if self._ready is None and self._allowed:
            self._ready = Tiers._warm
        return kernels if self._ready is None else self._ready

    def _prepare(self, warm_up: Callable[[ModuleType], None]) -> None:
        try:
            module = compiled()
            warm_up(module)
        except Exception as failure:  # noqa: BLE001 - raised again where the module is used
            self._failure = failure
        else:
            self._ready = Tiers._warm = module
