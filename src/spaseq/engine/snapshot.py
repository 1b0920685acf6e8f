"""Snapshots: the state of a machine as bytes. Terms, never ids; plain arrays, never pickles; versioned.

A snapshot is an npz archive with a JSON header. Its ids count through its own list of terms, so it can be
restored into any dictionary, in any process.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spaseq.automaton.occurrences import Occurrences
from spaseq.automaton.tables import PARTIALS, RUNS
from spaseq.engine.answers import Answers, Ranks
from spaseq.engine.machine import Machine
from spaseq.engine.reorder import ReorderBuffer
from spaseq.errors import SpaseqError
from spaseq.model.batch import EventBatch
from spaseq.planner.compiled import CompiledQuery

VERSION = 3
"""The version of the format; any change to what a run carries makes a new one."""

_OPEN = ("key", "times", "slots", "events", "new")

Arrays = dict[str, npt.NDArray[Any]]


class IncompatibleSnapshot(SpaseqError):
    """A snapshot that this query or this version cannot take up; says which, and what to do."""


def fingerprint(query: CompiledQuery) -> str:
    """What a snapshot and a query must agree on."""
    return hashlib.sha256(query.normal_text.encode()).hexdigest()


@dataclass(slots=True)
class _Terms:
    """Ids of a dictionary as numbers into a list of terms."""

    number: npt.NDArray[np.int32]

    def of(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        return self.number[ids]


def snapshot_machine(machine: Machine, buffer: ReorderBuffer | None = None) -> bytes:
    """The state of a machine, and of the reorder buffer before it, between two steps."""
    held = buffer.held if buffer is not None else None
    waiting = [] if held is None else [held.subjects, held.predicates, held.objects, held.names]
    live = np.unique(np.concatenate([machine.live_ids(), *waiting]))
    live = live[live > 0]
    number = np.zeros(len(machine.dictionary) + 1, np.int32)
    number[live] = np.arange(1, len(live) + 1, dtype=np.int32)
    terms = _Terms(number)
    arrays: Arrays = {}
    header: dict[str, Any] = {
        "version": VERSION,
        "query": fingerprint(machine.program.query),
        "terms": [machine.dictionary.ntriples(int(known)) for known in live],
        "answered": machine.answered,
        "scopes": [[key, count] for key, count in machine.dictionary.scopes.counts.items()],
    }
    _save_memory(machine, terms, arrays, header)
    _save_open(machine, terms, arrays, header)
    _save_events(machine, terms, arrays, header)
    if buffer is not None and held is not None:
        header["buffer"] = {"watermark": buffer.watermark, "latest": buffer.latest}
        for name in ("subjects", "predicates", "objects", "names"):
            arrays[f"held.{name}"] = terms.of(getattr(held, name))
        for name in ("offsets", "times", "streams"):
            arrays[f"held.{name}"] = getattr(held, name)
    out = io.BytesIO()
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez_compressed(out, allow_pickle=False, **arrays)
    return out.getvalue()


def _save_memory(machine: Machine, terms: _Terms, arrays: Arrays, header: dict[str, Any]) -> None:
    memory = machine.stage.memory
    partials, runs = int(memory.store.counts[PARTIALS]), int(memory.store.counts[RUNS])
    store, ids = memory.store, machine.id_slots
    slots = store.slots[:partials].copy()
    slots[:, :ids] = terms.of(slots[:, :ids])
    arrays["partials"], arrays["slots"] = store.partials[:partials], slots
    arrays["partial.events"], arrays["runs"] = store.events[:partials], store.runs[:runs]
    keys = memory.keys
    header["keys"] = [[int(terms.number[i]) for i in key] for key in keys.numbers]
    for name in ("time", "ordinal", "floor", "position", "skipped"):
        arrays[f"keys.{name}"] = getattr(keys, name)[: len(keys.numbers)]
    header["memory"] = {"live": memory.live, "peak": memory.peak}


def _save_open(machine: Machine, terms: _Terms, arrays: Arrays, header: dict[str, Any]) -> None:
    header["open"] = list(machine.assembler.open)
    for name, found in machine.assembler.open.items():
        for column in _OPEN:
            values = getattr(found, column)
            arrays[f"open.{name}.{column}"] = terms.of(values) if column == "slots" else values
    answers = machine.open_answers
    if answers is None:
        return
    header["answers"] = {
        "columns": list(answers.columns),
        "events": [
            [
                [gpm, stream, time, int(terms.number[name]), digest.hex()]
                for gpm, stream, time, name, digest in row
            ]
            for row in answers.events
        ],
    }
    arrays["answers.time"], arrays["answers.start"] = answers.time, answers.start
    if answers.ranks is not None:
        arrays["answers.keys"], arrays["answers.last"] = answers.ranks.keys, answers.ranks.last
        header["answers"]["ranks"] = [list(events) for events in answers.ranks.events]
    for number, ids in enumerate(answers.columns.values()):
        arrays[f"answers.{number}"] = terms.of(ids)


def _save_events(machine: Machine, terms: _Terms, arrays: Arrays, header: dict[str, Any]) -> None:
    log = machine.events
    arrays["events.serials"], arrays["events.times"] = log.serials, log.times
    arrays["events.streams"], arrays["events.names"] = log.streams, terms.of(log.names)
    header["events"] = {"next": log.next, "kept": log.kept}
    header["digests"] = {str(serial): digest.hex() for serial, digest in log.digests.items()}
    if machine.numbering is not None:
        counts = {key.hex(): count for key, count in machine.numbering.counts.items()}
        header["numbering"] = {"instant": machine.numbering.instant, "counts": counts}


# --- restoring ----------------------------------------------------------------------------------


def restore_machine(machine: Machine, blob: bytes, buffer: ReorderBuffer | None = None) -> None:
    """Fill a fresh machine (and buffer) with the state of a snapshot."""
    header, arrays = _open(blob, machine.program.query)
    encode = machine.dictionary.encode_text
    ids = np.array([0, *(encode(text) for text in header["terms"])], np.int32)
    machine.dictionary.scopes.counts.update((key, count) for key, count in header["scopes"])
    memory = machine.stage.memory
    for key in header["keys"]:
        memory.keys.number(tuple(int(ids[i]) for i in key))
    count = len(header["keys"])
    for name in ("time", "ordinal", "floor", "position", "skipped"):
        getattr(memory.keys, name)[:count] = arrays[f"keys.{name}"]
    slots = arrays["slots"]
    slots[:, : machine.id_slots] = ids[slots[:, : machine.id_slots]]
    memory.replace(arrays["partials"], slots, arrays["partial.events"], arrays["runs"])
    memory.live, memory.peak = header["memory"]["live"], header["memory"]["peak"]
    for name in header["open"]:
        found = {column: arrays[f"open.{name}.{column}"] for column in _OPEN}
        machine.assembler.open[name] = Occurrences(**{**found, "slots": ids[found["slots"]]})
    machine.answered = header["answered"]
    machine.open_answers = _answers(header, arrays, ids, machine.dictionary.generation)
    _restore_events(machine, header, arrays, ids)
    if buffer is not None and "buffer" in header:
        buffer.restore(_held(arrays, ids), header["buffer"]["watermark"], header["buffer"]["latest"])


def _open(blob: bytes, query: CompiledQuery) -> tuple[dict[str, Any], Arrays]:
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        version = header["version"]
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise IncompatibleSnapshot(f"this is not a snapshot, or it is damaged: {error}") from None
    if version != VERSION:
        raise IncompatibleSnapshot(
            f"the snapshot has version {version}, this release reads version {VERSION}; finish the run with "
            "the release that wrote it, or start again without the snapshot"
        )
    if header["query"] != fingerprint(query):
        raise IncompatibleSnapshot(
            "the snapshot belongs to another query; restore it with the query it was taken from, or start "
            "again without it"
        )
    return header, arrays


def _answers(
    header: dict[str, Any], arrays: Arrays, ids: npt.NDArray[np.int32], generation: int
) -> Answers | None:
    if "answers" not in header:
        return None
    names = header["answers"]["columns"]
    return Answers(
        arrays["answers.time"],
        arrays["answers.start"],
        {name: ids[arrays[f"answers.{number}"]] for number, name in enumerate(names)},
        [
            tuple(
                (gpm, stream, time, int(ids[name]), bytes.fromhex(digest))
                for gpm, stream, time, name, digest in row
            )
            for row in header["answers"]["events"]
        ],
        generation,
        _ranks(header, arrays),
    )


def _ranks(header: dict[str, Any], arrays: Arrays) -> Ranks | None:
    if "ranks" not in header["answers"]:
        return None
    events = [tuple(map(int, row)) for row in header["answers"]["ranks"]]
    return Ranks(arrays["answers.keys"], arrays["answers.last"], events)


def _restore_events(
    machine: Machine, header: dict[str, Any], arrays: Arrays, ids: npt.NDArray[np.int32]
) -> None:
    log = machine.events
    log.serials, log.times = arrays["events.serials"], arrays["events.times"]
    log.streams, log.names = arrays["events.streams"], ids[arrays["events.names"]]
    log.next, log.kept = header["events"]["next"], header["events"]["kept"]
    log.digests = {int(serial): bytes.fromhex(digest) for serial, digest in header["digests"].items()}
    if machine.numbering is not None and "numbering" in header:
        known = header["numbering"]
        machine.numbering.instant = known["instant"]
        machine.numbering.counts = {bytes.fromhex(key): count for key, count in known["counts"].items()}


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
