"""The fault job: what runs on Spark do when machines, processes and disks fail. Each is exact, or fails with a sentence.

``make faults`` runs it on a standalone master with two workers that have folders of their own, one cluster for all runs; ``--local`` needs no
cluster, so that a tiny version runs in ``make test``. It writes a report as JSON and as text, and ends with status 1 if a run was wrong with
status 0, failed without a sentence, or did not end. What was done to a run is noted when it has been done: a run that ended before its fault came
is counted apart. Everything random follows from ``--seed``. The input is small and sizes are small, so that few events make several tasks and micro-batches.
"""

from __future__ import annotations

import argparse
import json
import os
import random
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
from support.clusters import Cluster, Worker, running_cluster
from support.event_files import nquads
from support.processes import SPASEQ, Process, environment

EX = "http://ex.org/"
QUERIES = {
    "by key, negation": (
        "spaseq",
        """SELECT ?k ?v ?w WITHIN 20 SECONDS FROM STREAM s <http://ex.org/s> WHERE { SEQ (A ; B ; C!)
        DEFINE GPM A ON s { ?k :a ?v } DEFINE GPM B ON s { ?k :b ?w } DEFINE GPM C ON s { ?k :c ?x } }""",
    ),
    "instants of all": (
        "spaseq",
        """SELECT ?k ?v ?w WITHIN 20 SECONDS SLIDING FROM STREAM s <http://ex.org/s> WHERE { SEQ (A , B)
        DEFINE GPM A ON s { ?k :a ?v } DEFINE GPM B ON s { ?k :b ?w } }""",
    ),
    "sliding": (
        "spaseq",
        """SELECT ?k ?v ?w WITHIN 5 SECONDS SLIDING FROM STREAM s <http://ex.org/s> WHERE { SEQ (A ; B)
        DEFINE GPM A ON s { ?k :a ?v } DEFINE GPM B ON s { ?k :b ?w } }""",
    ),
    "windows": (
        "rspql",
        """REGISTER ISTREAM <answers> AS SELECT ?k (SUM(?v) AS ?sum) (COUNT(?x) AS ?n)
        FROM NAMED WINDOW <w> ON :s [RANGE 4 STEP 1] WHERE { WINDOW <w> { ?k :a ?v OPTIONAL { ?k :c ?x } } } GROUP BY ?k""",
    ),
    "intervals": (
        "epsparql",
        """PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT ?k ?v ?w ?x WHERE { { ?k :a ?v } SEQ { ?k :b ?w } OPTIONAL { ?k :c ?x }
        FILTER(getDURATION() < "PT2S"^^xsd:duration) }""",
    ),
}
"""A language and a text each, for the three operators with state."""
FILES = 4
SETTINGS = (
    "part_bytes_least=20000,scheduled_part_bytes=40000,micro_batch_bytes=40000,part_runs=16,segment_tails=2"
)
"""Of all processes: several tasks, several micro-batches, state in parts."""
LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of Java: what a process that lives for seconds needs least time with."""
EXECUTOR = "CoarseGrainedExecutorBackend"
CAUGHT = ("Traceback (most recent call last)", "\tat org.apache.spark", "\tat java.")


@dataclass(slots=True)
class Verdict:
    """What became of one run."""

    fault: str
    what: str
    verdict: str
    note: str = ""
    seconds: float = 0.0
    happened: bool = True
    """False if the run had ended before its fault came."""


@dataclass(slots=True)
class Trial:
    """One run: its folder, what it should find, and how it is started."""

    folder: Path
    expected: list[str]
    chance: random.Random
    cluster: Cluster | None
    usual: float
    """About how long a run takes that nothing disturbs."""
    limit: float
    """Seconds after which a run is taken to hang."""
    notes: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    """What was done to the run."""

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
        arguments = ["run", _query(self.folder), "--engine", "spark", "--master", chosen, "--stream", "s=in"]
        where = ["--output", output, "--quarantine", f"{output}.bad", "--quiet", *more]
        known = environment()["PYTHONPATH"]
        told = {
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": f"'{LEAN}'",
            "spark.driver.defaultJavaOptions": LEAN.partition(" ")[0],
            "spark.executorEnv.PYTHONPATH": known,
            "spark.executorEnv.SPASEQ_SETTINGS": SETTINGS,
        }
        submit = " ".join(
            [*(f"--conf {name}={value}" for name, value in told.items()), conf, "pyspark-shell"]
        )
        given = {"PYSPARK_SUBMIT_ARGS": submit, "PYSPARK_PYTHON": sys.executable, "SPASEQ_SETTINGS": SETTINGS}
        return Process([*before, *SPASEQ, *arguments, *where], given, self.folder)

    def wait(self, process: Process, least: float = 0.0) -> bool:
        """Wait for a random moment of a run; False if it has ended before."""
        until = time.monotonic() + self.chance.uniform(least, 0.9) * self.usual
        return self.wait_for(process, lambda: time.monotonic() >= until)

    def wait_for(self, process: Process, true: Callable[[], object]) -> bool:
        """Wait until something is true; False if the run has ended before."""
        while process.running and not true():
            time.sleep(0.02)
        return process.running

    def judge(self, process: Process, output: str = "found") -> tuple[str, str]:
        """Exact, failed with a sentence, or neither."""
        try:
            status = process.end(self.limit)
        except subprocess.TimeoutExpired:
            return "NO END", f"not within {self.limit:.0f} s; {' '.join(process.err.split())[-1500:]}"
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
            trial.done.append("driver killed")
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
        trial.done.append("driver killed")
    with trial.start() as process:
        return trial.judge(process)


def worker_killed(trial: Trial) -> tuple[str, str]:
    """A worker is lost with its shuffle files and its state; another takes its place."""
    cluster = trial.cluster
    assert cluster is not None
    with trial.start(*_perhaps_checkpoint(trial)) as process:
        victim = trial.chance.choice(cluster.workers)
        if trial.wait(process, 0.3) and trial.wait_for(process, lambda: _executors(victim)):
            cluster.end_worker(victim)
            trial.done.append("worker with an executor killed")
            cluster.add_worker()
        return trial.judge(process)


def _executors(worker: Worker) -> list[int]:
    """The executors that a worker has started."""
    return [each.number for each in _below(worker.process.number) if EXECUTOR in each.command]


def python_killed(trial: Trial) -> tuple[str, str]:
    """Processes that run our code end without a word, as the system's memory killer ends them."""
    with trial.start(*_perhaps_checkpoint(trial)) as process:
        for _ in range(trial.chance.choice((1, 2, 3))):
            if trial.wait(process, 0.2) and trial.wait_for(process, lambda: list(_python_workers())):
                found = list(_python_workers())
                if found and (killed := _killed(trial.chance.choice(found))):
                    trial.done.append(killed)
        return trial.judge(process)


