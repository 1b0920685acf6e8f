"""What is measured on Spark: from files to written matches, in a session that is there already and warm.

A variant has a process and a session of its own, whose start belongs to no round. Spark ends workers that were idle for a
minute, as they are while other variants have their turn, so every measured run comes right after one that is not
(``warm`` says how many). The work is what `spaseq run --engine spark` does, with ``streaming`` what it does with
``--checkpoint``: micro-batches with all their state and their log.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from spaseq.engine.notices import silent
from spaseq.engine.request import RunReport
from spaseq.settings import changed_settings
from spaseq_bench.stages_of_spark import next_stage, stage_figures
from spaseq_bench.tasks import Job, Outcome, Round, percentiles, request_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spaseq.spark.command.spark_run import SparkRun

STAMP: Final = b"<http://www.w3.org/ns/prov#generatedAtTime>"


def spark_task(job: Job) -> Round:
    """A run in local mode on so many ``cores``; with ``micro_batches`` there is one for every event, and each is timed."""
    from spaseq.spark.command.micro_batches import MicroBatches
    from spaseq.spark.command.spark_run import SparkRun
    from spaseq.spark.spark_session import new_session

    cores = int(job["params"].get("cores", 2))
    master = f"local[{cores}]"
    pieces = int(job["params"]["events"]) if job["params"].get("micro_batches") is True else 0
    streaming = pieces > 0 or job["params"].get("streaming") is True
    request = request_of(job)
    spark = new_session(master)

    warm = int(job["params"].get("warm", 0))
    buckets = int(job["params"]["buckets"]) if "buckets" in job["params"] else None

    records: Path | None = None
    if job["params"].get("records") is True:
        (file,) = (Path(path) for path in job["streams"].values())
        records = write_records(file, Path(job["output"]).with_suffix(".records"))

    def once() -> Outcome:
        for _ in range(warm):
            work()
        # A run begins with no output and a disk at rest: to take back what an earlier one has left costs a core's time.
        Path(job["output"]).unlink(missing_ok=True)
        if hasattr(os, "sync"):
            os.sync()
        return work()

    def work() -> Outcome:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="spaseq-bench-")))
            asked = replace(request, checkpoint=folder / "checkpoint" if streaming else None)
            wall, cpu = time.perf_counter(), tree_seconds()
            moved, stage = shuffled(spark), next_stage(spark)
            run = SparkRun(asked, master, buckets=buckets)
            latency: dict[str, float] = {}
            if pieces:
                with cut_into(pieces, cores, [Path(path) for path in job["streams"].values()]):
                    batches = MicroBatches(run, spark, folder / "checkpoint", stack)
                    report = batches.run()
                latency = percentiles(batches.seconds[1:])  # the first one starts the query
            elif records is not None:
                report = run_records(run, spark, records, folder)
            else:
                report = run.run_in(spark, folder)
            took = {"wall": time.perf_counter() - wall, "cpu": tree_seconds() - cpu}
            figures: dict[str, float] = {}
            if job["params"].get("stages") is True:
                written = float(Path(job["output"]).stat().st_size)
                figures = {**stage_figures(spark, stage, took["cpu"]), "answer bytes": written}
            counts = {"bad": float(report.status.bad), "shuffle": float(shuffled(spark) - moved)}
            return {**took, **counts, "latency": latency, "figures": figures}

    return once


def write_records(file: Path, folder: Path) -> Path:
    """The events of an N-Quads file, whose timestamps come first, as records: Parquet with a column ``value``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    schema, lines, values = pa.schema([("value", pa.binary())]), list[bytes](), list[bytes]()
    with file.open("rb") as source, pq.ParquetWriter(folder / "records.parquet", schema) as writer:
        for line in source:
            if STAMP in line and lines:
                values.append(b"".join(lines))
                lines = []
            if line.strip() and not line.startswith(b"#"):
                lines.append(line)
            if len(values) == 50_000:
                writer.write_batch(pa.record_batch([pa.array(values, pa.binary())], schema))
                values = []
        writer.write_batch(pa.record_batch([pa.array([*values, b"".join(lines)], pa.binary())], schema))
    return folder


def run_records(run: SparkRun, spark: SparkSession, records: Path, folder: Path) -> RunReport:
    """The run with a DataFrame of records in place of its files."""
    from spaseq.spark.command.run_output import Writing

    run.outgoing.prepare(resumed=False)
    with ExitStack() as inner:  # the output is closed before it is sent
        writing = Writing(run.request, run.names, run.outgoing, inner, None, silent)
        (stream,) = run.inputs
        answers = run.answers({stream: spark.read.parquet(str(records))}, folder / "work", format="nquads")
        writing.take(folder / "work", 0, run.write(answers, folder / "work"))
        writing.finish()
    run.outgoing.finished()
    return RunReport(writing.status)


@contextmanager
def cut_into(pieces: int, cores: int, files: list[Path]) -> Iterator[None]:
    """Let schedules have about so many micro-batches."""
    size = max(1, sum(file.stat().st_size for file in files) // pieces)
    with changed_settings(micro_batch_bytes=size // cores, scheduled_part_bytes=size):
        yield


def shuffled(spark: SparkSession) -> int:
    """The bytes that all tasks of a session have written for others."""
    told = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(told.apply(number).totalShuffleWrite() for number in range(told.size()))


def tree_seconds() -> float:
    """The CPU time of this process and of all below it, Java and its Python workers; its own where that is all one can see."""
    processes: dict[int, tuple[int, float]] = {}
    tick = os.sysconf("SC_CLK_TCK")
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        # State, parent, …, then its own times and those of children that have ended.
        processes[int(file.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / tick

    def below_us(process: int) -> bool:
        while process in processes and process != os.getpid():
            process = processes[process][0]
        return process == os.getpid()

    return (
        sum(seconds for process, (_, seconds) in processes.items() if below_us(process))
        or time.process_time()
    )
