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
    A file whose ``layout`` is to be found out is examined up to ``judged_bytes``, None: as a whole. With ``start_predicate``
    and ``end_predicate`` an event may be an interval.
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
    start_predicate: str | None = None
    end_predicate: str | None = None

    @property
    def ends(self) -> tuple[str, str] | None:
        """The predicates of the ends of interval events, if there may be any."""
        if self.start_predicate is None or self.end_predicate is None:
            return None
        return self.start_predicate, self.end_predicate

    @property
    def stamps(self) -> frozenset[str]:
        """The predicates whose triples in the default graph say when an event is."""
        return frozenset((self.timestamp_predicate, *(self.ends or ())))

    def __post_init__(self) -> None:
        unit: object = self.time_unit
        if not isinstance(unit, str) or unit not in TIME_UNITS:
            raise InvalidArgument(f"{described(unit)} is not a time unit; use one of {', '.join(TIME_UNITS)}")
        self._check_predicates()
        layout: object = self.layout
        if not isinstance(layout, str) or layout not in LAYOUTS:
            raise InvalidArgument(f"{described(layout)} is not a layout; use one of {', '.join(LAYOUTS)}")
        for name in ("batch_events", "chunk_bytes", "triples_per_event"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InvalidArgument(f"`{name}=` is a number of at least 1, not {described(value)}")

    def _check_predicates(self) -> None:
        for name in ("timestamp", "start", "end"):
            predicate: object = getattr(self, f"{name}_predicate")
            if predicate is None and name != "timestamp":
                continue
            if not isinstance(predicate, str):
                raise InvalidArgument(f"`{name}_predicate=` is an IRI as text, not {described(predicate)}")
            try:
                NamedNode(predicate)
            except ValueError as error:
                raise InvalidArgument(f"the {name} predicate is not an IRI: {error}") from None
        if (self.start_predicate is None) != (self.end_predicate is None):
            given, other = ("start", "end") if self.end_predicate is None else ("end", "start")
            raise InvalidArgument(
                f"`{given}_predicate=` needs `{other}_predicate=`: an interval event has both ends"
            )
        if self.ends is not None and len(self.stamps) < 3:
            raise InvalidArgument(
                "the start, the end and the timestamp of events need three different predicates"
            )
