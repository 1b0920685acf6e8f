"""The scale job: every operator and window against plain Python, on both engines, and what breaks engines at size.

``make scale`` runs it at full size, which takes hours; every size is an option, so that a tiny version runs in ``make test``.
It writes a report as JSON and as text, and ends with status 1 if anything differs, crashes or is lost.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import direct
import world
from mutated import mutated_queries

from support.processes import SPASEQ, Process

ROOT = Path(__file__).resolve().parents[2]
VARIANTS = (
    ("nquads", False, 1),
    ("nquads", True, 1),
    ("nquads", False, 20),
    ("nquads", True, 20),
    *((name, *how) for name in world.FORMATS[1:] for how in ((False, 1), (True, 20))),
)
"""Format, shuffled or not, number of files per stream."""


Cases = list[tuple[str, str]]
"""Operators with windows."""
Streams = dict[str, list[world.Row]]


@dataclass(slots=True)
class Result:
    """What one section found."""

    name: str
    cases: int = 0
    differences: int = 0
    crashes: int = 0
    lost: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    def compare(self, what: str, wanted: Counter[str], found: Counter[str]) -> None:
        """Count one case: lines that are missing are lost, lines too many are differences."""
        self.cases += 1
        missing, extra = wanted - found, found - wanted
        self.lost += missing.total()
        self.differences += extra.total()
        for kind, lines in (("missing", missing), ("extra", extra)):
            if lines:
                self.notes.append(f"{what}: {lines.total()} {kind}, for example {min(lines)}")

    def crash(self, what: str, why: str) -> None:
        """Count a case that ended as no run may end."""
        self.crashes += 1
        self.notes.append(f"{what}: {why.strip()[-500:]}")


def run(folder: Path, engine: str, *arguments: str) -> Process:
    """The command over the streams of a folder."""
    where = ["--stream", "S=S", "--stream", "T=T", "--output", "out.jsonl", "--quarantine", "bad.jsonl"]
    queries = sorted(file.name for file in folder.glob("*.spaseq"))
    master = ["--master", "local[2]"] if engine == "spark" else []
    command = [*SPASEQ, "run", "--engine", engine, *queries, *where, *master, "--no-progress", *arguments]
    return Process(command, folder=folder)


def say(line: str) -> None:
    """Print a line at once: the job takes hours."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass(slots=True)
class Total:
    """So many lines, and the sum of their digests: what a multiset of any size comes to, in any order."""

    count: int = 0
    digests: int = 0

    def add(self, line: str) -> None:
        """One line more."""
        self.count += 1
        self.digests += int.from_bytes(hashlib.blake2b(line.encode(), digest_size=16).digest())


def total(lines: Iterable[str]) -> Total:
    """What some lines come to."""
    found = Total()
    for line in lines:
        found.add(line)
    return found


