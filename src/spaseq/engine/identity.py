"""What a run is: its queries, its files and its options. Two parts of one run must agree on all of it."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from spaseq.errors import IncompatibleCheckpoint
from spaseq.settings import settings
from spaseq.stores import Place, place_of

_SAMPLES: Final = 64
_SHARE: Final = 4
"""The samples of a large file have together this part of the bytes up to which a file is read as a whole: of a large one the size and
the time of the last change are compared as well."""
_FILES: Final = {"inputs": "the input", "background graphs": "the background graph"}
"""Parts of an identity that are files, and what one of them is called."""


def files_identity(files: Sequence[tuple[str, str | Place]]) -> list[list[object]]:
    """Files of a run, each with its name, size and digest, so that a changed one is noticed."""
    budget = settings().digested_bytes // max(len(files), 1)
    known = [(name, str(path), place_of(path)) for name, path in files]
    return [[name, shown, path.stat().st_size, digest_of(path, budget)] for name, shown, path in known]


def digest_of(path: Place, budget: int) -> str:
    """A digest of a file: of all of it up to this size, else of a part of so many bytes and of the time of its last change."""
    status = path.stat()
    with path.open("rb") as file:
        if status.st_size <= budget:
            return hashlib.file_digest(cast("io.FileIO", file), "sha256").hexdigest()
        digest, length = hashlib.sha256(str(status.st_mtime_ns).encode()), budget // (_SHARE * _SAMPLES) + 1
        for number in range(_SAMPLES):
            file.seek(max(status.st_size - length, 0) * number // (_SAMPLES - 1))
            digest.update(file.read(length))
        return digest.hexdigest()


def check_identity(directory: Path, known: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Say what differs between the run of a checkpoint and this one."""
    present = json.loads(json.dumps(identity))  # tuples are lists there
    for part in present:
        if known.get(part) != present[part]:
            raise IncompatibleCheckpoint(
                f"the checkpoint in `{directory}` belongs to another run: {_difference(part, known.get(part), present[part])}; "
                "use another directory, or remove the checkpoint to start again"
            )


def _difference(part: str, known: object, present: object) -> str:
    if part in _FILES and isinstance(known, list) and isinstance(present, list):
        return _changed_file(_FILES[part], known, present)
    if part == "queries":
        return "the queries differ"
    return f"{part} was `{known}` and is `{present}`"


def _changed_file(what: str, known: list[Any], present: list[Any]) -> str:
    before, now = ({tuple(each[:2]): each[2:] for each in files} for files in (known, present))
    for verdict, files, others in (("gone", before, now), ("new", now, before)):
        for name, path in files:
            if (name, path) not in others:
                return f"{what} `{path}` is {verdict}"
    for (name, path), state in now.items():
        old = before[name, path]
        if state != old:
            sizes = (
                f"it had {old[0]:,} bytes and has {state[0]:,}"
                if state and state[0] != old[0]
                else "its content"
            )
            return f"{what} `{path}` was changed ({sizes})"
    return f"{what}s come in another order"
