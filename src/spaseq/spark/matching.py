"""`match` and `match_all`: events DataFrames in, a DataFrame of answers out (docs/how-to/use-spark.md)."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import BooleanType, StructField, StructType

from spaseq.columnar.knowledge import Knowledge
from spaseq.engine.session import as_knowledge, as_query, wall_clock
from spaseq.errors import InvalidArgument, described
from spaseq.io.options import TIMESTAMP_PREDICATE, ReadOptions
from spaseq.operators.machine import check_limits
from spaseq.planner.compiled import CompiledQuery
from spaseq.planner.in_run import RULE_LIMIT, UNRESTRICTED, Choices, in_run
from spaseq.planner.value_types import certain_types
from spaseq.settings import settings
from spaseq.spark.job import Job, Task, make_tasks, named_streams, stream_numbers
from spaseq.spark.metrics import observed, total_of
from spaseq.spark.output.across_buckets import compared
from spaseq.spark.output.answer_rows import AnswerForm, RowForm
from spaseq.spark.output.native import as_native
from spaseq.spark.schemas import BLOCKS, ROUTE, all_answer_columns, answer_columns
from spaseq.spark.shared_folder import Directory, SharedFolder, bad_policy
from spaseq.spark.shuffle.routing import BUCKETS, bucket_places
from spaseq.spark.sources.event_files import FileParts, clock_ticks, files_behind, parts_behind, ruled_rows
from spaseq.spark.sources.frame_columns import FrameColumns, Told, event_columns_of, told_apart_by
from spaseq.spark.sources.promised import GRAPHS, PROMISED, check_promises
from spaseq.spark.spark_session import (
    ROCKSDB,
    STATE_STORE,
    lasting_plan,
    parallel_tasks,
    workers_like_us,
)
from spaseq.spark.stages.gpm_stage import MatchClock, MatchParts, MatchRows
from spaseq.spark.stages.sequence_stage import BucketSequences
from spaseq.spark.stages.worker import Shared, shared
from spaseq.spark.state.processor import OUTPUT, SequenceProcessor
from spaseq.spark.state.stream_stage import UnpackAnswers
from spaseq.temporal.instants import as_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spaseq.columnar.knowledge import Source

Streams = Mapping[str, DataFrame | Sequence[DataFrame]] | DataFrame
"""A DataFrame of events per stream, by alias or IRI, or several; or one for all, with a column ``stream``."""
Inputs = Mapping[str, DataFrame | Sequence[DataFrame]] | Mapping[str, DataFrame | FileParts] | DataFrame
"""The same, or parts of files that are read without a DataFrame of events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOptions:
    """How `match` and `match_all` work; the same words as on the command line where there are any."""

    format: str | None = None
    timestamp_predicate: str = TIMESTAMP_PREDICATE
    rdfs: bool = False
    provenance: bool = False
    on_bad_input: str | None = None
    quarantine: Directory | None = None
    partitions: int | None = None
    policy: str = UNRESTRICTED
    rule_limit: int = RULE_LIMIT
    max_runs: int | None = 10_000_000
    max_memory: int | None = None
    lateness: str | int = 0
    stream_lag: str | int | None = None
    idle_after: str | int | None = None
    max_lead: str | int | None = None
    on_late: str | None = None
    close_after: str | int | None = None
    watermark_by: str | Sequence[str] | None = None
    metrics: Observation | str | None = None
    carry: Sequence[str] = ()
    punctual: bool = False
    """True if the input itself makes sure that nothing comes late, as a schedule does."""
    ticks: bool = False
    """True if the input itself tells the wall clock while it is silent."""
    counts: SharedFolder | None = None
    """A folder in which tasks leave what they have counted (`spaseq.spark.output.tallies`)."""


_OF_STREAMS: Final = ("lateness", "stream_lag", "idle_after", "on_late", "close_after", "watermark_by")
"""Options that only streaming DataFrames need."""
_OF_VALUES: Final = ("format", "timestamp_predicate")
"""Options that only columns of serialised graphs need."""


