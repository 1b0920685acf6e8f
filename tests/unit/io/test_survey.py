"""Facts about surveys: what a file's times are, and what is still to come at every place."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events
from spaseq.io.sources import Source, find_sources
from spaseq.io.survey import survey
from spaseq.model.dictionary import TermDictionary
from spaseq.temporal.instants import FOREVER

SMALL_PIECES = ReadOptions(time_unit="s", interpreted_bytes=1, chunk_bytes=1 << 14)


def nquads(times: list[int]) -> str:
    """An event per time, in this order; every third has its timestamp before it."""
    lines = []
    for number, time in enumerate(times):
        quads = [f'<urn:s{number}> <urn:p{n}> "{n}" <urn:g{number}> .' for n in range(3)]
        stamp = (
            f'<urn:g{number}> <http://www.w3.org/ns/prov#generatedAtTime> "{time}"'
            "^^<http://www.w3.org/2001/XMLSchema#integer> ."
        )
        lines += [stamp, *quads] if number % 3 == 0 else [*quads, stamp]
    return "\n".join(lines) + "\n"


def shuffled(count: int, by: int) -> list[int]:
    """Times that go back by up to so many seconds."""
    chance = random.Random(count)
    return [number + chance.randrange(by) for number in range(count)]


def source_of(path: Path, text: str) -> Source:
    """A file of events."""
    path.write_text(text, encoding="utf-8")
    return find_sources(path)[0]


def test_a_survey_knows_first_last_and_count(tmp_path: Path) -> None:
    """The first and the last instant are those of the whole file, whatever its order."""
    found = survey(source_of(tmp_path / "a.nq", nquads([5, 3, 9, 4, 10])), ReadOptions(time_unit="s"))
    assert (found.count, found.first, found.last) == (5, 3_000_000, 10_000_000)


def test_the_survey_of_a_file_without_events_has_no_times(tmp_path: Path) -> None:
    """Nothing is still to come from the start."""
    found = survey(source_of(tmp_path / "a.nq", ""), ReadOptions())
    assert (found.count, found.first, found.floor(0)) == (0, FOREVER, FOREVER)


@pytest.mark.parametrize("suffix", ["nq", "trig", "nq.gz"])
def test_the_floor_is_never_above_what_is_still_to_come(tmp_path: Path, suffix: str) -> None:
    """At every batch end of the real reader, whatever the format; and it gets close to it."""
    text = (trig if suffix == "trig" else nquads)(shuffled(20_000, 300))
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    source = find_sources(path)[0]
    found = survey(source, SMALL_PIECES)
    batches = list(
        read_events(
            path, stream="urn:s", dictionary=TermDictionary(), streams=["urn:s"], options=SMALL_PIECES
        )
    )
    times = np.concatenate([batch.times for batch in batches])
    assert (found.count, found.first, found.last) == (len(times), times.min(), times.max())
    read, gaps = 0, []
    for batch in batches[:-1]:
        read += len(batch)
        to_come = int(times[read:].min())
        floor = found.floor(read)
        assert floor <= to_come
        gaps.append(to_come - floor)
    assert max(gaps, default=0) < 5_000 * 1_000_000


def trig(times: list[int]) -> str:
    """An event per time as TriG."""
    return "".join(
        f"<urn:g{number}> {{ <urn:s> <urn:p> {number} }}\n"
        f"<urn:g{number}> <http://www.w3.org/ns/prov#generatedAtTime> {time} .\n"
        for number, time in enumerate(times)
    )


def test_a_bad_event_does_not_disturb_a_survey(tmp_path: Path) -> None:
    """Bad input is reported when events are read for good, not by the survey."""
    text = nquads([1, 2]) + "this is no quad\n" + nquads([3])
    found = survey(source_of(tmp_path / "a.nq", text), ReadOptions(time_unit="s"))
    assert found.last == 3_000_000


def test_a_survey_can_be_stopped(tmp_path: Path) -> None:
    """Ctrl-C during the survey of a large file is heard."""

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        survey(source_of(tmp_path / "a.nq", nquads([1])), ReadOptions(), poll=stop)
