"""A source of events that is no file, added by the recipe of docs/how-to/extend.md: a checkpoint keeps its position."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import spaseq
from spaseq.cli.main import main
from spaseq.engine import opening
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.live_sources import LiveSources
from spaseq.engine.local_run import LocalRun
from spaseq.engine.opening import InputOptions
from spaseq.engine.request import RunRequest
from spaseq.errors import IncompatibleCheckpoint
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import Stream
from support.toys import added

QUERY = """PREFIX : <http://ex.org/> SELECT ?k ?v ?w WITHIN 10 SECONDS SLIDING FROM STREAM S <http://ex.org/s>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?k :v ?v } DEFINE GPM B ON S { ?k :v ?w } }"""


@pytest.fixture(autouse=True, scope="module")
def _toys() -> Iterator[None]:
    with added():
        yield


def request(folder: Path, address: str = "ticks:20") -> RunRequest:
    """A run that follows a source, and writes a checkpoint after every portion."""
    return RunRequest(
        queries=(NamedQuery("q", spaseq.compile(QUERY)),),
        streams=(("S", address),),
        input=InputOptions(lateness=2_000_000),
        output=folder / "out.jsonl",
        quarantine=folder / "bad.jsonl",
        follow=True,
        checkpoint=folder / "state",
        checkpoint_every=0,
    )


def values(folder: Path) -> list[tuple[str, str]]:
    """What was written."""
    lines = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    return [(line["bindings"]["v"]["value"], line["bindings"]["w"]["value"]) for line in lines]


@pytest.mark.parametrize("portions", range(1, 8))
def test_a_run_goes_on_behind_the_position_in_its_checkpoint(tmp_path: Path, portions: int) -> None:
    """Stopped after any portion, nothing is lost and nothing comes twice."""

    class Stopped(Exception):
        """What a crash looks like from outside."""

    seen = 0

    def show(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == portions:
            raise Stopped

    with pytest.raises(Stopped):
        LocalRun(request(tmp_path)).run(show)
    run = LocalRun(request(tmp_path))
    assert run.resumed
    run.run()
    assert values(tmp_path) == [(str(n), str(n + 2)) for n in range(18)]


def test_a_position_that_it_does_not_know_is_refused() -> None:
    """The error names the source and the cure."""
    stream = Stream("S", "http://ex.org/s")
    positions = {"http://ex.org/s ticks:20": {"given": 21}}
    with (
        ExitStack() as stack,
        pytest.raises(
            IncompatibleCheckpoint, match=r"`ticks:20` cannot go on where the checkpoint says: .* remove"
        ),
    ):
        LiveSources([(stream, "ticks:20")], (stream.iri,), TermDictionary(), positions, stack)


def test_without_follow_and_with_a_wrong_address_there_is_a_sentence(tmp_path: Path) -> None:
    """A source has no end that could be waited for; what is behind the scheme is the source's business."""
    (tmp_path / "q.spaseq").write_text(QUERY)
    given = ["run", str(tmp_path / "q.spaseq"), "--engine", "local", "--output", str(tmp_path / "out")]
    done = CliRunner().invoke(main, [*given, "--stream", "S=ticks:3"])
    assert (done.exit_code, "`ticks:3` is not a file: follow it with `--follow`" in done.stderr) == (2, True)
    done = CliRunner().invoke(main, [*given, "--follow", "--stream", "S=ticks:many"])
    assert (done.exit_code, "`ticks:` is followed by how many, not `many`" in done.stderr) == (2, True)


def test_events_too_far_ahead_of_the_clock_are_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are told by the source and their number in it, and move no watermark."""
    monkeypatch.setattr(opening, "wall_microseconds", lambda: 9_000_000)
    asked = request(tmp_path)
    LocalRun(replace(asked, input=replace(asked.input, max_lead=2_000_000))).run()
    bad = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert [(item["source"], item["position"]) for item in bad] == [("ticks:20", n) for n in range(13, 21)]
    assert values(tmp_path) == [(str(n), str(n + 2)) for n in range(10)]