def match(
    query: CompiledQuery | str,
    streams: Streams,
    knowledge: Knowledge | Mapping[str, Source] | None = None,
    *,
    native: bool | Mapping[str, str] = False,
    format: str | None = None,  # noqa: A002 - the public name
    timestamp_predicate: str = TIMESTAMP_PREDICATE,
    rdfs: bool = False,
    policy: str = UNRESTRICTED,
    rule_limit: int = RULE_LIMIT,
    provenance: bool = False,
    on_bad_input: str | None = None,
    quarantine: Directory | None = None,
    partitions: int | None = None,
    max_runs: int | None = 10_000_000,
    max_memory: int | None = None,
    lateness: str | int = 0,
    stream_lag: str | int | None = None,
    idle_after: str | int | None = None,
    max_lead: str | int | None = None,
    on_late: str | None = None,
    close_after: str | int | None = None,
    watermark_by: str | Sequence[str] | None = None,
    metrics: Observation | str | None = None,
    carry: Sequence[str] = (),
) -> DataFrame:
    """The answers of a query over streams.

    ``SELECT`` gives ``time, start`` and a column of N-Triples terms per variable; ``native=True`` makes SQL
    values of them: of the one type that a variable certainly has, such as a count, else texts without quotes or brackets. ``native={"v":
    "double"}`` casts single ones, to ``variant`` with the type of each literal. ``CONSTRUCT``
    gives ``time, triples`` (of EP-SPARQL ``time, start, triples``); ``ASK`` the first match as ``time, start, boolean`` or no row. ``provenance`` adds
    ``match``, the identity of the match, and ``events``, what it is made of; ``carry`` names columns of the events
    DataFrames, such as ``["topic", "partition", "offset", "key"]``, that each of these has as text in ``carried``, and
    so do bad and late records.

    ``on_bad_input`` is ``fail`` (the default), ``skip`` or ``quarantine``, which keeps bad rows in files of the directory
    ``quarantine``. It also rules the files of DataFrames that come straight from `read_events`, which are read here.

    ``format`` is the syntax of ``value`` columns, whose graphs name their own time with
    ``timestamp_predicate`` unless there is a ``time`` column. ``partitions`` is the number of buckets that keys
    and windows are spread over (on streams 64: a checkpoint keeps it, whatever the cores and partitions of the session); ``max_runs`` and ``max_memory`` (bytes; default: half of the memory of a worker's machine,
    divided by its cores) bound the state of each. ``policy`` and ``rule_limit`` are those of EP-SPARQL's sequences and rules.

    On streaming DataFrames answers come when they are certain: when the watermark has passed them. It follows the
    slowest source, ``lateness`` behind its latest event; one that is more than ``stream_lag`` of event time
    behind the fastest is not waited for, nor is one without events for ``idle_after`` of the wall clock. A source is
    a stream, or of a stream with the columns ``topic`` and ``partition`` each partition of Kafka; ``watermark_by`` names the
    columns that tell sources apart (``"source"``: each file of `read_events`), ``[]`` none. If all have been silent for
    ``close_after`` of the wall clock, event time passes as the wall clock does, so that windows end and a negation at the
    end of a sequence is decided.

    Events that come after the watermark are left out and counted; ``on_late`` keeps them in files of the directory
    ``quarantine`` (``quarantine``, the default if there is one), only counts them (``skip``) or ends the query (``fail``).
    Events that are more than ``max_lead`` ahead of the wall clock are bad input. ``metrics`` names what
    `DataFrame.observe` reports: ``events`` and ``bad``, under the name with ``_late`` appended ``late``, with ``_state``
    appended what the state is (docs/how-to/use-spark.md). Without it
    a streaming query reports them under a name that begins with ``spaseq_``.
    """
    compiled = as_query(query)
    options = MatchOptions(
        format=format,
        timestamp_predicate=timestamp_predicate,
        rdfs=rdfs,
        policy=policy,
        rule_limit=rule_limit,
        provenance=provenance,
        on_bad_input=on_bad_input,
        quarantine=quarantine,
        partitions=partitions,
        max_runs=max_runs,
        max_memory=max_memory,
        lateness=lateness,
        stream_lag=stream_lag,
        idle_after=idle_after,
        max_lead=max_lead,
        on_late=on_late,
        close_after=close_after,
        watermark_by=watermark_by,
        metrics=metrics,
        carry=carry,
    )
    form = compiled.form
    columns = answer_columns(form, provenance=provenance, carried=bool(carry))
    queries = {compiled.name: compiled}
    answers = answers_of(queries, streams, knowledge, columns, options, RowForm(together=False))
    _tell_unused(
        options, streams, answers, native=form.kind.upper() if native and form.kind != "select" else ""
    )
    if form.kind == "construct" and answers.isStreaming:
        told = StructType([*columns.fields, StructField("promise", BooleanType())])
        rows = RowForm(together=False, promises=True)
        name = f"{GRAPHS}{uuid.uuid4().hex[:8]}"
        answers = answers.alias(name)
        make = partial(answers_of, queries, streams, knowledge, told, options, rows)
        _promising[answers] = lambda: make().alias(name + PROMISED)
    return as_native(answers, form, native, certain_types(compiled), provenance=provenance)


