"""The options of `spaseq run` (docs/reference/cli.md), as click reads them and as the verb gets them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import click

from spaseq.cli.arguments import SizeOption
from spaseq.errors import InvalidArgument
from spaseq.io.bad_input import POLICIES, Policy
from spaseq.io.options import TIMESTAMP_PREDICATE
from spaseq.io.sources import LAYOUTS, Layout
from spaseq.planner.in_run import POLICIES as EP_POLICIES
from spaseq.planner.in_run import RULE_LIMIT
from spaseq.stores import Place, StorePath, place_of
from spaseq.temporal.instants import TIME_UNITS, TimeUnit

FORMATS = ("nquads", "trig", "jsonld", "ntriples", "jelly")
OUTPUT_FORMATS = ("jsonl", "csv", "sparql-json", "parquet", "nquads", "trig")

_F = TypeVar("_F", bound=Callable[..., Any])


class _PlaceOption(click.Path):
    """A path, or the URI of a store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            place = place_of(value)
        except InvalidArgument as error:
            self.fail(str(error), param, ctx)
        return place if isinstance(place, StorePath) else super().convert(str(place), param, ctx)


_FILE = _PlaceOption(dir_okay=False, path_type=Path)
_FOLDER = _PlaceOption(file_okay=False, path_type=Path)


class Arguments(TypedDict):
    """What the command line says."""

    queries: tuple[str, ...]
    engine: str | None
    master: str | None
    streams: tuple[str, ...]
    knowledge: tuple[str, ...]
    rdfs: bool
    policy: str
    rule_limit: int
    language: str | None
    profile: str | None
    file_format: str | None
    timestamp_predicate: str
    start_predicate: str | None
    end_predicate: str | None
    time_unit: TimeUnit
    triples_per_event: int | None
    layout: Layout
    output: Place | None
    rules_output: Place | None
    output_format: str | None
    provenance: bool
    lateness: str | None
    on_bad_input: Policy
    quarantine: Place | None
    follow: bool
    settle: str | None
    idle_after: str | None
    max_lead: str | None
    checkpoint: Path | None
    checkpoint_every: str
    max_runs: int
    max_memory: int | None
    progress: bool | None
    quiet: bool


def _option(*names: str, **settings: Any) -> Callable[[_F], _F]:
    return click.option(*names, **settings)


