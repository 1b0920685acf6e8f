"""`spaseq explain`: the plan of a query, in the format asked for."""

from __future__ import annotations

from pathlib import Path

import click

from spaseq.cli.query_files import WRONG, UnreadableQuery, compile_or_exit, show, show_problem
from spaseq.errors import InvalidArgument, QueryError
from spaseq.planner.in_run import POLICIES, Choices, in_run

FORMATS = ("text", "json", "mermaid", "dot", "svg", "html")


@click.command
@click.argument("query", metavar="QUERY")
@click.option(
    "--format", "style", type=click.Choice(FORMATS), default="text", help="How the plan is written."
)
@click.option(
    "--profile", metavar="NAME", help="RSEP-QL: the plan of the query as another engine would run it."
)
@click.option(
    "--policy", type=click.Choice(POLICIES), help="EP-SPARQL: the plan of the query under a policy."
)
@click.option("--output", type=click.Path(dir_okay=False), help="A file to write; default standard output.")
def explain(query: str, style: str, profile: str | None, policy: str | None, output: str | None) -> None:
    """Show the plan of a query; `-` reads standard input.

    The plan: the query rewritten, its automaton, what joins and what is stateful in each step, how it
    would be distributed and why, and warnings. `svg` is the drawn automaton alone, `html` one page with everything that needs no network.
    """
    try:
        queries = compile_or_exit(query, None, profile)
        if policy is not None:
            from spaseq.columnar.knowledge import Knowledge  # loads columns

            queries = in_run(queries, Knowledge(), Choices(policy))
        plan = "\n".join(each.explain(style) for each in queries)
    except QueryError as error:  # a policy that the query cannot have
        show(error, err=True)
        raise SystemExit(WRONG) from None
    except InvalidArgument as error:  # a format that draws an automaton, for a query that has none
        show_problem(error)
        raise SystemExit(WRONG) from None
    if output is None:
        click.echo(plan, nl=False)
        return
    try:
        Path(output).write_text(plan, encoding="utf-8")
    except OSError as error:
        show_problem(UnreadableQuery(f"cannot write {output}: {(error.strerror or str(error)).lower()}"))
        raise SystemExit(WRONG) from None
