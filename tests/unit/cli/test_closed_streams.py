"""Facts about standard streams that are closed or full: a sentence and a status, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FARES = "examples/first-match/fares"
RUN = f"run {FARES}.spaseq --stream power={FARES}.trig --engine local"


def shell(command: str) -> tuple[int, str, str]:
    """The status and the output of a command line with redirections."""
    line = f"{sys.executable} -m spaseq {command}"
    done = subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (
            f"{RUN} >&-",
            1,
            "error: standard output is closed, so matches cannot be written; give --output PATH\n",
        ),
        (f"{RUN} >&- 2>&-", 1, ""),
        (f"{RUN} <&- >&- 2>&-", 1, ""),
        (f"{RUN} >/dev/full", 1, "error: the run failed: no space left on device\n"),
        (
            f"explain {FARES}.spaseq >/dev/full",
            1,
            "error: `spaseq explain` failed: no space left on device\n",
        ),
        (f"explain {FARES}.spaseq >&-", 0, ""),
        (f"run {FARES}.spaseq >&- 2>&-", 2, ""),
    ],
)
def test_a_stream_that_cannot_be_written_ends_with_a_sentence(command: str, status: int, words: str) -> None:
    """Where there is still a place for one."""
    assert shell(command) == (status, "", words)


def test_without_standard_error_a_run_answers_as_usual() -> None:
    """Only notes are lost; a second file does not get them either."""
    assert shell(f"{RUN} 2>&-") == (0, shell(RUN)[1], "")


def test_an_output_file_does_not_take_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """What is meant for standard output or standard error must not land in the matches."""
    bad = tmp_path / "bad.trig"
    bad.write_text((ROOT / f"{FARES}.trig").read_text() + "\nnonsense\n")
    expected = shell(RUN)[1]
    out = tmp_path / "out.jsonl"
    command = f"run {FARES}.spaseq --stream power={bad} --engine local --output {out} >&- 2>&-"
    assert shell(command) == (0, "", "")
    assert out.read_text() == expected
