"""The command as a process of its own, which a test can kill with everything it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

import spaseq

SPASEQ: Final = (
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'spaseq'; from spaseq.cli import main; main()",
)
"""The command as an installation has it."""
_MOMENT: Final = 0.02


def environment() -> dict[str, str]:
    """The environment of a process that imports this very project."""
    here = str(Path(spaseq.__file__).resolve().parents[1])
    paths = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": paths}


class Process:
    """A process in a session of its own: Spark's Java and Python workers belong to it, whatever group they are in."""

    def __init__(
        self,
        arguments: Sequence[str],
        more: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        # Files, not pipes: what is left of a killed process must not block the reader.
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            list(arguments),
            env={**environment(), **(more or {})},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._out.close()
        self._err.close()

    @property
    def number(self) -> int:
        """Its id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """True until it has ended."""
        return self._process.poll() is None

    @property
    def out(self) -> str:
        """What it has written to standard output so far."""
        return _text(self._out.fileno())

    @property
    def err(self) -> str:
        """What it has written to standard error so far."""
        return _text(self._err.fileno())

    def interrupt(self) -> None:
        """What Ctrl-C does: a signal to the whole process group."""
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self, seconds: float = 900) -> int:
        """Wait for the end; the exit status."""
        return self._process.wait(seconds)

    def leaves_nobody(self, seconds: float = 120) -> bool:
        """True if everything that it has started ends soon after it."""
        looks = 0
        while any(_session(self._process.pid)) and looks * _MOMENT < seconds:
            looks += 1
            time.sleep(_MOMENT)
        return looks * _MOMENT < seconds

    def kill(self) -> None:
        """``kill -9`` for it and for everything that it has started."""
        if self.running:
            self._process.kill()
        while others := list(_session(self._process.pid)):
            for number in others:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(_MOMENT)
        self._process.wait()

    def wait_for(self, true: Callable[[], bool], seconds: float = 900) -> None:
        """Look often whether something is true; fail if the process ends before, or takes too long."""
        looks = 0
        while not true():
            assert self.running, f"ended with {self._process.returncode}: {self.err}"
            assert looks * _MOMENT < seconds, f"not within {seconds} s: {self.err}"
            looks += 1
            time.sleep(_MOMENT)


def _text(file: int) -> str:
    return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")


def _session(number: int) -> Iterator[int]:
    """The processes of a session that have not ended."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == number and state != "Z":
                yield int(folder.name)
