"""Google's and Microsoft's object stores, as far as their emulators go; without these installed nothing is tested here."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
from spaseq.stores import StorePath, place_of
from spaseq.stores.systems import inner, system
from support.processes import Process
from support.trades import QUERIES, nquads, trades

KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of the account that Azurite knows; everybody has it."""
GOOGLE = "from gcp_storage_emulator.server import create_server; create_server('127.0.0.1', {}, in_memory=True).run()"


def emulators(port: int) -> dict[str, tuple[list[str] | None, dict[str, str], str]]:
    """By scheme the command of an emulator, if it is installed, the environment that leads to it, and a place in it."""
    address, azurite = f"http://127.0.0.1:{port}", which("azurite-blob")
    azure = [azurite or "", "--inMemoryPersistence", "--skipApiVersionCheck", "--blobPort", str(port)]
    return {
        "gs": (
            [sys.executable, "-c", GOOGLE.format(port)] if find_spec("gcp_storage_emulator") else None,
            {"STORAGE_EMULATOR_HOST": address, "GOOGLE_CLOUD_PROJECT": "tests"},
            "gs://city",
        ),
        "abfss": (
            azure if azurite else None,
            {"AZURE_STORAGE_SERVICE_ENDPOINT": address, "AZURE_STORAGE_KEY": KEY},
            "abfss://city@devstoreaccount1.dfs.core.windows.net",
        ),
    }


@contextmanager
def emulated(scheme: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StorePath]:
    """A bucket in an emulator."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command, variables, place = emulators(port)[scheme]
    if command is None:
        pytest.skip("the emulator is not installed")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with Process(command, folder=folder) as process:
        process.wait_for(lambda: _answers(port))
        found = place_of(place)
        assert isinstance(found, StorePath)
        system(found.root).create_dir(inner(found.root))
        yield found


def _answers(port: int) -> bool:
    with socket.socket() as there:
        return there.connect_ex(("127.0.0.1", port)) == 0


def run(*arguments: str) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, ["run", "--engine", "local", *arguments], prog_name="spaseq")


@pytest.mark.parametrize("scheme", ["gs", "abfss"])
def test_a_bucket_is_read_and_written(scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are those of a file of this machine; bad lines are kept beside the output."""
    monkeypatch.chdir(tmp_path)
    Path("rise.spaseq").write_text(QUERIES["rise"], encoding="utf-8")
    events = nquads(trades(200))
    Path("local.nq").write_text(events, encoding="utf-8")
    wanted = run("rise.spaseq", "--stream", "S1=local.nq").stdout.splitlines()
    assert wanted
    with emulated(scheme, tmp_path, monkeypatch) as bucket:
        (bucket / "power/a.nq").write_text(events + "nonsense\n")
        found = bucket / "found/rise.jsonl"
        done = run(
            "rise.spaseq",
            "--stream",
            f"S1={bucket}/power",
            "--output",
            str(found),
            "--on-bad-input",
            "quarantine",
        )
        assert done.exit_code == 0, done.output
        assert found.read_text().splitlines() == wanted
        missing = run("rise.spaseq", "--stream", f"S1={bucket}/nothing.nq")
        assert missing.exit_code == 2
        assert "nothing.nq" in missing.output
