"""The scale job at a tiny size: its direct computation and the engine agree, so at full size a difference is news."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TINY = ["--events", "300", "--variants", "1", "--queries", "30", "--engines", "local"]


@pytest.mark.slow
def test_the_scale_job_finds_nothing_at_a_tiny_size(tmp_path: Path) -> None:
    """In process, one format; the other sections have tests of their own at this size."""
    report = tmp_path / "report.json"
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "tests/scale/run.py",
            *TINY,
            "--sections",
            "operators",
            "queries",
            "--json",
            report,
        ],
        env={"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [each["cases"] for each in json.loads(report.read_text())] == [66, 30]
