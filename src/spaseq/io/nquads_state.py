"""What the N-Quads kernel works on: what stays the same for a source, the columns it fills, and where it is."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from spaseq.model.arena import Bytes, Longs
from spaseq.model.jit import Int

GOING: Final = 0
STOPPED: Final = 1
FULL: Final = 2
"""The dictionary must grow; everything is to be read again."""
LABELS_FULL: Final = 3
"""The dictionary of blank node labels must grow; everything is to be read again."""

FIRST_LABEL: Final = -10
"""A blank node is this number minus the id of its label: it is the event's own, not yet a term."""

Ids = npt.NDArray[np.int32]

# Columns of the array that describes events.
TIME, POSITION, FIRST, LAST, NAME, NAME_START, NAME_END, STAMP_START, STAMP_END, STAMP_LINE, BLANK = range(11)
INSIDE: Final = 11
EVENT_COLUMNS: Final = 12


class LexerSettings(NamedTuple):
    """What stays the same for a whole source; ``needed[id]`` says which predicates matter, empty means all.

    ``per_event`` is how many triples make an event, 0 where graphs do. Lines from ``long_line`` bytes on are left to
    pyoxigraph. ``secret`` is the seed and the key of hashes.
    """

    stamp_predicate: Bytes
    scale: int
    keep_names: bool
    needed: npt.NDArray[np.bool_]
    per_event: int
    long_line: int
    secret: Longs


class Columns(NamedTuple):
    """What the kernel fills: triples, and a row per event; ``memory`` is what neighbouring events repeat."""

    subjects: Ids
    predicates: Ids
    objects: Ids
    events: npt.NDArray[np.int64]
    spans: Longs
    expected: Longs
    memory: npt.NDArray[np.int64]
    stamp: Longs
    scratch: Bytes
    table: Longs


class LexerState(Protocol):
    """Where the kernel is: a record of `STATE`.

    The open graph has a name, a start, and timestamps before and after it (the first of them, and how many;
    after it also the second) and inside it (the first, and 2 if there is another value). A waiting timestamp is
    one whose graph has not come yet. ``good`` is the last name that is certainly one. ``subject`` is the last one, its id 0 if no query needed it; ``predicate`` (0 if
    no query needs it) and ``obj`` are those of the line. Positions are addresses while the kernel runs;
    ``consumed`` is an offset, ``lines`` counts from where it began.
    """

    at: Int
    line: Int
    events: Int
    triples: Int
    is_open: Int
    name: Int
    name_end: Int
    name_id: Int
    start: Int
    start_line: Int
    first_line: Int
    first_triple: Int
    has_blank: Int
    rows: Int
    before: Int
    before_from: Int
    before_to: Int
    before_line: Int
    after: Int
    after_from: Int
    after_to: Int
    after_line: Int
    after_at: Int
    second_from: Int
    second_to: Int
    second_line: Int
    second_at: Int
    inside: Int
    inside_from: Int
    inside_to: Int
    inside_line: Int
    waiting: Int
    waiting_from: Int
    waiting_to: Int
    waiting_line: Int
    waiting_at: Int
    waiting_name: Int
    waiting_name_end: Int
    good: Int
    good_end: Int
    subject: Int
    subject_end: Int
    subject_id: Int
    predicate: Int
    obj: Int
    consumed: Int
    lines: Int
    status: Int


STATE: Final = np.dtype([(field, np.int64) for field in LexerState.__annotations__])
