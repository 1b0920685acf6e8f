"""The automaton's state as named arrays: all of it, or what came since a mark.

Partial matches and runs are only added to, until a sweep renumbers them; of old runs nothing changes but a few flags. So
the state may be saved as a base and what came since. What is open of an instant is small and is always saved whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from spaseq.automaton.occurrences import OPEN_FIELDS, Occurrences
from spaseq.automaton.state import KEY_FIELDS, KEY_WIDTH, Memory
from spaseq.automaton.tables import (
    DEADLINE,
    PARTIALS,
    RUNS,
    STORE_FIELDS,
    UNTIL,
    check_store,
    store_sizes,
)
from spaseq.model.packing import LARGEST, Arrays, Damaged, Field, check_arrays, whole_number
from spaseq.operators.state import State
from spaseq.settings import settings

if TYPE_CHECKING:
    from spaseq.operators.automaton import AutomatonOperator

Longs = npt.NDArray[np.int64]

_PART_FIELDS: Final[dict[str, Field]] = {
    "partials": Field(np.int64, ("partials", DEADLINE + 1)),
    "slots": Field(np.int32, ("partials", "id slots"), (0, "ids")),
    "counters": STORE_FIELDS["counters"],
    "events": Field(np.int64, ("partials", "width")),
    "runs": Field(np.int64, ("runs", UNTIL + 1)),
    "changed": Field(np.int64, ("changed",), (0, "runs so far")),
    "changed_runs": Field(np.int64, ("changed", UNTIL + 1)),
    "keys": Field(np.int32, ("keys", "partition"), (0, "ids")),
    "key_rows": Field(np.int64, ("keys", KEY_WIDTH)),
    "moved": Field(np.int64, ("moved",), (0, "keys so far")),
    "moved_rows": Field(np.int64, ("moved", KEY_WIDTH)),
}
"""What the arrays of a part must be like; whether they fit together is seen when all parts are there."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a state is saved."""

    partials: int = 0
    runs: Longs = field(default_factory=lambda: np.zeros((0, UNTIL + 1), np.int64))
    keys: Longs = field(default_factory=lambda: np.zeros((0, KEY_WIDTH), np.int64))
    replaced: int = -1


def mark(memory: Memory) -> Mark:
    """The present state of a memory."""
    runs = memory.store.runs[: int(memory.store.counts[RUNS])].copy()
    return Mark(int(memory.store.counts[PARTIALS]), runs, memory.keys.rows, memory.replaced)


# --- saving -------------------------------------------------------------------------------------


def dump(operator: AutomatonOperator, since: Mark | None, now: int | None) -> State | None:
    """What there is, or what there is more than at a mark; None if that is nothing."""
    memory = operator.stage.memory
    if since is not None and not _only_added(memory, since, now):
        since = None
    if since is None and now is not None:
        memory.sweep(now)
        operator.forget_keys()
    state = _since(operator, since or Mark())
    state.whole = since is None
    opened = _open(operator, state)
    changed = any(len(array) for array in state.arrays.values()) or any(map(len, state.ids.values()))
    return state if changed or opened or state.whole else None


def _only_added(memory: Memory, since: Mark, now: int | None) -> bool:
    """True if the state has only grown since a mark, and is not mostly expired."""
    if memory.replaced != since.replaced:
        return False
    count = int(memory.store.counts[RUNS])
    if now is None or count <= settings().segment_runs:
        return True
    return 2 * int(memory.alive(now, counted=True).sum()) >= count


def _since(operator: AutomatonOperator, since: Mark) -> State:
    memory = operator.stage.memory
    store, keys = memory.store, memory.keys
    partials, count, old = int(store.counts[PARTIALS]), int(store.counts[RUNS]), len(since.runs)
    changed = np.flatnonzero((store.runs[:old] != since.runs).any(axis=1))
    rows, known = keys.rows, len(since.keys)
    moved = np.flatnonzero((rows[:known] != since.keys).any(axis=1))
    slots, ids = store.slots[since.partials : partials], operator.id_slots
    return State(
        {"live": memory.live, "peak": memory.peak},
        {
            "partials": store.partials[since.partials : partials],
            "counters": slots[:, ids:],
            "events": store.events[since.partials : partials],
            "runs": store.runs[old:count],
            "changed": changed,
            "changed_runs": store.runs[changed],
            "key_rows": rows[known:],
            "moved": moved,
            "moved_rows": rows[moved],
        },
        {
            "slots": slots[:, :ids],
            "keys": keys.values[known : len(rows)].reshape(
                len(rows) - known, len(operator.program.partition)
            ),
        },
    )