def written(file: Path) -> Iterator[tuple[str, str]]:
    """The lines of an output, each with its query."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield line.split('"', 4)[3], line.rstrip("\n")


def compare(
    result: Result, what: str, file: Path, asked: Cases, wanted: dict[str, Total], streams: Streams
) -> None:
    """Compare an output with the direct computation; line by line only where the totals differ."""
    found: dict[str, Total] = {}
    for name, line in written(file):
        found.setdefault(name, Total()).add(line)
    for operator, window in asked:
        name = f"{operator}-{window}"
        if found.get(name, Total()) == wanted[name]:
            result.cases += 1
            continue
        lines = Counter(line for query, line in written(file) if query == name)
        result.compare(f"{what}, {name}", Counter(direct.expected(operator, window, streams)), lines)


def direct_totals(asked: Cases, streams: Streams) -> dict[str, Total]:
    """What the direct computation of some cases comes to."""
    return {
        f"{operator}-{window}": total(direct.expected(operator, window, streams))
        for operator, window in asked
    }


def counted(file_format: str) -> list[str]:
    """The option that N-Triples need."""
    return ["--triples-per-event", "2"] if file_format == "ntriples" else []


# --- sections ---------------------------------------------------------------------------------------


def operators(options: argparse.Namespace, folder: Path) -> Result:
    """Every operator and window in every variant (or spread over them) on every engine; a query is a case."""
    result = Result("operators")
    streams = {name: world.rows(name, options.events // 2) for name in world.STREAMS}
    every = list(direct.cases())
    wanted = {} if options.spread else direct_totals(every, streams)
    for at in range(options.first_variant, options.variants):
        file_format, shuffled, files = VARIANTS[at]
        asked = every[at :: options.variants] if options.spread else every
        if options.spread:
            wanted = direct_totals(asked, streams)
        place = folder / f"{file_format}-{'shuffled' if shuffled else 'sorted'}-{files}"
        world.write_streams(place, streams, file_format, shuffled=shuffled, files=files)
        for operator, window in asked:
            (place / f"{operator}-{window}.spaseq").write_text(direct.query(operator, window))
        for engine in options.engines:
            with run(place, engine, *counted(file_format)) as process:
                if process.end(options.patience) != 0:
                    result.crash(f"{place.name} on {engine}", process.err)
                    continue
            what = f"{place.name} on {engine}"
            before = result.cases
            compare(result, what, place / "out.jsonl", asked, wanted, streams)
            say(
                f"{what}: {result.cases - before} cases, {result.lost} lost and {result.differences} differences so far"
            )
        shutil.rmtree(place)
    return result


def kills(options: argparse.Namespace, folder: Path) -> Result:
    """Runs that are killed again and again and taken up write what an undisturbed run writes; a kill is a case."""
    result = Result("kills")
    wanted_kills = {"local": options.kills_local, "spark": options.kills_spark}
    streams = {name: world.rows(name, options.events // 2) for name in world.STREAMS}
    asked = [("next", "sliding"), ("plus", "partition"), ("never", "tumbling")]
    for engine in options.engines:
        place = folder / f"kills-{engine}"
        world.write_streams(place, streams, "nquads", shuffled=False, files=10)
        for operator, window in asked:
            (place / f"{operator}-{window}.spaseq").write_text(direct.query(operator, window))
        size = sum(file.stat().st_size for file in place.glob("[ST]/*.nq"))
        portions = 2 * wanted_kills[engine] + 4
        os.environ["SPASEQ_SETTINGS"] = (
            f"portion_events={max(options.events // portions, 2)},merged_events=2,"
            f"micro_batch_bytes={max(size // portions // 2, 1)}"
        )
        arguments = ["--checkpoint", "points", "--checkpoint-every", "0s"]
        chance = random.Random(5)
        for _ in range(wanted_kills[engine]):
            with run(place, engine, *arguments) as process:
                process.wait_for(_moved(place, chance), options.patience)
                result.cases += 1
        with run(place, engine, *arguments) as process:
            if process.end(options.patience) != 0:
                result.crash(place.name, process.err)
                continue
        del os.environ["SPASEQ_SETTINGS"]
        compare(result, place.name, place / "out.jsonl", asked, direct_totals(asked, streams), streams)
        result.cases -= len(asked)
    return result


def _moved(place: Path, chance: random.Random) -> Callable[[], bool]:
    """True when a few files of the checkpoint or the output have changed since now."""

    def state() -> dict[str, tuple[int, int]]:
        found = {}
        for file in [*place.glob("points/**/*"), place / "out.jsonl"]:
            try:
                status = file.stat()
            except OSError:
                continue
            found[str(file)] = status.st_size, status.st_mtime_ns
        return found

    before, count = state(), chance.randrange(1, 6)
    return lambda: len(before.items() ^ state().items()) >= count


def inputs(options: argparse.Namespace, _folder: Path) -> Result:
    """Mutated files of every format, judged against pyoxigraph by the properties of the readers; a file is a case."""
    result = Result("mutated inputs")
    tests = [f"tests/properties/{name}.py" for name in ("test_reader_verdicts", "test_reader_fuzz")]
    tests = [test for test in tests if (ROOT / test).exists()]
    given = {"SPASEQ_FUZZ_CASES": str(options.inputs), "SPASEQ_FUZZ_SEED": str(options.seed)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-rA", *tests],
        cwd=ROOT, env={**os.environ, **given}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    passed = len(re.findall(r"^PASSED ", done.stdout, re.MULTILINE))
    failed = re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, re.MULTILINE)
    result.cases = options.inputs * (passed + len(failed))
    result.differences = len(failed)
    result.notes += failed
    if not passed and not failed:
        result.crash("the properties of the readers", done.stdout + done.stderr)
    return result


def queries(options: argparse.Namespace, _folder: Path) -> Result:
    """Mutated queries compile or are refused with `QueryError`, in bounded time; a query is a case."""
    result = Result("mutated queries")
    for outcome in mutated_queries(ROOT, options.queries, options.seed):
        result.cases += 1
        if outcome is not None:
            result.crash(*outcome)
    return result


def extremes(options: argparse.Namespace, folder: Path) -> Result:
    """Very many terms, one very large event, very many events at one instant; a query over each is a case."""
    result = Result("extremes")
    for name, (query, write, wanted) in _extremes(options).items():
        place = folder / name
        for stream in world.STREAMS:
            (place / stream).mkdir(parents=True)
        (place / f"{name}.spaseq").write_text(query)
        (place / "T" / "0.nq").write_text(world.nquads(world.Row(0, 0, "d", 1)))
        with (place / "S" / "0.nq").open("w") as out:
            out.writelines(write())
        for engine in options.engines:
            with run(place, engine) as process:
                if process.end(options.patience) != 0:
                    result.crash(f"{name} on {engine}", process.err)
                    continue
            pairs = (re.findall(r'"value":"([^"]*)"', line) for line in (place / "out.jsonl").open())
            found = Counter(" ".join(pair) for pair in pairs)
            result.compare(f"{name} on {engine}", Counter(wanted()), found)
        shutil.rmtree(place)
    return result


Extreme = tuple[str, Callable[[], Iterator[str]], Callable[[], Iterator[str]]]
_STREAMS = "FROM STREAM S <urn:s> FROM STREAM T <urn:t>"


def _event(number: int, milliseconds: int, *data: str) -> str:
    quads = "".join(f"{triple} <urn:g{number}> .\n" for triple in data)
    return f'{quads}<urn:g{number}> <{world.STAMP}> "{milliseconds}"^^<{world.INTEGER}> .\n'


def _extremes(options: argparse.Namespace) -> dict[str, Extreme]:
    pairs, wide, crowd = options.terms // 3, options.triples, options.instant // 2
    sequence = (
        "WHERE {{ SEQ (A {} B) DEFINE GPM A ON S {{ ?k <urn:a> ?a }} DEFINE GPM B ON S {{ ?k <urn:b> ?b }} }}"
    )

    def terms() -> Iterator[str]:  # three terms of their own per pair of events
        for number in range(pairs):
            yield _event(2 * number, 2 * number, f'<urn:k{number}> <urn:a> "a{number}"')
            yield _event(2 * number + 1, 2 * number + 1, f'<urn:k{number}> <urn:b> "b{number}"')

    def triples() -> Iterator[str]:
        yield _event(0, 0, *(f'<urn:k{number}> <urn:a> "a{number}"' for number in range(wide)))
        yield _event(1, 1, *(f'<urn:k{number}> <urn:b> "b{number}"' for number in range(0, wide, 100)))

    def instant() -> Iterator[str]:
        for number in range(crowd):
            yield _event(2 * number, 5, f'<urn:k{number}> <urn:a> "a{number}"')
            yield _event(2 * number + 1, 5, f'<urn:k{number}> <urn:b> "b{number}"')

    def matched(numbers: range) -> Callable[[], Iterator[str]]:
        return lambda: (f"urn:k{number} a{number} b{number}" for number in numbers)

    def text(operator: str, more: str = "") -> str:
        return f"SELECT ?k ?a ?b WITHIN 1 SECONDS SLIDING {_STREAMS} {more} {sequence.format(operator)}"

    return {
        "distinct-terms": (text(";"), terms, matched(range(pairs))),
        "one-large-event": (text(";"), triples, matched(range(0, wide, 100))),
        "one-large-event-partitioned": (text(";", "PARTITION BY ?k"), triples, matched(range(0, wide, 100))),
        "one-instant": (text("&"), instant, matched(range(crowd))),
    }


SECTIONS = {
    "operators": operators,
    "kills": kills,
    "inputs": inputs,
    "queries": queries,
    "extremes": extremes,
}


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, size in {
        "events": 2_000_000, "kills-local": 30, "kills-spark": 10, "inputs": 100_000, "queries": 100_000,
        "terms": 10_000_000, "triples": 1_000_000, "instant": 100_000, "first-variant": 0, "variants": len(VARIANTS), "seed": 1,
    }.items():  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--spread", action="store_true", help="ask each query in one variant only, in turn")
    parser.add_argument("--engines", nargs="+", default=["local", "spark"])
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=list(SECTIONS))
    parser.add_argument("--patience", type=float, default=6 * 3600.0, help="seconds that one run may take")
    parser.add_argument("--folder", type=Path, help="where data is written; default: a temporary folder")
    parser.add_argument("--json", type=Path, help="where the report goes as JSON")
    options = parser.parse_args()
    gc.disable()  # millions of rows would be looked through again and again, and nothing here makes a cycle
    results = []
    with tempfile.TemporaryDirectory(prefix="spaseq-scale-", dir=options.folder) as folder:
        for name in options.sections:
            begun = time.monotonic()
            result = SECTIONS[name](options, Path(folder))
            result.seconds = round(time.monotonic() - begun, 1)
            results.append(result)
            head = (
                f"{result.name}: {result.cases:,} cases, {result.differences:,} differences, "
                f"{result.crashes:,} crashes, {result.lost:,} lost, {result.seconds:,} s"
            )
            say("\n  ".join([head, *result.notes[:20]]))
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))
    raise SystemExit(any(r.differences or r.crashes or r.lost for r in results))


if __name__ == "__main__":
    main()
