"""The demonstration, on Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

COMMAND = "import sys; sys.argv[0] = 'spaseq'; from spaseq.cli import main; main()"


def test_the_demo_shows_the_same_on_spark_and_in_this_process() -> None:
    """Matches and the events that made them, word for word, and nothing of Spark's own noise."""
    shown = [
        subprocess.run(
            [sys.executable, "-c", COMMAND, "demo", "--engine", engine],
            capture_output=True,
            text=True,
            check=True,
        )
        for engine in ("spark", "local")
    ]
    assert "The matches: 3" in shown[0].stdout
    played = [each.stdout.partition("Where to go next")[0] for each in shown]
    assert played[0] == played[1]
    assert shown[0].stderr == "Spark starts in local mode: this takes a few seconds\n"
