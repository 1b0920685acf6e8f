"""Facts about `spaseq run` that goes on: following files, being interrupted or killed, and resuming (in-process engine)."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
from spaseq.engine.checkpoint import VERSION
from spaseq.model.packing import unpack
from spaseq.settings import changed_settings
from support.event_files import nquads
from support.trades import EX, HEAD, STREAM, lines_in, start, trade, trades, wait_for, write


def run(*arguments: str) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, ["run", "--engine", "local", *arguments], prog_name="spaseq")


def written_at() -> int:
    """When the last checkpoint was written; between two generations there is only the one before."""
    known = [0]
    for file in Path("points").glob("checkpoint*"):
        with suppress(OSError):
            known.append(file.stat().st_mtime_ns)
    return max(known)


def checkpointed() -> int:
    """How many events the last checkpoint speaks of."""
    known = [0]
    for file in Path("points").glob("checkpoint*"):
        with suppress(OSError):
            known.append(unpack(file.read_bytes(), VERSION)[0]["progress"]["events"])
    return max(known)


def size_of(path: str) -> int:
    """How many bytes a file has; none if it is not there."""
    return Path(path).stat().st_size if Path(path).exists() else 0


# --- interrupted ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ctrl_c_stops_cleanly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output so far is whole lines, one sentence says what was done, the status is 130."""
    monkeypatch.setenv("SPASEQ_SETTINGS", "batch_events=200")
    write("many.nq", trades(60_000))
    process = start("rise.spaseq", "--stream", "S1=many.nq", "--provenance", "--output", "out.jsonl")
    wait_for(lambda: lines_in("out.jsonl") > 0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("note: stopped by Ctrl-C: ")
    for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line)


