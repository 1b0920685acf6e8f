"""Facts about memory: what a run needs does not grow with the length of its input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
QUERY = """PREFIX : <http://ex.org/>
SELECT ?c ?p ?q WITHIN 1 MINUTE SLIDING FROM STREAM S <http://ex.org/s>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?o :of ?c ; :price ?p } DEFINE GPM B ON S { ?o2 :of ?c ; :price ?q FILTER (?q > ?p) } }"""
CODE = """
import resource, sys
from pathlib import Path
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.local_run import run_local
from spaseq.engine.request import RunRequest
from spaseq.planner import compile_query

query = NamedQuery("q", compile_query(sys.argv[1]))
for path in sys.argv[2:]:
    report = run_local(RunRequest((query,), (("S", path),), output=Path(path + ".out")))
    print(report.status.events, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write(path: Path, count: int, disorder: int) -> str:
    """Orders of twenty companies, ten a second, each with terms of its own; times go back a little."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            graph, order = f"<http://ex.org/g{number}>", f"<http://ex.org/order/{number}>"
            time = 100 * (number - number % disorder + (number * 7) % disorder)
            file.write(
                f"{order} <http://ex.org/of> <http://ex.org/c{number % 20}> {graph} .\n"
                f'{order} <http://ex.org/price> "{number * 7919 % 1000}"'
                f"^^<http://www.w3.org/2001/XMLSchema#integer> {graph} .\n"
                f'{order} <http://ex.org/note> "order number {number}" {graph} .\n'
                f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "{time}"'
                f"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
            )
    return str(path)


@pytest.mark.slow
def test_ten_times_more_events_need_no_more_memory(tmp_path: Path) -> None:
    """At a fixed window; peaks of one process that first runs the short input, then the long one.

    A first tiny run loads kernels and libraries, which is what both stand on.
    """
    paths = [
        write(tmp_path / "warm.nq", 40_000, 16),
        write(tmp_path / "short.nq", 60_000, 16),
        write(tmp_path / "long.nq", 600_000, 16),
    ]
    done = subprocess.run(
        [sys.executable, "-c", CODE, QUERY, *paths],
        # The short input is read like the long one: surveyed, not sorted in memory.
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "SPASEQ_SETTINGS": "sorted_bytes=1000000"},
        capture_output=True,
        text=True,
        check=True,
    )
    (_, _), (_, short), (events, long) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert events == 600_000
    assert long <= 1.3 * short, done.stdout
