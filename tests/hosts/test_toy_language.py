"""A language with an operator of its own on Spark, added by the recipes of docs/how-to/extend.md and by nothing else."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from support.toys import copy

pytestmark = pytest.mark.spark

STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
QUERY = "PREFIX : <http://ex.org/> TALLY ?k EVERY 10 ON <http://ex.org/s> { ?k :v ?v FILTER (?v > 1) }"


def test_both_engines_give_the_same_lines_for_a_language_that_was_added(tmp_path: Path) -> None:
    """Workers find the operator by the name in the program."""
    chance, lines = random.Random(5), []
    for number in range(80):
        time = f"2024-05-01T10:00:{number * 59 // 80:02d}Z"
        lines.append(
            f'<urn:k{chance.randrange(5)}> <http://ex.org/v> "{number % 4}"^^<{XSD}integer> <urn:g{number}> .'
        )
        lines.append(f'<urn:g{number}> <{STAMP}> "{time}"^^<{XSD}dateTime> .')
    (tmp_path / "events.nq").write_text("\n".join(lines) + "\n")
    (tmp_path / "counts.tally").write_text(QUERY)
    environment = {**os.environ, "PYTHONPATH": str(copy(tmp_path / "with toys"))}
    found = []
    for engine in ("local", "spark"):
        command = [sys.executable, "-m", "spaseq", "run", "counts.tally", "--engine", engine]
        command += ["--stream", "events=events.nq", "--output", f"{engine}.jsonl", "--provenance"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found.append(sorted((tmp_path / f"{engine}.jsonl").read_text().splitlines()))
    assert len(found[0]) > 20
    assert found[0] == found[1]


XSD = "http://www.w3.org/2001/XMLSchema#"
