"""`spaseq run`: queries over streams, matches to an output (docs/reference/cli.md)."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Unpack, cast

import click
from click.core import ParameterSource

from spaseq.cli.arguments import in_options, labels, pair
from spaseq.cli.engines import chosen_engine, input_bytes
from spaseq.cli.query_files import STANDARD_INPUT, WRONG, compile_or_exit, say, show, show_problem
from spaseq.cli.run_options import Arguments, run_options
from spaseq.errors import IncompatibleCheckpoint, InvalidArgument, QueryError, SpaseqError, counted
from spaseq.settings import settings

if TYPE_CHECKING:
    from types import FrameType

    from spaseq.engine.inputs import NamedQuery
    from spaseq.engine.request import RulesOutput, RunReport, RunRequest, Status, Stop
    from spaseq.io.results import OutputFormat
    from spaseq.io.sources import Layout
    from spaseq.stores import Place

FAILED = 1
"""The exit status of a run that failed."""
BROKEN_PIPE = 141
"""The exit status after a broken pipe, as shells report it for other commands."""


SMALL_INPUT = (
    "this input is small: `--engine local` gives the same matches without the time that Spark takes to start"
)


class EngineRun(Protocol):
    """A run on either engine: everything that can be wrong with its request was checked when it was made."""

    def run(self, show: Callable[[Status], None], tell: Callable[[str], None]) -> RunReport:
        """Do the work; progress, bad and late input are reported meanwhile."""


@click.command
@run_options
def run(**given: Unpack[Arguments]) -> None:
    """Run queries over streams and write their matches; `-` reads a query from standard input.

    Exit status 0 if the run ended, 1 if it failed, 2 if the command line or a query is wrong, 130 after
    Ctrl-C (with --follow Ctrl-C is the usual end, so there it is 0).
    """
    from spaseq.cli.progress import progress_bar
    from spaseq.engine.notices import silent
    from spaseq.engine.request import Stop
    from spaseq.io.unreadable import IncompleteInput

    with _ending():
        request, stop = _request(given), Stop()
        prepared, hint = _prepared(request, given, stop)
        with _signals(stop), progress_bar(given["progress"], results_here=request.output is None) as screen:
            report = prepared.run(screen.show, silent if given["quiet"] else screen.warn)
        _tell(request, report, quiet=given["quiet"])
        if report.incomplete:
            raise IncompleteInput(report.incomplete)
        if hint is not None and report.stopped is None and not given["quiet"]:
            say("note", hint)
        as_usual = report.stopped is None or request.follow
        raise SystemExit(0 if as_usual else 128 + (report.stopped or 0))


def _prepared(request: RunRequest, given: Arguments, stop: Stop) -> tuple[EngineRun, str | None]:
    """The run on the engine that was asked for, and a hint for the next one."""
    if request.checkpoint is not None and request.output is None:
        say(
            "warning",
            "matches on standard output cannot be taken back: after a crash those since the last "
            "checkpoint come again; give --output PATH to have each exactly once",
        )
    if chosen_engine(given["engine"], given["master"], quiet=given["quiet"]) == "local":
        from spaseq.engine.local_run import LocalRun

        return LocalRun(request, stop), None
    from spaseq.spark.command.spark_run import SparkRun

    run = SparkRun(request, given["master"], stop, alarm=lambda text: say("warning", text))
    # Printed at the end: until then standard error is for what goes wrong.
    near = run.master.startswith("local")  # a cluster was asked for by name
    small = near and bool(run.sources) and input_bytes(run.sources) < settings().spark_bytes
    return run, SMALL_INPUT if small else None


# --- the request ----------------------------------------------------------------------------------


def _request(given: Arguments) -> RunRequest:
    """The command line as one value; everything that is wrong with it alone is said here."""
    from spaseq.engine.opening import InputOptions
    from spaseq.engine.request import IDLE_AFTER, RunRequest
    from spaseq.io.growing import SETTLE
    from spaseq.io.options import ReadOptions
    from spaseq.planner.in_run import Choices
    from spaseq.temporal.instants import as_duration

    if STANDARD_INPUT in given["queries"] and any(map(_is_piped, given["streams"])):
        raise InvalidArgument(
            "standard input cannot be a query and a stream at once; put the query in a file"
        )
    queries = _queries(given)
    _tell_unused(given, queries)
    names = {name for item in queries for s in item.query.streams for name in s.names}
    graphs = {iri for item in queries for iri in item.query.knowledge[0]}
    if given["follow"] and given["layout"] == "dataset":
        raise InvalidArgument(
            "--layout dataset needs whole files, and --follow reads them as they grow; leave out one of the two"
        )
    layout: Layout = "stream" if given["follow"] else given["layout"]
    read = ReadOptions(
        given["timestamp_predicate"],
        given["time_unit"],
        given["triples_per_event"],
        layout=layout,
        start_predicate=given["start_predicate"],
        end_predicate=given["end_predicate"],
    )
    times = _times(given)
    output, quarantine = given["output"], given["quarantine"]
    if output is not None:
        _check_folder(output)
    beside = (output.parent if output is not None else Path()) / "quarantine.jsonl"
    return RunRequest(
        queries=queries,
        streams=tuple(pair(text, "--stream", names) for text in given["streams"]),
        knowledge=tuple(pair(text, "--kb", graphs) for text in given["knowledge"]),
        rdfs=given["rdfs"],
        input=InputOptions(read, given["file_format"], times["lateness"], times["max_lead"]),
        output=output,
        output_format=cast("OutputFormat | None", given["output_format"]),
        provenance=given["provenance"],
        on_bad_input=given["on_bad_input"],
        quarantine=quarantine if quarantine is not None else beside,
        follow=given["follow"],
        settle=SETTLE if times["settle"] is None else times["settle"],
        idle_after=IDLE_AFTER if times["idle_after"] is None else times["idle_after"],
        checkpoint=given["checkpoint"],
        checkpoint_every=as_duration(given["checkpoint_every"], "time between checkpoints"),
        choices=Choices(given["policy"], given["rule_limit"]),
        max_runs=given["max_runs"],
        max_memory=given["max_memory"],
        query_files=tuple(path for path in given["queries"] if path != STANDARD_INPUT),
        rules=_rules(queries, given),
    )


def _rules(queries: tuple[NamedQuery, ...], given: Arguments) -> RulesOutput | None:
    """What `--rules-output` asks for: one more query, whose answers are what all rules produce."""
    from spaseq.engine.inputs import NamedQuery
    from spaseq.engine.request import RulesOutput
    from spaseq.planner.in_run import rules_alone

    path = given["rules_output"]
    if path is None:
        return None
    query = rules_alone([item.query for item in queries])
    if query is None:
        raise InvalidArgument("--rules-output has nothing to write: the queries have no rules (CONSTRUCT)")
    if path == given["output"]:
        raise InvalidArgument(f"--output and --rules-output are both `{path}`; give each a file of its own")
    _check_folder(path)
    return RulesOutput(NamedQuery("rules", query), path)


def _check_folder(output: Place) -> None:
    if isinstance(output, Path) and not output.parent.is_dir():
        raise InvalidArgument(
            f"the output `{output}` cannot be written: there is no directory `{output.parent}`"
        )


def _times(given: Arguments) -> dict[str, int | None]:
    """The options about time in microseconds, None for those that were not given or have no effect."""
    from spaseq.engine.request import MAX_LEAD
    from spaseq.temporal.instants import as_duration

    named = {
        "lateness": given["lateness"],
        "settle": given["settle"],
        "idle_after": given["idle_after"],
        "max_lead": given["max_lead"],
    }
    options = {name: f"--{name.replace('_', '-')}" for name in named}
    times = {name: None if text is None else as_duration(text, options[name]) for name, text in named.items()}
    if given["follow"]:
        return {**times, "max_lead": MAX_LEAD if times["max_lead"] is None else times["max_lead"]}
    return {**dict.fromkeys(times), "max_lead": times["max_lead"]}


def _tell_unused(given: Arguments, queries: tuple[NamedQuery, ...]) -> None:
    """Say which of the options that were given have no effect on this run."""
    finite = "on a finite input, which is sorted as a whole; it is for --follow"
    other = "on these queries; it is for EP-SPARQL"
    unused: list[tuple[bool, tuple[str, ...], str]] = [
        (not given["follow"], ("lateness", "settle", "idle_after"), finite),
        (all(item.query.language != "epsparql" for item in queries), ("policy", "rule_limit"), other),
        (given["checkpoint"] is None, ("checkpoint_every",), "without --checkpoint"),
    ]
    source = click.get_current_context().get_parameter_source
    for applies, names, why in unused:
        for name in names:
            if applies and source(name) is ParameterSource.COMMANDLINE:
                say("warning", f"--{name.replace('_', '-')} has no effect {why}")


def _is_piped(stream: str) -> bool:
    """Whether ``NAME=PATH`` names standard input."""
    from spaseq.io.sources import is_standard_input

    return is_standard_input(stream.rpartition("=")[2])


def _queries(given: Arguments) -> tuple[NamedQuery, ...]:
    from spaseq.engine.inputs import NamedQuery

    found: list[NamedQuery] = []
    for label, path in zip(labels(given["queries"]), given["queries"], strict=True):
        several = compile_or_exit(path, given["language"], given["profile"])
        names = [label] if len(several) == 1 else [f"{label}#{number + 1}" for number in range(len(several))]
        found += map(NamedQuery, names, several)
    return tuple(found)


# --- while it runs, and after ---------------------------------------------------------------------


@contextmanager
def _signals(stop: Stop) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the run between two pieces of work; a second Ctrl-C ends it at once."""

    def asked(number: int, _frame: FrameType | None) -> None:
        if stop.signal is not None:
            raise KeyboardInterrupt
        stop.request(number)

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(request: RunRequest, report: RunReport, *, quiet: bool) -> None:
    """What happened, on standard error, as far as the output does not show it."""
    status = report.status
    if report.already_done:
        say("note", f"this run had ended, its checkpoint says; remove {request.checkpoint} to start again")
    for line in () if quiet else report.summary:
        say("note", in_options(line))
    if status.bad or status.late:
        kinds = [(status.bad, "bad event"), (status.late, "late event")]
        what = " and ".join(counted(number, kind) for number, kind in kinds if number)
        kept = f"quarantined in {request.quarantine}" if request.on_bad_input == "quarantine" else "skipped"
        say("warning", f"{what} {kept}")
    for path in report.unfinished:
        say("note", f"the end of `{path}` was not read: its last event is not complete")
    if report.stopped is not None:
        again = "; the same command goes on from here" if request.checkpoint is not None else ""
        name = "Ctrl-C" if report.stopped == signal.SIGINT else signal.Signals(report.stopped).name
        done = (
            f"{counted(status.events, 'event')} read, {counted(status.matches, 'match', 'matches')} written"
        )
        say("note", f"stopped by {name}: {done}{again}")


