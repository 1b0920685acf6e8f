"""The fault job: what runs on Spark do when machines, processes and disks fail. Each is exact, or fails with a sentence.

``make faults`` runs it on a standalone master with two workers that have folders of their own; ``--local`` needs no cluster, so that
a tiny version runs in ``make test``. It writes a report as JSON and as text, and ends with status 1 if a run was wrong with status
0, or failed without a sentence. Everything random follows from ``--seed``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Triple

from spaseq.model.events import GraphEvent
from support.clusters import Cluster, running_cluster
from support.event_files import nquads
from support.processes import SPASEQ, Process, environment

EX = "http://ex.org/"
QUERIES = {
    "by key, negation": "SELECT ?k ?v ?w WITHIN 20 SECONDS FROM STREAM S <http://ex.org/s> WHERE { SEQ (A ; B ; C!)",
    "instants of all": "SELECT ?k ?v ?w WITHIN 20 SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE { SEQ (A , B)",
    "sliding": "SELECT ?k ?v ?w WITHIN 5 SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE { SEQ (A ; B)",
}
GPMS = {
    name: f"DEFINE GPM {name} ON S {{ ?k :{name.lower()} ?{of} }}"
    for name, of in zip("ABC", "vwx", strict=True)
}
FILES = 4
CAUGHT = ("Traceback (most recent call last)", "\tat org.apache.spark", "\tat java.")


@dataclass(slots=True)
class Verdict:
    """What became of one run."""

    fault: str
    what: str
    verdict: str
    note: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class Trial:
    """One run: its folder, what it should find, and how it is started."""

    folder: Path
    expected: list[str]
    chance: random.Random
    cluster: Cluster | None
    usual: float
    """About how long a run takes that nothing disturbs."""
    notes: list[str] = field(default_factory=list)

    def start(
        self,
        *more: str,
        master: str | None = None,
        output: str = "found",
        before: Sequence[str] = (),
        conf: str = "",
    ) -> Process:
        """The command, on the cluster unless another master is named."""
        chosen = master or (self.cluster.url if self.cluster else "local[2]")
        arguments = ["run", "query.spaseq", "--engine", "spark", "--master", chosen, "--stream", "S=in"]
        where = ["--output", output, "--quarantine", f"{output}.bad", "--quiet", *more]
        known = environment()["PYTHONPATH"]
        submit = f"--conf spark.executor.memory=512m --conf spark.executorEnv.PYTHONPATH={known} {conf} pyspark-shell"
        given = {"PYSPARK_SUBMIT_ARGS": submit, "PYSPARK_PYTHON": sys.executable}
        return Process([*before, *SPASEQ, *arguments, *where], given, self.folder)

    def wait(self, process: Process, least: float = 0.0) -> bool:
        """Wait for a random moment of a run; False if it has ended before."""
        until = time.monotonic() + self.chance.uniform(least, 1.1) * self.usual
        while process.running and time.monotonic() < until:
            time.sleep(0.02)
        return process.running

    def judge(self, process: Process, output: str = "found") -> tuple[str, str]:
        """Exact, failed with a sentence, or neither."""
        try:
            status = process.end()
        except subprocess.TimeoutExpired:
            return "NO END", process.err[-2000:]
        told = process.err
        if status == 0:
            found = self.lines(output)
            if found == self.expected:
                return "exact", ""
            wrong = Counter(found)
            wrong.subtract(self.expected)
            missing, more = -sum(n for n in wrong.values() if n < 0), sum(n for n in wrong.values() if n > 0)
            return "WRONG", f"status 0, {missing} of {len(self.expected)} lines missing, {more} too many"
        if any(mark in told for mark in CAUGHT) or not told.strip():
            return "NO SENTENCE", f"status {status}: {told[-2000:]}"
        return "failed with a sentence", told.strip().splitlines()[-1][:300]

    def lines(self, output: str = "found") -> list[str]:
        """What was written, sorted."""
        with suppress(OSError):
            return sorted((self.folder / output).read_text().splitlines())
        return []


# --- faults ---------------------------------------------------------------------------------------


def undisturbed(trial: Trial) -> tuple[str, str]:
    """Nothing fails."""
    with trial.start() as process:
        return trial.judge(process)


def driver_killed(trial: Trial) -> tuple[str, str]:
    """The driver and all it has started are killed, once or twice; each restart has other cores and another configuration."""
    chance = trial.chance
    for _ in range(chance.choice((1, 1, 2))):
        with _restarted(trial) as process:
            if not trial.wait(process, 0.2):
                return trial.judge(process)
            process.kill()
    with _restarted(trial) as process:
        return trial.judge(process)


@contextmanager
def _restarted(trial: Trial) -> Iterator[Process]:
    chance = trial.chance
    master = chance.choice([None, "local[1]", "local[2]", "local[3]"])
    partitions = chance.choice((1, 3, 7, 200))
    conf = f"--conf spark.sql.shuffle.partitions={partitions} --conf spark.default.parallelism={chance.choice((1, 4))}"
    trial.notes.append(f"{master or 'cluster'} with {partitions} partitions")
    with trial.start("--checkpoint", "checkpoint", master=master, conf=conf) as process:
        yield process


def driver_killed_in_a_batch(trial: Trial) -> tuple[str, str]:
    """Without a checkpoint the run is started again, into the same output."""
    with trial.start() as process:
        if not trial.wait(process):
            return trial.judge(process)
        process.kill()
    with trial.start() as process:
        return trial.judge(process)


def worker_killed(trial: Trial) -> tuple[str, str]:
    """A worker is lost with its shuffle files and its state; another takes its place."""
    cluster = trial.cluster
    assert cluster is not None
    with trial.start(*_perhaps_checkpoint(trial)) as process:
        if trial.wait(process, 0.3):
            cluster.end_worker(trial.chance.choice(cluster.workers))
            cluster.add_worker()
        return trial.judge(process)


def python_killed(trial: Trial) -> tuple[str, str]:
    """Processes that run our code end without a word, as the system's memory killer ends them."""
    with trial.start(*_perhaps_checkpoint(trial)) as process:
        for _ in range(trial.chance.choice((1, 2, 3))):
            if trial.wait(process, 0.2):
                found = list(_python_workers())
                if found:
                    with suppress(ProcessLookupError):
                        os.kill(trial.chance.choice(found), signal.SIGKILL)
        return trial.judge(process)