# --- following ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_follow_takes_new_files_and_ends_on_request(folder: Path) -> None:
    """Files that were there, files that come, each once; hidden ones not before they are renamed."""
    Path("in").mkdir()
    write("in/0.nq", [trade(10, "H1", 1)])
    process = start("rise.spaseq", "--stream", "S1=in", "--follow", "--output", "out.jsonl")
    write("in/.1.nq", [trade(20, "H1", 5)])
    Path("in/.1.nq").rename("in/1.nq")
    wait_for(lambda: lines_in("out.jsonl") == 1)
    write("in/2.nq", [trade(5, "H1", 9), trade(21, "H1", 1), trade(22, "H1", 7)])
    wait_for(lambda: lines_in("out.jsonl") >= 2)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 0
    assert "1 late event quarantined in quarantine.jsonl" in err
    assert "note: read 5 events (S1 5), 0 bad, 1 late" in err
    assert "note: stopped by SIGTERM: 5 events read" in err
    kept = json.loads(Path("quarantine.jsonl").read_text(encoding="utf-8"))
    assert kept["reason"].startswith("late: its time is 1970-01-01T00:00:05Z")
    starts = [
        json.loads(line)["start"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert starts == ["1970-01-01T00:00:10Z", "1970-01-01T00:00:20Z", "1970-01-01T00:00:21Z"][: len(starts)]


@pytest.mark.slow
def test_a_killed_run_that_followed_goes_on_with_what_it_had_seen(folder: Path) -> None:
    """Files it had handled are not read again; runs that waited still wait."""
    Path("in").mkdir()
    write("in/0.nq", [trade(10, "H1", 1), trade(11, "H2", 1)])
    arguments = [
        "rise.spaseq",
        "--stream",
        "S1=in",
        "--follow",
        "--output",
        "out.jsonl",
        "--checkpoint",
        "points",
    ]
    first = start(*arguments)
    write("in/1.nq", [trade(20, "H1", 5)])
    wait_for(lambda: lines_in("out.jsonl") == 1)
    wait_for(lambda: checkpointed() == 3)
    first.kill()
    first.communicate()
    write("in/2.nq", [trade(30, "H2", 7)])
    second = start(*arguments)
    wait_for(lambda: lines_in("out.jsonl") == 2)
    second.send_signal(signal.SIGINT)
    _, err = second.communicate()
    assert second.returncode == 0
    assert "4 events read, 2 matches written; the same command goes on from here" in err
    names = [
        json.loads(line)["bindings"]["c"]["value"]
        for line in Path("out.jsonl").read_text("utf-8").splitlines()
    ]
    assert names == [f"{EX}H1", f"{EX}H2"]


def append(name: str, text: str | bytes) -> None:
    """More of a file, visible at once."""
    with Path(name).open("ab") as file:
        file.write(text.encode() if isinstance(text, str) else text)


def stopped(process: subprocess.Popen[str]) -> str:
    """Stop a run that follows; what it said."""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return err


@pytest.mark.slow
def test_a_writer_that_pauses_loses_nothing(folder: Path) -> None:
    """A file that was taken to be complete and grows is read on, in the middle of a line if need be."""
    Path("in").mkdir()
    process = start(
        "rise.spaseq", "--stream", "S1=in", "--follow", "--settle", "100ms", "--output", "out.jsonl"
    )
    append("in/a.nq", nquads([trade(10, "H1", 1), trade(20, "H1", 5)]))
    wait_for(lambda: lines_in("out.jsonl") == 1)
    text = nquads([trade(30, "H1", 7), trade(31, "H1", 9)])
    append("in/a.nq", text[:50])
    wait_for(lambda: bool(process.stderr and "ends in the middle of an event" in process.stderr.readline()))
    append("in/a.nq", text[50:])
    wait_for(lambda: lines_in("out.jsonl") == 3)
    stopped(process)
    assert not Path("quarantine.jsonl").exists()


@pytest.mark.slow
def test_a_growing_file_is_read_on_after_kills_without_loss_or_repetition(folder: Path) -> None:
    """Bytes come in any number, the run is killed again and again; every match is written once."""
    Path("in").mkdir()
    chance, text = random.Random(5), nquads(trades(300)).encode()
    Path("whole.nq").write_bytes(text)
    run("rise.spaseq", "--stream", "S1=whole.nq", "--output", "whole.jsonl")
    arguments = ["rise.spaseq", "--stream", "S1=in", "--follow", "--settle", "0s", "--output", "out.jsonl"]
    arguments += ["--checkpoint", "points", "--checkpoint-every", "0s"]
    written = 0
    while written < len(text):
        before = lines_in("out.jsonl")
        process = start(*arguments)
        for _ in range(4):
            size = chance.randrange(1, 3000)
            append("in/a.nq", text[written : written + size])
            written += size
            time.sleep(0.5 * chance.random())  # writing goes on while the run reads
        wait_for(lambda: lines_in("out.jsonl") > before or process.poll() is not None)  # noqa: B023
        process.kill()
        process.communicate()
    kept = written_at()
    process = start(*arguments)
    wait_for(lambda: written_at() > kept)
    wait_for(lambda: checkpointed() == 300)
    err = stopped(process)
    assert "300 events read" in err
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


@pytest.mark.slow
def test_a_file_that_shrinks_while_it_is_followed_is_told_and_quarantined(folder: Path) -> None:
    """Nothing of it is read twice, and nothing is lost without a word."""
    Path("in").mkdir()
    process = start("rise.spaseq", "--stream", "S1=in", "--follow", "--settle", "0s", "--output", "out.jsonl")
    append("in/a.nq", nquads([trade(10, "H1", 1), trade(20, "H1", 5)]))
    wait_for(lambda: lines_in("out.jsonl") == 1)
    write("in/a.nq", [trade(30, "H1", 7)])
    wait_for(lambda: bool(process.stderr and "and now has" in process.stderr.readline()))
    write("in/b.nq", [trade(31, "H1", 9)])
    wait_for(lambda: lines_in("out.jsonl") == 2)
    assert "1 bad event quarantined" in stopped(process)
    (kept,) = Path("quarantine.jsonl").read_text("utf-8").splitlines()
    assert "give new data a new name" in json.loads(kept)["reason"]
    assert json.loads(Path("out.jsonl").read_text("utf-8").splitlines()[1])["start"] == "1970-01-01T00:00:20Z"


@pytest.mark.slow
def test_one_event_with_a_wrong_clock_makes_no_other_late(folder: Path) -> None:
    """It is bad input, told while it happens; time goes by the others, also after a restart."""
    Path("in").mkdir()
    write("in/0.nq", [trade(10, "H1", 1), trade(250_000_000_000, "H1", 2)])
    arguments = ["rise.spaseq", "--stream", "S1=in", "--follow", "--settle", "0s", "--output", "out.jsonl"]
    process = start(*arguments, "--checkpoint", "points")
    told: list[str] = []
    wait_for(lambda: bool(process.stderr and told.append(process.stderr.readline()) is None and told[-1]))
    assert "in/0.nq:3: ahead of the clock: its time is 9892-03-08T" in told[-1]
    assert "an event may lead by 1d" in told[-1]
    write("in/1.nq", [trade(20, "H1", 5)])
    wait_for(lambda: lines_in("out.jsonl") == 1)
    stopped(process)
    write("in/2.nq", [trade(30, "H1", 9)])
    process = start(*arguments, "--checkpoint", "points")
    wait_for(lambda: lines_in("out.jsonl") == 2)
    assert "1 bad event quarantined" in stopped(process)
    assert lines_in("quarantine.jsonl") == 1


def test_a_lead_is_bounded_on_a_finite_input_only_if_asked(folder: Path) -> None:
    """Replays of any data work; --max-lead says what to believe."""
    write("far.nq", [trade(250_000_000_000, "H1", 1), trade(250_000_000_001, "H1", 2)])
    assert run("rise.spaseq", "--stream", "S1=far.nq").stdout.count("\n") == 1
    done = run("rise.spaseq", "--stream", "S1=far.nq", "--max-lead", "1h")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "2 bad events quarantined" in done.stderr


PAIR = f"""{HEAD}SELECT ?p ?q WITHIN 1 MINUTE SLIDING {STREAM} FROM STREAM S2 <http://ex.org/more>
WHERE {{ SEQ (A ; B) DEFINE GPM A ON S1 {{ ?c :price ?p }} DEFINE GPM B ON S2 {{ ?d :price ?q }} }}"""


@pytest.mark.slow
def test_a_slow_stream_is_waited_for_and_a_silent_one_is_not(folder: Path) -> None:
    """What one stream sends early is no reason to call the other one late; silence ends the wait."""
    Path("pair.spaseq").write_text(PAIR, encoding="utf-8")
    for name in ("one", "two"):
        Path(name).mkdir()
    given = ["pair.spaseq", "--stream", "S1=one", "--stream", "S2=two", "--follow", "--settle", "0s"]
    write("one/0.nq", [trade(10, "H1", 1), trade(50, "H1", 2)])
    process = start(*given, "--idle-after", "1h", "--output", "a.jsonl", "--checkpoint", "points")
    wait_for(lambda: Path("points/checkpoint").exists())
    write("two/0.nq", [trade(20, "H1", 3), trade(60, "H1", 4)])
    wait_for(lambda: lines_in("a.jsonl") == 1)
    stopped(process)
    assert not Path("quarantine.jsonl").exists()
    process = start(*given, "--idle-after", "1s", "--output", "b.jsonl")
    wait_for(lambda: lines_in("b.jsonl") == 2)
    stopped(process)


def test_what_does_not_exist_cannot_be_followed(folder: Path) -> None:
    """A typo in a path would wait for ever."""
    done = run("rise.spaseq", "--stream", "S1=nowhere", "--follow")
    assert done.exit_code == 2
    assert "`nowhere` does not exist, so it cannot be followed" in done.stderr


# --- checkpoints ----------------------------------------------------------------------------------


def test_a_run_that_had_ended_is_not_done_again(folder: Path) -> None:
    """The output stays as it is."""
    arguments = ["rise.spaseq", "--stream", "S1=two.nq", "--output", "out.jsonl", "--checkpoint", "points"]
    assert run(*arguments).exit_code == 0
    before = Path("out.jsonl").read_bytes()
    done = run(*arguments)
    assert done.exit_code == 0
    assert "this run had ended" in done.stderr
    assert Path("out.jsonl").read_bytes() == before


def test_a_checkpoint_of_another_run_is_refused(folder: Path) -> None:
    """Another query, another input, another option: each is named."""
    base = ["--stream", "S1=two.nq", "--output", "out.jsonl", "--checkpoint", "points"]
    assert run("rise.spaseq", *base).exit_code == 0
    for arguments, words in (
        (["fall.spaseq", *base], "the queries differ"),
        (["rise.spaseq", *base, "--provenance"], "provenance was `False` and is `True`"),
        (["rise.spaseq", *base, "--time-unit", "s"], "time unit was `ms` and is `s`"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert "belongs to another run" in done.stderr
        assert words in done.stderr
    write("two.nq", trades(5))
    words = "the input `two.nq` was changed (it had 498 bytes and has 1,240)"
    assert words in run("rise.spaseq", *base).stderr


def interrupted(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, portions: int = 3
) -> None:
    """A run over four files that dies after some portions, with bad input between them."""
    from spaseq.engine.query_group import QueryGroup

    if not Path("in").exists():
        Path("in").mkdir()
        events = trades(400)
        for number in range(4):
            text = nquads(events[number * 100 : number * 100 + 100])
            Path(f"in/{number}.nq").write_text(f"bad {number}\n{text}worse\n", encoding="utf-8")
    done, real = 0, QueryGroup.step

    def step(self: QueryGroup, portion: object) -> object:
        nonlocal done
        done += 1
        if done > portions:
            raise RuntimeError("killed")
        return real(self, portion)  # type: ignore[arg-type]

    monkeypatch.setattr(QueryGroup, "step", step)
    with changed_settings(sorted_bytes=-1, merged_events=10):
        died = run(*arguments, "--checkpoint-every", "0s")
    assert isinstance(died.exception, RuntimeError)
    monkeypatch.setattr(QueryGroup, "step", real)


@pytest.mark.parametrize("style", ["jsonl", "csv", "sparql-json"])
def test_a_resumed_run_writes_what_an_uninterrupted_one_would(
    folder: Path, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    """Matches and quarantine, byte for byte, wherever it died."""
    common = ["rise.spaseq", "--stream", "S1=in", "--output-format", style, "--output"]
    arguments = [*common, "out/o", "--checkpoint", "points"]
    Path("out").mkdir()
    for portions in (0, 1, 1, 1):
        interrupted(folder, arguments, monkeypatch, portions)
    assert run(*arguments).exit_code == 0
    Path("whole").mkdir()
    assert run(*common, "whole/o").exit_code == 0
    assert Path("out/o").read_bytes() == Path("whole/o").read_bytes()
    assert Path("out/quarantine.jsonl").read_bytes() == Path("whole/quarantine.jsonl").read_bytes()
    assert lines_in("whole/quarantine.jsonl") == 8


@pytest.mark.slow
def test_a_run_killed_at_random_moments_loses_nothing_and_says_nothing_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed with signal 9, again and again, until it comes through."""
    monkeypatch.setenv("SPASEQ_SETTINGS", "portion_events=2000,merged_events=500,sorted_bytes=1000000")
    Path("in").mkdir()
    chance, kills = random.Random(0), 0
    events = sorted(trades(75_000), key=lambda event: event.time + chance.randrange(100_000_000))
    for number in range(3):
        write(f"in/{number}.nq", events[number * 25_000 : number * 25_000 + 25_000])
    arguments = ["rise.spaseq", "fall.spaseq", "--stream", "S1=in", "--output"]
    whole = start(*arguments, "whole.jsonl")
    whole.communicate()
    while killed(
        start(*arguments, "out.jsonl", "--checkpoint", "points", "--checkpoint-every", "0s"), chance
    ):
        kills += 1
    assert kills > 1
    for name in ("rise", "fall"):  # lines of two queries may alternate differently
        assert lines_of(name, "out.jsonl") == lines_of(name, "whole.jsonl")


def lines_of(query: str, path: str) -> list[str]:
    """The lines of one query."""
    return [
        line for line in Path(path).read_text("utf-8").splitlines() if line.startswith(f'{{"query":"{query}"')
    ]


def killed(process: subprocess.Popen[str], chance: random.Random) -> bool:
    """Kill a run after a few more checkpoints and some more output; false if it came through before."""
    done, wanted = checkpointed(), chance.randrange(4_000, 30_000)
    wait_for(lambda: process.poll() is not None or checkpointed() >= done + wanted)
    size, more = size_of("out.jsonl"), chance.randrange(20_000)
    wait_for(lambda: process.poll() is not None or size_of("out.jsonl") >= size + more)
    through = process.poll() is not None
    process.kill()
    process.communicate()
    assert not through or process.returncode == 0
    return not through


def test_a_checkpoint_directory_has_one_run_at_a_time(folder: Path) -> None:
    """A second start is refused while the first runs, with its number; after a kill the directory is free."""
    Path("in").mkdir()
    write("in/0.nq", [trade(10, "H1", 1), trade(20, "H1", 5)])
    arguments = ["rise.spaseq", "--stream", "S1=in", "--output", "out.jsonl", "--checkpoint", "points"]
    first = start(*arguments, "--follow")
    wait_for(lambda: lines_in("out.jsonl") == 1)
    for engine in ("local", "spark"):
        second = run(*arguments, "--follow", "--engine", engine)
        assert (second.exit_code, second.stdout) == (2, "")
        assert f"the checkpoint directory `points` is in use by process {first.pid}; wait" in second.stderr
        assert f"(kill {first.pid}), or use another directory" in second.stderr
    assert lines_in("out.jsonl") == 1
    first.kill()
    first.communicate()
    for _ in range(2):  # a refused run leaves the directory free as well
        assert "belongs to another run" in run(*arguments).stderr
