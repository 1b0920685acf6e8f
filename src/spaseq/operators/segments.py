"""The state of a machine in pieces, so that a micro-batch writes what it added and not everything.

Partial matches and runs are only added to, until a sweep renumbers them; of old runs nothing changes but a few
flags. So the state is a base and what came since: segment 0 is the base, segment 1 what came after it, merged now
and then, and segments 2, 3, … what single micro-batches added. Ids count through each segment's own terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spaseq.automaton.state import KEY_FIELDS, KEY_WIDTH
from spaseq.automaton.tables import (
    DEADLINE,
    PARTIALS,
    RUNS,
    STORE_FIELDS,
    UNTIL,
    check_store,
    store_sizes,
)
from spaseq.model.packing import (
    INSTANT,
    LARGEST,
    Arrays,
    Damaged,
    Field,
    check_array,
    check_arrays,
    whole_number,
)
from spaseq.operators.machine import Machine
from spaseq.operators.saved_state import pack, unpack
from spaseq.operators.term_texts import encode_terms, packed_terms, texts_of, unpacked_terms
from spaseq.settings import settings

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_FIELDS: Final[dict[str, Field]] = {
    "partials": Field(np.int64, ("partials", DEADLINE + 1)),
    "ids": Field(np.int32, ("partials", "id slots"), (0, "ids")),
    "counters": STORE_FIELDS["counters"],
    "events": Field(np.int64, ("partials", "width")),
    "runs": Field(np.int64, ("runs", UNTIL + 1)),
    "changed": Field(np.int64, ("changed",), (0, "runs so far")),
    "changed_runs": Field(np.int64, ("changed", UNTIL + 1)),
    "keys": Field(np.int32, ("keys", "partition"), (0, "ids")),
    "key_rows": Field(np.int64, ("keys", KEY_WIDTH)),
    "moved": Field(np.int64, ("moved",), (0, "keys so far")),
    "moved_rows": Field(np.int64, ("moved", KEY_WIDTH)),
    "log": Field(np.int64, (3, "logged")),
    "names": Field(np.int32, ("logged",), (0, "ids")),
    "digests": Field(np.uint8, ("digest bytes",)),
    "ends": Field(np.int64, ("terms",)),
    "texts": Field(np.uint8, ("bytes",)),
}
"""What the arrays of a segment must be like; whether they fit together is seen when all segments are there."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far a machine's state is saved."""

    partials: int = 0
    runs: Longs = field(default_factory=lambda: np.zeros((0, UNTIL + 1), np.int64))
    keys: Longs = field(default_factory=lambda: np.zeros((0, KEY_WIDTH), np.int64))
    serial: int = 0


def _mark(machine: Machine) -> _Mark:
    memory = machine.stage.memory
    runs = memory.store.runs[: int(memory.store.counts[RUNS])].copy()
    return _Mark(int(memory.store.counts[PARTIALS]), runs, memory.keys.rows, machine.events.next)


@dataclass(slots=True)
class Segments:
    """What the state store holds of one machine."""

    sizes: dict[int, int] = field(default_factory=dict)
    """The segments that exist, and how large each is."""
    _base: _Mark = field(default_factory=_Mark)
    _last: _Mark = field(default_factory=_Mark)
    _replaced: int = 0

    def save(self, machine: Machine, now: int) -> dict[int, bytes | None]:
        """The segments to write, or to remove (None), so that the store holds the machine's state."""
        memory = machine.stage.memory
        count = int(memory.store.counts[RUNS])
        alive = int(memory.alive(now, counted=True).sum()) if count else 0
        if alive == 0 and memory.forgets_keys:
            return self._removed(set(self.sizes))
        renumbered = memory.replaced != self._replaced
        if renumbered or (count > settings().segment_runs and 2 * alive < count) or not self.sizes:
            return self._whole(machine, now)
        tails = [number for number in self.sizes if number > 0]
        since = sum(self.sizes[number] for number in tails)
        if since > max(self.sizes[0], settings().segment_bytes):
            return self._whole(machine, now)
        merged = len(tails) >= settings().segment_tails
        blob = _delta(machine, self._base if merged else self._last)
        if blob is None:
            return {}
        self._last = _mark(machine)
        if merged:
            removed = self._removed({number for number in tails if number > 1})
            self.sizes[1] = len(blob)
            return {**removed, 1: blob}
        number = max(1, *self.sizes) + 1
        self.sizes[number] = len(blob)
        return {number: blob}

    def _removed(self, numbers: set[int]) -> dict[int, bytes | None]:
        for number in numbers:
            del self.sizes[number]
        if not self.sizes:
            self._base, self._last, self._replaced = _Mark(), _Mark(), -1
        return dict.fromkeys(numbers)

    def _whole(self, machine: Machine, now: int) -> dict[int, bytes | None]:
        """A new base without expired runs."""
        memory = machine.stage.memory
        memory.sweep(now)
        machine.forget_keys()
        _forget_events(machine)
        blob = _delta(machine, _Mark()) or pack({"next": machine.events.next, "live": 0}, {})
        removed = self._removed(set(self.sizes) - {0})
        self.sizes[0] = len(blob)
        self._base = self._last = _mark(machine)
        self._replaced = memory.replaced
        return {**removed, 0: blob}

    def load(self, machine: Machine, blobs: dict[int, bytes]) -> None:
        """Fill a fresh machine."""
        image = _Image(machine)
        for number in sorted(blobs):
            image.add(*unpack(blobs[number]))
            self.sizes[number] = len(blobs[number])
            if number == 0:
                self._base = image.mark()
        image.give()
        self._last = _mark(machine)
        self._replaced = machine.stage.memory.replaced


