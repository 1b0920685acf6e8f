"""Compiling all kernels ahead of time, so that the first large input does not wait for a compiler."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from spaseq.engine.inputs import NamedQuery
from spaseq.engine.local_run import run_local
from spaseq.engine.request import RunRequest
from spaseq.io.options import TIMESTAMP_PREDICATE
from spaseq.planner.compiled import compile_query
from spaseq.settings import settings

_QUERY: Final = """SELECT ?k ?v ?w WITHIN 1 MINUTE FROM STREAM S <urn:s> WHERE { SEQ (A ; B)
DEFINE GPM A ON S { ?k <urn:p> ?v } DEFINE GPM B ON S { ?k <urn:p> ?w FILTER(?w > ?v) } }"""


def warm_up() -> None:
    """Run a query over just enough events for every kernel to be compiled; they are kept on the disk."""
    number = '"%d"^^<http://www.w3.org/2001/XMLSchema#integer>'
    event = f"<urn:k%d> <urn:p> {number} <urn:e%d> .\n<urn:e%d> <{TIMESTAMP_PREDICATE}> {number} .\n"
    with tempfile.TemporaryDirectory(prefix="spaseq-") as name:
        folder = Path(name)
        lines = "".join(event % (n % 7, n * 5 % 11, n, n, n) for n in range(2 * settings().compiled_rows))
        (folder / "events.nq").write_text(lines, encoding="utf-8")
        run_local(
            RunRequest(
                queries=(NamedQuery("warm", compile_query(_QUERY)),),
                streams=(("S", str(folder / "events.nq")),),
                output=folder / "matches.jsonl",
                quarantine=folder / "bad.jsonl",
            )
        )
