"""A job: everything the workers need, frozen and picklable; it is sent to them once, as a broadcast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import Literal

from spaseq.columnar.knowledge import Knowledge
from spaseq.engine.inputs import NamedQuery, resolve_streams
from spaseq.errors import InvalidArgument
from spaseq.io.options import ReadOptions
from spaseq.model.forms import EVERY_STREAM, CountLimit
from spaseq.planner.compiled import CompiledQuery
from spaseq.planner.distribution import RouteUnit
from spaseq.planner.program import Program, build_program
from spaseq.spark.shared_folder import BadPolicy, Owner, SharedFolder
from spaseq.spark.shuffle.routing import Routing, routing_of
from spaseq.spark.shuffle.watermark import Pace

SEVERAL: Final = -2
"""In place of the number of a stream whose name is not that of one alone."""


@dataclass(frozen=True, slots=True)
class Task:
    """One query of a job."""

    name: str
    program: Program
    routing: Routing
    inputs: tuple[int, ...]
    """For every stream of the query its number among the job's streams."""
    columns: tuple[tuple[str, ...], ...]
    """For every GPM the variables that its mapping rows carry."""

    @property
    def pair_width(self) -> int:
        """How many variables name a partition of an event, if rows are routed by partitions."""
        return len(self.routing.variables) if self.routing.unit is RouteUnit.PARTITION else 0

    @property
    def is_ask(self) -> bool:
        return self.program.query.form.once

    @property
    def is_distinct(self) -> bool:
        """True if answers of different buckets must still be compared."""
        return self.program.query.form.compares

    @property
    def counted(self) -> CountLimit | None:
        """What buckets count together."""
        return self.program.query.counted if self.routing.variables else None

    @property
    def splits_equals(self) -> bool:
        """True if matches that are equal in all they report may lie in different buckets: their keys are not reported."""
        shown = self.program.query.form.variables
        return not self.is_distinct and not set(self.routing.variables) <= set(shown)


@dataclass(frozen=True, slots=True)
class Job:
    """Queries over one set of streams, and how to run them."""

    id: str
    tasks: tuple[Task, ...]
    streams: tuple[str, ...]
    """The IRIs of all streams that any query declares."""
    buckets: int
    knowledge: Knowledge = field(default_factory=Knowledge)
    now: Literal | None = None
    provenance: bool = False
    max_runs: int | None = 10_000_000
    max_memory: int | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    bad: BadPolicy = field(default_factory=BadPolicy)
    late: BadPolicy = field(default_factory=lambda: BadPolicy("skip"))
    """What becomes of events that come after the watermark has passed them; they are counted in any case."""
    lateness: int = 0
    lag: int | None = None
    places: tuple[int, ...] = ()
    """For an endless input the name of every bucket, chosen so that Spark puts each on a partition of its own."""
    punctual: bool = False
    """True if the input makes sure that no event is late, so that lateness need not be checked."""
    counts: SharedFolder | None = None
    """A folder in which tasks leave what they have counted."""
    idle_after: int | None = None
    """Microseconds without events after which a source is not waited for; None: it is always waited for."""
    close_after: int | None = None
    """Microseconds of silence of all sources after which event time passes as the wall clock does; None: it does not."""
    max_lead: int | None = None
    """Microseconds by which an event may be ahead of the wall clock; None: any time is accepted."""
    carries: bool = False
    """True if events carry columns of their rows into provenance (`spaseq.spark.shuffle.carried`)."""
    apart: str = ""
    """By which columns the sources of streams are told apart, each with a watermark of its own."""
    origin: str = ""
    """What the events come from and how they are read, if bad or late ones are kept."""

    @property
    def owner(self) -> Owner:
        """Whose files the tasks write."""
        asked = [(task.name, task.program.query.normal_text) for task in self.tasks]
        return Owner(self.id, repr([self.streams, asked, self.origin]))

    @property
    def keeps_late(self) -> bool:
        """True if late events are kept with what they say."""
        return self.streaming and not self.punctual and self.late.policy == "quarantine"

    @property
    def pace(self) -> Pace:
        """How long sources are waited for."""
        return Pace(self.lateness, self.lag, self.idle_after, self.close_after)

    @property
    def streaming(self) -> bool:
        return bool(self.places)

    @property
    def keeps_names(self) -> bool:
        """True if the names of events are asked for."""
        return self.provenance or any(task.program.reads_names for task in self.tasks)

    def numbers_at_the_end(self, task: Task) -> bool:
        """True if equal matches of a query are numbered when those of all buckets have met."""
        return self.provenance and task.splits_equals

    def adds_up(self, task: Task) -> bool:
        """True if what a query counts is added up over all buckets."""
        return self.buckets > 1 and task.counted is not None

    @property
    def compares(self) -> bool:
        """True if answers, or counts, of different buckets must still be compared."""
        return any(
            task.is_distinct or self.numbers_at_the_end(task) or self.adds_up(task) for task in self.tasks
        )

    @property
    def predicates(self) -> frozenset[str] | None:
        """The only predicates that any query looks at; None if it may be any, or all must be seen."""
        needs = [task.program.predicates for task in self.tasks]
        if self.provenance or any(need is None for need in needs):
            return None
        return frozenset(node.value for need in needs if need is not None for node in need)


