"""Facts about the command line: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import spaseq
from spaseq.cli import main
from spaseq.cli.query_files import coloured
from spaseq.planner import compile_query
from support.speed import spent, yardstick

ROOT = Path(__file__).resolve().parents[3]
GOOD = """SELECT ?x WITHIN 1 MINUTE FROM STREAM S <http://ex.org/s>
WHERE { SEQ (A) DEFINE GPM A ON S { ?x <http://ex.org/p> ?y } }
"""
WORDY = GOOD.replace("WITHIN 1 MINUTE ", "")
WRONG = GOOD.replace("?x WITHIN", "?z WITHIN").replace("SEQ (A)", "SEQ (A ; B)")

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a file into the working folder of the command."""
    monkeypatch.chdir(tmp_path)

    def written(text: str | bytes, name: str = "q.spaseq") -> str:
        data = text.encode() if isinstance(text, str) else text
        (tmp_path / name).write_bytes(data)
        return name

    return written


def run(*arguments: str, given: str | None = None) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, list(arguments), input=given, prog_name="spaseq")


# --- check --------------------------------------------------------------------------------------


def test_a_good_query_is_ok(write: Write) -> None:
    """One line, on standard output, status 0."""
    done = run("check", write(GOOD))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "q.spaseq: ok\n", "")


def test_a_wrong_query_shows_every_error_with_its_frame(write: Write) -> None:
    """Status 2, all errors at once on standard error, nothing on standard output."""
    done = run("check", write(WRONG))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "error[SPQ302]: SELECT asks for `?z`" in done.stderr
    assert "error[SPQ203]: pattern `B` is used in SEQ but never defined" in done.stderr
    assert "  --> q.spaseq:2:18\n 2 | WHERE { SEQ (A ; B)" in done.stderr
    assert done.stderr.count("help: ") == 2


def test_warnings_are_shown_and_do_not_fail(write: Write) -> None:
    """A query that may grow without bound still runs."""
    done = run("check", write(WORDY))
    assert done.exit_code == 0
    assert "warning[SPW101]" in done.stdout
    assert done.stdout.endswith("q.spaseq: ok\n")


def test_several_files_are_all_checked(write: Callable[..., str]) -> None:
    """A wrong file does not hide a good one after it; the status tells of the wrong one."""
    done = run("check", write(WRONG, "a.spaseq"), write(GOOD, "b.spaseq"))
    assert done.exit_code == 2
    assert done.stdout == "b.spaseq: ok\n"


def test_check_warns_once_of_a_rule_that_several_queries_read(write: Callable[..., str]) -> None:
    """Every query of a file has all its rules."""
    rule = "CONSTRUCT { ?x <urn:later> ?z } WHERE { { ?x <urn:p> ?y } SEQ { ?x <urn:p> ?z } }"
    query = "SELECT ?x { ?x <urn:later> ?z }"
    done = run("check", write(f"{rule} ; {query} ; {query}", "rules.epsparql"))
    assert done.stdout.count("SPW801") == 1


@pytest.mark.parametrize("verb", ["check", "explain"])
def test_a_file_that_is_not_there_is_one_sentence(verb: str, write: Write) -> None:
    """Status 2 and no stack trace."""
    done = run(verb, "nowhere.spaseq")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: cannot read nowhere.spaseq: no such file or directory\n"


def test_a_file_that_is_not_text_is_one_sentence(write: Callable[..., str]) -> None:
    """Bytes that are not UTF-8 are named with their place."""
    done = run("check", write(b"SELECT \xff", "binary.spaseq"))
    assert done.exit_code == 2
    assert done.stderr == "error: binary.spaseq is not UTF-8 text: byte 7 cannot be read\n"


def test_a_byte_order_mark_is_no_error(write: Callable[..., str]) -> None:
    """Windows editors write one; columns are counted without it."""
    assert run("check", write(b"\xef\xbb\xbf" + GOOD.encode())).exit_code == 0


def test_a_dash_reads_standard_input() -> None:
    """So a query can come through a pipe."""
    assert run("check", "-", given=GOOD).stdout == "-: ok\n"
    assert "--> standard input:1:8" in run("check", "-", given=WRONG).stderr


def test_json_has_one_object_per_file_with_its_findings(write: Callable[..., str]) -> None:
    """What an editor needs: place, code, message, help."""
    files = [write(WRONG, "a.spaseq"), write(WORDY, "b.spaseq"), "c.spaseq"]
    done = run("check", "--format", "json", *files)
    found = json.loads(done.stdout)["files"]
    assert done.exit_code == 2
    assert [(f["file"], f["ok"]) for f in found] == [
        ("a.spaseq", False),
        ("b.spaseq", True),
        ("c.spaseq", False),
    ]
    first = found[0]["diagnostics"][0]
    assert (first["severity"], first["code"], first["line"], first["column"]) == ("error", "SPQ302", 1, 8)
    assert found[1]["diagnostics"][0]["code"] == "SPW101"
    assert found[2]["problem"].startswith("cannot read c.spaseq")


def test_the_same_words_with_and_without_colour() -> None:
    """Colour adds nothing but colour; off a terminal there is none."""
    warning = compile_query(WORDY).warnings[0]
    import click

    assert click.unstyle(coloured(warning)) == warning.render()
    assert "\x1b[" in coloured(warning)
    assert "\x1b[" not in run("check", "-", given=WORDY).stdout


