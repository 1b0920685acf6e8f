"""What a run writes to a store: it is written here first, and sent when it is certain.

A store cannot change a file that it has. So a finite run sends its output when it has ended, whole; one that follows its input
sends at every checkpoint what was written since the last, as a new file in a directory. The name of such a part is the number of bytes
before it, so a run that is resumed knows what was sent and goes on there: all parts together are what one file would be.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spaseq.errors import InvalidArgument
from spaseq.stores import Place, StorePath

if TYPE_CHECKING:
    from spaseq.engine.request import RunRequest

FOLDER: Final = "outgoing"
"""Where files for a store wait, in the checkpoint directory."""


class Outgoing:
    """The files of a run on this machine, and where they go. Making it refuses what a store cannot do."""

    def __init__(self, request: RunRequest) -> None:
        output, checkpoint = request.output, request.checkpoint
        rules = None if request.rules is None else request.rules.path
        if isinstance(checkpoint, StorePath):
            raise InvalidArgument(
                f"the checkpoint directory `{checkpoint}` lies in a store, which cannot rename files; use a directory of this "
                "machine, or on a cluster one that is mounted on the driver and on every worker"
            )
        quarantine = request.quarantine if request.on_bad_input == "quarantine" else None
        stores = [place for place in (output, rules, quarantine) if isinstance(place, StorePath)]
        if request.follow and stores and checkpoint is None:
            raise InvalidArgument(
                f"`{stores[0]}` lies in a store, which cannot append to a file: give --checkpoint DIR, then --follow writes a new "
                "file at every checkpoint"
            )
        for place in stores:
            place.check_writable()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._folder: Path | None = None
        if stores:
            self._folder = checkpoint / FOLDER if checkpoint is not None else self._made()
        self._parts = request.follow
        self._sent: dict[StorePath, int] = {}
        self._files: list[tuple[Path, StorePath]] = []
        self.output: Path | None = None if output is None else self._here(output)
        """Where the output is written."""
        self.rules: Path | None = None if rules is None else self._here(rules)
        """Where what rules produce is written beside it."""
        self.quarantine: Place = request.quarantine
        """Where bad input is kept; it may be in a store unless the run keeps checkpoints."""
        if checkpoint is not None and quarantine is not None:
            self.quarantine = self._here(quarantine)

    def _made(self) -> Path:
        self._temporary = tempfile.TemporaryDirectory(prefix="spaseq-")
        return Path(self._temporary.name)

    def _here(self, place: Place) -> Path:
        if isinstance(place, Path):
            return place
        assert self._folder is not None
        self._files.append((self._folder / f"{len(self._files)}-{place.name}", place))
        return self._files[-1][0]

    def prepare(self, *, resumed: bool) -> None:
        """Make the directory; what an earlier run has sent under the same names goes, unless this one goes on with it."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        if self._parts and not resumed:
            for _, place in self._files:
                for _, part in _parts_of(place):
                    part.unlink()

    def checkpointed(self) -> None:
        """Everything that was written is certain."""
        if self._parts:
            self._send()

    def finished(self) -> None:
        """Nothing more will be written, and all files are closed."""
        self._send()

    def _send(self) -> None:
        for here, place in self._files:
            if not here.exists():
                continue
            with here.open("rb") as file:
                if not self._parts:
                    place.upload(file)
                elif (size := here.stat().st_size) > (sent := self._sent_of(place, size)):
                    file.seek(sent)
                    (place / f"{sent:020d}{place.suffix}").upload(io.BytesIO(file.read(size - sent)))
                    self._sent[place] = size

    def _sent_of(self, place: StorePath, size: int) -> int:
        """How many bytes were sent; parts beyond what is certain now, of an older checkpoint, go."""
        if place not in self._sent:
            self._sent[place] = 0
            for begin, part in _parts_of(place):
                end = begin + part.stat().st_size
                if end > size:
                    part.unlink()
                else:
                    self._sent[place] = end
        return self._sent[place]


def _parts_of(place: StorePath) -> list[tuple[int, StorePath]]:
    """The parts of a file that were sent, with the bytes before each."""
    found = (
        part for part in place.glob(f"*{place.suffix}") if part.name.removesuffix(place.suffix).isdigit()
    )
    return sorted((int(part.name.removesuffix(place.suffix)), part) for part in found)
