"""Bookmarks: how far a followed file was read, and what distinguishes it from another file of the same name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from spaseq.io.bad_input import BadInput
from spaseq.io.growing import Cut
from spaseq.stores import Place, StorePath

_TAIL: Final = 1 << 12
_NOT_READ: Final = "it is not read any further; give new data a new name"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """How far a file of a stream was read when it had ``size`` bytes; ``tail`` is a digest of the last of them.

    ``whole`` means that it was read to its end. ``lost`` says why nothing more of it is read, if it was found changed.
    """

    stream: str
    path: str
    cut: Cut
    size: int
    tail: str
    whole: bool = False
    lost: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it belongs to: two streams may read one file."""
        return self.stream, self.path

    @property
    def loss(self) -> BadInput:
        """What there is to report of a file that is lost."""
        return BadInput(self.lost, self.path, max(self.cut.byte, 0), "byte")

    def changed(self, path: Place) -> str | None:
        """Why a file is not the one that was read, perhaps longer; None if it is."""
        size = path.stat().st_size
        if size < self.size:
            return f"the file had {self.size:,} bytes and now has {size:,}: {_NOT_READ}"
        if tail_of(path, self.size) != self.tail:
            return (
                f"the file was replaced or rewritten after {self.size:,} bytes of it were seen: {_NOT_READ}"
            )
        return None

    def is_all_of(self, path: Place) -> bool:
        """True if a file was read to its end and is still what it was then: nothing of it would be missed."""
        try:
            return (
                self.whole
                and not self.lost
                and path.stat().st_size == self.size
                and self.changed(path) is None
            )
        except FileNotFoundError:
            return False

    def to_dict(self) -> dict[str, Any]:
        """The bookmark as JSON knows it."""
        return asdict(self)

    @staticmethod
    def from_dict(saved: Mapping[str, Any]) -> Bookmark:
        """The bookmark that `to_dict` wrote; an error if it cannot have."""
        mark = Bookmark(**{**saved, "cut": Cut(**saved["cut"])})
        texts = (mark.stream, mark.path, mark.tail, mark.lost, mark.cut.prologue)
        numbers = (mark.size, mark.cut.byte, mark.cut.count)
        if not all(isinstance(text, str) for text in texts) or not all(
            type(number) is int for number in numbers
        ):
            raise ValueError("a bookmark has wrong types")
        return mark


def tail_of(path: Place, size: int) -> str:
    """A digest of the last bytes before an offset; where files never grow, the time of the last change does without a request."""
    if isinstance(path, StorePath) and path.is_immutable:
        return f"{path.stat().st_mtime_ns}"
    with path.open("rb") as file:
        file.seek(max(size - _TAIL, 0))
        return hashlib.blake2b(file.read(min(size, _TAIL)), digest_size=8).hexdigest()