# --- what came since ----------------------------------------------------------------------------


def _delta(machine: Machine, since: _Mark) -> bytes | None:
    """What a machine's state has more than at a mark; None if nothing."""
    memory, log = machine.stage.memory, machine.events
    store, keys = memory.store, memory.keys
    partials, count = int(store.counts[PARTIALS]), int(store.counts[RUNS])
    old = len(since.runs)
    changed = np.flatnonzero((store.runs[:old] != since.runs).any(axis=1))
    rows = keys.rows
    moved = np.flatnonzero((rows[: len(since.keys)] != since.keys).any(axis=1))
    fresh = log.serials >= since.serial
    nothing = partials == since.partials and count == old and len(rows) == len(since.keys)
    if nothing and not len(changed) and not len(moved) and not fresh.any():
        return None
    slots = store.slots[since.partials : partials]
    ids = slots[:, : machine.id_slots]
    width = len(machine.program.query.rewritten.partition)
    values = np.zeros((len(rows) - len(since.keys), width), np.int32)
    values[:] = list(keys.numbers)[len(since.keys) :] or 0
    names = log.names[fresh]
    used, inverse = np.unique(
        np.concatenate([np.zeros(1, np.int32), ids.ravel(), values.ravel(), names]), return_inverse=True
    )
    ends = np.cumsum([ids.size, values.size])
    own, own_keys, own_names = np.split(inverse[1:].astype(np.int32), ends)
    digests = b"".join(log.digests[serial] for serial in log.serials[fresh].tolist()) if log.digests else b""
    arrays: Arrays = {
        "partials": store.partials[since.partials : partials],
        "ids": own.reshape(ids.shape),
        "counters": slots[:, machine.id_slots :],
        "events": store.events[since.partials : partials],
        "runs": store.runs[old:count],
        "changed": changed,
        "changed_runs": store.runs[changed],
        "keys": own_keys.reshape(values.shape),
        "key_rows": rows[len(since.keys) :],
        "moved": moved,
        "moved_rows": rows[moved],
        "log": np.stack([log.serials[fresh], log.times[fresh], log.streams[fresh].astype(np.int64)]),
        "names": own_names,
        "digests": np.frombuffer(digests, np.uint8),
        **packed_terms(texts_of(machine.dictionary, used[1:])),
    }
    header = {"next": log.next, "live": memory.live}
    return pack(header, arrays)


def _forget_events(machine: Machine) -> None:
    """Drop the events that no partial match rests on; instants are handled whole, so nothing else waits."""
    store, log = machine.stage.memory.store, machine.events
    used = store.events[: int(store.counts[PARTIALS])]
    log.keep(np.unique(used[used >= 0]) if len(log) else np.zeros(0, np.int64))