# --- how it ends ----------------------------------------------------------------------------------


@contextmanager
def _ending() -> Iterator[None]:
    """Turn whatever ends a run into a sentence and an exit status; never a traceback for what users do."""
    from spaseq.operators.snapshot import IncompatibleSnapshot

    try:
        yield
    except BrokenPipeError:
        # Python would complain once more when it flushes standard output at the end.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(BROKEN_PIPE) from None
    except QueryError as error:  # what its options make of a query is wrong
        show(error, err=True)
        raise SystemExit(WRONG) from None
    except (InvalidArgument, IncompatibleCheckpoint, IncompatibleSnapshot) as error:
        show_problem(error)
        raise SystemExit(WRONG) from None
    except SpaseqError as error:
        show_problem(error)
        raise SystemExit(FAILED) from None
    except OSError as error:
        where = f" `{error.filename}`" if error.filename else ""
        show_problem(SpaseqError(f"the run failed:{where} {(error.strerror or str(error)).lower()}"))
        raise SystemExit(FAILED) from None
    except MemoryError:
        show_problem(SpaseqError("the run needs more memory than there is"))
        raise SystemExit(FAILED) from None
    except KeyboardInterrupt:
        say("note", "stopped at once")
        raise SystemExit(128 + signal.SIGINT) from None