_promising: WeakKeyDictionary[DataFrame, Callable[[], DataFrame]] = WeakKeyDictionary()
"""Streams of graphs that `match` has made, and what makes the same with promises of how far time has come."""


def with_promises(graphs: DataFrame) -> DataFrame:
    """A stream of graphs of CONSTRUCT with a column ``promise``: rows in which it is true carry the watermark to the next `match`.

    `match` does that itself with a DataFrame that comes straight from `match`; one that is to be filtered or joined before needs it. Rows
    with a promise must pass.
    """
    make = _promising.get(graphs)
    if make is None:
        raise InvalidArgument(
            "with_promises takes the streaming DataFrame of a CONSTRUCT query as `match` gives it, before anything is done with it"
        )
    return make()


def match_all(
    queries: Mapping[str, CompiledQuery | str],
    streams: Streams,
    knowledge: Knowledge | Mapping[str, Source] | None = None,
    **options: object,
) -> DataFrame:
    """The answers of several queries over one pass of the input: ``query, time, start, bindings, triples, boolean``.

    ``bindings`` maps variables to N-Triples terms (SELECT), ``triples`` is a graph (CONSTRUCT), ``boolean`` is
    true (ASK). Options as for `match`, but ``native``.
    """
    unknown = sorted(set(options) - {field.name for field in fields(MatchOptions)})
    if unknown:
        raise InvalidArgument(f"match_all has no option `{unknown[0]}=`")
    if not isinstance(queries, Mapping):
        raise InvalidArgument(f"`queries` is a mapping from names to queries, not {described(queries)}")
    for name in queries:
        if not isinstance(name, str):
            raise InvalidArgument(f"the name of a query is a text, not {described(name)}")
    known = MatchOptions(**options)  # type: ignore[arg-type]
    compiled = {name: as_query(query) for name, query in queries.items()}
    if not compiled:
        raise InvalidArgument("match_all needs at least one query")
    columns = all_answer_columns(provenance=known.provenance, carried=bool(known.carry))
    answers = answers_of(compiled, streams, knowledge, columns, known, RowForm(together=True))
    _tell_unused(known, streams, answers)
    return answers


def answers_of(
    queries: Mapping[str, CompiledQuery],
    streams: Inputs,
    knowledge: Knowledge | Mapping[str, Source] | None,
    columns: StructType,
    options: MatchOptions,
    form: AnswerForm,
) -> DataFrame:
    """What the sequence stage makes of answers, as a DataFrame with these columns."""
    given = _given(streams)
    frames = [each.frame if isinstance(each, FileParts) else each for each in given]
    if not frames:
        raise InvalidArgument("no stream was given")
    streaming = frames[0].isStreaming
    if any(frame.isStreaming != streaming for frame in frames):
        raise InvalidArgument(
            "streams must be all streaming DataFrames or all batch DataFrames, not some of each"
        )
    spark = frames[0].sparkSession
    workers_like_us(spark)
    job = replace(
        _job(spark, queries, knowledge, options, streaming=streaming),
        origin=_origin(given, options),
        apart=_apart(given, options) if streaming else "",
    )
    sent = shared(spark, job)
    blocks = _matched(job, sent, queries, streams, options)
    metrics = options.metrics or (f"spaseq_{job.id[:8]}" if streaming else None)
    if metrics is not None:
        blocks = blocks.observe(metrics, *(total_of(F.col(name)).alias(name) for name in ("events", "bad")))
    internal = StructType([*(ROUTE if job.compares else ()), *columns.fields])
    if streaming:
        answers = _endless(spark, job, blocks, internal, metrics, form)
    else:
        sequence = BucketSequences(sent, form)
        ordered = blocks.repartitionById(job.buckets, "bucket").sortWithinPartitions("query", "first")
        answers = ordered.mapInArrow(sequence, internal)
    if not job.compares:
        return answers
    limits = [task.counted for task in job.tasks]
    return compared(answers, min(job.buckets, _shuffled(spark)), columns, limits, streaming=streaming)


