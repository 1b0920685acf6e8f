"""`spaseq demo`: check, explain and answer the bundled example, and say where to go next."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

import spaseq
from spaseq.cli.engines import chosen_engine
from spaseq.cli.query_files import compile_or_exit, show, show_problem
from spaseq.cli.tables import Cells, columns
from spaseq.errors import SpaseqError

if TYPE_CHECKING:
    from spaseq.model.events import GraphEvent
    from spaseq.model.matches import Match
    from spaseq.planner import CompiledQuery
    from spaseq.planner.explain.sparql_text import Spelling

FOLDER = Path(spaseq.__file__).parent / "examples" / "smart-grid"
QUERY = FOLDER / "smart-grid.spaseq"
STREAMS = {"S1": "power.trig", "S2": "weather.trig", "S3": "storage.trig"}
KNOWLEDGE = {"http://smartgrid.org/db": "houses.ttl"}

WHY_NOT = """\
10:22  C asks for a fare below the fuel's 31, and 33 is not
10:54  the event of 10:52 lies between B and C, and `,` (strict contiguity) lets nothing lie there
11:02  the window of 30 minutes that began at 10:30 ended at 11:00"""


@click.command
@click.option(
    "--engine",
    type=click.Choice(["spark", "local"]),
    help="Where it runs; default spark if it is installed. `local` is this process and needs no Java.",
)
def demo(engine: str | None) -> None:
    """Play a bundled example and show its matches with the events that made them."""
    _title("The query", f"{QUERY.name}: when should a house switch from fuel to stored solar power?")
    text = QUERY.read_text(encoding="utf-8")
    click.echo(_indented(_without_comments(text)))
    (query,) = compile_or_exit(str(QUERY))
    for warning in query.warnings:
        show(warning)
    _title("The plan", "each event moves the automaton along one edge (streams, operator, pattern)")
    click.echo(_indented(_plan(query)))
    events = read_events(query)
    _title("The streams", f"{len(events)} events, read from {len(STREAMS)} files")
    click.echo(_indented(columns(_event_rows(query, events))))
    try:
        matches = answer(query, chosen_engine(engine))
    except SpaseqError as problem:
        show_problem(problem)
        raise SystemExit(1) from None
    _title("The matches", f"{len(matches)}, each with the events that made it")
    click.echo(_indented(_matches(query, matches)))
    _title("Why not more")
    click.echo(_indented(WHY_NOT))
    _title("Where to go next")
    click.echo(_indented(_next_steps(engine)))


# --- running ------------------------------------------------------------------------------------


def read_events(query: CompiledQuery) -> list[GraphEvent]:
    """The events of all bundled streams, in time order."""
    from spaseq.io.readers import read_graph_events

    found = [
        event
        for stream in query.streams
        for event in read_graph_events(FOLDER / STREAMS[stream.alias], stream=stream.iri)
    ]
    return sorted(found, key=lambda event: event.time)


def answer(query: CompiledQuery, engine: str) -> list[Match]:
    """The matches, in order of time."""
    streams = {alias: FOLDER / name for alias, name in STREAMS.items()}
    knowledge = {iri: FOLDER / name for iri, name in KNOWLEDGE.items()}
    if engine == "local":
        return list(spaseq.run(query, streams, knowledge))
    from spaseq.spark.command.spark_run import matches_on_spark

    click.echo("Spark starts in local mode: this takes a few seconds", err=True)
    return matches_on_spark(query, streams, knowledge)


# --- showing ------------------------------------------------------------------------------------


def _title(title: str, note: str = "") -> None:
    click.echo(f"\n{click.style(title, bold=True, fg='cyan')}{f': {note}' if note else ''}\n")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def _plan(query: CompiledQuery) -> str:
    from spaseq.planner.explain import explanation
    from spaseq.planner.explain.text import distributed_by, meaning

    facts = explanation(query)
    edges: list[Cells] = [
        (f"{edge.source} -{edge.label}-> {edge.target}", meaning(edge)) for edge in facts.automaton.edges
    ]
    return f"{columns(edges)}\n\ndistributed by {distributed_by(facts.distribution)}"


def _event_rows(query: CompiledQuery, events: list[GraphEvent]) -> list[Cells]:
    aliases = {stream.iri: stream.alias for stream in query.streams}
    spelling = _spelling(query)
    return [
        ("time", "stream", "event"),
        *((_clock(event.time), aliases[event.stream], _told(event, spelling)) for event in events),
    ]


def _told(event: GraphEvent, spelling: Spelling) -> str:
    """An event in short: its subject and its values."""
    from pyoxigraph import BlankNode

    whom = {spelling.text(str(t.subject)) for t in event.triples if not isinstance(t.subject, BlankNode)}
    values = sorted(
        f"{spelling.text(str(t.predicate))} {spelling.text(str(t.object))}"
        for t in event.triples
        if not isinstance(t.object, BlankNode)
    )
    return f"{' '.join(sorted(whom))}  {'  '.join(values)}"


def _spelling(query: CompiledQuery) -> Spelling:
    from spaseq.planner.explain.sparql_text import Spelling

    return Spelling.of(query.prefixes)


def _matches(query: CompiledQuery, matches: list[Match]) -> str:
    spelling = _spelling(query)
    names = list(dict.fromkeys(name for match in matches for name in match.bindings))
    rows: list[Cells] = [("start", "time", *(f"?{name}" for name in names))]
    for match in matches:
        values = [
            spelling.text(str(match.bindings[name])) if name in match.bindings else "" for name in names
        ]
        rows.append((_clock(match.begin), _clock(match.instant), *values))
    head, *lines = columns(rows).splitlines()
    shown = [click.style(head, bold=True)]
    for line, match in zip(lines, matches, strict=True):
        shown += [line, *(click.style(f"  {made}", dim=True) for made in _provenance(match, spelling))]
    return "\n".join(shown)


def _provenance(match: Match, spelling: Spelling) -> list[str]:
    return [
        f"{event.step} {_clock(event.instant)}  {'' if event.graph is None else spelling.text(str(event.graph))}"
        for event in match.events
    ]


def _clock(instant: int) -> str:
    from spaseq.temporal import format_instant

    return format_instant(instant)[11:16]


# --- what to type next --------------------------------------------------------------------------


def _from_here(path: Path) -> str:
    """The path as one types it in this folder, quoted where the shell needs it."""
    near = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return shlex.quote(str(near))


def this_command() -> str:
    """What starts this program from this folder: its name if the shell finds it by that, else where it is."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return f"{_from_here(Path(sys.executable))} -m spaseq"
    known = shutil.which("spaseq")
    if not started.is_file() or (known is not None and Path(known).samefile(started)):
        return "spaseq"
    return _from_here(started.absolute())


def _next_steps(engine: str | None) -> str:
    command, query = this_command(), _from_here(QUERY)
    rows: list[Cells] = [
        ("look at the files", f"ls {_from_here(FOLDER)}"),
        ("see the whole plan", f"{command} explain {query}"),
        ("draw the automaton", f"{command} explain --format html --output plan.html {query}"),
    ]
    tutorial = Path(spaseq.__file__).parents[2] / "docs" / "tutorials" / "first-match.md"
    if tutorial.exists():  # a clone of the project
        rows.append(("write your own", f"{_from_here(tutorial)}: a first match in ten minutes"))
    else:
        rows.append(("see all options", f"{command} run --help"))
    streams = [f"--stream {_pair(alias, name)}" for alias, name in STREAMS.items()]
    graphs = [f"--kb {_pair(iri, name)}" for iri, name in KNOWLEDGE.items()]
    where = [] if engine is None else [f"--engine {engine}"]
    lines = [f"{command} run {query} --provenance", *where, *streams, *graphs]
    typed = " \\\n  ".join(lines)
    return f"{columns(rows)}\n\nrun it yourself, and then change the query:\n\n{_indented(typed)}"


def _pair(name: str, file: str) -> str:
    return f"{name}={_from_here(FOLDER / file)}"
