"""What a user asks of a run, as one value: what `spaseq run` hands to an engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from spaseq.engine.identity import files_identity
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.opening import InputOptions
from spaseq.engine.paths import Reads, check_paths
from spaseq.io.bad_input import Policy
from spaseq.io.event_source import is_address
from spaseq.io.growing import SETTLE
from spaseq.io.results import OutputFormat
from spaseq.planner.in_run import DEFAULT as DEFAULT_CHOICES
from spaseq.planner.in_run import Choices
from spaseq.stores import Place

CHECKPOINT_EVERY = 10_000_000
"""Microseconds between two checkpoints."""
IDLE_AFTER = 10_000_000
"""Microseconds of silence after which a followed stream is not waited for."""
MAX_LEAD = 86_400_000_000
"""Microseconds by which an event of a followed stream may be ahead of the clock."""


@dataclass(frozen=True, slots=True)
class RulesOutput:
    """Where to write what rules produce beside the answers of queries: ``query`` is one more query of the run."""

    query: NamedQuery
    path: Place


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Queries, inputs, output and policies of a run; names and paths as the user gives them."""

    queries: tuple[NamedQuery, ...]
    streams: tuple[tuple[str, str], ...]
    knowledge: tuple[tuple[str, str], ...] = ()
    rdfs: bool = False
    input: InputOptions = field(default_factory=InputOptions)
    output: Place | None = None
    output_format: OutputFormat | None = None
    provenance: bool = False
    on_bad_input: Policy = "quarantine"
    quarantine: Place = Path("quarantine.jsonl")
    follow: bool = False
    settle: int = SETTLE
    idle_after: int = IDLE_AFTER
    checkpoint: Path | None = None
    checkpoint_every: int = CHECKPOINT_EVERY
    choices: Choices = DEFAULT_CHOICES
    max_runs: int | None = 10_000_000
    max_memory: int | None = None
    query_files: tuple[str, ...] = ()
    """Where the queries were read, if they were: files that must not be written to."""
    rules: RulesOutput | None = None
    """What is written apart from the answers of the queries."""

    @property
    def every_query(self) -> tuple[NamedQuery, ...]:
        """All that the run evaluates: the queries, then what its rules produce if that is asked for."""
        return self.queries if self.rules is None else (*self.queries, self.rules.query)

    @property
    def for_rules(self) -> RunRequest | None:
        """What is asked for beside the answers of the queries, as a request of its own."""
        if self.rules is None:
            return None
        return replace(
            self, queries=(self.rules.query,), output=self.rules.path, output_format=None, rules=None
        )

    def check_paths(self) -> None:
        """Refuse to write what is read, before anything is opened for writing."""
        kept = {"quarantine": self.quarantine} if self.on_bad_input == "quarantine" else {}
        others = {"query": self.query_files, "background graph": [path for _, path in self.knowledge]}
        files = [path for _, path in self.streams if not is_address(path)]
        reads = Reads(files, self.input.file_format, others)
        made = {} if self.rules is None else {"output of rules": self.rules.path}
        check_paths({"output": self.output, **made, **kept}, reads, self.checkpoint)

    def identity(self, inputs: object, output_format: str) -> dict[str, object]:
        """What two parts of one run must agree on, as JSON knows it; ``inputs`` are what they read."""
        read = self.input.read
        return {
            "queries": [[item.name, item.query.fingerprint] for item in self.queries],
            "inputs": inputs,
            "background graphs": files_identity(self.knowledge),
            "rdfs": self.rdfs,
            "policy": self.choices.policy,
            "format": self.input.file_format,
            "lateness": self.input.lateness,
            "timestamp predicate": read.timestamp_predicate,
            **({} if read.ends is None else {"predicates of start and end": list(read.ends)}),
            "time unit": read.time_unit,
            "triples per event": read.triples_per_event,
            "layout": read.layout,
            "output": str(self.output),
            **({} if self.rules is None else {"output of rules": str(self.rules.path)}),
            "quarantine": str(self.quarantine),
            "output format": output_format,
            "provenance": self.provenance,
            "follow": self.follow,
        }


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a run.

    ``expected`` is the number of events there are, if that is known; ``tasks`` how many tasks of the running stages
    of Spark are done, and how many there are.
    """

    events: int = 0
    matches: int = 0
    runs: int = 0
    bad: int = 0
    late: int = 0
    expected: int | None = None
    tasks: tuple[int, int] | None = None


Show = Callable[[Status], None]
"""The progress callback of a run."""


def unwatched(status: Status) -> None:
    """No progress output; skips the status query to Spark."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """How a run ended: by itself, or by the signal ``stopped``."""

    status: Status
    stopped: int | None = None
    already_done: bool = False
    """True if the checkpoint says that the run had ended before."""
    unfinished: tuple[str, ...] = ()
    """Followed files whose last event was not complete when the run ended."""
    summary: tuple[str, ...] = ()
    """What the run has read and found, in sentences."""
    incomplete: tuple[str, ...] = ()
    """What is wrong with files whose rest could not be read."""


class Stopped(Exception):
    """The run was asked to end."""


class Stop:
    """A request to end a run, made by a signal and checked between two pieces of work."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.signal: int | None = None
        self._since = 0.0

    def request(self, signal: int) -> None:
        """Ask for the end."""
        self._since = time.monotonic()
        self.signal = signal
        self._event.set()

    def poll(self, patience: float = 0.0) -> None:
        """Raise `Stopped` if the end was asked for at least so many seconds ago."""
        if self.signal is not None and time.monotonic() - self._since >= patience:
            raise Stopped

    def wait(self, seconds: float) -> None:
        """Sleep; raise `Stopped` as soon as the end is asked for."""
        self._event.wait(seconds)
        self.poll()