def _given(streams: object) -> list[DataFrame | FileParts]:
    """The DataFrames of all streams; anything else is refused."""
    if isinstance(streams, DataFrame):
        return [streams]
    if not isinstance(streams, Mapping):
        raise InvalidArgument(
            "`streams` is a mapping from stream names to events DataFrames, or one DataFrame with a column `stream`, "
            f"not {described(streams)}"
        )
    found = [(name, each) for name, stream in streams.items() for each in _several(stream)]
    for name, stream in found:
        if not isinstance(stream, (DataFrame, FileParts)):
            cure = (
                "read_events(spark, path)" if isinstance(stream, (str, Path)) else "spark.createDataFrame(…)"
            )
            raise InvalidArgument(
                f"the stream `{name}` takes a PySpark DataFrame of events, not {described(stream)}: {cure} makes one"
            )
    if len(found) > len(streams) and any(
        each.isStreaming for _, each in found if isinstance(each, DataFrame)
    ):
        raise InvalidArgument(
            "several DataFrames for one stream must be batch DataFrames; read_events takes a list of paths, streaming=True as well"
        )
    return [each for _, each in found if isinstance(each, (DataFrame, FileParts))]


def _tell_unused(options: MatchOptions, streams: Streams, answers: DataFrame, *, native: str = "") -> None:
    """Warn of options without effect: some are for streams, values or variables only.

    ``native`` is the form of a query whose answers have no variables, if their types were asked for.
    """
    usual = MatchOptions()

    def given(names: Sequence[str]) -> str:
        changed = (name for name in names if getattr(options, name) != getattr(usual, name))
        return ", ".join(f"`{name}=`" for name in changed)

    told = []
    # A finite input is sorted as a whole.
    if not answers.isStreaming and (unused := given(_OF_STREAMS)):
        told.append(f"{unused}; batch DataFrames are sorted as a whole, so nothing in them is late")
    columns = [FrameColumns(each) for each in _given(streams) if isinstance(each, DataFrame)]
    values = any("value" in each and "triples" not in each for each in columns)
    if not values and (unused := given(_OF_VALUES)):
        told.append(f"{unused}, for graphs in a column `value`: no DataFrame has one in place of `triples`")
    if native:
        told.append(f"`native=`, the types of variables of SELECT: this query is {native}")
    for each in told:
        warnings.warn(f"without effect: {each}", stacklevel=3)


def _several(stream: object) -> Sequence[object]:
    """The DataFrames of one stream: each keeps the way it is read, which a union would lose."""
    return stream if isinstance(stream, (list, tuple)) and stream else [stream]


def _origin(given: Sequence[DataFrame | FileParts], options: MatchOptions) -> str:
    """What the events come from and how they are read: the same if the query is started again.

    Matches of one query that one streaming query of Spark's unites are told apart by it where they keep bad and late events.
    What may change with a restart is no part of it, or a micro-batch that is done again would keep them twice.
    """
    if options.quarantine is None or isinstance(options.quarantine, SharedFolder):
        return ""  # nothing is kept, or where no others keep theirs
    read = [files_behind(each) if isinstance(each, DataFrame) else each.files for each in given]
    settings = [None if files is None else files.settings() for files in read]
    plans = [lasting_plan(each) for each in given if isinstance(each, DataFrame)]
    judged = [
        options.format, options.timestamp_predicate, options.partitions, options.lateness, options.stream_lag,
        options.max_lead, options.carry,
    ]  # fmt: skip
    return repr([settings, plans, judged])


