"""A look into the beginnings of files: which predicates there are, for hints alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Final

from pyoxigraph import Quad

from spaseq.errors import SpaseqError
from spaseq.io.assemble import Damage, RawEvent, StartMark
from spaseq.io.bad_input import BadInput
from spaseq.io.lines import End
from spaseq.io.options import ReadOptions
from spaseq.io.pieces import parser_of
from spaseq.io.readers import read_steps
from spaseq.io.sources import GROUPED, Source
from spaseq.settings import settings

_FILES: Final = 16


def sampled_predicates(sources: Iterable[Source], options: ReadOptions) -> frozenset[str]:
    """The predicates at the beginning of some files, whatever the layout of these; what cannot be read has none."""
    found: set[str] = set()
    for source in islice(sources, _FILES):
        with suppress(SpaseqError, OSError):
            found |= _of(source, options)
    return frozenset(found - options.stamps)


def _of(source: Source, options: ReadOptions) -> set[str]:
    if source.format not in GROUPED:
        steps = islice(read_steps(source, options), 1)
        return {t.predicate.value for step in steps for event in step.events for t in event.triples}
    with source.open() as reader:
        data = reader.read(settings().diagnosed_bytes // _FILES)
        end = End() if not reader.read(1) else None
    seen = _Seen()
    parser_of(source, options, lambda: seen).step(data, 1, end)
    return seen.predicates


class _Seen:
    """Collects the predicates of quads."""

    def __init__(self) -> None:
        self.events: list[RawEvent] = []
        self.bad: list[tuple[int, BadInput]] = []
        self.predicates: set[str] = set()

    def quad(self, quad: Quad, at: StartMark, text: str | None = None) -> None:  # noqa: ARG002
        """Take one quad."""
        self.predicates.add(quad.predicate.value)

    def damaged(self, damage: Damage) -> None:
        """Pass it over."""

    def end(self) -> None:
        """Nothing is left open."""

    def settled(self, end: int) -> int:
        """Everything."""
        return end
