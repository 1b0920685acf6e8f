"""A source of events that is no file, added by the recipe of docs/how-to/extend.md: a checkpoint keeps its position."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
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
from spaseq.engine.request import RunRequest, Stop
from spaseq.errors import IncompatibleCheckpoint, InvalidArgument, SpaseqError
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import Event
from spaseq.model.forms import Stream
from support.toys import added

STREAM = "http://ex.org/s"
POLL = "spaseq.io.connectors.ticks.Ticks.poll"
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


TWO = """PREFIX : <http://ex.org/> SELECT ?v ?w WITHIN 10 SECONDS SLIDING FROM STREAM S <http://ex.org/s>
FROM STREAM R <http://ex.org/r> WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?k :v ?v } DEFINE GPM B ON R { ?k :v ?w } }"""


class Rested(Stop):
    """Ends a run the third time that there is nothing to do, without waiting."""

    rests = 0

    def wait(self, seconds: float) -> None:  # noqa: ARG002 - it does not wait
        self.rests += 1
        if self.rests == 3:
            self.request(15)
        self.poll()


def test_a_query_does_not_wait_for_streams_that_it_does_not_read(tmp_path: Path) -> None:
    """Each has the watermark of its own streams, and goes on from it after a restart."""
    (tmp_path / "in").mkdir()
    asked = replace(
        request(tmp_path),
        queries=tuple(
            NamedQuery(name, spaseq.compile(text)) for name, text in (("one", QUERY), ("two", TWO))
        ),
        streams=(("S", "ticks:20"), ("R", str(tmp_path / "in"))),
        idle_after=3600 * 10**6,
        settle=0,
    )
    stamp = '<http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:05.5Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    for late in range(2):
        LocalRun(asked, Rested()).run()
        lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        names = Counter(line["query"] for line in lines)
        assert names["one"] == 16, "up to the watermark of S, 17 s"
        assert names["two"] == 3 * late, "k1 had 1, 3 and 5 before"
        event = f"<http://ex.org/g> {stamp} .\n<http://ex.org/k1> <http://ex.org/v> <http://ex.org/o> <http://ex.org/g> .\n"
        (tmp_path / "in" / "a.nq").write_text(event)
        (tmp_path / "in" / "b.nq").write_text(event.replace("00:00:05.5", "00:00:09").replace("/g>", "/h>"))
    assert LocalRun(asked, Rested()).run().status.late == 0


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


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Event(STREAM, "yesterday", ()), "the event's time cannot be read"),
        (Event(STREAM, 10**30, ()), "outside the years"),
        (Event(STREAM, 1_500_000, "<http://ex.org/k> .", format="turtle"), "cannot be read as turtle"),
        (Event(STREAM, 1_500_000, "text"), "needs `format=`"),
        (Event(STREAM, 1_500_000, [("a", "b")]), "triple"),  # type: ignore[list-item]
        (Event("http://ex.org/other", 1_500_000, ()), "an event of the stream `http://ex.org/other`"),
        (Event(STREAM, 1_500_000, (), start=1_600_000), "after its time"),
    ],
)
def test_a_malformed_event_is_quarantined_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Event, reason: str
) -> None:
    """With its reason and its number in the source, as one of a file; the events around it count."""
    poll = import_module("spaseq.io.connectors.ticks").Ticks.poll

    def with_one_more(self: object) -> list[Event]:
        found: list[Event] = poll(self)
        return [found[0], wrong, *found[1:]] if found and found[0].time == 0 else found

    monkeypatch.setattr(POLL, with_one_more)
    report = LocalRun(request(tmp_path)).run()
    assert report.status.bad == 1
    (bad,) = (json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines())
    assert (bad["source"], bad["position"], bad["unit"]) == ("ticks:20", 2, "event")
    assert reason in bad["reason"]
    assert values(tmp_path) == [(str(n), str(n + 2)) for n in range(18)]


def test_a_malformed_event_ends_the_run_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--on-bad-input fail`; what is no event at all is a fault of the source, whatever is asked for."""
    monkeypatch.setattr(POLL, lambda _: [Event(STREAM, "yesterday", ())])
    with pytest.raises(SpaseqError, match=r"ticks:20, event 1: the event's time cannot be read"):
        LocalRun(replace(request(tmp_path), on_bad_input="fail")).run()
    monkeypatch.setattr(POLL, lambda _: ["an event"])
    with pytest.raises(InvalidArgument, match="is not an event"):
        LocalRun(replace(request(tmp_path), checkpoint=None)).run()
