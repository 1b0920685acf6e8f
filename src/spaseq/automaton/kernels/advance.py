"""The loop over rows, and the removal of what no run needs any more."""

from __future__ import annotations

from spaseq.automaton.tables import (
    AT,
    CHOICE_ASSIGNS,
    CHOICE_SLOW,
    MATCHES,
    MOST,
    PARENT,
    PARTIALS,
    ROW_CHOICE,
    RUNS,
    WORK,
    Candidates,
    Rows,
    RunStore,
    Tables,
    ValueArrays,
)

from .apply import apply_inline, enter, has_room
from .codes import DONE, NEEDS_ROOM, NEEDS_VERDICT, NO, SLICED, UNSURE, YES
from .collect import collect
from .portable import Array, portable
from .stack import decide


@portable
def advance(
    tables: Tables, store: RunStore, rows: Rows, first: int, found: Candidates, values: ValueArrays
) -> tuple[int, int, int]:
    """Handle rows from ``first`` on; returns why it stopped, at which row, and the candidates there."""
    row = first
    matches = len(store.matches) - tables.sizes[MOST] * len(found.cells)
    while row < len(rows.ids):
        if found.cursor[WORK] <= 0 or store.counts[MATCHES] > matches:
            return SLICED, row, 0
        if not has_room(tables, store, len(found.cells)):
            return NEEDS_ROOM, row, 0
        count = collect(tables, store, rows, row, found)
        found.cursor[WORK] -= 1 + count
        choice = rows.ids[row, ROW_CHOICE]
        assigns = tables.choices[choice, CHOICE_ASSIGNS + 1] > tables.choices[choice, CHOICE_ASSIGNS]
        doubtful = False
        kept = 0
        for number in range(count):
            verdict = UNSURE
            if not assigns:
                verdict = decide(
                    tables, store, rows, row, found.cells[number, 0], found.cells[number, 1], values, found.stack,
                )  # fmt: skip
                if verdict == YES and tables.choices[choice, CHOICE_SLOW] == 1:
                    verdict = UNSURE
            if verdict != NO:
                found.cells[kept, 0], found.cells[kept, 1] = found.cells[number, 0], found.cells[number, 1]
                found.cells[kept, 2] = verdict
                doubtful = doubtful or verdict == UNSURE
                kept += 1
        if doubtful:
            return NEEDS_VERDICT, row, kept
        apply_inline(tables, store, rows, row, found, kept)
        if found.cursor[AT] < 0:
            row += 1
    return DONE, row, 0


@portable
def mark(store: RunStore, keep: Array) -> None:
    """Mark every partial that a marked one extends; a parent always has the smaller number."""
    for partial in range(store.counts[PARTIALS] - 1, -1, -1):
        if keep[partial] and store.partials[partial, PARENT] >= 0:
            keep[store.partials[partial, PARENT]] = True


@portable
def reenter(tables: Tables, store: RunStore) -> None:
    """Rebuild all buckets."""
    for bucket in range(len(store.buckets)):
        store.buckets[bucket] = -1
    for run in range(store.counts[RUNS]):
        enter(tables, store, run)
