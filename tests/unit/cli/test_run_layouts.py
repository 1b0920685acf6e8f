"""Facts about `spaseq run --engine local` over data sets as others write them (docs/reference/event-formats.md)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
from support.datasets import WRITERS
from support.processes import SPASEQ, Process

EX = "http://ex.org/"
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
XSD = "http://www.w3.org/2001/XMLSchema#"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?c ?p ?q WITHIN 20 SECONDS SLIDING FROM STREAM S <http://ex.org/trades>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?t :of ?c ; :price ?p }
DEFINE GPM B ON S { ?u :of ?c ; :price ?q FILTER (?q > ?p) } }
"""


def trades(count: int) -> str:
    """Trades of five companies, one a second, in the layout of streams: a graph describes itself and its place."""
    chance, lines = random.Random(count), []
    for n in range(count):
        name = f"<{EX}t{n}>"
        lines += [
            f'{name} <{STAMP}> "{n}"^^<{XSD}integer> .',
            f"{name} <{EX}of> <{EX}c{chance.randrange(5)}> {name} .",
            f'{name} <{EX}price> "{chance.randrange(100)}"^^<{XSD}integer> {name} .',
            f"<{EX}exchange{n % 3}> <{EX}saw> {name} {name} .",
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(params=["small", "large"])
def folder(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change_settings: Callable[..., None],
) -> Path:
    """The working folder with a query and a stream; files are read whole, or surveyed and read by kernels."""
    monkeypatch.chdir(tmp_path)
    Path("rise.spaseq").write_text(QUERY, encoding="utf-8")
    Path("stream.nq").write_text(trades(60), encoding="utf-8")
    if request.param == "large":
        change_settings(sorted_bytes=-1, interpreted_bytes=1, chunk_bytes=1 << 12)
    return tmp_path


def run(*arguments: str) -> Result:
    """Call the command in this process."""
    command = ["run", "--engine", "local", "rise.spaseq", "--time-unit", "s", *arguments]
    return CliRunner().invoke(main, command, prog_name="spaseq")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
@pytest.mark.parametrize("writer", WRITERS)
def test_a_data_set_as_others_write_it_gives_the_matches_of_the_stream(folder: Path, writer: str) -> None:
    """Nothing is bad input, and the lines are the same."""
    suffix, write = WRITERS[writer]
    Path(f"data.{suffix}").write_bytes(write(Path("stream.nq").read_bytes()))
    expected, found = run("--stream", "S=stream.nq"), run("--stream", f"S=data.{suffix}")
    assert len(expected.stdout.splitlines()) > 20
    assert (found.exit_code, found.stdout) == (0, expected.stdout)
    assert not Path("quarantine.jsonl").exists()


def test_timestamps_inside_the_graphs_are_found_by_their_predicate(folder: Path) -> None:
    """As sensors write them."""
    at = f"{EX}at"
    inside = Path("stream.nq").read_text(encoding="utf-8").replace(STAMP, at)
    lines = [f"{line[:-1]}{line.split()[0]} ." if at in line else line for line in inside.splitlines()]
    Path("inside.nq").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path("sorted.nq").write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    expected = run("--stream", "S=stream.nq").stdout
    for file in ("inside.nq", "sorted.nq"):
        found = run("--stream", f"S={file}", "--timestamp-predicate", at)
        assert (found.exit_code, found.stdout) == (0, expected)


def test_a_layout_that_is_insisted_on_is_kept_to(folder: Path) -> None:
    """`stream` finds no timestamps of a sorted file far away, and says which layout would."""
    Path("sorted.nq").write_bytes(WRITERS["sort"][1](Path("stream.nq").read_bytes()))
    Path("both").mkdir()
    Path("stream.nq").rename("both/a.nq")
    Path("sorted.nq").rename("both/b.nq")
    found = run("--stream", "S=both", "--layout", "stream")
    assert found.exit_code == 0
    reasons = [
        json.loads(line)["reason"] for line in Path("quarantine.jsonl").read_text("utf-8").splitlines()
    ]
    assert reasons
    assert all(
        reason.endswith("; --layout dataset finds timestamps anywhere in the file") for reason in reasons
    )
    expected = run("--stream", "S=both/a.nq").stdout
    assert run("--stream", "S=both/b.nq", "--layout", "dataset").stdout == expected
    assert run("--stream", "S=both/a.nq", "--layout", "dataset").stdout == expected


def test_a_data_set_can_be_resumed(folder: Path) -> None:
    """A checkpoint of a finished run of the same layout is taken up, one of another layout is not."""
    Path("sorted.nq").write_bytes(WRITERS["sort"][1](Path("stream.nq").read_bytes()))
    arguments = ["--stream", "S=sorted.nq", "--checkpoint", "points", "--output", "out.jsonl"]
    assert run(*arguments).exit_code == 0
    assert "this run had ended" in run(*arguments).stderr
    other = run(*arguments, "--layout", "dataset")
    assert other.exit_code == 2
    assert "layout was `auto` and is `dataset`" in other.stderr


def test_a_data_set_cannot_be_followed(folder: Path) -> None:
    """The option is refused with what to do."""
    found = run("--stream", "S=.", "--follow", "--layout", "dataset")
    assert found.exit_code == 2
    assert "--layout dataset needs whole files, and --follow reads them as they grow" in found.stderr


@pytest.mark.slow
def test_a_data_set_that_arrives_where_streams_are_followed_is_told(tmp_path: Path) -> None:
    """Its graphs are bad input with a reason that names the option."""
    (tmp_path / "in").mkdir()
    (tmp_path / "rise.spaseq").write_text(QUERY, encoding="utf-8")
    (tmp_path / "in" / "a.nq").write_bytes(WRITERS["sort"][1](trades(20).encode()))
    (tmp_path / "in" / "b.nq").write_text(trades(2), encoding="utf-8")
    kept = tmp_path / "quarantine.jsonl"
    command = [*SPASEQ, "run", "--engine", "local", "rise.spaseq", "--stream", "S=in", "--follow"]
    with Process(command, folder=tmp_path) as process:
        process.wait_for(kept.exists)
        process.interrupt()
        assert process.end() == 0
    reasons = [json.loads(line)["reason"] for line in kept.read_text("utf-8").splitlines()]
    assert all(
        "with --follow a timestamp stands directly before or after its graph" in text for text in reasons
    )
    assert all("(--layout dataset)" in text for text in reasons)
