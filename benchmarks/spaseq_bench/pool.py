"""The worker processes of a run: started when they are needed, reused where memory does not matter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self, cast

import spaseq
from spaseq.errors import SpaseqError
from spaseq_bench.against import worker_module
from spaseq_bench.tasks import Job, Outcome


class WorkerFailed(SpaseqError):
    """A worker could not measure; the message says why."""


class Worker:
    """One process that takes orders."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._said = TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=dict(env),
        )

    def prepare(self, number: int, job: Job) -> None:
        """Hand a cell over."""
        self._ask({"prepare": number, "job": job})

    def go(self, number: int) -> Outcome:
        """Measure one round of a cell."""
        return cast("Outcome", self._ask({"go": number}))

    def _ask(self, order: Mapping[str, object]) -> dict[str, object]:
        orders, answers = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        try:
            orders.write(json.dumps(order) + "\n")
            orders.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerFailed(f"the worker ended with status {self._process.wait()}: {self._last_words()}")
        answer: dict[str, object] = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(str(answer["error"]))
        return answer

    def _last_words(self) -> str:
        self._said.seek(0)
        return self._said.read().decode(errors="replace").strip()[-2000:] or "it said nothing"

    def close(self) -> None:
        """Let the process end."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._said.close()


class Pool:
    """Workers by name; closing the pool ends all of them."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}

    def worker(self, name: str, command: Sequence[str] | None = None, sources: str = "") -> Worker:
        """The worker of this name; ``command`` starts a peer instead of one of ours, ``sources`` another commit."""
        if name not in self._workers:
            own = [sys.executable, "-m", worker_module(sources)]
            roots = (str(Path(module).parents[1]) for module in (spaseq.__file__, __file__))
            env = {**os.environ, "PYTHONPATH": sources or os.pathsep.join(roots)}
            self._workers[name] = Worker(command or own, env if command is None else os.environ)
        return self._workers[name]

    def drop(self, name: str) -> None:
        """End one worker."""
        worker = self._workers.pop(name, None)
        if worker is not None:
            worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._workers):
            self.drop(name)
