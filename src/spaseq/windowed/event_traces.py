"""Which events a solution of MATCH is made of, carried along as a term in a column that no query can name (semantics 4.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from spaseq.algebra.events import SelectForm
from spaseq.algebra.expressions import Var
from spaseq.algebra.patterns import (
    EventMatch,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Slice,
)
from spaseq.algebra.windows import WindowQuery
from spaseq.windowed.inputs import matches

TRACE: Final = "#events"
_NUMBERS: Final = re.compile(r"(\d+):(\d+)")


def traced(query: WindowQuery) -> WindowQuery | None:
    """The query with the events of its solutions, if it has one MATCH, at its top, and puts no solutions together."""
    if not isinstance(query.form, SelectForm) or len(matches(query)) != 1:
        return None
    pattern = _traced(query.pattern)
    return None if pattern is None else replace(query, pattern=pattern)


def _traced(pattern: Pattern) -> Pattern | None:
    """The pattern with the column of events in every projection around MATCH."""
    match pattern:
        case EventMatch():
            return pattern
        case Join(left, right):
            first, second = _traced(left), _traced(right)
            if first is not None:
                return Join(first, right)
            return None if second is None else Join(left, second)
        case LeftJoin(left) | Minus(left):
            inner = _traced(left)
            return None if inner is None else replace(pattern, left=inner)
        case Project(inner, variables):
            found = _traced(inner)
            return None if found is None else Project(found, (*variables, Var(TRACE)))
        case Filter(inner) | Extend(inner) | OrderBy(inner) | Slice(inner):
            found = _traced(inner)
            return None if found is None else replace(pattern, pattern=found)
        case _:
            return None


def trace_text(events: Sequence[tuple[int, int]]) -> str:
    """The term for some events, each with the place of its EVENT and its serial number."""
    numbers = " ".join(f"{place}:{serial}" for place, serial in events)
    return f'"{numbers}"^^<urn:spaseq:events>'


def trace_events(text: str) -> Iterator[tuple[int, int]]:
    """The places and serial numbers of such a term."""
    return ((int(place), int(serial)) for place, serial in _NUMBERS.findall(text))
