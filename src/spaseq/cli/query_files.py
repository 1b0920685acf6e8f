"""What the verbs share: reading query files, compiling them, and showing what is wrong with them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spaseq.cli.arguments import in_options
from spaseq.errors import Diagnostic, QueryError, SpaseqError

if TYPE_CHECKING:
    from spaseq.planner import CompiledQuery

WRONG = 2
"""The exit status for a wrong command line or a wrong query (docs/reference/cli.md)."""

STANDARD_INPUT = "-"
_COLOURS = {"error": "red", "warning": "yellow"}


class UnreadableQuery(SpaseqError):
    """A query file that cannot be read; the message is one sentence."""


def read_query(path: str) -> tuple[str, str]:
    """The text of a query file and the name that diagnostics show; ``-`` is standard input."""
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
        return raw.decode("utf-8-sig"), name
    except UnicodeDecodeError as error:
        raise UnreadableQuery(f"{name} is not UTF-8 text: byte {error.start} cannot be read") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableQuery(f"cannot read {name}: {reason}") from None


def compile_file(
    path: str, language: str | None = None, profile: str | None = None
) -> tuple[CompiledQuery, ...]:
    """The compiled queries of a file; `UnreadableQuery` or `QueryError` says what is wrong."""
    from spaseq.planner.compiled import compile_all

    text, name = read_query(path)
    return compile_all(text, language, profile=profile, name=name)


def compile_or_exit(
    path: str, language: str | None = None, profile: str | None = None
) -> tuple[CompiledQuery, ...]:
    """The compiled queries of a file; whatever is wrong is shown, and ends the command with status 2."""
    try:
        return compile_file(path, language, profile)
    except UnreadableQuery as error:
        show_problem(error)
    except QueryError as error:
        for each in (error, *error.also):
            show(each, err=True)
    raise SystemExit(WRONG)


def show_problem(problem: SpaseqError) -> None:
    """One sentence on standard error, in the words of the command line."""
    click.echo(f"{click.style('error', fg='red', bold=True)}: {in_options(str(problem))}", err=True)


def say(kind: str, text: str) -> None:
    """A note or a warning on standard error."""
    colour = {"warning": "yellow", "note": "cyan"}[kind]
    click.echo(f"{click.style(kind, fg=colour, bold=True)}: {text}", err=True)


def show(diagnostic: Diagnostic, *, err: bool = False) -> None:
    """A diagnostic with its code frame and an empty line; coloured on a terminal."""
    click.echo(coloured(diagnostic) + "\n", err=err)


def coloured(diagnostic: Diagnostic) -> str:
    """The rendered diagnostic with its headline, caret and cure in colour; click drops it off a terminal."""
    colour = _COLOURS[diagnostic.severity]
    lines = diagnostic.render().splitlines()
    head, _, message = lines[0].partition(": ")
    lines[0] = f"{click.style(head, fg=colour, bold=True)}: {click.style(message, bold=True)}"
    for number, line in enumerate(lines[1:], 1):
        if re.match(r" *\| .*\^", line):
            bar, _, caret = line.partition("|")
            lines[number] = click.style(f"{bar}|", fg="blue") + click.style(caret, fg=colour, bold=True)
        elif line.startswith("help: "):
            lines[number] = click.style("help", fg="green", bold=True) + line[4:]
        elif re.match(r"  --> | \d+ \| ", line):
            lead = re.match(r"  --> | \d+ \| ", line)
            assert lead is not None
            lines[number] = click.style(lead[0], fg="blue") + line[lead.end() :]
    return "\n".join(lines)
