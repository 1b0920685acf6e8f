"""Facts about checkpoints: what belongs to a run, and that a file that was changed is noticed and never overwritten."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
from spaseq.engine.checkpoint import FILE, VERSION, CheckpointFile
from spaseq.engine.identity import digest_of
from spaseq.engine.query_group import QueryGroup
from spaseq.errors import IncompatibleCheckpoint
from spaseq.model.packing import pack, unpack
from spaseq.settings import changed_settings

QUERY = """PREFIX : <http://ex.org/>
SELECT ?c ?p ?q WITHIN 9 SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE { SEQ (A ; B)
DEFINE GPM A ON S { ?c :price ?p GRAPH :db { ?c :kind ?k } } DEFINE GPM B ON S { ?c :price ?q FILTER (?q > ?p) } }"""
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
BASE = [
    "--stream",
    "S=in",
    "--kb",
    "http://ex.org/db=kb.ttl",
    "--output",
    "out.jsonl",
    "--quarantine",
    "bad.jsonl",
]


def events(first: int, count: int) -> str:
    """So many trades, one per second, and a piece of bad input."""
    chance, lines = random.Random(first), ["bad"]
    for second in range(first, first + count):
        graph, time = f"<urn:g{second}>", f'"{second * 1000}"{INTEGER}'
        lines.append(f"{graph} <http://www.w3.org/ns/prov#generatedAtTime> {time} .")
        price = f'"{chance.randrange(99)}"{INTEGER}'
        lines.append(f"<http://ex.org/c{chance.randrange(3)}> <http://ex.org/price> {price} {graph} .")
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a query, a background graph and three files of events with a piece of bad input each."""
    monkeypatch.chdir(tmp_path)
    Path("query.spaseq").write_text(QUERY)
    Path("kb.ttl").write_text("\n".join(f"<http://ex.org/c{n}> <http://ex.org/kind> {n} ." for n in range(3)))
    Path("in").mkdir()
    for number in range(3):
        Path(f"in/{number}.nq").write_text(events(number * 60, 60))
    return tmp_path


def run(*more: str, checkpoint: bool = True) -> Result:
    """The command in this process; later options overrule."""
    kept = ["--checkpoint", "points"] if checkpoint else []
    given = ["run", "query.spaseq", "--engine", "local", *BASE, *kept, *more]
    return CliRunner().invoke(main, given, prog_name="spaseq")


