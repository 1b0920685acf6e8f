"""Every size at which behaviour switches, and every limit on cost, under one name each.

No *threshold* changes an answer: it decides when a cache is emptied, a batch is cut or compiled code takes over. Tests
therefore run with all of them tiny (``SPASEQ_SETTINGS=small``), so that a few events cross every one. A *limit*
ends work that would take the machine with an error that names the limit.

``SPASEQ_SETTINGS`` is a list such as ``max_line_bytes=1000000,portion_events=1000``; worker processes inherit it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from spaseq.errors import InvalidArgument, LimitReached, did_you_mean

VARIABLE: Final = "SPASEQ_SETTINGS"
SMALL: Final = "small"
"""The word that sets every threshold to its small value."""


def _threshold(default: int, small: int, about: str) -> Any:
    return field(default=default, metadata={"kind": "threshold", "small": small, "about": about})


def _limit(default: int, about: str) -> Any:
    return field(default=default, metadata={"kind": "limit", "small": default, "about": about})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; a field's metadata says what it is (``about``) and its value in tests (``small``)."""

    # Reading
    batch_events: int = _threshold(1 << 16, 3, "events that a reader hands on at a time")
    chunk_bytes: int = _threshold(1 << 22, 97, "bytes that a reader takes at a time")
    interpreted_bytes: int = _threshold(1 << 20, 50, "input up to this size is read without compiled kernels")
    plain_bytes: int = _threshold(
        1 << 9, 24, "bytes handed to pyoxigraph at first where the byte kernel stopped"
    )
    sorted_bytes: int = _threshold(1 << 27, 200, "input up to this size is sorted in memory, not surveyed")
    open_bytes: int = _threshold(1 << 26, 400, "bytes that all open files of a merge hold together")
    least_piece_bytes: int = _threshold(1 << 16, 40, "bytes that one open file of a merge holds at least")
    open_files: int = _threshold(128, 2, "event files open at a time; others are opened again to be read on")
    judged_bytes: int = _limit(1 << 16, "bytes of a file by which Spark decides its layout")
    tallied_names: int = _limit(1 << 17, "graph names whose timestamps are counted to decide a layout")
    diagnosed_bytes: int = _limit(1 << 20, "bytes that are looked at to say what an unreadable file has")
    spooled_bytes: int = _threshold(
        1 << 26, 100, "bytes of a followed pipe after which those that were read are dropped"
    )
    sent_bytes: int = _threshold(
        1 << 23, 64, "bytes of a file for an object store that are held in memory, and sent at a time"
    )
    piped_bytes: int = _threshold(1 << 20, 50, "bytes taken from a pipe at a time")
    survey_events: int = _threshold(1 << 12, 2, "events per entry of a survey")
    merged_events: int = _threshold(1 << 13, 2, "events that a merge collects before it hands them on")
    portion_events: int = _threshold(1 << 16, 3, "events of one step of a query")
    held_batches: int = _threshold(1 << 6, 2, "batches that wait as they came before they are sorted in")
    long_line_bytes: int = _threshold(
        (1 << 24) - 64, 120, "lines from this length on are handed to pyoxigraph one by one"
    )
    max_line_bytes: int = _limit(1 << 28, "bytes of one line, one TriG statement or one JSON-LD value")
    whole_document_bytes: int = _limit(
        1 << 24, "JSON-LD documents up to this size are read as a whole, not node by node"
    )
    entity_bytes: int = _limit(1 << 26, "bytes that the entities of an RDF/XML text expand to")
    pushed_events: int = _threshold(1 << 10, 2, "events taken from an iterator at a time")
    file_bytes: int = _threshold(1 << 16, 37, "bytes taken at a time from a compressed or framed file")
    inflated_bytes: int = _threshold(1 << 20, 61, "bytes that a compressed file gives at a time")
    scanned_bytes: int = _threshold(
        1 << 20, 89, "bytes read at a time where only line breaks, the end or a digest are looked for"
    )
    rewritten_bytes: int = _threshold(1 << 16, 150, "bytes in which the byte kernel rewrites a literal")
    digested_bytes: int = _threshold(
        1 << 28,
        100,
        "bytes of the files of a run that are read to notice a change; of more, samples and the time of change",
    )
    digested_aside: int = _threshold(
        1 << 16, 8, "bytes from which what is written is digested on a thread of its own"
    )
    compared_triples: int = _threshold(
        16, 2, "triples of an event up to which equal ones are found pair by pair"
    )

    # Terms
    remembered_terms: int = _threshold(1 << 16, 2, "terms kept as Python objects")
    remembered_scopes: int = _threshold(1 << 16, 2, "events with blank nodes whose repetitions are counted")
    arena_terms: int = _threshold(1 << 14, 2, "initial capacity of an arena, in terms")
    arena_bytes: int = _threshold(1 << 20, 64, "initial capacity of an arena, in bytes")
    watched_text: int = _threshold(
        1 << 12, 2, "characters of a new term from which the memory budget is looked at"
    )
    compiled_graph_bytes: int = _threshold(1 << 21, 60, "graphs from this size on are encoded by kernels")
    promoted_terms: int = _threshold(5_000, 3, "terms from which a bucket's dictionary uses the arena")
    loaded_terms: int = _threshold(100, 2, "the same in a process that has loaded the arena")
    compacted_terms: int = _threshold(1 << 16, 4, "terms from which a dictionary that doubled is compacted")
    compacted_bucket_terms: int = _threshold(500_000, 4, "the same for the dictionary of a Spark bucket")
    forgotten_terms: int = _threshold(2_000_000, 5, "terms from which a Spark worker starts a new dictionary")
    forgotten_events: int = _threshold(
        1 << 12, 2, "events kept for provenance before unused ones are dropped"
    )

    forgotten_rows: int = _threshold(
        1 << 12, 2, "rows of a window view more than before from which those that left are dropped"
    )
    hashed_rows: int = _threshold(
        1 << 9, 2, "rows that are numbered at a time from which compiled code does it, if it is loaded"
    )
    ordered_rows: int = _threshold(
        1 << 10,
        2,
        "rows of views over windows or intervals after which the order of joins is looked at for the first time",
    )
    taken_back_rows: int = _threshold(
        1 << 6, 2, "rows of a window view that take back others, from which both are dropped"
    )
    vain_pairs: int = _threshold(
        1 << 16,
        2,
        "pairs of rows that joins over windows look at in vain before fewer evaluations are handled at a time",
    )
    sorted_share: int = _threshold(
        8, 1, "known solutions per new one from which new ones are looked up instead of sorted with them"
    )
    rule_rows: int = _threshold(
        1 << 16, 2, "solutions that rules which feed themselves should find in one round"
    )
    joined_pairs: int = _threshold(1 << 20, 2, "pairs of solutions that a join over time looks at together")
    policy_instants: int = _threshold(
        1 << 10, 2, "instants of an EP-SPARQL query under a policy that are looked at together"
    )
    slice_evaluations: int = _threshold(
        1 << 14, 2, "evaluations of a continuous query that are handled at a time"
    )
    listed_evaluations: int = _threshold(
        1 << 16,
        3,
        "evaluations due at a time from which only those are looked at where the contents of windows change",
    )
    totalled_rows: int = _threshold(
        1 << 24,
        3,
        "rows of a group from which its sums are made anew: more could be too much for running totals",
    )
    listed_values: int = _threshold(
        64,
        1,
        "values of a group, for each of its evaluations at a time, from which MIN, MAX and SAMPLE keep a list of the best",
    )
    reevaluated_triples: int = _threshold(
        1 << 20, 20, "triples of all contents of windows that are evaluated anew at a time"
    )
    forgotten_keys: int = _threshold(1 << 12, 2, "new partitions before idle ones are forgotten")

    # Evaluation
    cached_combinations: int = _threshold(1 << 18, 2, "argument rows of a function whose values are kept")
    oracle_rows: int = _threshold(1 << 12, 2, "rows that are evaluated by one call of pyoxigraph")
    path_rounds: int = _threshold(
        4, 1, "steps of a path with `+` or `*` after which it is followed node by node"
    )
    looped_triples: int = _threshold(32, 2, "batches up to this many triples are matched by nested loops")
    looped_rows: int = _threshold(256, 2, "keys below this number are looked up one by one")
    ids_per_key: int = _threshold(16, 1, "ids per row up to which partitions are looked up in a table by id")
    looped_pairs: int = _threshold(
        8, 2, "event and partition pairs below this number are numbered one by one"
    )
    nearby_rows: int = _threshold(8, 2, "rows per event up to which equal ones are found pair by pair")
    compiled_rows: int = _threshold(
        4_000, 2, "rows of one batch from which the automaton is compiled at once"
    )
    prepared_rows: int = _threshold(2_000, 2, "rows in total from which it is compiled in the background")
    initial_runs: int = _threshold(512, 1, "initial capacity of an automaton, in runs")
    swept_runs: int = _threshold(1 << 12, 2, "runs more than before from which expired ones are dropped")
    checked_rows: int = _threshold(
        1 << 10, 1, "events, rows or matches after which the memory budget is looked at"
    )
    slice_work: int = _threshold(1 << 21, 7, "runs visited by compiled kernels between two looks at signals")
    interpreted_work: int = _threshold(1 << 13, 5, "the same for interpreted kernels")
    slice_matches: int = _threshold(1 << 14, 2, "matches that are handed on at a time")
    slice_events: int = _threshold(1 << 16, 3, "events of matches that are handed on at a time")
    collected_runs: int = _threshold(1 << 10, 2, "runs that one row extends at a time")
    packed_rows: int = _threshold(1 << 16, 2, "rows of the automaton's memory that are moved at a time")
    spare_runs: int = _threshold(
        1 << 12, 1, "runs from which arrays that are 16 times too large are given up"
    )
    condition_depth: int = _threshold(
        24, 3, "operands of a condition that kernels hold at a time, at most 24; others go to the evaluator"
    )
    initial_values: int = _threshold(64, 1, "initial capacity of columns of values, in terms")

    max_string_length: int = _limit(1 << 24, "characters of a string that an expression computes")
    max_path_pairs: int = _limit(
        10_000_000, "pairs of nodes that a path with `+` or `*` relates in one graph"
    )
    max_choices: int = _limit(
        1_000, "ways in which one step may match, by the combinations of its `|` and `&`"
    )
    max_moves: int = _limit(
        20_000, "ways from one event of a sequence to the next, and what must be absent on them"
    )
    event_partitions: int = _limit(
        1_000_000, "partitions that one event belongs to, by all combinations of its keys"
    )
    number_digits: int = _limit(4_000, "digits of an integer or a decimal; one with more has no value")

    # Results
    looped_seconds: int = _threshold(32, 2, "seconds below this number are printed one by one")
    compiled_lines: int = _threshold(1 << 11, 2, "result lines from which a kernel is loaded to write them")
    copied_lines: int = _threshold(16, 2, "result lines from which that kernel writes them once it is loaded")
    cached_texts: int = _threshold(1 << 18, 2, "terms and instants whose spelling in results is kept")

    parquet_rows: int = _threshold(1 << 16, 2, "matches that are written to a Parquet file at a time")

    # Spark
    spark_bytes: int = _threshold(
        1 << 24, 1, "bytes of a finite input below which a run on Spark hints at the in-process engine"
    )
    part_bytes_least: int = _threshold(1 << 20, 150, "the least part of a file that a task reads")
    part_bytes_most: int = _threshold(1 << 27, 300, "the largest part of a file that a task reads")
    scheduled_part_bytes: int = _threshold(1 << 26, 300, "the same for finite runs with a checkpoint")
    micro_batch_bytes: int = _threshold(1 << 29, 400, "bytes per core of a micro-batch of such a run")
    task_chunk_bytes: int = _threshold(
        5 << 24, 97, "bytes that a task reads at a time: a part and what its last event has beyond it"
    )
    gathered_rows: int = _threshold(
        1 << 20, 3, "events and triples that a task has read before it evaluates graph patterns over them"
    )
    stepped_rows: int = _threshold(50_000, 3, "rows that wait in a bucket before the automaton takes a step")
    narrowed_rows: int = _threshold(
        16, 1, "rows from which columns of saved state take as few bytes as their numbers need"
    )
    segment_tails: int = _threshold(24, 2, "micro-batches after which their segments of state are merged")
    segment_runs: int = _threshold(256, 2, "runs from which a segment of mostly expired runs is rewritten")
    segment_bytes: int = _threshold(
        1 << 16, 100, "bytes of segments from which state is rewritten as a whole"
    )
    part_runs: int = _threshold(
        1 << 11, 2, "runs of a query in a bucket from which its keys are kept in parts, loaded where touched"
    )
    slice_windows: int = _threshold(
        16, 2, "sliding windows in a slice of time, by which a finite input is spread over cores"
    )
    slice_ranges: int = _threshold(
        4,
        1,
        "ranges of a hopping window in a slice of time, by which evaluations of a finite input are spread",
    )
    tick_groups: int = _threshold(
        8,
        2,
        "groups of keys that each hear of all instants, where a finite input is spread and `,` asks for them",
    )
    tasks_per_core: int = _threshold(
        4, 1, "tasks per core of the sequence stage of a finite input, however many buckets were asked for"
    )
    starved_seconds: int = _threshold(
        15, 1, "seconds without an executor after which a run on a cluster says what it waits for"
    )
    cluster_tasks: int = _threshold(
        16, 3, "tasks at a time that a run on a cluster plans for at least, however few executors are there"
    )
    compacted_entries: int = _threshold(
        10, 2, "micro-batches after which a log of files is written as one list"
    )
    warm_jobs: int = _threshold(
        4, 1, "queries of one session whose dictionaries and background graphs a worker keeps"
    )
    warm_buckets: int = _threshold(
        64, 1, "buckets whose state a worker keeps from one micro-batch to the next"
    )
    shared_instants: int = _threshold(
        1 << 22, 5, "instants of other keys that the buckets of a worker share, decoded once"
    )
    arrow_rows: int = _threshold(10_000, 3, "rows that Java hands to a worker at a time")
    cached_instants: int = _threshold(1 << 18, 2, "timestamps of rows whose instant is kept")
    line_piece: int = _threshold(1 << 12, 2, "result lines that are merged at a time")
    line_file_bytes: int = _threshold(1 << 24, 200, "bytes after which a worker starts a new result file")
    answer_rows: int = _threshold(1 << 13, 2, "rows of a result file that are read at a time")

    # Checks
    check_bounds: int = _threshold(0, 1, "1: compiled kernels check every array index")


