"""A run on Spark in micro-batches: followed directories, or a finite input that can be resumed."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from spaseq.engine.notices import Tell, silent
from spaseq.engine.request import RunReport, Show, Stopped, unwatched
from spaseq.spark.command.background import MOMENT, show_tasks
from spaseq.spark.command.run_folder import SCHEDULE, SPARK, Record, RunFolder
from spaseq.spark.command.run_output import ANSWERS, BAD, COUNTS, Writing
from spaseq.spark.sources.event_files import FileParts, read_events, scheduled_events
from spaseq.spark.sources.schedule import Schedule, absolute, make_schedule
from spaseq.spark.spark_session import is_one_process, parallel_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from spaseq.io.sources import Source
    from spaseq.spark.command.spark_run import SparkRun

FILES: Final = "files"
"""Which files were taken, in the checkpoint directory, by the number of the stream."""
LOOK: Final = "1 second"
"""How often followed directories are looked at."""


class MicroBatches:
    """The input in micro-batches: followed directories, or a finite input that may be resumed."""

    def __init__(
        self, run: SparkRun, spark: SparkSession, folder: Path, stack: ExitStack, tell: Tell = silent
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._run, self._spark = run, spark
        self._kept = run.kept or RunFolder(folder, run.identity())
        self._folder = self._kept.path
        present = parallel_tasks(spark)
        self._buckets = self._kept.partitions(run.buckets or present)
        # Without a number of buckets there is one for every partition of the state.
        self._partitions = self._buckets if run.buckets is None else present
        # What is left of a micro-batch that a crash cut off; it is done again, perhaps by other tasks.
        for name in (BAD, COUNTS):
            shutil.rmtree(self._folder / name, ignore_errors=True)
        self._kept.forget_unplanned()
        run.outgoing.prepare(resumed=self._kept.record is not None)
        self._writing = Writing(run.request, run.names, run.outgoing, stack, self._kept.record, tell)
        self._query: StreamingQuery | None = None
        self._timed = -1
        self.seconds: list[float] = []
        """How long every micro-batch took."""

    def run(self, show: Show = unwatched) -> RunReport:
        """Run to the end of the input, or until the run is stopped."""
        writing, request = self._writing, self._run.request
        frames, more = self._followed() if request.follow else self._scheduled()
        # A resumed run may have other cores, but its keys stay where they were.
        self._spark.conf.set("spark.sql.shuffle.partitions", str(self._partitions))
        more["partitions"] = self._buckets
        answers = self._run.answers(frames, self._folder, **more)
        trigger = {"processingTime": LOOK} if request.follow else {"availableNow": True}
        writer = answers.writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", str(self._folder / SPARK))
        self._query = writer.trigger(**cast(Any, trigger)).start()
        try:
            while self._query.isActive and not writing.answered:
                self._run.stop.wait(MOMENT)
                if writing.record.batch > self._timed:
                    self._time()
                writing.notices.poll()
                show_tasks(show, writing.status, self._spark)
        except Stopped:
            self._query.stop()
            # What was kept counts, not a micro-batch that was stopped in the middle.
            kept = self._kept.record or Record()
            writing.notices.flush()
            summary = writing.summary(kept, self._run.present)
            return RunReport(kept.status, self._run.stop.signal, summary=summary)
        self._query.stop()
        self._query.awaitTermination()  # raises what the query failed of
        self._time()
        if not request.follow:
            self._run.check_readable(writing.record)
        writing.finish()
        writing.record.finished = True
        writing.sync()
        self._kept.save(writing.record)
        return RunReport(
            writing.status,
            summary=writing.summary(writing.record, self._run.present),
            incomplete=() if request.follow else tuple(writing.record.incomplete),
        )

    def _followed(self) -> tuple[dict[str, DataFrame | FileParts], dict[str, Any]]:
        request, read = self._run.request, self._run.request.input.read
        frames: dict[str, DataFrame | FileParts] = {
            iri: read_events(
                self._spark,
                paths,
                streaming=True,
                format=request.input.file_format,
                timestamp_predicate=read.timestamp_predicate,
                time_unit=read.time_unit,
                triples_per_event=read.triples_per_event,
                layout=read.layout,
                start_predicate=read.start_predicate,
                end_predicate=read.end_predicate,
                settle=request.settle,
                idle_after=request.idle_after,
                file_log=self._folder / FILES / f"{number}",
                **self._run.options(self._folder),
            )
            for number, (iri, paths) in enumerate(self._run.inputs.items())
        }
        more = {"lateness": request.input.lateness or 0, "idle_after": request.idle_after, "ticks": True}
        return frames, more

    def _scheduled(self) -> tuple[dict[str, DataFrame | FileParts], dict[str, Any]]:
        path = self._folder / SCHEDULE
        read = self._run.request.input.read
        if path.exists():
            with self._kept.taking_up(SCHEDULE):
                schedule = Schedule.load(path, read.timestamp_predicate)
            if not is_one_process(self._run.master):  # and was one when the schedule was made, perhaps
                schedule.with_absolute_paths().save(path)
        else:
            make_schedule(self._spark, self._sources(), read).save(path)
        files = {iri: self._run.files(iri) for iri in self._run.inputs}
        options = self._run.options(self._folder)
        parts: dict[str, DataFrame | FileParts] = {
            iri: scheduled_events(self._spark, files[iri], path, iri, **options) for iri in files
        }
        return parts, {"punctual": True}

    def _sources(self) -> dict[str, list[Source]]:
        """The files of a finite input as workers can find them: those elsewhere do not stand in this directory."""
        found = self._run.sources
        if is_one_process(self._run.master):
            return found
        return {iri: [absolute(each) for each in sources] for iri, sources in found.items()}

    def _take(self, answers: DataFrame, batch: int) -> None:
        """One micro-batch; Spark may come with the last one again after a crash."""
        writing, folder = self._writing, self._folder
        if batch <= writing.record.batch:
            # Written already, but Spark has not noted it; its state must still be brought up to date.
            answers.write.format("noop").mode("overwrite").save()
            return
        shutil.rmtree(folder / ANSWERS, ignore_errors=True)
        bad = writing.take(folder, batch, self._run.write(answers, folder))
        writing.sync()
        writing.record.batch = batch
        self._kept.save(writing.record)
        self._run.outgoing.checkpointed()
        for file in bad:
            file.unlink()

    def _time(self) -> None:
        """How long the micro-batches took that have ended."""
        assert self._query is not None
        for report in self._query.recentProgress:
            if report.batchId > self._timed:
                self._timed = report.batchId
                self.seconds.append(report.durationMs["triggerExecution"] / 1000)