def _apart(given: Sequence[DataFrame | FileParts], options: MatchOptions) -> str:
    """By which columns the sources of all streams are told apart."""
    found: list[tuple[str, ...]] = []
    for each in given:
        if isinstance(each, FileParts) or _by_parts(each, options) is not None:
            found.append(("source",) if _by_file(options) else ())
        else:
            found.append(told_apart_by(each, _told(options)))
    return repr(sorted(found))


def _by_parts(frame: DataFrame, options: MatchOptions) -> FileParts | None:
    """The parts of files that are read in place of the rows of a DataFrame; of rows there are columns to carry."""
    return None if options.carry else parts_behind(frame)


def _endless(
    spark: SparkSession,
    job: Job,
    blocks: DataFrame,
    columns: StructType,
    metrics: Observation | str | None,
    form: AnswerForm,
) -> DataFrame:
    """The sequence stage with its memory in the state store."""
    if spark.conf.get(STATE_STORE) != ROCKSDB:
        # The operator works with no other one.
        spark.conf.set(STATE_STORE, ROCKSDB)
    if _shuffled(spark) > max(job.buckets, BUCKETS):
        warnings.warn(
            f"spark.sql.shuffle.partitions is {_shuffled(spark)}, so that every micro-batch starts as many tasks for "
            f"{job.buckets} buckets; set it to about the number of cores before the query is first started",
            stacklevel=4,
        )
    processor = SequenceProcessor(job, form)
    found = (
        blocks.select("bucket", "query", "block")
        .groupBy("bucket")
        .transformWithStateInPandas(processor, OUTPUT, "Append", "None")
    )
    if isinstance(metrics, str):
        found = observed(found, metrics, job.streams)
    return found.mapInArrow(UnpackAnswers(), columns)


def _job(
    spark: SparkSession,
    queries: Mapping[str, CompiledQuery],
    knowledge: Knowledge | Mapping[str, Source] | None,
    options: MatchOptions,
    *,
    streaming: bool,
) -> Job:
    buckets = options.partitions
    if buckets is None:
        buckets = BUCKETS if streaming else _default_buckets(spark)
    _check_partitions(buckets)
    if not streaming:
        # Nothing is kept by bucket, so a task may have several as one: what it costs to start one is saved.
        buckets = min(buckets, settings().tasks_per_core * parallel_tasks(spark))
    check_limits(options.max_runs, options.max_memory)
    known = as_knowledge(knowledge, rdfs=options.rdfs)
    adapted = in_run(tuple(queries.values()), known, Choices(options.policy, options.rule_limit))
    tasks, streams = make_tasks(dict(zip(queries, adapted, strict=True)), buckets, streaming=streaming)
    _check_carry(options, tasks)
    # A streaming query that fails of late events fails again at every restart.
    late_default = "skip" if options.quarantine is None else "quarantine"
    for task in tasks:
        known.require(task.program.query.knowledge[0])
    return Job(
        uuid.uuid4().hex,
        tasks,
        streams,
        buckets,
        known,
        wall_clock(),
        options.provenance,
        options.max_runs,
        options.max_memory,
        ReadOptions(
            options.timestamp_predicate,
            keep_names=options.provenance or any(task.program.reads_names for task in tasks),
        ),
        bad_policy(options.on_bad_input or "fail", options.quarantine),
        bad_policy(options.on_late or late_default, options.quarantine, "on_late"),
        as_duration(options.lateness, "lateness"),
        _duration(options.stream_lag, "stream_lag"),
        bucket_places(buckets) if streaming else (),
        options.punctual,
        options.counts,
        _duration(options.idle_after, "idle_after"),
        _duration(options.close_after, "close_after"),
        _duration(options.max_lead, "max_lead"),
        options.provenance and bool(options.carry),
    )


def _check_partitions(given: object) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise InvalidArgument(f"`partitions=` is a number of at least 1, not {described(given)}")


