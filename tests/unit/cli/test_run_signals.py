"""Facts about signals: the first one ends any run in a moment, also one whose query has far too many matches."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.processes import SPASEQ

ROOT = Path(__file__).resolve().parents[3]
EX = "http://ex.org/"
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?a ?d FROM STREAM S <http://ex.org/s> WHERE { SEQ (A : B : C : D)
DEFINE GPM A ON S { ?x :v ?a } DEFINE GPM B ON S { ?x :v ?b } DEFINE GPM C ON S { ?x :v ?c } DEFINE GPM D ON S { ?x :v ?d } }"""


def cpu_seconds(pid: int) -> float:
    """The time that a process has worked."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells how long a process worked")
@pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_the_first_signal_ends_a_runaway_query(tmp_path: Path, number: signal.Signals, name: str) -> None:
    """120 events have 8.2 million matches; they are written as found, and a signal is answered within a second of work."""
    query, data, output = tmp_path / "q.spaseq", tmp_path / "s.nq", tmp_path / "out.jsonl"
    query.write_text(QUERY, encoding="utf-8")
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    events = (
        f'<{EX}x> <{EX}v> "{n}" <{EX}g{n}> .\n<{EX}g{n}> <{STAMP}> "{1000 * n}"{integer} .\n'
        for n in range(120)
    )
    data.write_text("".join(events), encoding="utf-8")
    process = subprocess.Popen(
        [*SPASEQ, "run", str(query), "--engine", "local", "--stream", f"S={data}", "--output", str(output)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "SPASEQ_SETTINGS": ""},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not (output.exists() and output.stat().st_size):
        time.sleep(0.02)
    before = cpu_seconds(process.pid)
    process.send_signal(number)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    worked = cpu_seconds(process.pid) - before
    _, err = process.communicate()
    assert f"note: stopped by {name}: " in err
    assert process.returncode == 128 + number
    assert worked < 2.0
    assert output.read_bytes().endswith(b"\n")
