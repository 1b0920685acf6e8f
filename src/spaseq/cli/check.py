"""`spaseq check`: parse and check queries, and show everything that is wrong with them at once."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from spaseq.cli.query_files import WRONG, UnreadableQuery, compile_file, show, show_problem
from spaseq.errors import Diagnostic, QueryError


@click.command
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How findings are written; json is one object for all files.",
)
def check(queries: tuple[str, ...], style: str) -> None:
    """Parse and check queries; `-` reads standard input.

    Exit status 0 if all of them can run, 2 if one is wrong or cannot be read. Warnings do not count.
    """
    found = [_findings(path) for path in queries]
    if style == "json":
        files = [_as_json(path, *each) for path, each in zip(queries, found, strict=True)]
        click.echo(json.dumps({"version": 1, "files": files}, ensure_ascii=False, indent=2))
    else:
        for path, each in zip(queries, found, strict=True):
            _print(path, *each)
    if any(problem or errors for problem, errors, _ in found):
        raise SystemExit(WRONG)


def _findings(path: str) -> tuple[UnreadableQuery | None, Iterable[Diagnostic], Iterable[Diagnostic]]:
    """Why a file cannot be read, or its errors and warnings."""
    try:
        warnings = (warning for query in compile_file(path) for warning in query.warnings)
        # Each query of a file has the file's rules, and what is to say of them.
        return None, (), tuple({(each.code, each.span, str(each)): each for each in warnings}.values())
    except UnreadableQuery as problem:
        return problem, (), ()
    except QueryError as error:
        return None, (error, *error.also), ()


def _print(
    path: str, problem: UnreadableQuery | None, errors: Iterable[Diagnostic], warnings: Iterable[Diagnostic]
) -> None:
    if problem is not None:
        show_problem(problem)
        return
    for error in errors:
        show(error, err=True)
    for warning in warnings:
        show(warning)
    if not errors:
        click.echo(f"{path}: {click.style('ok', fg='green')}")


def _as_json(
    path: str, problem: UnreadableQuery | None, errors: Iterable[Diagnostic], warnings: Iterable[Diagnostic]
) -> dict[str, object]:
    ok = problem is None and not errors
    findings = [each.to_json() for each in (*errors, *warnings)]
    unread = {} if problem is None else {"problem": str(problem)}
    return {"file": path, "ok": ok, **unread, "diagnostics": findings}
