"""Where the time of a run goes: lexing, GPM, automaton, output (figure 19 of the SPAseq paper).

The engine itself knows nothing of this. For the length of one run the functions at the seams between its
stages are replaced by ones that keep a stopwatch, so what is measured is the path that every user takes.
Times are exclusive: a stage that runs inside another counts for itself only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

SEAMS: Final = (
    ("spaseq.columnar.knowledge", "Knowledge.replace", "knowledge"),
    ("spaseq.columnar.knowledge", "Knowledge._for", "knowledge"),
    ("spaseq.columnar.solve", "_graph_table", "knowledge"),
    ("spaseq.engine.opening", "survey", "survey"),
    ("spaseq.engine.opening", "read_source", "lexing"),
    ("spaseq.operators.machine", "match_gpms", "GPM"),
    ("spaseq.operators.machine", "match_keys", "GPM"),
    ("spaseq.automaton.occurrences", "Assembler.rows", "automaton"),
    ("spaseq.automaton.stage", "SequenceStage.step", "automaton"),
    ("spaseq.engine.output", "Sink.write", "output"),
)
"""Module, function and stage. A survey is the first look at a large file, which finds its times; knowledge is
what a background graph costs once: reading it, encoding it, evaluating its patterns."""

STAGES: Final = ("knowledge", "survey", "lexing", "GPM", "automaton", "output", "rest")


class Stopwatch:
    """Shares CPU time among stages; whatever no stage claims is the rest."""

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = dict.fromkeys(STAGES, 0.0)
        self._stack = ["rest"]
        self._since = clock()

    def enter(self, stage: str) -> None:
        """From now on time counts for this stage."""
        self._lap()
        self._stack.append(stage)

    def leave(self) -> None:
        """From now on time counts for the stage before."""
        self._lap()
        self._stack.pop()

    def stop(self) -> dict[str, float]:
        """The seconds of every stage."""
        self._lap()
        return dict(self.seconds)

    def _lap(self) -> None:
        now = self._clock()
        self.seconds[self._stack[-1]] += now - self._since
        self._since = now


def watched(function: Callable[..., Any], stage: str, watch: Stopwatch) -> Callable[..., Any]:
    """A function whose time, and whose iteration's time if it is a generator, counts for a stage."""

    def call(*args: Any, **named: Any) -> Any:
        watch.enter(stage)
        try:
            found = function(*args, **named)
        finally:
            watch.leave()
        return _iterated(found, stage, watch) if isinstance(found, Iterator) else found

    return call


def _iterated(items: Iterator[Any], stage: str, watch: Stopwatch) -> Iterator[Any]:
    while True:
        watch.enter(stage)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            watch.leave()
        yield item


@contextmanager
def watching(watch: Stopwatch) -> Iterator[None]:
    """Put the stopwatch at every seam, and take it away afterwards."""
    undo: list[tuple[object, str, object]] = []
    try:
        for module, path, stage in SEAMS:
            owner: object = import_module(module)
            *outer, name = path.split(".")
            for part in outer:
                owner = getattr(owner, part)
            function = getattr(owner, name)
            undo.append((owner, name, function))
            setattr(owner, name, watched(function, stage, watch))
        yield
    finally:
        for owner, name, function in undo:
            setattr(owner, name, function)
