"""A run from request to written output in this process: what `spaseq run --engine local` does."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from spaseq.engine.checkpoint import Checkpoint, CheckpointFile, RunProgress, hold
from spaseq.engine.clocks import StreamClocks, wall_microseconds
from spaseq.engine.follow import watch
from spaseq.engine.held_back import HeldBack
from spaseq.engine.identity import files_identity
from spaseq.engine.inputs import StreamInput, declared_streams, resolve_streams
from spaseq.engine.live import LivePipes
from spaseq.engine.live_sources import LiveSources
from spaseq.engine.notices import Notices, Tell, silent
from spaseq.engine.opening import Opened, Opener, StreamFiles, find_inputs
from spaseq.engine.outgoing import Outgoing
from spaseq.engine.output import Output, Sink, chosen_format
from spaseq.engine.piped import check_pipes, find_pipes, keep_pipes, pipes_of
from spaseq.engine.query_group import GroupOptions, QueryGroup
from spaseq.engine.reorder import ReorderBuffer
from spaseq.engine.replay import with_end
from spaseq.engine.reports import Reports
from spaseq.engine.request import RunReport, RunRequest, Show, Status, Stop, Stopped, unwatched
from spaseq.engine.session import as_knowledge, wall_clock
from spaseq.engine.summary import asked_predicates, summarised
from spaseq.engine.supply import FiniteSupply, FollowSupply, Supply
from spaseq.engine.tally import Tally, mappings_of, skipped_by
from spaseq.io.bad_input import BadInputHandler
from spaseq.io.event_source import is_address, refuse_addresses
from spaseq.io.layouts import FOLLOWED
from spaseq.io.quarantine import QuarantineFile
from spaseq.io.sample import sampled_predicates
from spaseq.io.written import check_written
from spaseq.operators.snapshot import restore_machine, snapshot_machine

PATIENCE: Final = 0.5
"""Seconds that a step may go on after a signal, so that its end can be kept in a checkpoint."""


class LocalRun:
    """One run. Making it checks everything that can be wrong with a request; `run` does the work."""

    def __init__(self, request: RunRequest, stop: Stop | None = None) -> None:
        self.request = request
        self.stop = stop or Stop()
        queries, options = request.queries, request.input
        self._streams = declared_streams(queries)
        self._given: dict[str, list[StreamInput]] = {
            iri: list[StreamInput](paths) for iri, paths in resolve_streams(queries, request.streams).items()
        }
        self._addresses = [
            (stream, value)
            for stream in self._streams
            for value in self._given[stream.iri]
            if isinstance(value, str) and is_address(value)
        ]
        if request.follow:
            for stream in self._streams:
                self._given[stream.iri] = [
                    value for value in self._given[stream.iri] if not is_address(value)
                ]
            self.inputs: list[Opened] = find_pipes(self._streams, self._given, options)
            watch(self._streams, self._given, options, request.settle)
        else:
            refuse_addresses([value for _, value in self._addresses], "follow it with `--follow`")
            self.inputs = find_inputs(self._streams, self._given, options)
        check_pipes(pipes_of(self.inputs), again=request.checkpoint is not None)
        self.outgoing = Outgoing(request)
        request.check_paths()
        self.format = chosen_format(request)
        self.rules_format = None if request.for_rules is None else chosen_format(request.for_rules)
        knowledge = as_knowledge(dict(request.knowledge), rdfs=request.rdfs)
        limits = GroupOptions(
            request.max_runs,
            request.provenance,
            max_memory=request.max_memory,
            whole_process=True,
            choices=request.choices,
        )
        self.session = QueryGroup(request.every_query, knowledge, wall_clock(), limits)
        whole = self.session.needs_whole_instants
        sets = [run.reads for run in self.session.runs]
        self.held_back = (
            HeldBack(sets, options.lateness or 0, whole_instants=whole) if request.follow else None
        )
        self.resumed = False
        self.progress = RunProgress()
        self._held = ExitStack()
        """What must be given back at the end: the checkpoint directory."""
        if request.checkpoint is not None:
            with ExitStack() as stack:
                stack.callback(hold(request.checkpoint).release)
                self._identity = self._make_identity()
                self._checkpoint = CheckpointFile(request.checkpoint)
                self._load()
                self._held = stack.pop_all()

    def run(self, show: Show = unwatched, tell: Tell = silent) -> RunReport:
        """Do the work; progress is reported after every portion, bad and late input as it comes."""
        with self._held as stack:
            if self.resumed and self._checkpoint.note is not None:
                tell(self._checkpoint.note)
            if self.progress.finished:
                skips = self.request.on_bad_input == "skip"
                incomplete = () if skips else self.progress.incomplete
                report = RunReport(self._status(), already_done=True, incomplete=incomplete)
            else:
                self.outgoing.prepare(resumed=self.resumed)
                try:
                    report = _Work(self, stack, Notices(tell)).run(show)
                except MemoryError:
                    raise self.session.budget.exhausted() from None
        if report.stopped is None or self.request.checkpoint is None:
            self.outgoing.finished()
        return report

    def _status(self) -> Status:
        """How the run stood at its last checkpoint."""
        known = self.progress
        matches = sum(known.matches[: len(self.request.queries)])
        return Status(known.events, matches, bad=known.reported, late=known.late)

    # --- checkpoints ----------------------------------------------------------------------------

    def _make_identity(self) -> dict[str, object]:
        """What two parts of one run must agree on."""
        request = self.request
        files = [
            (item.stream.iri, source.path)
            for item in self.inputs
            if isinstance(item, StreamFiles)
            for source in item.sources
        ]
        given = [list(item) for item in request.streams] if request.follow else files_identity(files)
        return request.identity(given, self.format)

    def _load(self) -> None:
        """Take up the checkpoint, if there is one."""
        found = self._checkpoint.load(self._identity)
        if found is None:
            return
        self.resumed, self.progress = True, found.progress
        if found.progress.finished:
            outputs = (
                (self.outgoing.output, found.progress.output),
                (self.outgoing.rules, found.progress.rules),
            )
            for output, written in outputs:
                if output is not None and written.digest:
                    check_written(output, "output", written, whole=True)
            return
        for number, (run, blob) in enumerate(zip(self.session.runs, found.machines, strict=True)):
            restore_machine(run.machine, blob, self._buffer(number), len(self.session.streams))
            run.matches = found.progress.matches[number]

    def _buffer(self, number: int) -> ReorderBuffer | None:
        """The buffer that is saved with a query: the first one of those that share it."""
        sets = [run.reads for run in self.session.runs]
        if self.held_back is None or sets.index(sets[number]) < number:
            return None
        return self.held_back.buffers[sets[number]]

    def save(self, progress: RunProgress) -> None:
        """Write a checkpoint."""
        blobs = tuple(
            snapshot_machine(run.machine, self._buffer(number))
            for number, run in enumerate(self.session.runs)
        )
        self._checkpoint.save(Checkpoint(self._identity, progress, blobs))

    # --- input ----------------------------------------------------------------------------------

    def supply(
        self, reports: Reports, tally: Tally, rest: Callable[[float], None], stack: ExitStack
    ) -> tuple[Supply, Opener]:
        """The events of this run that are still to be handled."""
        request, most = self.request, self.request.input.read.batch_events

        def poll() -> None:
            self.stop.poll()
            self.session.budget.check()

        progress = self.progress
        cure = FOLLOWED if request.follow else ""
        opener = Opener(self.session, reports, request.input, poll=poll, cure=cure)
        if self.held_back is None:
            self.inputs = keep_pipes(self.inputs, stack, poll)
            whole = self.session.needs_whole_instants or request.checkpoint is not None
            clock = wall_microseconds() if progress.clock is None else progress.clock
            return FiniteSupply(
                opener, self.inputs, whole_instants=whole, most=most, poll=poll, clock=clock,
                count=tally.read, reached=progress.reached,
            ), opener  # fmt: skip
        streams = self.session.streams
        lateness = request.input.lateness or 0
        return FollowSupply(
            opener,
            watch(self._streams, self._given, request.input, request.settle, progress.taken),
            LivePipes(pipes_of(self.inputs), request.input.read, request.settle, stack),
            LiveSources(
                self._addresses, streams, self.session.dictionary, progress.positions, stack, reports.lost
            ),
            self.held_back,
            StreamClocks(streams, lateness, request.idle_after, progress.latest),
            reports,
            streams=streams,
            count=tally.read,
            most=most,
            poll=poll,
            rest=rest,
            progress=progress,
        ), opener


class _Work:
    """A run with its output open."""

    def __init__(self, run: LocalRun, stack: ExitStack, notices: Notices) -> None:
        request, progress = run.request, run.progress
        self._run = run
        self._stack = stack
        self._session = run.session
        self._answering = run.session.runs[: len(request.queries)]
        """The queries that were asked; rules whose output is apart are behind them."""
        self._sinks = list(self._made_sinks(notices))
        quarantine = progress.quarantine if run.resumed else None
        self._quarantine: QuarantineFile | None = None
        if request.on_bad_input == "quarantine":
            self._quarantine = stack.enter_context(
                QuarantineFile(run.outgoing.quarantine, resumed=quarantine)
            )
        handler = BadInputHandler(request.on_bad_input, self._quarantine)
        self._reports = Reports(
            handler,
            run.session.dictionary,
            progress.told,
            bad=progress.bad,
            late=progress.late,
            notices=notices,
        )
        asked = asked_predicates(item.query for item in request.queries)
        unit = request.input.read.time_unit
        self._tally = Tally(run.session.streams, asked, run.session.dictionary, progress.counts, unit=unit)
        self._saved = time.monotonic()
        self._changed = True
        self._midway = False
        self._patience = 0.0 if request.checkpoint is None else PATIENCE
        counts = tuple(each.matches for each in run.session.runs)
        self._first = self._with_outputs(replace(progress, matches=counts))
        self._supply: Supply | None = None
        self._expected: int | None = None
        self._save(self._first)

    def _made_sinks(self, notices: Notices) -> Iterator[Sink]:
        """What writes the answers of the queries, and what writes apart from them what rules produce."""
        run, progress, many = self._run, self._run.progress, len(self._answering)
        request, for_rules = run.request, run.request.for_rules
        wanted = [(request, run.outgoing.output, run.format, progress.output, slice(0, many))]
        if for_rules is not None and run.rules_format is not None:
            wanted.append(
                (for_rules, run.outgoing.rules, run.rules_format, progress.rules, slice(many, None))
            )
        for asked, path, output_format, known, own in wanted:
            resumed = known if run.resumed else None
            out = Output(path, kept=request.checkpoint is not None, resumed=resumed)
            yield Sink(
                run.session,
                run.session.runs[own],
                asked.queries,
                self._stack.enter_context(out),
                output_format,
                read=request.input.read,
                provenance=request.provenance,
                written=sum(progress.matches[own]),
                tell=notices.tell,
            )

    def _with_outputs(self, progress: RunProgress) -> RunProgress:
        """The progress with how much was written to each output."""
        answers, *rules = (sink.out.written for sink in self._sinks)
        return replace(progress, output=answers, rules=rules[0] if rules else progress.rules)

    def run(self, show: Show) -> RunReport:
        """Step by step to the end."""
        stopped = None
        try:
            self._steps(show)
            for sink in self._sinks:
                sink.finish()
            self._save(self._progress(finished=True))
        except Stopped:
            stopped = self._run.stop.signal
            if self._run.request.checkpoint is None:
                for sink in self._sinks:
                    sink.close()
            elif not self._midway:  # else the last checkpoint stands, and what came after it is done again
                self._save(self._progress())
        for sink in self._sinks:
            sink.out.flush()
        self._reports.notices.flush()
        unfinished = self._supply.unfinished if self._supply is not None else ()
        return RunReport(
            self.status,
            stopped,
            unfinished=unfinished,
            summary=tuple(self._summary()),
            incomplete=self._incomplete,
        )

    @property
    def _incomplete(self) -> tuple[str, ...]:
        return () if self._run.request.follow else self._reports.incomplete

    def _summary(self) -> Iterator[str]:
        """What was read and found, in sentences."""
        matches = [run.matches for run in self._answering]
        reports, request = self._reports, self._run.request
        summary = summarised(request.queries, self._counts(), matches, bad=reports.bad, late=reports.late)
        present: frozenset[str] = frozenset()
        if summary.wants_sample and self._supply is not None:
            present = sampled_predicates(self._supply.sources, request.input.read)
        return summary.lines(present)

    def _counts(self) -> dict[str, int]:
        """Everything that was counted."""
        counts = Counter(self._tally.counts)
        for number, run in enumerate(self._session.runs):
            counts.update({mappings_of(number, gpm): rows for gpm, rows in run.machine.mapped.items()})
            counts.update({skipped_by(number, gpm): 1 for gpm in run.machine.skipped})
        return dict(counts)

    def _steps(self, show: Show) -> None:
        supply, opener = self._run.supply(self._reports, self._tally, self._rest, self._stack)
        self._supply = supply
        self._session.budget.count("events", lambda: supply.nbytes)
        for portion in with_end(supply.portions()):
            self._expected = opener.expected if self._run.held_back is None else None
            self._midway = True
            for answered in self._session.step(portion):
                for sink in self._sinks:
                    sink.write(answered)
                    sink.out.flush()
                if show is not unwatched:  # what it shows is asked of every query
                    show(self.status)
                self._run.stop.poll(self._patience)
            self._midway, self._changed = False, True
            if self._session.finished:
                return
            self._session.compact([supply])
            if time.monotonic() - self._saved >= self._run.request.checkpoint_every / 1e6:
                self._save(self._progress())
        opener.check_readable(self._run.inputs)

    @property
    def status(self) -> Status:
        """The status of the run."""
        session = self._session
        return Status(
            self._tally.events,
            sum(run.matches for run in self._answering),
            session.waiting_runs,
            self._reports.bad,
            self._reports.late,
            self._expected,
        )

    def _rest(self, seconds: float) -> None:
        """Nothing to do for a while: keep what there is."""
        if self._changed:
            self._save(self._progress())
        self._run.stop.wait(seconds)

    def _progress(self, *, finished: bool = False) -> RunProgress:
        supply = self._supply
        if supply is None:
            return self._first
        progress = RunProgress(
            events=self._tally.events,
            matches=tuple(run.matches for run in self._session.runs),
            counts=self._counts(),
            told=self._reports.told,
            bad=self._reports.done,
            late=self._reports.late,
            finished=finished,
            incomplete=self._incomplete,
        )
        return supply.noted(self._with_outputs(progress))

    def _save(self, progress: RunProgress) -> None:
        """Write a checkpoint, if the run keeps one; the output is on the disk before it."""
        if self._run.request.checkpoint is None:
            return
        for sink in self._sinks:
            sink.out.sync()
        kept = self._run.progress.quarantine if self._quarantine is None else self._quarantine.sync()
        self._run.save(replace(progress, quarantine=kept))
        self._run.outgoing.checkpointed()
        self._saved, self._changed = time.monotonic(), False


def run_local(request: RunRequest, stop: Stop | None = None, show: Show = unwatched) -> RunReport:
    """Run queries in this process and write their answers."""
    return LocalRun(request, stop).run(show)
