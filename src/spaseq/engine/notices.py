"""Reports of bad and late input while a run goes on: the first of each kind at once, then at intervals how many more."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final, TypeAlias

Tell: TypeAlias = Callable[[str], None]
"""Shows a sentence to the user."""

EVERY: Final = 5.0
"""Seconds between two sentences on how many more there were."""
_KINDS: Final = 20
"""The number of kinds that are reported separately; further ones are reported together."""
_OTHER: Final = "other bad input"
_NAMES: Final = re.compile(r"<[^<>]*>|_:\S+|`[^`]*`|\"[^\"]*\"|\b\d[\d.:TZ+-]*")


def kind_of(reason: str) -> str:
    """A reason without the names and numbers in it: what many pieces of bad input have in common.

    >>> kind_of("the graph <urn:g7> has no timestamp")
    'the graph … has no timestamp'
    """
    return _NAMES.sub("…", reason)


def silent(text: str) -> None:
    """Report nothing."""


class Notices:
    """Limits how often frequent messages are shown."""

    def __init__(self, tell: Tell = silent, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._more: dict[str, int] = {}
        self._told = clock()

    def tell(self, text: str) -> None:
        """Report something that happens once."""
        self._tell(text)

    def note(self, kind: str, text: str) -> None:
        """Something of a kind has happened; ``text`` says what."""
        known = kind if kind in self._more or len(self._more) < _KINDS else _OTHER
        if known not in self._more:
            self._more[known] = 0
            self._tell(text)
            return
        self._more[known] += 1
        self.poll()

    def poll(self) -> None:
        """Report how many more there were, if the last report is long enough ago."""
        if any(self._more.values()) and self._clock() - self._told >= EVERY:
            self.flush()

    def flush(self) -> None:
        """Report how many more there were."""
        self._told = self._clock()
        for kind, count in list(self._more.items()):
            if count:
                self._more[kind] = 0
                self._tell(f"{count:,} more: {kind}")
