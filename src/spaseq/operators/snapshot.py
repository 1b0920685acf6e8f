"""Snapshots: the state of a machine as bytes. Terms, never ids; plain arrays, never pickles; versioned.

A snapshot is a header and arrays (`spaseq.model.packing`), compressed. Its ids count through its own list of terms, so
it can be restored into any dictionary, in any process. It may come from anywhere, so nothing in it is believed:
every array is checked against its `Field`, every reference against what it refers to, every term against the grammar.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from spaseq.automaton.occurrences import OPEN_FIELDS, Occurrences
from spaseq.automaton.state import KEY_FIELDS
from spaseq.automaton.tables import PARTIALS, RUNS, STORE_FIELDS, check_store, store_sizes
from spaseq.errors import SpaseqError
from spaseq.model.batch import BATCH_FIELDS, EventBatch
from spaseq.model.packing import (
    INSTANT,
    LARGEST,
    LONG,
    SHORT,
    Arrays,
    Damaged,
    Field,
    OtherVersion,
    check_array,
    check_arrays,
    pack,
    reading,
    unpack,
    whole_number,
)
from spaseq.model.terms import check_terms
from spaseq.operators.answers import Answers, Ranks
from spaseq.operators.event_log import LOG_FIELDS
from spaseq.operators.machine import Machine

VERSION: Final = 4
"""The version of the format; any change to what a run carries makes a new one."""

_Item = TypeVar("_Item")
_ANSWER_FIELDS: Final[dict[str, Field]] = {
    "answers.time": Field(np.int64, ("answers",), INSTANT),
    "answers.start": Field(np.int64, ("answers",), INSTANT),
    "answers.ids": Field(np.int32, ("answers", "answer columns"), (0, "ids")),
    "answers.counts": Field(np.int64, ("answers or none",), (1, SHORT.max)),
    "answers.events": Field(
        np.int64, ("matched", 4), columns={0: (0, "gpms"), 1: (0, "streams"), 2: INSTANT, 3: (0, "ids")}
    ),
    "answers.digests": Field(np.uint8, ("matched", 32)),
    "ranks.keys": Field(np.int32, ("ranked",), (0, "keys")),
    "ranks.last": Field(np.int64, ("ranked",), INSTANT),
    "ranks.counts": Field(np.int64, ("ranked",), (1, SHORT.max)),
    "ranks.events": Field(np.int64, ("rank events",), (0, "serials")),
}
"""Answers that wait; of every one how many events it has, and of each its GPM, its stream, its time, its name."""
_OTHER_FIELDS: Final[dict[str, Field]] = {
    "scopes.keys": Field(np.uint64, ("scopes",)),
    "scopes.counts": Field(np.int64, ("scopes",), (1, LARGEST)),
    "numbering.keys": Field(np.uint8, ("numbered", 32)),
    "numbering.counts": Field(np.int64, ("numbered",), (1, LARGEST)),
}


class IncompatibleSnapshot(SpaseqError):
    """A snapshot that this query or this version cannot take up; says which, and what to do."""


class DamagedSnapshot(IncompatibleSnapshot):
    """A snapshot that is not what was written, or was never one."""


class Buffer(Protocol):
    """What holds events before the machine until time has passed them."""

    @property
    def watermark(self) -> int:
        """Before this time no event comes any more."""

    @property
    def latest(self) -> int:
        """The latest time of an event."""

    @property
    def held(self) -> EventBatch | None:
        """The events that wait."""

    def restore(self, held: EventBatch, watermark: int, latest: int) -> None:
        """Take up events that waited."""


# --- saving -------------------------------------------------------------------------------------


def snapshot_machine(machine: Machine, buffer: Buffer | None = None) -> bytes:
    """The state of a machine, and of the reorder buffer before it, between two steps."""
    held = buffer.held if buffer is not None else None
    waiting = [] if held is None else [held.subjects, held.predicates, held.objects, held.names]
    live = np.unique(np.concatenate([machine.live_ids(), *waiting]))
    live = live[live > 0]
    number = np.zeros(len(machine.dictionary) + 1, np.int32)
    number[live] = np.arange(1, len(live) + 1, dtype=np.int32)
    texts = "\n".join(machine.dictionary.ntriples(int(known)) for known in live)
    memory, log, numbering = machine.stage.memory, machine.events, machine.numbering
    header: dict[str, Any] = {
        "query": machine.program.query.fingerprint,
        "terms": len(live),
        "answered": machine.answered,
        "live": memory.live,
        "peak": memory.peak,
        "next": log.next,
        "kept": log.kept,
        "open": list(machine.assembler.open),
        "answers": machine.open_answers is not None,
        "instant": numbering.instant if numbering is not None else 0,
    }
    if buffer is not None:
        header |= {"watermark": buffer.watermark, "latest": buffer.latest}
    scopes, numbered = machine.dictionary.scopes.counts, numbering.counts if numbering is not None else {}
    arrays: Arrays = {
        "texts": np.frombuffer(texts.encode("utf-8", "surrogatepass"), np.uint8),
        **_memory_arrays(machine, number),
        **_log_arrays(machine, number),
        **_answer_arrays(machine, number),
        "scopes.keys": np.array(list(scopes), np.uint64),
        "scopes.counts": np.array(list(scopes.values()), np.int64),
        "numbering.keys": _digests(list(numbered)),
        "numbering.counts": np.array(list(numbered.values()), np.int64),
    }
    if held is not None:
        ids = ("subjects", "predicates", "objects", "names")
        arrays |= {
            f"held.{name}": number[getattr(held, name)] if name in ids else getattr(held, name)
            for name in BATCH_FIELDS
        }
    return zlib.compress(pack(header, arrays, VERSION), 1)


def _memory_arrays(machine: Machine, number: npt.NDArray[np.int32]) -> Arrays:
    memory, ids = machine.stage.memory, machine.id_slots
    store, keys = memory.store, memory.keys
    partials, runs = int(store.counts[PARTIALS]), int(store.counts[RUNS])
    partition = len(machine.program.query.rewritten.partition)
    found: Arrays = {
        "partials": store.partials[:partials],
        "ids": number[store.slots[:partials, :ids]],
        "counters": store.slots[:partials, ids:],
        "events": store.events[:partials],
        "runs": store.runs[:runs],
        "keys": number[keys.values[: len(keys.numbers)]].reshape(len(keys.numbers), partition),
        "key_rows": keys.rows,
    }
    for place, part in enumerate(machine.assembler.open.values()):
        for name in OPEN_FIELDS:
            values = getattr(part, name)
            found[f"open.{place}.{name}"] = number[values] if name == "slots" else values
    return found


def _log_arrays(machine: Machine, number: npt.NDArray[np.int32]) -> Arrays:
    log = machine.events
    return {
        "log.serials": log.serials,
        "log.times": log.times,
        "log.streams": log.streams,
        "log.names": number[log.names],
        "log.digested": np.array(list(log.digests), np.int64),
        "log.digests": _digests(list(log.digests.values())),
    }


def _answer_arrays(machine: Machine, number: npt.NDArray[np.int32]) -> Arrays:
    answers = machine.open_answers
    if answers is None:
        return {}
    place = {name: index for index, name in enumerate(machine.program.query.rewritten.names)}
    rows = [event for events in answers.events for event in events]
    cells = [[place[gpm], stream, time, number[name]] for gpm, stream, time, name, _ in rows]
    columns = [number[ids] for ids in answers.columns.values()]
    return {
        "answers.time": answers.time,
        "answers.start": answers.start,
        "answers.ids": np.stack(columns, axis=1) if columns else np.zeros((len(answers), 0), np.int32),
        "answers.counts": np.array([len(events) for events in answers.events], np.int64),
        "answers.events": np.array(cells, np.int64).reshape(-1, 4),
        "answers.digests": _digests([digest for *_, digest in rows]),
        **_rank_arrays(answers.ranks),
    }


def _rank_arrays(ranks: Ranks | None) -> Arrays:
    known = ranks or Ranks(np.zeros(0, np.int32), np.zeros(0, np.int64), [])
    return {
        "ranks.keys": known.keys.astype(np.int32),
        "ranks.last": known.last,
        "ranks.counts": np.array([len(events) for events in known.events], np.int64),
        "ranks.events": np.array([serial for events in known.events for serial in events], np.int64),
    }


def _digests(digests: list[bytes]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)


# --- restoring ----------------------------------------------------------------------------------


def restore_machine(machine: Machine, blob: bytes, buffer: Buffer | None = None) -> None:
    """Fill a fresh machine (and buffer) with the state of a snapshot; whatever is wrong with it is found before."""
    try:
        with reading():
            _restore(machine, blob, buffer)
    except Damaged as error:
        raise DamagedSnapshot(f"this is not a snapshot, or it is damaged: {error}") from None
    except OtherVersion as error:
        raise IncompatibleSnapshot(
            f"the snapshot has version {error.version}, this release reads version {VERSION}; finish the run with "
            "the release that wrote it, or start again without the snapshot"
        ) from None


def _restore(machine: Machine, blob: bytes, buffer: Buffer | None) -> None:
    if blob[:2] == b"PK":
        raise OtherVersion(VERSION - 1)  # versions before 4 were npz archives
    header, views = unpack(_inflated(blob, machine.budget.most), VERSION)
    if header["query"] != machine.program.query.fingerprint:
        raise IncompatibleSnapshot(
            "the snapshot belongs to another query; restore it with the query it was taken from, or start "
            "again without it"
        )
    arrays = {name: array.copy() for name, array in views.items()}  # kernels write into some of them
    texts = _terms(header, arrays)
    numbers = {name: whole_number(header, name, 0, LARGEST) for name in ("live", "peak", "next", "kept")}
    _check(machine, header, arrays, len(texts), numbers["next"])
    if buffer is not None:
        times = [whole_number(header, name, LONG.min, LONG.max + 1) for name in ("watermark", "latest")]
        _check_held(arrays, {"ids": len(texts) + 1, "streams": len(machine.program.streams)})
    # Nothing is wrong with it: from here on the machine changes.
    ids = np.array([0, *machine.dictionary.encode_texts(texts)], np.int32)
    machine.dictionary.scopes.counts.update(
        zip(arrays["scopes.keys"].tolist(), arrays["scopes.counts"].tolist(), strict=True)
    )
    memory = machine.stage.memory
    memory.keys.fill(ids[arrays["keys"]], arrays["key_rows"])
    slots = np.concatenate([ids[arrays["ids"]], arrays["counters"]], axis=1)
    memory.replace(arrays["partials"], slots, arrays["events"], arrays["runs"])
    memory.live, memory.peak = numbers["live"], numbers["peak"]
    for place, name in enumerate(header["open"]):
        found = {column: arrays[f"open.{place}.{column}"] for column in OPEN_FIELDS}
        machine.assembler.open[name] = Occurrences(**{**found, "slots": ids[found["slots"]]})
    machine.answered = bool(header["answered"])
    if header["answers"]:
        machine.open_answers = _answers(machine, arrays, ids)
    _restore_log(machine, arrays, ids, numbers)
    if machine.numbering is not None:
        machine.numbering.instant = whole_number(header, "instant", LONG.min, LONG.max + 1)
        keys = [row.tobytes() for row in arrays["numbering.keys"]]
        machine.numbering.counts = dict(zip(keys, arrays["numbering.counts"].tolist(), strict=True))
    if buffer is not None:
        buffer.restore(_held(arrays, ids), *times)


def _inflated(blob: bytes, most: int) -> bytes:
    """The bytes of a snapshot, if they are not more than the run may hold: a small one can be made to give any number."""
    inflating = zlib.decompressobj()
    plain = inflating.decompress(blob, most)
    if inflating.unconsumed_tail:
        raise IncompatibleSnapshot(
            f"the snapshot holds more than max_memory={most:,} bytes; allow more with `max_memory=`"
        )
    if not inflating.eof:
        raise Damaged("it is cut off")
    return plain


def _terms(header: Mapping[str, Any], arrays: Arrays) -> list[str]:
    """The terms of a snapshot; all of them are terms, each is there once."""
    check_array("texts", arrays["texts"], Field(np.uint8, ("bytes",)), {})
    joined = arrays["texts"].tobytes().decode("utf-8", "surrogatepass")
    texts = joined.split("\n") if header["terms"] else []
    if len(texts) != header["terms"] or len(set(texts)) < len(texts):
        raise Damaged("a term is missing, or is there twice")
    check_terms(texts)
    return texts


def _check(machine: Machine, header: Mapping[str, Any], arrays: Arrays, terms: int, serials: int) -> None:
    """Everything but the buffer: shapes, types, ranges and references."""
    program, tables = machine.program, machine.stage.tables
    sizes = {
        **store_sizes(program.sequence, tables),
        "ids": terms + 1,
        "keys": len(arrays["keys"]),
        "partials": len(arrays["partials"]),
        "serials": serials,
        "streams": len(program.streams),
        "partition": len(program.query.rewritten.partition),
        "slots": max(len(program.sequence.variables), 1),
        "gpms": len(program.query.rewritten.names),
        "answer columns": len(_columns(machine)),
    }
    check_arrays(arrays, {**STORE_FIELDS, **KEY_FIELDS, **_OTHER_FIELDS}, sizes)
    check_arrays(arrays, {f"log.{name}": wanted for name, wanted in LOG_FIELDS.items()}, sizes)
    check_store(program.sequence, tables, arrays["partials"], arrays["events"], arrays["runs"])
    joined = {name for choice in program.sequence.choices if len(choice.gpms) > 1 for name in choice.gpms}
    if not set(header["open"]) <= joined or len(set(header["open"])) < len(header["open"]):
        raise Damaged("an instant is open for patterns that need none")
    used = [arrays["events"].ravel()]
    for place in range(len(header["open"])):
        own = {f"open.{place}.{name}": wanted for name, wanted in OPEN_FIELDS.items()}
        check_arrays(arrays, own, {**sizes, "serials": serials})
        used.append(arrays[f"open.{place}.events"].ravel())
    _check_log(machine, arrays, np.concatenate(used))
    if header["answers"]:
        kept = len(arrays["answers.counts"]) > 0
        sizes["answers"] = len(arrays["answers.time"])
        sizes["answers or none"] = sizes["answers"] if kept else 0
        check_arrays(arrays, _ANSWER_FIELDS, sizes)
        if int(arrays["answers.counts"].sum()) != sizes["matched"]:
            raise Damaged("an answer has too many events or too few")
        ranked = sizes["answers"] if program.query.rewritten.skip_past else 0
        if sizes["ranked"] != ranked or int(arrays["ranks.counts"].sum()) != sizes["rank events"]:
            raise Damaged("an answer has no rank")


def _columns(machine: Machine) -> list[str]:
    """The variables of answers that wait."""
    program = machine.program
    return list(
        program.sequence.variables if program.query.form.kind == "construct" else program.query.form.variables
    )


def _check_log(machine: Machine, arrays: Arrays, used: npt.NDArray[np.int64]) -> None:
    serials, digested = arrays["log.serials"], arrays["log.digested"]
    if (np.diff(serials) <= 0).any():
        raise Damaged("the events are not in order")
    used = used[used >= 0]
    if not np.isin(used, serials).all():
        raise Damaged("a partial match names an event that is not there")
    if machine.events.with_digests and not np.isin(used, digested).all():
        raise Damaged("an event has no digest")


def _check_held(arrays: Arrays, sizes: dict[str, int]) -> None:
    check_arrays(arrays, {f"held.{name}": wanted for name, wanted in BATCH_FIELDS.items()}, sizes)
    offsets = arrays["held.offsets"]
    if len(offsets) != sizes["events"] + 1 or offsets[[0, -1]].tolist() != [0, sizes["triples"]]:
        raise Damaged("the triples of waiting events are not all there")
    if (np.diff(offsets) < 0).any():
        raise Damaged("the triples of waiting events overlap")


def _answers(machine: Machine, arrays: Arrays, ids: npt.NDArray[np.int32]) -> Answers:
    names, columns = machine.program.query.rewritten.names, _columns(machine)
    cells, digests = arrays["answers.events"].tolist(), arrays["answers.digests"]
    rows = [
        (names[gpm], stream, time, int(ids[name]), digests[row].tobytes())
        for row, (gpm, stream, time, name) in enumerate(cells)
    ]
    events = _split(rows, arrays["answers.counts"])
    ranks = None
    if machine.program.query.rewritten.skip_past:
        ranked = _split(arrays["ranks.events"].tolist(), arrays["ranks.counts"])
        ranks = Ranks(arrays["ranks.keys"], arrays["ranks.last"], ranked)
    return Answers(
        arrays["answers.time"],
        arrays["answers.start"],
        {name: ids[arrays["answers.ids"][:, number]] for number, name in enumerate(columns)},
        events,
        machine.dictionary.generation,
        ranks,
    )


def _split(items: Sequence[_Item], counts: npt.NDArray[np.int64]) -> list[tuple[_Item, ...]]:
    """Items in groups of these sizes."""
    ends = list(accumulate(counts.tolist()))
    return [tuple(items[end - count : end]) for end, count in zip(ends, counts.tolist(), strict=True)]


def _restore_log(
    machine: Machine, arrays: Arrays, ids: npt.NDArray[np.int32], numbers: Mapping[str, int]
) -> None:
    log = machine.events
    log.serials, log.times = arrays["log.serials"], arrays["log.times"]
    log.streams, log.names = arrays["log.streams"], ids[arrays["log.names"]]
    log.next, log.kept = numbers["next"], numbers["kept"]
    digests = [row.tobytes() for row in arrays["log.digests"]]
    log.digests = dict(zip(arrays["log.digested"].tolist(), digests, strict=True))


def _held(arrays: Arrays, ids: npt.NDArray[np.int32]) -> EventBatch:
    return EventBatch(
        ids[arrays["held.subjects"]],
        ids[arrays["held.predicates"]],
        ids[arrays["held.objects"]],
        arrays["held.offsets"],
        arrays["held.times"],
        arrays["held.streams"],
        ids[arrays["held.names"]],
    )