_OPTIONS = (
    _option(
        "--engine",
        type=click.Choice(["spark", "local"]),
        help="Where it runs; default spark if it is installed. `local` is this process and needs no Java.",
    ),
    _option("--master", metavar="URL", help="The Spark master; default local[*]."),
    _option(
        "--stream",
        "streams",
        metavar="NAME=PATH",
        multiple=True,
        help="The input of a stream, by alias or IRI: a file, a directory or a glob; `-` is standard input, which is "
        "N-Quads unless --format says otherwise; repeatable.",
    ),
    _option(
        "--kb",
        "knowledge",
        metavar="IRI=PATH",
        multiple=True,
        help="A background graph: Turtle, N-Triples, RDF/XML or JSON-LD, by extension; repeatable.",
    ),
    _option(
        "--rdfs",
        is_flag=True,
        help="Add the RDFS closure to background graphs; EP-SPARQL applies it to events as well.",
    ),
    _option(
        "--policy",
        type=click.Choice(EP_POLICIES),
        default=EP_POLICIES[0],
        show_default=True,
        help="EP-SPARQL: which partners a sequence takes; all but the first let answers consume what they are made of.",
    ),
    _option(
        "--rule-limit",
        metavar="N",
        type=click.IntRange(min=1),
        default=RULE_LIMIT,
        show_default=True,
        help="EP-SPARQL: the most occurrences that rules may produce at one instant.",
    ),
    _option(
        "--language",
        metavar="NAME",
        help="The language of the queries: spaseq, epsparql, or rsepql for RSP-QL, C-SPARQL and RSEP-QL; default by the extension of their files, else by their words.",
    ),
    _option(
        "--profile",
        metavar="NAME",
        help="RSEP-QL: run the query as another engine would: epsparql-unrestricted, epsparql-chronological, "
        "epsparql-recent, csparql-seq or csparql-window.",
    ),
    _option(
        "--format",
        "file_format",
        type=click.Choice(FORMATS),
        help="The format of event files; default by extension, .gz and .zst allowed.",
    ),
    _option(
        "--timestamp-predicate",
        metavar="IRI",
        default=TIMESTAMP_PREDICATE,
        show_default=True,
        help="What links a graph to its time.",
    ),
    _option(
        "--start-predicate",
        metavar="IRI",
        help="What links the graph of an interval event to its start; with --end-predicate.",
    ),
    _option(
        "--end-predicate",
        metavar="IRI",
        help="What links the graph of an interval event to its end, by which events are ordered.",
    ),
    _option(
        "--time-unit",
        type=click.Choice(TIME_UNITS),
        default="ms",
        show_default=True,
        help="The unit of numeric timestamps.",
    ),
    _option(
        "--triples-per-event",
        metavar="N",
        type=click.IntRange(1),
        help="For N-Triples: the number of data triples of an event.",
    ),
    _option(
        "--layout",
        type=click.Choice(LAYOUTS),
        default="auto",
        show_default=True,
        help="Where timestamps stand: next to their graph or inside it (stream), anywhere in a file whose quads "
        "may have any order (dataset); auto finds out for each file.",
    ),
    _option(
        "--output",
        metavar="PATH",
        type=_FILE,
        help="Where matches go; default standard output. A name in .gz or .zst compresses.",
    ),
    _option(
        "--rules-output",
        metavar="PATH",
        type=_FILE,
        help="EP-SPARQL: where to write what rules produce, a graph for each interval, in the same pass.",
    ),
    _option(
        "--output-format",
        type=click.Choice(OUTPUT_FORMATS),
        help="Default by the extension of --output, else jsonl; for CONSTRUCT nquads.",
    ),
    _option("--provenance", is_flag=True, help="Add the events and the identity of each match."),
    _option(
        "--lateness",
        metavar="DURATION",
        help="With --follow: how long out-of-order events are waited for, for example 5s; default 0s. "
        "A finite input is sorted as a whole; there it changes nothing.",
    ),
    _option(
        "--on-bad-input",
        type=click.Choice(POLICIES),
        default="quarantine",
        show_default=True,
        help="What to do with bad and late events.",
    ),
    _option(
        "--quarantine",
        metavar="PATH",
        type=_FILE,
        help="Where bad events are kept; default quarantine.jsonl beside the output.",
    ),
    _option(
        "--follow",
        is_flag=True,
        help="Keep watching the input: read new files, and read on in files that grow.",
    ),
    _option(
        "--settle",
        metavar="DURATION",
        help="With --follow: how long a file must stand still before its last event is taken to be complete; "
        "default 2s.",
    ),
    _option(
        "--idle-after",
        metavar="DURATION",
        help="With --follow: a stream without events for this long is not waited for until its next event; "
        "default 10s.",
    ),
    _option(
        "--max-lead",
        metavar="DURATION",
        help="How far an event may be ahead of this machine's clock; beyond that it is bad input. Default 1d "
        "with --follow, else any time is accepted.",
    ),
    _option(
        "--checkpoint",
        metavar="DIR",
        type=_FOLDER,
        help="Keep checkpoints here; resume exactly where a killed run stopped.",
    ),
    _option(
        "--checkpoint-every",
        metavar="DURATION",
        default="10s",
        show_default=True,
        help="How often a checkpoint is written; Spark writes one with every micro-batch.",
    ),
    _option(
        "--max-runs",
        metavar="N",
        type=click.IntRange(1),
        default=10_000_000,
        show_default=True,
        help="Partial matches that may wait at one time; more of them end the run.",
    ),
    _option(
        "--max-memory",
        metavar="SIZE",
        type=SizeOption(),
        help="Memory that the run may take, for example 500M or 2G; more ends it. Default: half of the memory there is.",
    ),
    _option(
        "--progress/--no-progress",
        default=None,
        help="A progress bar on standard error; default on a terminal.",
    ),
    _option("--quiet", is_flag=True, help="Do not say on standard error what the run has read and found."),
)


def run_options(function: _F) -> _F:
    """Give a command the queries and all options of `spaseq run`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return click.argument("queries", metavar="QUERY...", nargs=-1, required=True)(function)