def make_tasks(
    queries: Mapping[str, CompiledQuery], buckets: int, *, streaming: bool = False
) -> tuple[tuple[Task, ...], tuple[str, ...]]:
    """The tasks of some queries, and the IRIs of all their streams."""
    streams = tuple(dict.fromkeys(stream.iri for query in queries.values() for stream in query.streams))
    tasks = []
    for number, (name, query) in enumerate(queries.items()):
        program = build_program(query)
        # An endless ASK must keep that it has answered, so its rows go to one bucket.
        alone = streaming and query.form.once
        routing = routing_of(program, buckets, number, streaming=streaming, one_place=alone)
        tasks.append(
            Task(
                name,
                program,
                routing,
                tuple(range(len(streams)))
                if program.streams == (EVERY_STREAM,)
                else tuple(streams.index(iri) for iri in program.streams),
                program.columns,
            )
        )
    return tuple(tasks), streams


def named_streams(queries: Mapping[str, CompiledQuery], streams: tuple[str, ...]) -> dict[str, int]:
    """For everything that rows may call their stream, alias or IRI, its number; `SEVERAL` if queries mean different ones by it."""
    found = {iri: number for number, iri in enumerate(streams)}
    for stream in (stream for query in queries.values() for stream in query.streams):
        for name in stream.names:
            if name not in streams and found.setdefault(name, found[stream.iri]) != found[stream.iri]:
                found[name] = SEVERAL
    return found


def stream_numbers(
    queries: Mapping[str, CompiledQuery],
    streams: tuple[str, ...],
    given: Iterable[str],
    *,
    streaming: bool = False,
) -> dict[str, int]:
    """For every given stream, named by alias or IRI, its number; each must be given, and once.

    A query that declares no streams reads whatever it is given, under any names; of endless streams it takes one, as it would
    have one watermark for all.
    """
    named = [NamedQuery(name, query) for name, query in queries.items()]
    numbers: dict[str, int] = {}
    for iri, names in resolve_streams(named, [(name, name) for name in given]).items():
        if len(names) > 1 and iri != EVERY_STREAM:
            raise InvalidArgument(f"the stream <{iri}> is given twice, as `{names[0]}` and as `{names[1]}`")
        if len(names) > 1 and streaming:
            raise InvalidArgument(
                f"a query that declares no streams has one watermark for all it reads, and `{names[0]}` and `{names[1]}` would make "
                "each other late: give one streaming DataFrame; read_events takes a list of paths"
            )
        numbers |= dict.fromkeys(names, streams.index(iri))
    return numbers