def _perhaps_checkpoint(trial: Trial) -> list[str]:
    chosen = trial.chance.choice(([], ["--checkpoint", "checkpoint"]))
    trial.notes.append("micro-batches" if chosen else "batch")
    return chosen


@dataclass(frozen=True, slots=True)
class Running:
    """A process as the system knows it."""

    number: int
    parent: int
    command: str

    @property
    def is_python(self) -> bool:
        return Path(self.command.partition("\0")[0]).name.startswith("python")


def _below(ancestor: int) -> list[Running]:
    """The processes that one has started, and those that they have started."""
    known: dict[int, Running] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
            known[int(folder.name)] = Running(int(folder.name), parent, command)

    def is_below(number: int) -> bool:
        while number in known and number != ancestor:
            number = known[number].parent
        return number == ancestor

    return [each for each in known.values() if each.number != ancestor and is_below(each.number)]


def _python_workers() -> Iterator[tuple[Running, str]]:
    """The Python processes of Spark that are below us, and what each is; the Java of a worker names PySpark's folder as well."""
    known = {each.number: each for each in _below(os.getpid())}
    for each in known.values():
        if each.is_python and "pyspark" in each.command:
            above = known.get(each.parent)
            yield each, "Python worker" if above is not None and above.is_python else "Python daemon"


