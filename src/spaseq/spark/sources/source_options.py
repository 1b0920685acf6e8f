"""The options of ``format("rdf")``, as Spark hands them on: texts by name, checked here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast, get_args

from spaseq.errors import InvalidArgument, did_you_mean
from spaseq.io.growing import SETTLE
from spaseq.io.options import TIMESTAMP_PREDICATE, ReadOptions
from spaseq.io.sources import Layout
from spaseq.spark.shared_folder import bad_policy
from spaseq.spark.sources.archive import check_outside
from spaseq.spark.sources.event_files import EventFiles, time_range
from spaseq.stores import one_name
from spaseq.temporal.instants import TimeUnit

Clean: TypeAlias = Literal["off", "delete", "archive"]
CLEAN: Final = get_args(Clean)

OPTIONS: Final = (
    "path", "paths", "format", "timestampPredicate", "startPredicate", "endPredicate", "timeUnit", "triplesPerEvent", "layout", "since", "until", "onBadInput", "quarantine",
    "maxFilesPerTrigger", "maxBytesPerTrigger", "finite", "settle", "idleAfter", "fileLog", "maxFileAge", "cleanSource", "sourceArchiveDir",
)  # fmt: skip
OWN: Final = ("parallelism", "partBytes", "yields", "schedule", "stream")
"""What `match` and `spaseq run` tell a source of their own."""


READ_BY_SPARK: Final = (
    '`read_events(…, on_bad_input="skip")` or "quarantine" (the option `onBadInput` of format("rdf")) goes on without it; '
    "`on_bad_input` of `match` rules only files of DataFrames that come straight from `read_events`, not filtered, joined or cached"
)
"""What helps where Spark makes rows of events, with bad input among them."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of ``format("rdf")``, checked."""

    files: EventFiles
    most_files: int | None
    most_bytes: int | None
    finite: bool
    parallelism: int
    parts: bool
    """True if rows are to name parts of files instead of events; `match` reads those itself."""
    schedule: str | None = None
    """A file that says what every micro-batch reads."""
    stream: str = ""
    """Whose part of the schedule this is."""
    part_bytes: int | None = None
    """How much of a file one task reads; by default so that tasks have about equal sizes."""
    settle: int = SETTLE
    """Microseconds without change after which a file is taken to be complete."""
    idle_after: int | None = None
    """Microseconds of silence after which the stream says that it is idle."""
    file_log: str | None = None
    """A directory for what was taken, so that offsets stay small."""
    max_age: int | None = None
    """Microseconds before the latest file beyond which files are passed over and forgotten."""
    clean: Clean = "off"
    """What becomes of files that were read to their end."""
    archive: str | None = None
    """Where such files are moved."""
    id: str = ""
    """No other DataFrame has this."""

    @staticmethod
    def of(given: Mapping[str, str], id: str = "") -> SourceOptions:  # noqa: A002
        known = {name.lower() for name in (*OPTIONS, *OWN)}
        for name in given:
            if name.lower() not in known:
                meant = did_you_mean(name, OPTIONS)
                raise InvalidArgument(
                    f'format("rdf") has no option `{name}`; its options are {", ".join(OPTIONS)}{meant}'
                )
        many = json.loads(given["paths"]) if "paths" in given else [given["path"]] if "path" in given else []
        many = list(dict.fromkeys(map(one_name, many)))
        if not many:
            raise InvalidArgument('format("rdf") needs a path: `.load("events/")`')
        per_event = given.get("triplesPerEvent")
        read = ReadOptions(
            given.get("timestampPredicate", TIMESTAMP_PREDICATE),
            cast(TimeUnit, given.get("timeUnit", "ms")),
            None if per_event is None else _number("triplesPerEvent", per_event),
            layout=cast(Layout, given.get("layout", "auto")),
            start_predicate=given.get("startPredicate"),
            end_predicate=given.get("endPredicate"),
        )
        quarantine = given.get("quarantine")
        policy = replace(bad_policy(given.get("onBadInput", "fail"), quarantine), cure=READ_BY_SPARK)
        limits = [given.get(name) for name in ("maxFilesPerTrigger", "maxBytesPerTrigger")]
        files, size = (
            None if text is None else _number(name, text)
            for name, text in zip(("maxFilesPerTrigger", "maxBytesPerTrigger"), limits, strict=True)
        )
        return SourceOptions(
            EventFiles(
                tuple(many),
                given.get("format"),
                read,
                policy,
                times=time_range(given.get("since"), given.get("until")),
            ),
            files,
            size,
            _truth("finite", given.get("finite", "false")),
            _number("parallelism", given.get("parallelism", "8")),
            given.get("yields", "events") == "parts",
            given.get("schedule"),
            given.get("stream", ""),
            _number("partBytes", given["partBytes"]) if "partBytes" in given else None,
            _number("settle", given.get("settle", str(SETTLE)), 0),
            _number("idleAfter", given["idleAfter"], 0) if "idleAfter" in given else None,
            given.get("fileLog"),
            _number("maxFileAge", given["maxFileAge"]) if "maxFileAge" in given else None,
            *_cleaning(given, many),
            id,
        )


def _cleaning(given: Mapping[str, str], paths: Sequence[str]) -> tuple[Clean, str | None]:
    clean, archive = given.get("cleanSource", "off"), given.get("sourceArchiveDir")
    if clean not in CLEAN:
        raise InvalidArgument(f"the option `cleanSource` is one of {', '.join(CLEAN)}, not `{clean}`")
    if (clean == "archive") != (archive is not None):
        raise InvalidArgument("`cleanSource` is `archive` if there is a `sourceArchiveDir`, and only then")
    if archive is not None:
        check_outside(paths, archive)
    return cast(Clean, clean), archive


def _truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidArgument(f"the option `{name}` is true or false, not `{text}`")
    return text.lower() == "true"


def _number(name: str, text: str, least: int = 1) -> int:
    if not text.isdigit() or int(text) < least:
        raise InvalidArgument(f"the option `{name}` is a whole number from {least} on, not `{text}`")
    return int(text)
