"""`spaseq compare`: one text of RSEP-QL as several engines would answer it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from spaseq.cli.arguments import pair
from spaseq.cli.query_files import WRONG, UnreadableQuery, read_query, show, show_problem
from spaseq.cli.run_options import FORMATS
from spaseq.errors import InvalidArgument, QueryError, SpaseqError
from spaseq.io.options import TIMESTAMP_PREDICATE
from spaseq.temporal.instants import TIME_UNITS

if TYPE_CHECKING:
    from spaseq.cli.comparison import Comparison, StreamEvent
    from spaseq.model.matches import MatchedEvent
    from spaseq.model.terms import Term
    from spaseq.planner import CompiledQuery

STYLES: Final = ("table", "json", "html")
NOT_FOR_THIS_TEXT: Final = ("SPQ725", "SPQ726")
"""The errors of a profile whose engine lacks something that the text has."""
MOST_DRAWN: Final = 200
"""More events than these are not all drawn, only those of answers."""


@click.command
@click.argument("query", metavar="QUERY")
@click.option(
    "--profiles",
    metavar="A,B,...",
    help="The engines, separated by commas; `as-written` is the text without a profile. Default: all that the text allows.",
)
@click.option(
    "--stream",
    "streams",
    metavar="NAME=PATH",
    multiple=True,
    help="The input of a stream: a file, a directory or a glob; repeatable.",
)
@click.option(
    "--kb",
    "knowledge",
    metavar="IRI=PATH",
    multiple=True,
    help="A background graph, by extension; repeatable.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(STYLES),
    default="table",
    show_default=True,
    help="How it is written.",
)
@click.option(
    "--input-format", type=click.Choice(FORMATS), help="The format of event files; default by extension."
)
@click.option(
    "--timestamp-predicate",
    metavar="IRI",
    default=TIMESTAMP_PREDICATE,
    help="What links a graph to its time.",
)
@click.option(
    "--time-unit", type=click.Choice(TIME_UNITS), default="ms", help="The unit of numeric timestamps."
)
@click.option("--output", type=click.Path(dir_okay=False), help="A file to write; default standard output.")
def compare(
    query: str, streams: tuple[str, ...], knowledge: tuple[str, ...], output: str | None, **given: Any
) -> None:
    """Show what several engines would answer to one text of RSEP-QL; `-` reads it from standard input.

    Evaluation by evaluation and engine by engine: the answers, and the events of the streams that justify them. `html` draws both on
    a time axis. Runs in this process.
    """
    from spaseq.cli.comparison import to_json, to_table
    from spaseq.cli.time_axis import to_page

    try:
        found = _compared(query, streams, knowledge, given)
        written = {
            "table": lambda: to_table(found),
            "json": lambda: json.dumps(to_json(found), ensure_ascii=False, indent=2) + "\n",
            "html": lambda: to_page(found),
        }[given["style"]]()
        if output is None:
            click.echo(written, nl=False)
        else:
            Path(output).write_text(written, encoding="utf-8")
    except QueryError as error:
        for each in (error, *error.also):
            show(each, err=True)
        raise SystemExit(WRONG) from None
    except (InvalidArgument, UnreadableQuery) as error:
        show_problem(error)
        raise SystemExit(WRONG) from None
    except SpaseqError as error:
        show_problem(error)
        raise SystemExit(1) from None


def _compared(
    path: str, streams: tuple[str, ...], knowledge: tuple[str, ...], given: dict[str, Any]
) -> Comparison:
    from spaseq.cli.comparison import Comparison
    from spaseq.engine.run import run

    text, name = read_query(path)
    queries = _queries(text, name, given["profiles"])
    first = next(iter(queries.values()))
    names = {each for stream in first.streams for each in stream.names}
    inputs: dict[str, list[str]] = {}
    for item in streams:
        alias, place = pair(item, "--stream", names)
        inputs.setdefault(alias, []).append(place)
    graphs = dict(pair(item, "--kb", set(first.knowledge[0])) for item in knowledge)
    reading = {
        "format": given["input_format"],
        "timestamp_predicate": given["timestamp_predicate"],
        "time_unit": given["time_unit"],
        "on_bad_input": "fail",
    }
    answers = {profile: list(run(query, inputs, graphs, **reading)) for profile, query in queries.items()}
    events = _events(first, inputs, reading) if given["style"] == "html" else ()
    return Comparison(Path(name).name, text, answers, events, first.prefixes)


def _queries(text: str, name: str, profiles: str | None) -> dict[str, CompiledQuery]:
    """The text compiled under every profile that is asked for, or under all that it allows."""
    from spaseq.cli.comparison import AS_WRITTEN
    from spaseq.planner.compiled import compile_query, profiles_of

    every = (AS_WRITTEN, *profiles_of("rsepql"))
    asked = [each.strip() for each in profiles.split(",")] if profiles else every
    found = {}
    for each in asked:
        try:
            found[each] = compile_query(
                text, "rsepql", profile=None if each == AS_WRITTEN else each, name=name
            )
        except QueryError as error:
            if profiles or error.code not in NOT_FOR_THIS_TEXT:
                raise
    return found


def _events(query: CompiledQuery, inputs: dict[str, list[str]], reading: dict[str, Any]) -> list[StreamEvent]:
    """All events of the streams with their triples, unless they are too many: what MATCH finds with one pattern of them all."""
    from spaseq.cli.comparison import StreamEvent
    from spaseq.engine.run import run
    from spaseq.planner import compile_query

    found: dict[MatchedEvent, list[tuple[Term, ...]]] = {}
    for stream in query.streams:
        text = (
            f"REGISTER RSTREAM QUERY q AS SELECT ?s ?p ?o FROM NAMED WINDOW <w> ON <{stream.iri}> [RANGE 0.000001s] "
            "EVENT ON <w> { ?s ?p ?o } AS E WHERE { MATCH { E } }"
        )
        paths = [path for name, given in inputs.items() if name in stream.names for path in given]
        for match in run(compile_query(text, "rsepql"), {stream.iri: paths}, **reading):
            found.setdefault(match.events[0], []).append(tuple(match.bindings.values()))
            if len(found) > MOST_DRAWN:
                return []
    return [StreamEvent(event, tuple(sorted(triples, key=str))) for event, triples in found.items()]
