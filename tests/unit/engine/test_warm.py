"""Kernels are compiled ahead of time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spaseq.engine.warm import warm_up
from spaseq.io.options import TIMESTAMP_PREDICATE

RUN = """
import sys, pathlib, spaseq
from numba.core import event
query = '''SELECT ?k (COUNT(A) AS ?n) (LAST(?v) AS ?last) WITHIN 1 HOUR SLIDING FROM STREAM S <urn:s> PARTITION BY ?k
WHERE { SEQ (A{2,}[,] , B) DEFINE GPM A ON S { ?k <urn:p> ?v FILTER(?v > PREV(?v)) }
DEFINE GPM B ON S { ?k <urn:p> ?w FILTER(?w * 2 < LAST(?v)) } }'''
with event.install_recorder("numba:compile") as compiled:
    found = sum(1 for _ in spaseq.run(query, {"S": sys.argv[1]}, with_events=False))
print(found, len(compiled.buffer))
"""


@pytest.mark.slow
def test_after_a_warm_up_another_query_compiles_nothing(tmp_path: Path) -> None:
    """Neither its reading, nor its automaton; kernels do not depend on the query."""
    warm_up()
    number = '"%d"^^<http://www.w3.org/2001/XMLSchema#integer>'
    event = f"<urn:k%d> <urn:p> {number} <urn:e%d> .\n<urn:e%d> <{TIMESTAMP_PREDICATE}> {number} .\n"
    lines = "".join(event % (n % 5, n * 7 % 23, n, n, 1000 * n) for n in range(9000))
    (tmp_path / "events.nq").write_text(lines, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "events.nq")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found, compiled = map(int, done.stdout.split())
    assert found > 0
    assert compiled == 0