class _Image:
    """A machine's state as it is put together from segments."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        program = machine.program
        self._sizes = {
            **store_sizes(program.sequence, machine.stage.tables),
            "partition": len(program.query.rewritten.partition),
            "streams": len(program.streams),
        }
        store = machine.stage.memory.store
        self._partials = store.partials[:0]
        self._slots = store.slots[:0]
        self._events = store.events[:0]
        self._runs = store.runs[:0]
        self._keys: list[tuple[int, ...]] = []
        self._key_rows = np.zeros((0, KEY_WIDTH), np.int64)
        self._log = np.zeros((3, 0), np.int64)
        self._names = np.zeros(0, np.int32)
        self._digests = b""
        self._next = 0
        self._live = 0

    def add(self, header: dict[str, Any], arrays: Arrays) -> None:
        """One more segment, in order."""
        self._next, self._live = (whole_number(header, name, 0, LARGEST) for name in ("next", "live"))
        if not arrays:
            return
        sizes = {
            **self._sizes,
            "ids": len(arrays["ends"]) + 1,
            "runs so far": len(self._runs) + len(arrays["runs"]),
            "keys so far": len(self._keys) + len(arrays["keys"]),
        }
        check_arrays(arrays, _FIELDS, sizes)
        known = encode_terms(self._machine.dictionary, unpacked_terms(arrays))
        slots = np.concatenate([known[arrays["ids"]], arrays["counters"]], axis=1)
        self._partials = np.concatenate([self._partials, arrays["partials"]])
        self._slots = np.concatenate([self._slots, slots])
        self._events = np.concatenate([self._events, arrays["events"]])
        self._runs = np.concatenate([self._runs, arrays["runs"]])
        self._runs[arrays["changed"]] = arrays["changed_runs"]
        self._keys += [tuple(key) for key in known[arrays["keys"]].tolist()]
        self._key_rows = np.concatenate([self._key_rows, arrays["key_rows"]])
        self._key_rows[arrays["moved"]] = arrays["moved_rows"]
        self._log = np.concatenate([self._log, arrays["log"]], axis=1)
        self._names = np.concatenate([self._names, known[arrays["names"]]])
        self._digests += arrays["digests"].tobytes()

    def mark(self) -> _Mark:
        return _Mark(len(self._partials), self._runs.copy(), self._key_rows.copy(), self._next)

    def _check(self) -> None:
        """What kernels rely on; and, where events are asked for, that every event of a partial match is there."""
        ids, log = self._machine.id_slots, self._machine.events
        sizes = {
            **self._sizes,
            "ids": len(self._machine.dictionary) + 1,
            "partials": len(self._partials),
            "keys": len(self._keys),
            "serials": max(self._next, 1),
        }
        arrays: Arrays = {
            "partials": self._partials,
            "ids": self._slots[:, :ids],
            "counters": self._slots[:, ids:],
            "events": self._events,
            "runs": self._runs,
            "key_rows": self._key_rows,
        }
        check_arrays(arrays, {**STORE_FIELDS, "key_rows": KEY_FIELDS["key_rows"]}, sizes)
        check_store(
            self._machine.program.sequence,
            self._machine.stage.tables,
            self._partials,
            self._events,
            self._runs,
        )
        serials, times, streams = self._log
        check_array("log", serials, Field(np.int64, ("logged",), (0, "serials")), sizes)
        check_array("log", times, Field(np.int64, ("logged",), INSTANT), sizes)
        check_array("log", streams, Field(np.int64, ("logged",), (0, "streams")), sizes)
        if (np.diff(serials) <= 0).any():
            raise Damaged("the events are not in order")
        if log.with_digests:
            used = self._events[self._events >= 0]
            if not np.isin(used, serials).all() or len(self._digests) != 32 * len(serials):
                raise Damaged("an event or its digest is not there")

    def give(self) -> None:
        """Let the machine have it."""
        memory, log = self._machine.stage.memory, self._machine.events
        self._check()
        keys = np.array(self._keys, np.int32).reshape(len(self._keys), self._sizes["partition"])
        memory.keys.fill(keys, self._key_rows)
        memory.replace(self._partials, self._slots, self._events, self._runs)
        memory.live = self._live
        log.serials, log.times = self._log[0], self._log[1]
        log.streams, log.names = self._log[2].astype(np.int16), self._names
        log.next, log.kept = self._next, len(self._names)
        if log.with_digests:
            pieces = [self._digests[at : at + 32] for at in range(0, len(self._digests), 32)]
            log.digests = dict(zip(log.serials.tolist(), pieces, strict=True))
