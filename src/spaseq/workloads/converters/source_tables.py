"""Reading the data sets' tables row by row, and naming where they come from."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from spaseq.errors import InvalidArgument
from spaseq.workloads.timed_events import EPOCH

SOURCES: Final = {
    "CB": "CityBench/Benchmark @ 8884af6 (repository GPL-3.0; no licence stated for the data)",
    "SE": "spaseq/energy.data.gen @ f694d51 (UMass Smart* Home C; no licence stated)",
    "SQ": "Gillani0/spaseq @ 0664045 (README: MIT)",
    "QL": "QuantConnect/Lean @ 2486390 (repository Apache-2.0; data supplied by AlgoSeek)",
    "BK": "mmarossi/Banco @ 5a24e9e (PKDD'99 Berka data, anonymised; no licence stated)",
    "SP": "ujjwal-del/credit-card-fraud-detection @ 87239d0 (Sparkov generator, SIMULATED; no licence stated)",
    "VS": "mincisun5296/VesselSummaryAIS @ 8ebbc06 (GPL >= 3; marinecadastre.gov, US Coast Guard)",
}
"""The repositories the tables were taken from, by the keys of the data folder's README."""


def source(key: str, *files: str) -> tuple[str, ...]:
    """The lines that name the origin of some tables."""
    return tuple(f"{file} from {SOURCES[key]}" for file in files)


def rows(folder: Path, file: str) -> Iterator[dict[str, str]]:
    """The rows of a table, one at a time; a name ending in ``.gz`` is unpacked on the way."""
    path = folder / file
    if not path.exists():
        raise InvalidArgument(f"`{path}` does not exist; --data names the folder with the data sets")
    packed = path.suffix == ".gz"
    with (gzip.open(path, "rt", encoding="utf-8", newline="") if packed else path.open(encoding="utf-8", newline="")) as text:  # fmt: skip
        yield from csv.DictReader(text)


def utc_ms(text: str) -> int:
    """Milliseconds since the epoch of a time without zone, taken as UTC.

    >>> utc_ms("1970-01-01T00:00:01.5")
    1500
    """
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)


def new_york_offset(text: str) -> int:
    """Milliseconds to add to a New York time to get UTC, by the rule of 2007 and after.

    Summer time holds from the second Sunday of March to the first Sunday of November; exchanges are closed
    at the hours of change, so the date decides.

    >>> (
    ...     new_york_offset("2013-10-07T09:30:00") // 3_600_000,
    ...     new_york_offset("2008-02-01T09:00:00") // 3_600_000,
    ... )
    (4, 5)
    """
    day = text[:10]
    begins, ends = (_sunday(int(text[:4]), month, nth) for month, nth in ((3, 2), (11, 1)))
    return (4 if begins <= day < ends else 5) * 3_600_000


def _sunday(year: int, month: int, nth: int) -> str:
    first = datetime(year, month, 1, tzinfo=UTC)
    return (first + timedelta(days=(6 - first.weekday()) % 7 + 7 * (nth - 1))).strftime("%Y-%m-%d")
