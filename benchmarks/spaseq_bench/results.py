"""Results of a run as values and as JSON: every number with what it takes to assess it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from spaseq.errors import InvalidArgument

VERSION = 2
DERIVED = ("events_per_second", "triples_per_second")
"""What a file says for its readers, though it follows from the rest."""
NO_RATE = ("push", "compile", "held runs")
"""Tasks without a throughput: the pace is set from outside, or nothing is read."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One variant at one point: its rounds, and whether they count."""

    variant: str
    task: str
    at: str
    x: float | None
    """The point as a number, if it is one."""
    events: int
    quads: int
    size: int
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    memory: float = 0.0
    per_triple: float = 0.0
    """The bytes that a continuous query keeps at the end for a triple in its window: terms, rows and indexes."""
    peak_runs: int = 0
    matches: int = 0
    stages: list[dict[str, float]] = field(default_factory=list)
    """Where the CPU time of every round went, if a stopwatch was kept."""
    latency: dict[str, float] = field(default_factory=dict)
    evaluations: int = 0
    """How many evaluations of a continuous query the times are for."""
    triples: int = 0
    """How many triples the times are for, timestamps not included, where they are not for the whole input."""
    shuffle: list[float] = field(default_factory=list)
    """The bytes that went through shuffles of Spark in every round."""
    figures: dict[str, list[float]] = field(default_factory=dict)
    """Further values of a task by their measure, in every round."""
    void: str = ""
    """Why the times do not count: a wrong answer, bad input, a failure."""
    skipped: str = ""
    """Why there are none: the peer is not installed, for example."""
    note: str = ""

    @property
    def counts(self) -> bool:
        """True if there are times and the answer was right."""
        return bool(self.cpu) and not self.void and not self.skipped

    @property
    def cpu_median(self) -> float:
        """The middle of the CPU times."""
        return median(self.cpu)

    @property
    def wall_median(self) -> float:
        """The middle of the wall times."""
        return median(self.wall)

    @property
    def seconds(self) -> float:
        """What rates are made of: CPU time; on Spark wall time, for it is about cores."""
        return self.wall_median if self.task.startswith("spark") else self.cpu_median

    @property
    def events_per_second(self) -> float | None:
        """The throughput in events; None where the pace was set from outside, nothing is read, or no time counts."""
        return self.events / self.seconds if self.counts and self.task not in NO_RATE else None

    @property
    def triples_per_second(self) -> float | None:
        """The throughput in triples, timestamps included."""
        return self.quads / self.seconds if self.counts and self.task not in NO_RATE else None

    @property
    def split(self) -> dict[str, float]:
        """Where the time of the middle round went, so that the parts belong together; empty without a stopwatch."""
        ordered = sorted(self.stages, key=lambda stages: sum(stages.values()))
        return ordered[(len(ordered) - 1) // 2] if ordered else {}

    def rounds(self, name: str) -> list[float]:
        """A value in every round; empty if it is not one of a round."""
        if name.startswith("stage:"):
            return [stages.get(name.removeprefix("stage:"), 0.0) for stages in self.stages]
        match name:
            case "cpu":
                return self.cpu
            case "wall":
                return self.wall
            case "shuffle":
                return self.shuffle
            case "rate":
                return [
                    self.quads / seconds
                    for seconds in (self.wall if self.task.startswith("spark") else self.cpu)
                ]
            case "evaluation":
                return [1e6 * seconds / self.evaluations for seconds in self.cpu] if self.evaluations else []
            case "triples":
                if not self.triples or not self.evaluations:
                    return []
                # At an evaluation per event, also where several events were evaluated together.
                counted = self.evaluations * (self.quads - self.events) / self.events
                return [counted / seconds for seconds in self.cpu]
            case "events":
                return [sum(stages.values()) - stages["knowledge"] for stages in self.stages]
            case _:
                return self.figures.get(name, [])

    def measure(self, name: str) -> float | None:
        """A measured value by its name, the middle of its rounds; None if this cell has none."""
        if not self.counts:
            return None
        if rounds := self.rounds(name):
            return median(rounds)
        if name == "per triple":
            return self.per_triple or None
        if name in ("memory", "runs"):
            return (self.memory if name == "memory" else float(self.peak_runs)) or None
        return self.latency.get(name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim with the number that decides it."""

    says: str
    value: float | None
    bar: str
    holds: bool | None
    """None if it could not be decided."""
    paper: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Result:
    """A benchmark that was run."""

    name: str
    title: str
    question: str
    source: str
    workload: str
    axis: str
    unit: str
    log: bool
    plots: list[str]
    query: str
    seconds: float
    load: float
    """The load of the machine in the last minute of the run: 1 for every process that was busy."""
    cells: list[Cell]
    claims: list[Verdict]
    paper: list[list[str]] = field(default_factory=list)
    """Numbers of the paper: a name, and a number for every point."""
    commit: str = ""
    """Of the project, when it was measured."""

    def cell(self, variant: str, at: str) -> Cell | None:
        """The cell of a variant at a point."""
        return next((c for c in self.cells if c.variant == variant and c.at == at), None)

    @property
    def variants(self) -> list[str]:
        """The variants in order."""
        return list(dict.fromkeys(cell.variant for cell in self.cells))

    @property
    def points(self) -> list[str]:
        """The points in order."""
        return list(dict.fromkeys(cell.at for cell in self.cells))


@dataclass(frozen=True, slots=True)
class Book:
    """All results of one run, with the machine and the versions they were measured on."""

    profile: str
    started: str
    seconds: float
    machine: dict[str, str]
    versions: dict[str, str]
    commit: str
    results: list[Result]

    def to_json(self) -> str:
        """The results as JSON."""
        table = {"version": VERSION, **asdict(self)}
        for result, told in zip(self.results, table["results"], strict=True):
            for cell, cell_told in zip(result.cells, told["cells"], strict=True):
                cell_told |= {name: getattr(cell, name) for name in DERIVED}
        return json.dumps(table, ensure_ascii=False, indent=1) + "\n"

    def save(self, path: Path) -> None:
        """Write the book."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.to_json(), encoding="utf-8")


def load_book(path: Path) -> Book:
    """Read results that `save` wrote."""
    try:
        table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if table.pop("version") != VERSION:
            raise InvalidArgument(f"{path} is of another version; run the benchmarks again")
        results = [
            Result(
                **{
                    **each,
                    "cells": [_cell(cell) for cell in each["cells"]],
                    "claims": [Verdict(**claim) for claim in each["claims"]],
                }
            )
            for each in table.pop("results")
        ]
        return Book(**table, results=results)
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise InvalidArgument(f"{path} is not a result of `spaseq-bench run`: {error}") from None


def _cell(table: dict[str, Any]) -> Cell:
    return Cell(**{name: value for name, value in table.items() if name not in DERIVED})


def merged(old: Book, new: Book) -> Book:
    """The new results with the benchmarks of the old ones that they lack, which keep their commit."""
    fresh = {result.name: result for result in new.results}
    kept: Sequence[Result] = [
        replace(result, commit=result.commit or old.commit)
        for result in old.results
        if result.name not in fresh
    ]
    return Book(
        new.profile,
        new.started,
        old.seconds + new.seconds,
        new.machine,
        new.versions,
        new.commit,
        sorted([*kept, *new.results], key=lambda result: result.name),
    )