@pytest.fixture
def died(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that died in the middle, with a checkpoint of every portion before."""
    done, real = 0, QueryGroup.step

    def step(self: QueryGroup, portion: object) -> object:
        nonlocal done
        done += 1
        if done > 2:
            raise RuntimeError("killed")
        return real(self, portion)  # type: ignore[arg-type]

    monkeypatch.setattr(QueryGroup, "step", step)
    with changed_settings(sorted_bytes=-1, merged_events=10):
        assert isinstance(run("--checkpoint-every", "0s").exception, RuntimeError)
    monkeypatch.setattr(QueryGroup, "step", real)
    assert Path("out.jsonl").stat().st_size > 0 < Path("bad.jsonl").stat().st_size


def uninterrupted() -> list[bytes]:
    """What a run without checkpoint writes: matches and bad input."""
    assert run("--output", "whole.jsonl", "--quarantine", "whole.bad", checkpoint=False).exit_code == 0
    return [Path(name).read_bytes() for name in ("whole.jsonl", "whole.bad")]


def same_size(path: str) -> None:
    """Change a file but neither its size nor its time."""
    file, status = Path(path), Path(path).stat()
    text = file.read_bytes()
    file.write_bytes(text[:-9] + bytes([text[-9] ^ 1]) + text[-8:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


# --- what belongs to a run ------------------------------------------------------------------------


@pytest.mark.usefixtures("died")
@pytest.mark.parametrize(
    ("change", "more", "reason"),
    [
        (lambda: same_size("kb.ttl"), [], "the background graph `kb.ttl` was changed (its content)"),
        (lambda: Path("kb.ttl").write_text(""), [], "the background graph `kb.ttl` was changed (it had"),
        (lambda: same_size("in/1.nq"), [], "the input `in/1.nq` was changed (its content)"),
        (lambda: Path("in/1.nq").unlink(), [], "the input `in/1.nq` is gone"),
        (lambda: Path("in/3.nq").write_text(events(500, 1)), [], "the input `in/3.nq` is new"),
        (lambda: None, ["--rdfs"], "rdfs was `False` and is `True`"),
        (lambda: None, ["--quarantine", "precious"], "quarantine was `bad.jsonl` and is `precious`"),
    ],
)
def test_what_was_changed_is_noticed_and_named(
    change: Callable[[], object], more: list[str], reason: str
) -> None:
    """Nothing is written then, also not to a file that was named by mistake."""
    Path("precious").write_text("precious")
    change()
    kept = [Path(name).read_bytes() for name in ("out.jsonl", "bad.jsonl")]
    done = run(*more)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"belongs to another run: {reason}" in done.stderr
    assert "use another directory, or remove the checkpoint to start again" in done.stderr
    assert [Path(name).read_bytes() for name in ("out.jsonl", "bad.jsonl")] == kept
    assert Path("precious").read_text() == "precious"


def test_files_beyond_the_budget_are_told_by_samples_and_the_time_of_their_change(tmp_path: Path) -> None:
    """Size, samples and time; up to the budget every byte counts, and the time does not."""
    file = tmp_path / "file"
    file.write_bytes(bytes(10_000))
    first = [digest_of(file, budget) for budget in (10_000, 640)]
    os.utime(file, ns=(1, 1))
    second = [digest_of(file, budget) for budget in (10_000, 640)]
    assert (first[0] == second[0], first[1] == second[1]) == (True, False)
    file.write_bytes(bytes(9_999) + b"x")
    os.utime(file, ns=(1, 1))
    third = [digest_of(file, budget) for budget in (10_000, 640)]
    assert (second[0] == third[0], second[1] == third[1]) == (False, False)


# --- outputs --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("died")
@pytest.mark.parametrize("what", ["out.jsonl", "bad.jsonl"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: Path(path).unlink(), "it is gone"),
        (lambda path: os.truncate(path, 7), "and has 7"),
        (lambda path: Path(path).write_bytes(b"x" * 99_999), "bytes were changed"),
    ],
    ids=["gone", "shorter", "another"],
)
def test_an_output_that_was_changed_is_not_gone_on_with(
    what: str, change: Callable[[str], object], reason: str
) -> None:
    """It is left as it is."""
    change(what)
    before = Path(what).read_bytes() if Path(what).exists() else None
    done = run()
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"`{what}` is not what the checkpoint knows: " in done.stderr
    assert reason in done.stderr
    assert (Path(what).read_bytes() if Path(what).exists() else None) == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda: Path("out.jsonl").unlink(), "it is gone"),
        (lambda: os.truncate("out.jsonl", 7), "and has 7"),
        (lambda: same_size("out.jsonl"), "bytes were changed"),
        (lambda: os.truncate("out.jsonl", 99_999), "it has more than the"),
    ],
    ids=["gone", "shorter", "changed", "longer"],
)
def test_a_run_that_had_ended_is_not_reported_as_done_without_its_output(
    folder: Path, change: Callable[[], object], reason: str
) -> None:
    """The error says what is wrong with it and what to do."""
    assert run().exit_code == 0
    change()
    done = run()
    assert done.exit_code == 2
    assert "the output `out.jsonl` is not what the checkpoint knows: it" in done.stderr
    assert reason in done.stderr
    assert "bring it back, or remove the checkpoint to start again" in done.stderr


def test_a_run_that_had_ended_tells_of_its_bad_input_again(folder: Path) -> None:
    """As it did when it ended."""
    words = "3 bad events quarantined in bad.jsonl"
    assert words in run().stderr
    again = run()
    assert "this run had ended" in again.stderr
    assert words in again.stderr


def test_a_run_that_had_ended_with_half_a_file_fails_again(folder: Path) -> None:
    """What could not be read did not come back."""
    packed = gzip.compress(events(500, 60).encode())
    Path("in/3.nq.gz").write_bytes(packed[: len(packed) // 2])
    for _ in range(2):
        done = run()
        assert done.exit_code == 1
        assert "error: " in done.stderr
        assert "in/3.nq.gz" in done.stderr.partition("error: ")[2]
    assert "this run had ended" in done.stderr
    assert run("--on-bad-input", "skip").exit_code == 0


@pytest.mark.usefixtures("died")
def test_a_run_that_skips_bad_input_leaves_the_quarantine_alone() -> None:
    """The policy may change when a run is resumed; what was kept stays."""
    kept = Path("bad.jsonl").read_bytes()
    assert run("--on-bad-input", "skip").exit_code == 0
    assert Path("bad.jsonl").read_bytes() == kept
    assert Path("out.jsonl").read_bytes() == uninterrupted()[0]


def test_outputs_that_cannot_be_read_back_are_not_asked_for(folder: Path) -> None:
    """Devices have no content; none of them is ever removed."""
    for _ in range(2):
        assert run("--output", "/dev/null", "--quarantine", "/dev/null").exit_code == 0
    assert not Path("/dev/null").is_file()


# --- two generations ------------------------------------------------------------------------------


@pytest.mark.usefixtures("died")
@pytest.mark.parametrize("damage", ["cut", "bit", "gone"])
def test_a_damaged_checkpoint_is_made_good_by_the_one_before(damage: str) -> None:
    """The run goes on from there and writes what it would have written; a note says so."""
    newest = Path("points") / FILE
    data = newest.read_bytes()
    newest.write_bytes(data[:-5] if damage == "cut" else data[:30] + bytes([data[30] ^ 1]) + data[31:])
    if damage == "gone":
        newest.unlink()
    done = run()
    assert done.exit_code == 0
    note = "`points/checkpoint` is damaged (its checksum is wrong); the run goes on from the checkpoint before it"
    assert (note in done.stderr) == (damage != "gone")
    assert [Path(name).read_bytes() for name in ("out.jsonl", "bad.jsonl")] == uninterrupted()
    assert run().exit_code == 0


@pytest.mark.usefixtures("died")
def test_two_damaged_generations_are_refused() -> None:
    """Both are named."""
    for name in (FILE, f"{FILE}.before"):
        os.truncate(Path("points") / name, 40)
    done = run()
    assert done.exit_code == 2
    assert "`points/checkpoint` is damaged" in done.stderr
    assert "`points/checkpoint.before` is damaged" in done.stderr


@pytest.mark.usefixtures("died")
def test_a_crafted_checkpoint_is_refused_or_taken_up() -> None:
    """Whatever is in its header; no error of a decoder comes out."""
    path = Path("points") / FILE
    header, arrays = unpack(path.read_bytes(), VERSION)
    identity, refused = header["identity"], 0
    for name in header["progress"]:
        for value in (None, -1, "x", [], {"a": "b"}, [None], 1 << 70):
            crafted = {"identity": identity, "progress": {**header["progress"], name: value}}
            path.write_bytes(pack(crafted, arrays, VERSION))
            try:
                CheckpointFile(Path("points")).load(identity)
            except IncompatibleCheckpoint:
                refused += 1
    assert refused > 50


def test_a_checkpoint_belongs_to_one_engine(folder: Path) -> None:
    """The other one says so, before it starts."""
    assert run().exit_code == 0
    done = run("--engine", "spark")
    assert done.exit_code == 2
    assert "is a checkpoint of `--engine local`" in done.stderr
    Path("others").mkdir()
    Path("others/run.json").write_text("{}")
    done = run("--checkpoint", "others")
    assert done.exit_code == 2
    assert "is a checkpoint of `--engine spark`" in done.stderr


def test_a_checkpoint_of_an_older_release_is_told_by_its_version(folder: Path) -> None:
    """Those were archives."""
    Path("points").mkdir()
    Path("points/checkpoint.zip").write_bytes(b"PK")
    done = run()
    assert done.exit_code == 2
    assert f"has version 2, this release reads version {VERSION}" in done.stderr
