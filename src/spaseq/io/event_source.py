"""Sources of events that are no files: brokers, sockets, databases. A scheme names the module that opens one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final, Protocol, TypeAlias, cast

from spaseq.errors import InvalidArgument
from spaseq.model.events import Event, GraphEvent

_ADDRESS: Final = re.compile(r"([a-z][a-z0-9_]*):(.*)", re.DOTALL)


class EventSource(Protocol):
    """Events of one stream as they come.

    A position says how far it was read. Nobody but the source understands it, and JSON can write it: checkpoints keep it
    together with the state that the events before it have led to.
    """

    @property
    def position(self) -> Any:
        """The position behind the events that `poll` has given so far."""

    def seek(self, position: Any) -> None:
        """Go on behind a position; called before the first `poll`, if at all."""

    def poll(self) -> Sequence[Event | GraphEvent]:
        """The events that have come; none if there are none now. It does not wait."""

    @property
    def ended(self) -> bool:
        """True if no event will come any more."""

    def close(self) -> None:
        """Give back what it holds."""


OpenSource: TypeAlias = Callable[[str], EventSource]
"""Makes a source of the address behind its scheme; `InvalidArgument` if there can be none."""


@cache
def schemes() -> tuple[str, ...]:
    """The schemes there are: the modules of `spaseq.io.connectors`."""
    package = import_module("spaseq.io.connectors")
    return tuple(sorted(module.name for module in iter_modules(package.__path__)))


def is_address(text: object) -> bool:
    """True if a text names a source by its scheme and not a file."""
    found = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
    return found is not None and found[1] in schemes()


def open_source(address: str) -> EventSource:
    """The source that an address names: ``SOURCE`` of the scheme's module makes it."""
    found = _ADDRESS.fullmatch(address)
    assert found is not None
    return cast(OpenSource, import_module(f"spaseq.io.connectors.{found[1]}").SOURCE)(found[2])


def refuse_addresses(given: Iterable[object], why: str) -> None:
    """Refuse sources where only files can be read."""
    for text in given:
        if is_address(text):
            raise InvalidArgument(f"`{text}` is not a file: {why}")