THRESHOLDS: Final = tuple(entry.name for entry in fields(Settings) if entry.metadata["kind"] == "threshold")
LIMITS: Final = tuple(entry.name for entry in fields(Settings) if entry.metadata["kind"] == "limit")


def small_settings() -> Settings:
    """All thresholds at their small values."""
    return Settings(**{entry.name: entry.metadata["small"] for entry in fields(Settings)})


def parse_settings(text: str) -> Settings:
    """The settings that a text names, the others at their defaults.

    >>> parse_settings("portion_events=7").portion_events
    7
    """
    chosen = Settings()
    for item in filter(None, (part.strip() for part in text.split(","))):
        if item == SMALL:
            chosen = small_settings()
            continue
        name, _, value = (part.strip() for part in item.partition("="))
        known = [entry.name for entry in fields(Settings)]
        if name not in known:
            raise InvalidArgument(
                f"{VARIABLE} names `{name}`, which is not a setting{did_you_mean(name, known)}"
            )
        if not value.isdecimal():
            raise InvalidArgument(f"{VARIABLE}: `{name}` takes a whole number, not `{value}`")
        chosen = replace(chosen, **{name: int(value)})
    return chosen


def limit_reached(what: str, name: str) -> LimitReached:
    """The error that ends work at a limit: what happened, what the limit is, how to change it."""
    limit = getattr(settings(), name)
    return LimitReached(
        f"{what}; the limit is {limit:,}. If that is meant, raise it: {VARIABLE}={name}={2 * limit}"
    )


_current: Settings | None = None


def settings() -> Settings:
    """The settings of this process."""
    global _current  # noqa: PLW0603 - one set of settings per process
    if _current is None:
        _current = parse_settings(os.environ.get(VARIABLE, ""))
    return _current


@contextmanager
def changed_settings(**values: int) -> Iterator[Settings]:
    """Other settings for a while, in this process alone; for tests."""
    global _current  # noqa: PLW0603 - as above
    before = settings()
    _current = replace(before, **values)
    try:
        yield _current
    finally:
        _current = before