def _open(operator: AutomatonOperator, state: State) -> bool:
    """Add what is open of the last instant; True if there is something."""
    state.facts["open"] = list(operator.assembler.open)
    for place, part in enumerate(operator.assembler.open.values()):
        for name in OPEN_FIELDS:
            into = state.ids if name == "slots" else state.arrays
            into[f"open.{place}.{name}"] = getattr(part, name)
    state.add("held", operator.held.dump(operator.program.names))
    return bool(operator.assembler.open or operator.held)


# --- restoring ----------------------------------------------------------------------------------


def load(operator: AutomatonOperator, parts: list[State]) -> Mark:
    """Put the parts together, check the whole, and let the operator have it; the result marks the first part."""
    last = parts[-1]
    image = _Image(operator)
    image.add(parts[0])
    first = image.mark()
    for part in parts[1:]:
        image.add(part)
    sizes = image.check()
    opened = _check_open(operator, last, sizes)
    generation = operator.dictionary.generation
    operator.held.load(last.part("held"), operator.program, sizes, generation, ranked=operator.skips)
    image.give()
    memory = operator.stage.memory
    memory.live, memory.peak = (whole_number(last.facts, name, 0, LARGEST) for name in ("live", "peak"))
    operator.assembler.open.update(opened)
    return replace(first, replaced=memory.replaced)


class _Image:
    """A state as it is put together from parts."""

    def __init__(self, operator: AutomatonOperator) -> None:
        self._operator = operator
        program, store = operator.program, operator.stage.memory.store
        self._sizes = {
            **store_sizes(program.sequence, operator.stage.tables),
            "partition": len(program.partition),
            "ids": len(operator.dictionary) + 1,
        }
        self._arrays: Arrays = {
            "partials": store.partials[:0],
            "slots": store.slots[:0],
            "events": store.events[:0],
            "runs": store.runs[:0],
            "keys": np.zeros((0, len(program.partition)), np.int32),
            "key_rows": np.zeros((0, KEY_WIDTH), np.int64),
        }

    def add(self, part: State) -> None:
        """One more part, in order."""
        known, given = self._arrays, {**part.arrays, **part.ids}
        sizes = {
            **self._sizes,
            "runs so far": len(known["runs"]) + len(given["runs"]),
            "keys so far": len(known["keys"]) + len(given["keys"]),
        }
        check_arrays(given, _PART_FIELDS, sizes)
        given["slots"] = np.concatenate([given["slots"], given["counters"]], axis=1)
        for name in known:
            known[name] = np.concatenate([known[name], given[name]])
        known["runs"][given["changed"]] = given["changed_runs"]
        known["key_rows"][given["moved"]] = given["moved_rows"]

    def mark(self) -> Mark:
        return Mark(
            len(self._arrays["partials"]), self._arrays["runs"].copy(), self._arrays["key_rows"].copy()
        )

    def check(self) -> dict[str, int]:
        """What kernels rely on; the result are the sizes that were found."""
        arrays, ids = self._arrays, self._operator.id_slots
        sizes = {
            **self._sizes,
            "partials": len(arrays["partials"]),
            "keys": len(arrays["keys"]),
            "serials": max(self._operator.surroundings.events.next, 1),
        }
        whole = {**arrays, "ids": arrays["slots"][:, :ids], "counters": arrays["slots"][:, ids:]}
        check_arrays(whole, {**STORE_FIELDS, **KEY_FIELDS}, sizes)
        check_store(
            self._operator.program.sequence,
            self._operator.stage.tables,
            arrays["partials"],
            arrays["events"],
            arrays["runs"],
        )
        return sizes

    def give(self) -> None:
        """Let the operator have it."""
        memory, arrays = self._operator.stage.memory, self._arrays
        self._operator.stage.prepare(len(arrays["runs"]), self._operator.values)
        memory.keys.fill(arrays["keys"], arrays["key_rows"])
        memory.replace(arrays["partials"], arrays["slots"], arrays["events"], arrays["runs"])


def _check_open(operator: AutomatonOperator, state: State, sizes: dict[str, int]) -> dict[str, Occurrences]:
    """The occurrences of the open instant, if they can be so."""
    program, names = operator.program.sequence, state.facts["open"]
    joined = {name for choice in program.choices if len(choice.gpms) > 1 for name in choice.gpms}
    if not isinstance(names, list) or not set(names) <= joined or len(set(names)) < len(names):
        raise Damaged("an instant is open for patterns that need none")
    found: dict[str, Occurrences] = {}
    for place, name in enumerate(names):
        own = {
            column: (state.ids if column == "slots" else state.arrays)[f"open.{place}.{column}"]
            for column in OPEN_FIELDS
        }
        check_arrays(own, OPEN_FIELDS, {**sizes, "slots": max(len(program.variables), 1)})
        found[name] = Occurrences(**own)
    return found