def _check_carry(options: MatchOptions, tasks: Sequence[Task]) -> None:
    if isinstance(options.carry, str):
        raise InvalidArgument(f'`carry=` is a list of columns: carry=["{options.carry}"]')
    if options.carry and not options.provenance and options.quarantine is None:
        raise InvalidArgument(
            "`carry=` adds columns to the events of provenance and to bad records, and needs provenance=True or `quarantine=`"
        )
    if options.carry and options.provenance and any(task.program.reads_names for task in tasks):
        raise InvalidArgument(
            "`carry=` cannot be used with a query that reads the names of events with EVENT"
        )


def _duration(given: str | int | None, name: str) -> int | None:
    return None if given is None else as_duration(given, name)


def _default_buckets(spark: SparkSession) -> int:
    """Of a finite input: twice what runs at once, so that uneven buckets even out; not more than Spark would shuffle into."""
    return max(1, min(_shuffled(spark), 2 * parallel_tasks(spark)))


def _shuffled(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def _matched(
    job: Job,
    sent: Shared,
    queries: Mapping[str, CompiledQuery],
    streams: Inputs,
    options: MatchOptions,
) -> DataFrame:
    """The GPM stage over all streams."""
    if isinstance(streams, DataFrame):
        if "stream" not in FrameColumns(streams):
            raise InvalidArgument("one DataFrame for all streams needs a column `stream`")
        check_promises(streams, named=True)
        numbers = named_streams(queries, job.streams)
        rows, syntax = event_columns_of(streams, _told(options), with_stream=True)
        frames = [rows.mapInArrow(MatchRows(sent, numbers, syntax), BLOCKS)]
        return reduce(DataFrame.unionAll, [*frames, *_clock(streams, job, sent, options)])
    numbers = stream_numbers(queries, job.streams, streams, streaming=job.streaming)
    frames = []
    # Spark's checkpoints know sources by their order: here that of the query, whatever the order of the mapping.
    ordered = sorted(streams.items(), key=lambda item: numbers[item[0]])
    for name, stream in ((name, each) for name, given in ordered for each in _several(given)):
        assert isinstance(stream, (DataFrame, FileParts))
        parts = stream if isinstance(stream, FileParts) else _by_parts(stream, options)
        if parts is not None:
            if options.on_bad_input is not None:
                parts = replace(parts, files=replace(parts.files, bad=job.bad))
            by_file = _by_file(options)
            stage = MatchParts(sent, numbers[name], parts, by_file=by_file)
            frames.append(parts.frame.mapInArrow(stage, BLOCKS))
        else:
            assert isinstance(stream, DataFrame)
            stream = with_promises(stream) if stream in _promising else stream
            if options.on_bad_input is not None:
                stream = ruled_rows(stream, job.bad)
            check_promises(stream, named=False)
            rows, syntax = event_columns_of(stream, _told(options), with_stream=False)
            frames.append(rows.mapInArrow(MatchRows(sent, numbers[name], syntax), BLOCKS))
    return reduce(DataFrame.unionAll, [*frames, *_clock(frames[0], job, sent, options)])


_LEAST_TICK: Final = 1_000_000
"""Microseconds between two ticks of the clock."""


def _clock(frame: DataFrame, job: Job, sent: Shared, options: MatchOptions) -> list[DataFrame]:
    """The wall clock as a stream of its own, if silence matters: Spark does nothing while there is no input."""
    waits = [each for each in (job.idle_after, job.close_after) if each is not None]
    if not frame.isStreaming or options.ticks or not waits:
        return []
    ticks = clock_ticks(frame.sparkSession, max(min(waits), _LEAST_TICK))
    return [ticks.mapInArrow(MatchClock(sent), BLOCKS)]


def _told(options: MatchOptions) -> Told:
    """What the options say of the rows of DataFrames."""
    return Told(options.format, options.carry, options.watermark_by)


def _by_file(options: MatchOptions) -> bool:
    """True if every file of `read_events` has a watermark of its own."""
    wanted = options.watermark_by
    if wanted is None or not list(wanted):
        return False
    if wanted != "source" and list(wanted) != ["source"]:
        raise InvalidArgument(
            f"a DataFrame that comes straight from read_events has a watermark by stream or by file, "
            f'`watermark_by="source"`, not by {described(wanted)}'
        )
    return True