def _killed(victim: tuple[Running, str]) -> str:
    """Kill a process if it is still the one that was meant; what it was."""
    process, role = victim
    with suppress(OSError):
        command = Path(f"/proc/{process.number}/cmdline").read_bytes().decode("utf-8", "replace")
        if command == process.command:
            os.kill(process.number, signal.SIGKILL)
            return f"{role} killed"
    return ""


def full_disk(trial: Trial) -> tuple[str, str]:
    """The disk of output and checkpoint has room for a part of what is written; then there is room again."""
    more = _perhaps_checkpoint(trial)
    size = trial.chance.choice((4, 16, 64, 256, 1024))
    trial.notes.append(f"{size} kB")
    trial.done.append("small disk")
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
            if trial.wait_for(process, lambda: _executors(worker)):
                trial.done.append("executor without the folder")
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
            trial.done.append("folder renamed")
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
    language, text = QUERIES[query]
    (folder / f"query.{language}").write_text(f"PREFIX : <http://ex.org/>\n{text}\n")
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


def _query(folder: Path) -> str:
    """The name of the file with the query."""
    return next(folder.glob("query.*")).name


def trials(given: argparse.Namespace, folder: Path, cluster: Cluster | None) -> Iterator[Verdict]:
    """All runs, one after the other."""
    inputs: dict[str, tuple[Path, list[str]]] = {}
    usual = 30.0
    names = [
        name
        for name, (_, needs) in FAULTS.items()
        if (cluster or not needs) and name in (given.faults or FAULTS)
    ]
    for number in range(given.first, given.first + given.runs):
        if given.seconds and time.monotonic() - given.began > given.seconds:
            return
        query = list(QUERIES)[number % len(QUERIES)]
        if query not in inputs:
            place = folder / f"input{len(inputs)}"
            place.mkdir()
            write_input(place, query, given.events)
            arguments = [
                "run",
                _query(place),
                "--engine",
                "local",
                "--stream",
                "s=in",
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
        name = names[number % len(names)]
        trial = Trial(own, expected, random.Random(f"{given.seed} {number}"), cluster, usual, given.limit)
        began = time.monotonic()
        verdict, note = FAULTS[name][0](trial)
        took = time.monotonic() - began
        if name == "undisturbed" and verdict == "exact":
            usual = took
        shutil.rmtree(own, ignore_errors=True)
        told = "; ".join(filter(None, [*trial.notes, *trial.done, note]))
        yield Verdict(name, query, verdict, told, round(took, 1), bool(trial.done) or name == "undisturbed")


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
    parser.add_argument("--events", type=int, default=1_600)
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a run is taken to hang")
    parser.add_argument(
        "--first", type=int, default=0, help="the number of the first run, to go on with a job"
    )
    parser.add_argument("--seconds", type=int, default=0, help="begin no run after so many seconds")
    parser.add_argument("--faults", nargs="*", choices=list(FAULTS))
    parser.add_argument("--local", action="store_true", help="no cluster: faults that need none, on local[2]")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the cluster ends with us
    given.began = time.monotonic()
    found: list[Verdict] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spaseq-faults-")))
        cluster = None if given.local else stack.enter_context(running_cluster(folder / "cluster"))
        for each in trials(given, folder, cluster):
            found.append(each)
            told(
                f"{given.first + len(found) - 1:4} {each.fault:25} {each.what:18} {each.seconds:6.1f} s  {each.verdict}: {each.note}"
            )
    counts = Counter((each.fault + ("" if each.happened else ", too late"), each.verdict) for each in found)
    for (fault, verdict), count in sorted(counts.items()):
        told(f"{fault:25} {verdict:25} {count:4}")
    if given.json:
        given.json.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")
    return int(any(each.verdict in ("WRONG", "NO SENTENCE", "NO END") for each in found))


if __name__ == "__main__":
    sys.exit(main())
