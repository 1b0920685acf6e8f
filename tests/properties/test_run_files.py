"""Laws about replays: however the events lie in files, the answer is that of the reference implementation."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

import spaseq
from spaseq.engine import run as run_module
from spaseq.io.options import ReadOptions
from spaseq.model.events import GraphEvent
from spaseq.planner import compile_query
from spaseq.settings import changed_settings
from spaseq.testing.comparison import comparable
from spaseq.testing.runner import reference_host
from support.event_files import nquads
from support.scenarios import Scenario, scenarios


@pytest.fixture(scope="module", autouse=True)
def _large() -> Iterator[None]:
    """Treat every input as a large one: surveyed, handed on event by event, the dictionary always full."""
    with changed_settings(sorted_bytes=-1, merged_events=1, compacted_terms=1):
        yield


def reading(kernel: bool) -> Callable[..., ReadOptions]:
    """Options that send files through the byte kernel, or not."""
    return partial(ReadOptions, interpreted_bytes=1 if kernel else 1 << 20, batch_events=3)


def in_files(folder: Path, events: list[GraphEvent], draw: st.DrawFn) -> dict[str, list[str]]:
    """Every stream in up to three files, in any order; simultaneous events of a stream stay together."""
    paths: dict[str, list[str]] = {}
    ordered = sorted(events, key=lambda event: (event.stream, event.time))
    for stream, own in groupby(ordered, key=lambda event: event.stream):
        groups = draw(st.permutations([list(group) for _, group in groupby(own, key=lambda e: e.time)]))
        files: list[list[GraphEvent]] = [[], [], []]
        for group in groups:
            files[draw(st.integers(0, 2))] += group
        for number, file in enumerate(files):
            path = folder / f"{stream.rsplit('/', 1)[-1]}-{number}.nq"
            path.write_text(nquads(file), encoding="utf-8")
            paths.setdefault(stream, []).append(str(path))
    return paths


@given(scenario=scenarios(), data=st.data())
def test_any_order_and_any_split_into_files_gives_the_judges_answer(
    scenario: Scenario, data: st.DataObject
) -> None:
    """Files need not be in time order, and a stream may have many that overlap."""
    query = compile_query(scenario.query)
    declared = [stream.iri for stream in query.algebra.streams]
    events = [
        replace(event, name=NamedNode(f"urn:event:{number}"))
        for number, event in enumerate(scenario.events)
        if event.triples and event.stream in declared
    ]
    with_events, kernel = data.draw(st.booleans()), data.draw(st.booleans())
    wanted = comparable(
        query, reference_host.run(query, tuple(events), scenario.knowledge), with_events=with_events
    )
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "ReadOptions", reading(kernel))
        (Path(folder) / "empty.nq").touch()
        streams = {iri: [f"{folder}/empty.nq"] for iri in declared} | data.draw(
            st.composite(lambda draw: in_files(Path(folder), events, draw))()
        )
        found = list(spaseq.run(query, streams, scenario.knowledge, with_events=with_events))  # type: ignore[arg-type]
    assert comparable(query, found, with_events=with_events) == wanted
    assert [match.instant for match in found] == sorted(match.instant for match in found)