# --- explain ------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["text", "json", "mermaid", "dot", "svg", "html"])
def test_explain_prints_what_the_api_gives(style: str, write: Write) -> None:
    """The command adds nothing to the plan."""
    done = run("explain", write(GOOD), "--format", style)
    assert done.exit_code == 0
    assert done.stdout == compile_query(GOOD, name="q.spaseq").explain(style)


def test_explain_writes_a_file(write: Write, tmp_path: Path) -> None:
    """With --output nothing goes to standard output."""
    done = run("explain", write(GOOD), "--format", "html", "--output", "plan.html")
    assert (done.exit_code, done.stdout) == (0, "")
    assert (tmp_path / "plan.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_place_that_cannot_be_written_is_one_sentence(write: Write) -> None:
    """Status 2 and no stack trace."""
    done = run("explain", write(GOOD), "--output", "no/such/folder.txt")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: cannot write no/such/folder.txt: no such file or directory\n",
    )


def test_a_format_that_draws_an_automaton_is_refused_for_a_query_without_one() -> None:
    """A continuous query has windows; text and JSON show them."""
    query = "SELECT * FROM STREAM <urn:s> [RANGE 10s STEP 5s] WHERE { ?s <urn:p> ?o }"
    done = run("explain", "-", "--format", "svg", given=query)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the format svg draws an automaton")
    assert "[RANGE 10s STEP 5s]" in run("explain", "-", given=query).stdout


def test_explain_of_a_wrong_query_shows_its_errors(write: Write) -> None:
    """The same frames as check, status 2."""
    done = run("explain", write(WRONG))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("error[") == 2


# --- demo and the rest --------------------------------------------------------------------------


def test_the_demo_shows_query_plan_streams_matches_and_the_way_on() -> None:
    """From nothing to matches in one command."""
    done = run("demo", "--engine", "local")
    assert (done.exit_code, done.stderr) == (0, "")
    titles = [line.split(":")[0] for line in done.stdout.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "The query",
        "The plan",
        "The streams",
        "The matches",
        "Why not more",
        "Where to go next",
    ]
    assert "C 10:14  :storage-1" in done.stdout


def test_the_demo_finds_what_it_says() -> None:
    """Three matches of twenty events, and none at the times that it explains away."""
    from spaseq.cli.demo import QUERY, answer, read_events

    query = compile_query(QUERY.read_text(encoding="utf-8"))
    events = read_events(query)
    matches = answer(query, "local")
    found = [(match.bindings["house"].value[-2:], match.time.strftime("%H:%M")) for match in matches]
    assert len(events) == 20
    assert found == [("H1", "10:14"), ("H3", "10:37"), ("H2", "10:37")]


def test_the_bundled_query_is_the_first_example() -> None:
    """The package carries its own copy, because examples/ is not installed."""
    bundled = ROOT / "src/spaseq/examples/smart-grid/smart-grid.spaseq"
    assert bundled.read_bytes() == (ROOT / "examples/smart-grid.spaseq").read_bytes()


def test_help_lists_the_verbs_that_exist_and_no_others() -> None:
    """A verb that is not built yet is not promised."""
    from spaseq.cli.main import VERBS

    modules = {path.stem for path in (ROOT / "src/spaseq/cli").glob("*.py")} - {"__init__", "main"}
    commands = {name: getattr(import_module(f"spaseq.cli.{name}"), name, None) for name in modules}
    assert set(VERBS) == {name for name, command in commands.items() if isinstance(command, click.Command)}
    for verb in VERBS:
        assert f"  {verb} " in run("--help").stdout
        assert run(verb, "--help").exit_code == 0


def test_the_version_is_the_package_s() -> None:
    """One source for it."""
    assert run("--version").stdout == f"spaseq, version {spaseq.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["chek"], ["check"], ["explain", "q", "--format", "pdf"], ["check", "--nope"]]
)
def test_a_wrong_command_line_has_status_2(arguments: list[str]) -> None:
    """As docs/reference/cli.md says."""
    assert run(*arguments).exit_code == 2


def test_a_misspelt_command_is_told_the_one_that_was_meant() -> None:
    """As a misspelt option or stream is."""
    assert "No such command `chek`; did you mean `check`?" in run("chek").stderr


# --- speed --------------------------------------------------------------------------------------


def test_check_answers_within_half_a_second(tmp_path: Path) -> None:
    """A new process, a small query; processor time and the best of several, on a machine whose yardstick is 0.1 s."""
    (tmp_path / "q.spaseq").write_text(GOOD)
    command = [sys.executable, "-c", "from spaseq.cli import main; main()", "check", "q.spaseq"]
    given = {"PYTHONPATH": str(ROOT / "src")}
    assert min(spent(command, tmp_path, given) for _ in range(5)) < 5 * yardstick()


@pytest.mark.parametrize("arguments", [["--help"], ["check", "-"], ["explain", "-"]])
def test_light_verbs_load_no_heavy_library(arguments: list[str]) -> None:
    """Checking a query needs neither columns nor tables nor Spark."""
    code = (
        "import sys; from spaseq.cli import main; main(standalone_mode=False); "
        "print(*sorted({'numpy', 'numba', 'pyarrow', 'pyspark', 'rich', 'lark', 'pandas'} & set(sys.modules)), "
        "file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=GOOD,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stderr.split()) <= {"lark"}
