"""What the demo suggests to type works when it is pasted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import spaseq.cli.demo as module
from spaseq.cli import main

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a blank in its name, in which the package and a script that starts it lie; the working folder."""
    folder = tmp_path / "my files"
    shutil.copytree(module.FOLDER, folder / "smart-grid")
    script = folder / "bin" / "spaseq"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom spaseq.cli import main\nmain()\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(module, "FOLDER", folder / "smart-grid")
    monkeypatch.setattr(module, "QUERY", folder / "smart-grid" / module.QUERY.name)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return folder


def suggested(shown: str) -> list[str]:
    """The commands that a demo ends with."""
    tail = shown.partition("Where to go next")[2].replace("\\\n", " ")
    return [
        line.strip()
        for line in re.findall(r"^.*(?:explain|run --help|run .*--stream|  ls ).*$", tail, re.MULTILINE)
    ]


@pytest.mark.parametrize("near", [True, False], ids=["in the folder", "in another folder"])
def test_suggested_commands_work_when_pasted(
    elsewhere: Path, near: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the folder one is in, without an activated environment, with blanks in paths."""
    here = elsewhere if near else tmp_path
    monkeypatch.chdir(here)
    shown = CliRunner().invoke(main, ["demo", "--engine", "local"])
    assert shown.exit_code == 0, shown.output
    commands = suggested(shown.output)
    assert len(commands) == 4
    for line in commands:
        typed = line if line.startswith(("'", "bin", "ls")) else re.split(r" {2,}", line, maxsplit=1)[1]
        done = subprocess.run(
            ["sh", "-c", typed],
            cwd=here,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (typed, done.stderr)
    assert done.stdout.count('"match"') == 3
    assert (here / "plan.html").exists()


def test_an_activated_environment_needs_the_name_only(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell finds the program by its name."""
    monkeypatch.setenv("PATH", f"{elsewhere / 'bin'}:/usr/bin:/bin")
    assert module.this_command() == "spaseq"


def test_a_module_is_suggested_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m spaseq demo` suggests the same way to start."""
    monkeypatch.chdir(tmp_path)  # the interpreter lies elsewhere
    monkeypatch.setattr(sys, "argv", ["/somewhere/spaseq/__main__.py"])
    assert module.this_command() == f"{sys.executable} -m spaseq"
