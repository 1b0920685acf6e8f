"""The fault job at a tiny size: a killed driver, restarted on other cores, and a full disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import environment

JOB = Path(__file__).resolve().parents[1] / "faults" / "run.py"


@pytest.mark.spark
@pytest.mark.slow
def test_a_run_on_a_full_disk_fails_with_a_sentence_or_is_exact(tmp_path: Path) -> None:
    """One run without a cluster; `make faults` does a hundred, with one."""
    report = tmp_path / "report.json"
    tiny = ["--local", "--runs", "1", "--events", "2000", "--faults", "full disk", "--json", str(report)]
    done = subprocess.run(
        [sys.executable, JOB, *tiny], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(report.read_text())
    assert found["verdict"] in ("exact", "failed with a sentence")
