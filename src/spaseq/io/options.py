"""How event files are to be read (docs/reference/event-formats.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import NamedNode

from spaseq.errors import InvalidArgument, described
from spaseq.io.sources import LAYOUTS, Layout
from spaseq.settings import settings
from spaseq.temporal.instants import TIME_UNITS, TimeUnit

TIMESTAMP_PREDICATE: Final = "http://www.w3.org/ns/prov#generatedAtTime"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of a reader; wrong ones are refused here.

    ``needed_predicates`` are the predicates any query mentions: triples with others may be left out of
    batches, their events stay. ``keep_names`` is False if graph names are not needed. ``batch_events``
    and ``chunk_bytes`` bound what is in memory. Inputs up to ``interpreted_bytes`` are read without kernels.
    A file whose ``layout`` is to be found out is examined up to ``judged_bytes``, None: as a whole.
    """

    timestamp_predicate: str = TIMESTAMP_PREDICATE
    time_unit: TimeUnit = "ms"
    triples_per_event: int | None = None
    needed_predicates: frozenset[str] | None = None
    keep_names: bool = True
    batch_events: int = field(default_factory=lambda: settings().batch_events)
    chunk_bytes: int = field(default_factory=lambda: settings().chunk_bytes)
    interpreted_bytes: int = field(default_factory=lambda: settings().interpreted_bytes)
    layout: Layout = "auto"
    judged_bytes: int | None = None

    def __post_init__(self) -> None:
        unit: object = self.time_unit
        if not isinstance(unit, str) or unit not in TIME_UNITS:
            raise InvalidArgument(f"{described(unit)} is not a time unit; use one of {', '.join(TIME_UNITS)}")
        if not isinstance(self.timestamp_predicate, str):
            raise InvalidArgument(
                f"`timestamp_predicate=` is an IRI as text, not {described(self.timestamp_predicate)}"
            )
        layout: object = self.layout
        if not isinstance(layout, str) or layout not in LAYOUTS:
            raise InvalidArgument(f"{described(layout)} is not a layout; use one of {', '.join(LAYOUTS)}")
        try:
            NamedNode(self.timestamp_predicate)
        except ValueError as error:
            raise InvalidArgument(f"the timestamp predicate is not an IRI: {error}") from None
        for name in ("batch_events", "chunk_bytes", "triples_per_event"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InvalidArgument(f"`{name}=` is a number of at least 1, not {described(value)}")
