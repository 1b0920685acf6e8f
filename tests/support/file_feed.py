"""A stream of event files without Spark: its reader, called in Spark's order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spaseq.spark.sources.data_source import PartsPartition, RdfStreamReader
from spaseq.spark.sources.source_options import SourceOptions
from support.event_files import nquads
from support.trades import trades


class FileFeed:
    """A folder of event files, read as Spark reads a stream of them: offsets first, then the commit of those before, then the rows."""

    def __init__(self, folder: Path, path: str = "in", **options: str) -> None:
        (folder / "in").mkdir(exist_ok=True)
        self.folder = folder
        self._given = {"path": str(folder / path), "settle": "0", "cleanSource": "delete", **options}
        self.restart()
        self.offset = self.reader.initialOffset()

    def restart(self) -> None:
        """Go on with what the last offset says."""
        self.reader = RdfStreamReader(SourceOptions.of(self._given))

    def put(self, name: str, *numbers: int) -> None:
        """A file with these events appears, whole."""
        file = self.folder / "in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(nquads(trades(1, first=number)) for number in numbers)
        (file.parent / ".part").write_text(text, encoding="utf-8")
        (file.parent / ".part").rename(file)

    def step(self, *, crash: bool = False) -> list[int]:
        """One micro-batch: the seconds of the events that it reads, after a restart if there was a crash."""
        start, end = self.offset, self.plan()
        if end == start:
            return []
        if start != self.reader.initialOffset():
            self.reader.commit(start)
        self.offset = end
        if crash:
            self.restart()
        return self.read(start, end)

    def plan(self) -> dict[str, Any]:
        """How far the next micro-batch goes."""
        return self.reader.latestOffset(self.offset, self.reader.getDefaultReadLimit())

    def read(self, start: dict[str, Any], end: dict[str, Any]) -> list[int]:
        """What lies between two offsets."""
        tasks = [task for task in self.reader.partitions(start, end) if isinstance(task, PartsPartition)]
        assert not any(task.lost for task in tasks)
        return [
            time.as_py().second
            for task in tasks
            for rows in self.reader.read(task)
            for time in rows.column("time")
            if time.as_py() is not None
        ]

    @property
    def present(self) -> list[str]:
        """The files that are there."""
        return sorted(file.name for file in (self.folder / "in").rglob("*.nq"))
