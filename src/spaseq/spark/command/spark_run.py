"""`spaseq run --engine spark`: a request from files to written output, on Spark (docs/reference/cli.md)."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spaseq.engine.checkpoint import hold
from spaseq.engine.identity import files_identity
from spaseq.engine.inputs import declared_streams, resolve_streams
from spaseq.engine.notices import Tell, silent
from spaseq.engine.outgoing import Outgoing
from spaseq.engine.output import chosen_format
from spaseq.engine.piped import check_pipes
from spaseq.engine.request import RunReport, RunRequest, Show, Status, Stop, Stopped, unwatched
from spaseq.engine.session import as_knowledge
from spaseq.errors import InvalidArgument
from spaseq.io.event_source import refuse_addresses
from spaseq.io.pipes import kept_in
from spaseq.io.sources import PipeSource, Source, find_sources, is_pipe
from spaseq.io.unreadable import unreadable_input
from spaseq.io.written import check_written
from spaseq.model.matches import Match
from spaseq.planner.compiled import CompiledQuery
from spaseq.planner.in_run import has_rules
from spaseq.spark.command.background import MOMENT, Background, aside, show_tasks
from spaseq.spark.command.executors import watched
from spaseq.spark.command.micro_batches import MicroBatches
from spaseq.spark.command.problems import kept_log
from spaseq.spark.command.run_folder import DIRECTORY, Record, RunFolder
from spaseq.spark.command.run_output import ANSWERS, BAD, COUNTS, Writing
from spaseq.spark.matching import MatchOptions, answers_of, match_all
from spaseq.spark.output.answer_files import match_of
from spaseq.spark.output.answer_rows import RowForm
from spaseq.spark.output.line_files import COUNTED, LineFiles
from spaseq.spark.schemas import all_answer_columns
from spaseq.spark.shared_folder import BadPolicy, SharedFolder, bad_policy
from spaseq.spark.sources.event_files import EventFiles, FileParts, parts_now, read_events
from spaseq.spark.spark_session import check_java, check_master, is_one_process, new_session, parallel_tasks
from spaseq.stores import Place, StorePath, for_spark, place_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkRun:
    """One run. Making it checks everything that can be wrong with a request; `run` does the work."""

    def __init__(
        self,
        request: RunRequest,
        master: str | None = None,
        stop: Stop | None = None,
        *,
        buckets: int | None = None,
        alarm: Tell = silent,
    ) -> None:
        self.request, self.master, self.stop = request, master or "local[*]", stop or Stop()
        self.buckets = buckets
        self._alarm = alarm
        """For what even a run that tells nothing has to say: that it waits for somebody else."""
        check_master(self.master)
        self.inputs = resolve_streams(request.queries, request.streams)
        cure = (
            "read it with `--engine local --follow`, or give `spaseq.spark.match` a DataFrame of its events"
        )
        refuse_addresses([path for _, path in request.streams], cure)
        self.knowledge = as_knowledge(dict(request.knowledge), rdfs=request.rdfs)
        for query in request.queries:
            self.knowledge.require(query.query.knowledge[0])
        self.sources: dict[str, list[Source]] = {}
        self._shown: dict[str, str] = {}
        """What users call files that were made for this run."""
        if not request.follow:
            self.sources = {iri: self.files(iri).found() for iri in self.inputs}
        self._check_pipes()
        self.outgoing = Outgoing(request)
        request.check_paths()
        self.format = chosen_format(request)
        if request.for_rules is not None:
            chosen_format(request.for_rules)  # refused now if it cannot be
        self.names = {f"{number}": query for number, query in enumerate(request.every_query)}
        check_java()
        self._held = ExitStack()
        self.kept: RunFolder | None = None
        """The checkpoint directory, if the run has one."""
        if request.checkpoint is not None:
            with ExitStack() as stack:
                stack.callback(hold(request.checkpoint).release)
                self.kept = RunFolder(request.checkpoint, self.identity())
                self._check_finished(self.kept.record)
                self._held = stack.pop_all()

    def identity(self) -> dict[str, object]:
        """What two parts of one run must agree on."""
        files = [(iri, source.path) for iri, sources in self.sources.items() for source in sources]
        if not self.request.follow:
            return self.request.identity(files_identity(files), self.format)
        found = self.request.identity([list(item) for item in self.request.streams], self.format)
        # How far files were read is noted by their absolute paths: elsewhere all of them would be new, and be read again.
        places = [place_of(path) for paths in self.inputs.values() for path in paths]
        relative = any(place.absolute() != place for place in places)
        return {**found, DIRECTORY: str(Path.cwd())} if relative else found

    def _ended(self) -> RunReport | None:
        """How the run ended, if its checkpoint says that it had."""
        record = None if self.kept is None else self.kept.record
        if record is None or not record.finished:
            return None
        skips = self.request.follow or self.request.on_bad_input == "skip"
        incomplete = () if skips else tuple(record.incomplete)
        return RunReport(record.status, already_done=True, incomplete=incomplete)

    def _check_finished(self, record: Record | None) -> None:
        """The output of a run that had ended must be there."""
        if record is None or not record.finished:
            return
        outputs = (self.outgoing.output, record.output), (self.outgoing.rules, record.rules)
        for output, written in outputs:
            if output is not None and written.digest:
                check_written(output, "output", written, whole=True)

    def files(self, iri: str) -> EventFiles:
        """The files of one stream."""
        options = self.request.input
        paths = tuple(self.inputs[iri])
        shown = {path: name for path, name in self._shown.items() if path in paths}
        return EventFiles(paths, options.file_format, options.read, BadPolicy(), shown=tuple(shown.items()))

    def _check_pipes(self) -> None:
        """Refuse pipes that cannot be read as they would have to be."""
        pipes = [path for paths in self.inputs.values() for path in paths if is_pipe(path)]
        if pipes and self.request.follow:
            raise InvalidArgument(
                f"Spark cannot follow a pipe (`{pipes[0]}`): use --engine local, or leave out --follow to read it to its "
                "end first"
            )
        streams = {stream.iri: stream for stream in declared_streams(self.request.queries)}
        found = [
            (streams[iri], source)
            for iri, sources in self.sources.items()
            for source in sources
            if isinstance(source, PipeSource)
        ]
        check_pipes(found, again=self.request.checkpoint is not None)

    def _keep_pipes(self, folder: Path) -> None:
        """Read pipes to their end into files that workers can read."""
        for paths in self.inputs.values():
            for at, path in enumerate(paths):
                if is_pipe(path):
                    folder.mkdir(parents=True, exist_ok=True)
                    source = cast(PipeSource, find_sources(path, self.request.input.file_format)[0])
                    paths[at] = str(kept_in(folder, source, self.stop.poll).path)
                    self._shown[paths[at]] = source.name

    def present(self) -> list[Source]:
        """The files of all streams that are there now."""
        found: list[Source] = []
        for iri in self.inputs:
            with suppress(InvalidArgument):  # a followed directory may be empty
                found += self.files(iri).found()
        return found

    def check_readable(self, record: Record) -> None:
        """Fail if everything in the files of a stream was bad input."""
        for stream in declared_streams(self.request.queries):
            bad = record.counts.get(f"bad of {stream.iri}", 0)
            if bad and not record.counts.get(f"readable of {stream.iri}"):
                files = self.files(stream.iri)
                raise unreadable_input(stream.alias, files.found(), files.options, bad)

    def run(self, show: Show = unwatched, tell: Tell = silent) -> RunReport:
        """Do the work; progress is reported continuously, bad and late input after every micro-batch."""
        with self._held, ExitStack() as stack:
            if (ended := self._ended()) is not None:
                self.outgoing.finished()
                return ended
            work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spaseq-")))
            with kept_log() as log:
                # PySpark would put its own handler of Ctrl-C in place of that of the main thread.
                spark = aside(
                    lambda: new_session(self.master, {"spark.local.dir": str(work / "local")}, log=log)
                )
                stack.callback(spark.stop)
                stack.enter_context(watched(spark, self._alarm if tell is silent else tell))
                return self.run_in(spark, work, show, tell)

    def run_in(
        self,
        spark: SparkSession,
        work: Path,
        show: Show = unwatched,
        tell: Tell = silent,
    ) -> RunReport:
        """Do the work in a session that is there already."""
        with ExitStack() as inner:  # the output is closed before it is sent
            inner.enter_context(self._held)
            report = self._done(spark, work, inner, show, tell)
        if report.stopped is None or self.request.checkpoint is None:
            self.outgoing.finished()
        return report

    def _done(self, spark: SparkSession, work: Path, stack: ExitStack, show: Show, tell: Tell) -> RunReport:
        if (ended := self._ended()) is not None:
            return ended
        if self.kept is not None and self.kept.note is not None:
            tell(self.kept.note)
        # The session may be somebody else's, who gets it back as it was.
        shuffled = "spark.sql.shuffle.partitions"
        stack.callback(spark.conf.set, shuffled, spark.conf.get(shuffled) or "200")
        spark.conf.set(shuffled, str(parallel_tasks(spark)))
        folder = self.request.checkpoint or self._shared_folder(work, stack)
        try:
            self._keep_pipes(work if isinstance(folder, StorePath) else folder.absolute() / "piped")
        except Stopped:
            return RunReport(Status(), self.stop.signal)
        if self.request.checkpoint is None and not self.request.follow:
            return _Finite(self, spark, folder, stack, tell).run(show)
        assert isinstance(folder, Path), "with --follow a store needs --checkpoint"
        return MicroBatches(self, spark, folder, stack, tell).run(show)

    def _shared_folder(self, work: Path, stack: ExitStack) -> Place:
        """A folder that driver and workers see: any on one machine, else one beside the output."""
        if is_one_process(self.master):
            return work / "shared"
        beside = (self.request.output.parent if self.request.output is not None else Path()).resolve()
        if isinstance(beside, StorePath):
            there = beside / f".spaseq-{uuid.uuid4().hex}"
            stack.callback(there.remove_tree)
            return there
        folder = Path(tempfile.mkdtemp(prefix=".spaseq-", dir=beside))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder

    @property
    def identified(self) -> bool:
        """True if matches must name their events and themselves; CONSTRUCT names its graphs by them."""
        return self.request.provenance or any(
            query.query.form.kind == "construct" for query in self.request.every_query
        )

    def options(self, folder: Place) -> dict[str, Any]:
        """What `read_events` and `match_all` have in common; bad events are kept in this folder."""
        return {
            "on_bad_input": self.request.on_bad_input,
            "quarantine": SharedFolder.made(folder).inside(BAD),
        }

    @property
    def by_lines(self) -> bool:
        """True if workers can write the lines of the output themselves."""
        forms = [query.query.form for query in self.request.queries]
        plain = all(form.kind == "select" and not form.distinct for form in forms)
        plain = plain and not has_rules([query.query for query in self.request.queries])
        return plain and self.format == "jsonl" and not self.request.provenance

    def answers(self, streams: Mapping[str, DataFrame | FileParts], folder: Place, **more: Any) -> DataFrame:
        """The answers of all queries, for `write`; what workers write goes into this folder."""
        queries = {name: query.query for name, query in self.names.items()}
        limits = {
            "policy": self.request.choices.policy,
            "rule_limit": self.request.choices.rule_limit,
            "max_runs": self.request.max_runs,
            "max_memory": self.request.max_memory,
            "max_lead": self.request.input.max_lead,
            "on_late": self.request.on_bad_input,
        }
        options = {
            **self.options(folder),
            "counts": SharedFolder.made(folder).inside(COUNTS),
            "partitions": self.buckets,
            **limits,
            **more,
        }
        known = MatchOptions(provenance=self.identified, **options)
        if not self.by_lines:
            columns = all_answer_columns(provenance=self.identified)
            return answers_of(queries, streams, self.knowledge, columns, known, RowForm(together=True))
        several = len(self.names) > 1
        names = tuple(query.name if several else None for query in self.request.queries)
        lines = LineFiles(SharedFolder.made(folder).inside(ANSWERS), names)
        return answers_of(queries, streams, self.knowledge, COUNTED, known, lines)

    def write(self, answers: DataFrame, folder: Place) -> int:
        """Find answers and let workers put them in files in order of time; how many tasks say that they have written."""
        if self.by_lines:
            return sum(row[0] for row in answers.collect())
        written = Observation()
        counted = answers.observe(written, F.count(F.lit(1)).alias("rows"))
        counted.sortWithinPartitions("time", "start").write.parquet(for_spark(folder / ANSWERS))
        return int(written.get["rows"])


# --- a finite input at once -----------------------------------------------------------------------


class _Finite:
    """All of a finite input in one job."""

    def __init__(
        self, run: SparkRun, spark: SparkSession, folder: Place, stack: ExitStack, tell: Tell
    ) -> None:
        self._run, self._spark, self._folder = run, spark, folder.absolute()
        run.outgoing.prepare(resumed=False)
        self._writing = Writing(run.request, run.names, run.outgoing, stack, None, tell)

    def run(self, show: Show) -> RunReport:
        """Read, match and write."""
        run, request = self._run, self._run.request
        folder = self._folder
        policy = bad_policy(request.on_bad_input, run.options(folder)["quarantine"])
        streams = {iri: parts_now(self._spark, replace(run.files(iri), bad=policy)) for iri in run.inputs}
        found = run.answers(streams, folder)
        job = Background(lambda: run.write(found, folder))
        try:
            while not job.ends_within(MOMENT):
                run.stop.poll()
                show_tasks(show, self._writing.status, self._spark)
        except Stopped:
            self._spark.sparkContext.cancelAllJobs()
            return RunReport(self._writing.status, run.stop.signal)
        self._writing.take(folder, 0, job.result())
        run.check_readable(self._writing.record)
        self._writing.finish()
        show(self._writing.status)
        summary = self._writing.summary(self._writing.record, run.present)
        incomplete = tuple(self._writing.record.incomplete)
        return RunReport(self._writing.status, summary=summary, incomplete=incomplete)


def matches_on_spark(
    query: CompiledQuery,
    streams: Mapping[str, Path],
    knowledge: Mapping[str, Path],
    master: str = "local[*]",
) -> list[Match]:
    """The matches of a query over files, in order of time, by a Spark session that ends with this call.

    They are all in memory here: for the demonstration and for small inputs.
    """
    with ExitStack() as stack:
        log = stack.enter_context(kept_log())
        spark = new_session(master, {"spark.sql.shuffle.partitions": "2"}, log=log)
        stack.callback(spark.stop)
        frames = {name: read_events(spark, str(path)) for name, path in streams.items()}
        answers = match_all({"query": query}, frames, knowledge, provenance=True).orderBy("time", "start")
        return [match_of(row) for row in answers.toArrow().to_pylist()]
