"""Measure the structure of the package: lines, modules, and the modules that a query text and an event pass through.

A module is entered if one of its functions is called; a hop is a call from one module into another. All of it is warm:
the same was done once before, so that imports and tables that are made once do not count. To measure another commit:
``PYTHONPATH=<its src> python scripts/structure.py``.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, suppress
from pathlib import Path
from types import FrameType

import spaseq

HOME = Path(spaseq.__file__).resolve().parent
QUERY = """PREFIX : <http://ex.org/>
SELECT ?c ?p ?q WITHIN 1 MINUTE FROM STREAM S <http://ex.org/s> WHERE { SEQ (A ; B)
  DEFINE GPM A ON S { ?c :price ?p }
  DEFINE GPM B ON S { ?c :price ?q FILTER (?q > ?p) } }"""
EVENT = '<http://ex.org/c> <http://ex.org/price> "{0}"^^<http://www.w3.org/2001/XMLSchema#integer> <http://ex.org/e{0}> .\n'
STAMP = '<http://ex.org/e{0}> <http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:0{0}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'


def modules() -> Iterator[tuple[Path, int]]:
    """The modules of the package with their lines."""
    for path in sorted(HOME.rglob("*.py")):
        yield path, len(path.read_text(encoding="utf-8").splitlines())


def passed(work: Callable[[], object]) -> tuple[int, int]:
    """How many modules are entered, and how many calls go from one into another."""
    entered: set[str] = set()
    hops = 0

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal hops
        if event != "call" or not frame.f_code.co_filename.startswith(str(HOME)):
            return
        entered.add(frame.f_code.co_filename)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(str(HOME)):
            caller = caller.f_back
        hops += caller is not None and caller.f_code.co_filename != frame.f_code.co_filename

    work()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(entered), hops


def main() -> None:
    """Print the figures."""
    sizes = list(modules())
    packages = {path.parent for path, _ in sizes}
    lines = sum(count for _, count in sizes)
    print(f"{lines:,} lines in {len(sizes)} modules and {len(packages)} packages of src")
    compiled = spaseq.compile(QUERY)
    with tempfile.TemporaryDirectory(prefix="spaseq-") as name:
        folder = Path(name)
        (folder / "q.spaseq").write_text(QUERY, encoding="utf-8")
        (folder / "s.nq").write_text("".join((EVENT + STAMP).format(n) for n in (1, 2)), encoding="utf-8")

        def push() -> None:
            engine, found = spaseq.Engine(compiled), list[object]()
            for number in (1, 2):
                graph = EVENT.format(number).rsplit(" <", 1)[0] + " .\n"
                event = spaseq.Event(stream="S", time=number * 1_000_000, graph=graph, format="ntriples")
                found += engine.push(event)
            assert len(found + engine.finish()) == 1

        def run() -> None:
            from spaseq.cli.main import main as command

            output = folder / "out.jsonl"
            stream = f"S={folder / 's.nq'}"
            arguments = ["run", str(folder / "q.spaseq"), "--stream", stream, "--engine", "local"]
            with redirect_stderr(io.StringIO()), suppress(SystemExit):
                command([*arguments, "--output", str(output), "--no-progress"])
            assert output.read_bytes().count(b"\n") == 1

        for told, work in (
            ("a query text to a compiled query", lambda: spaseq.compile(QUERY)),
            ("two pushed events to a match", push),
            ("`spaseq run`, from a query text and two events in a file to a written line", run),
        ):
            entered, hops = passed(work)
            print(f"{told}: {entered} modules, {hops:,} hops")


if __name__ == "__main__":
    main()
