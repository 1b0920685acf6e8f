"""The checkpoint directory of a run on Spark: what the run is, what it has written, and Spark's own checkpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from spaseq.engine.checkpoint import SPARK_FILE, is_local, written_files
from spaseq.engine.generations import AGAIN, Generations
from spaseq.engine.identity import check_identity
from spaseq.engine.request import Status
from spaseq.errors import IncompatibleCheckpoint
from spaseq.io.written import Written
from spaseq.model.packing import LARGEST, Damaged, reading, whole_number

VERSION: Final = 1
SPARK: Final = "spark"
"""Where Spark keeps its own checkpoint."""
DIRECTORY: Final = "working directory"
"""The part of what a run is that matters where files are followed under relative paths."""
SCHEDULE: Final = "schedule.json"
_RECORD: Final = "output"


@dataclass(slots=True)
class Record:
    """What was written when the last micro-batch was done: enough to go on, or to do it again."""

    batch: int = -1
    output: Written = field(default_factory=Written)
    rules: Written = field(default_factory=Written)
    """What rules produce, if that is written apart."""
    quarantine: Written = field(default_factory=Written)
    bad: int = 0
    late: int = 0
    events: int = 0
    matches: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """What was counted by stream, step and predicate (`spaseq.engine.tally`); also ``readable of <IRI>`` and ``bad of <IRI>``."""
    incomplete: list[str] = field(default_factory=list)
    """What is wrong with files whose rest cannot be read."""
    finished: bool = False

    @property
    def status(self) -> Status:
        """The status of the run."""
        return Status(self.events, sum(self.matches.values()), 0, self.bad, self.late)


class RunFolder:
    """A directory in which a run can be resumed. Making it checks that this is the run it belongs to."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.path = folder.absolute()  # the working directory of workers is another one
        self._identity = {"version": VERSION, **identity}
        self._records = Generations(folder, _RECORD, VERSION)
        if is_local(folder):
            raise IncompatibleCheckpoint(
                f"`{folder}` is a checkpoint of `--engine local`; resume it with that, or use another directory"
            )
        self._known: dict[str, Any] | None = None
        if (folder / SPARK_FILE).exists():
            with self.taking_up(SPARK_FILE):
                self._known = dict(json.loads((folder / SPARK_FILE).read_text("utf-8")))
            # Earlier releases did not note the directory.
            before = {DIRECTORY: self._identity.get(DIRECTORY), **self._known}
            check_identity(folder, before, self._identity)
        self._record = self._load()

    @property
    def record(self) -> Record | None:
        """What was written so far; None at the beginning."""
        return deepcopy(self._record)

    @property
    def note(self) -> str | None:
        """What was wrong with the newest record, if the one before was taken."""
        return self._records.note

    def partitions(self, present: int) -> int:
        """Into how many partitions the first part of the run spread keys; this is the first if there was none."""
        if self._known is None:
            self._known = {**self._identity, "partitions": present}
            fresh = self.path / f".{SPARK_FILE}.new"
            fresh.write_text(json.dumps(self._known), encoding="utf-8")
            fresh.replace(self.path / SPARK_FILE)
        with self.taking_up(SPARK_FILE):
            return whole_number(self._known, "partitions", 1, LARGEST)

    def save(self, record: Record) -> None:
        """Note what is on the disk."""
        self._records.save(asdict(record), {})
        self._record = deepcopy(record)

    def forget_unplanned(self) -> None:
        """Remove what Spark left if a crash came before its first micro-batch was planned: it would refuse to begin there."""
        if self._record is None and not any(
            file.name.isdigit()
            for name in ("offsets", "commits")
            for file in (self.path / SPARK / name).glob("*")
        ):
            shutil.rmtree(self.path / SPARK, ignore_errors=True)

    @contextmanager
    def taking_up(self, name: str) -> Iterator[None]:
        """Turn whatever is wrong with a file of this directory into an error that names it."""
        try:
            with reading():
                yield
        except Damaged as error:
            raise IncompatibleCheckpoint(f"`{self.path / name}` is damaged ({error}); {AGAIN}") from None

    def _load(self) -> Record | None:
        found = self._records.load()
        if found is None:
            return None
        saved, _ = found
        with self.taking_up(_RECORD):
            for counts in (
                saved["matches"],
                saved["counts"],
                {name: saved[name] for name in ("bad", "late", "events")},
            ):
                for name in counts.keys():  # noqa: SIM118 - what is no dict is refused here
                    whole_number(counts, name, 0, LARGEST)
            whole_number(saved, "batch", -1, LARGEST)
            files = written_files(saved)
            record = Record(**{**saved, **files})
        if self.note is not None:
            self._repeat_after(record.batch)
        return record

    def _repeat_after(self, batch: int) -> None:
        """Let Spark repeat what came after a micro-batch: remove its commit, and the offsets planned after it."""
        for name, first in (("commits", batch + 1), ("offsets", batch + 2)):
            for file in (self.path / SPARK / name).glob("*"):
                number = file.name.removeprefix(".").removesuffix(".crc")  # Spark keeps checksums beside
                if number.isdigit() and int(number) >= first:
                    file.unlink()