def _perhaps_checkpoint(trial: Trial) -> list[str]:
    chosen = trial.chance.choice(([], ["--checkpoint", "checkpoint"]))
    trial.notes.append("micro-batches" if chosen else "batch")
    return chosen


def _python_workers() -> Iterator[int]:
    """The Python processes of Spark that are below us."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            commands[int(folder.name)] = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
    for number, command in commands.items():
        # The Java of a worker has PySpark's folder on its path as well.
        if Path(command.partition("\0")[0]).name.startswith("python") and "pyspark" in command:
            above = number
            while above in parents and above != os.getpid():
                above = parents[above]
            if above == os.getpid():
                yield number


def full_disk(trial: Trial) -> tuple[str, str]:
    """The disk of output and checkpoint has room for a part of what is written; then there is room again."""
    more = _perhaps_checkpoint(trial)
    size = trial.chance.choice((4, 16, 64, 256, 1024))
    trial.notes.append(f"{size} kB")
    with _small_disk(trial.folder / "disk", size) as mounted:
        if not mounted:
            before = ["bash", "-c", f'ulimit -f {size}; exec "$@"', "bash"]
            with trial.start(master="local[2]", before=before) as process:
                return trial.judge(process)
        shared = [f"disk/{each}" if each == "checkpoint" else each for each in more]
        with trial.start(*shared, master="local[2]", output="disk/found") as process:
            verdict = trial.judge(process, "disk/found")
        if verdict[0] != "failed with a sentence" or not more:
            return verdict
        trial.notes.append(verdict[1])
        subprocess.run(["mount", "-o", "remount,size=200m", trial.folder / "disk"], check=True)
        with trial.start(*shared, master="local[2]", output="disk/found") as process:
            return trial.judge(process, "disk/found")


@contextmanager
def _small_disk(folder: Path, kilobytes: int) -> Iterator[bool]:
    """A disk of this size, if we may make one."""
    folder.mkdir()
    made = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    mounted = subprocess.run(made, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def missing_mount(trial: Trial) -> tuple[str, str]:
    """One more worker, which does not see the folder of output and input."""
    cluster = trial.cluster
    assert cluster is not None
    hide = trial.folder / trial.chance.choice(("", "in"))
    trial.notes.append(f"hidden: {hide.name if hide != trial.folder else 'everything'}")
    before = ["unshare", "-m", "bash", "-c", f'mount -t tmpfs tmpfs {hide} && exec "$@"', "bash"]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        return "skipped", "no mounts are allowed here"
    worker = cluster.add_worker(2, before)
    try:
        with trial.start(*_perhaps_checkpoint(trial)) as process:
            return trial.judge(process)
    finally:
        cluster.end_worker(worker)


def folder_moved(trial: Trial) -> tuple[str, str]:
    """The folder of the output is renamed while the run goes on; with a checkpoint it goes on where it is now."""
    more = _perhaps_checkpoint(trial)
    (trial.folder / "out").mkdir()
    with trial.start(*more, output="out/found") as process:
        if trial.wait(process, 0.2):
            (trial.folder / "out").rename(trial.folder / "moved")
        return trial.judge(process, "out/found" if (trial.folder / "out").exists() else "moved/found")


FAULTS: dict[str, tuple[Callable[[Trial], tuple[str, str]], bool]] = {
    "undisturbed": (undisturbed, False),
    "driver killed": (driver_killed, False),
    "driver killed in a batch": (driver_killed_in_a_batch, False),
    "worker killed": (worker_killed, True),
    "Python process killed": (python_killed, False),
    "full disk": (full_disk, False),
    "missing mount": (missing_mount, True),
    "folder moved": (folder_moved, False),
}
"""What is done to a run, and whether it needs a cluster."""


# --- the job --------------------------------------------------------------------------------------


def write_input(folder: Path, query: str, events: int) -> None:
    """A query and some files of events."""
    used = [text for name, text in GPMS.items() if re.search(rf"\b{name}\b", query.rpartition("SEQ")[2])]
    (folder / "query.spaseq").write_text("\n".join(["PREFIX : <http://ex.org/>", query, *used, "}"]))
    (folder / "in").mkdir()
    chance, instant = random.Random(7), 0
    for number in range(FILES):
        made = []
        for _ in range(events // FILES):
            instant += chance.randrange(20_000)
            predicate = NamedNode(EX + chance.choice("aabbc"))
            triple = Triple(
                NamedNode(f"{EX}k{chance.randrange(50)}"), predicate, Literal(chance.randrange(1000))
            )
            made.append(GraphEvent(EX + "s", instant, frozenset({triple})))
        (folder / "in" / f"{number}.nq").write_text(nquads(made, first=events // FILES * number))


def trials(given: argparse.Namespace, folder: Path, cluster: Cluster | None) -> Iterator[Verdict]:
    """All runs, one after the other."""
    inputs: dict[str, tuple[Path, list[str]]] = {}
    usual = 30.0
    names = [
        name
        for name, (_, needs) in FAULTS.items()
        if (cluster or not needs) and name in (given.faults or FAULTS)
    ]
    for number in range(given.runs):
        if given.seconds and time.monotonic() - given.began > given.seconds:
            return
        query = list(QUERIES)[number % len(QUERIES)]
        if query not in inputs:
            place = folder / f"input{len(inputs)}"
            place.mkdir()
            write_input(place, QUERIES[query], given.events)
            arguments = [
                "run",
                "query.spaseq",
                "--engine",
                "local",
                "--stream",
                "S=in",
                "--output",
                "expected",
                "--quiet",
            ]
            with Process([*SPASEQ, *arguments], folder=place) as process:
                assert process.end() == 0, process.err
            inputs[query] = place, sorted((place / "expected").read_text().splitlines())
        source, expected = inputs[query]
        assert expected, "a run without answers proves nothing"
        own = folder / f"run{number}"
        shutil.copytree(source, own)
        name = names[0] if number == 0 else names[number % len(names)]
        trial = Trial(own, expected, random.Random(f"{given.seed} {number}"), cluster, usual)
        began = time.monotonic()
        verdict, note = FAULTS[name][0](trial)
        took = time.monotonic() - began
        if name == "undisturbed":
            usual = took
        shutil.rmtree(own, ignore_errors=True)
        yield Verdict(name, query, verdict, "; ".join([*trial.notes, note]).strip("; "), round(took, 1))


def told(line: str) -> None:
    """Show a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the job; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=0, help="begin no run after so many seconds")
    parser.add_argument("--faults", nargs="*", choices=list(FAULTS))
    parser.add_argument("--local", action="store_true", help="no cluster: faults that need none, on local[2]")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    given.began = time.monotonic()
    found: list[Verdict] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spaseq-faults-")))
        cluster = None if given.local else stack.enter_context(running_cluster(folder / "cluster"))
        for each in trials(given, folder, cluster):
            found.append(each)
            told(
                f"{len(found):4} {each.fault:25} {each.what:18} {each.seconds:6.1f} s  {each.verdict}: {each.note}"
            )
    counts = Counter((each.fault, each.verdict) for each in found)
    for (fault, verdict), count in sorted(counts.items()):
        told(f"{fault:25} {verdict:25} {count:4}")
    if given.json:
        given.json.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")
    return int(any(each.verdict in ("WRONG", "NO SENTENCE", "NO END") for each in found))


if __name__ == "__main__":
    sys.exit(main())
