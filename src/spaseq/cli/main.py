"""The command `spaseq`: finds the verb, and imports only that verb's module."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import spaseq
from spaseq.cli.query_files import show_problem
from spaseq.errors import SpaseqError, did_you_mean

VERBS = {
    "run": "run queries over streams, write matches",
    "check": "parse and check queries",
    "explain": "show the plan of a query: automaton, joins, distribution, warnings",
    "compare": "show what several engines would answer to one text of RSEP-QL",
    "generate": "make synthetic streams of any length from a seed",
    "convert": "turn real data sets into streams and background graphs",
    "demo": "play a bundled example and show its matches",
}
"""The verbs with their one-line help, so that `spaseq --help` need not import them."""


class Verbs(click.Group):
    """A group whose commands live in modules of their names, each imported when it is called."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command, also where a standard stream is closed."""
        _fill_closed_streams()
        return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; output that cannot be written is an error of one sentence."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            where = f" `{error.filename}`" if error.filename else ""
            reason = (error.strerror or str(error)).lower()
            show_problem(SpaseqError(f"`spaseq {ctx.invoked_subcommand}` failed:{where} {reason}"))
            raise SystemExit(1) from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        command = getattr(import_module(f"spaseq.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was asked for; a misspelt one is told what was probably meant."""
        if args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(f"No such command `{args[0]}`{did_you_mean(args[0], VERBS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


def _fill_closed_streams() -> None:
    """Put the null device in the place of closed standard streams.

    A file that is opened later would take the free number, and get what is meant for the stream. Standard output
    stays None for those who must not lose what they write there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open to the end
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(spaseq.__version__, prog_name="spaseq")
@click.pass_context
def main(context: click.Context) -> None:
    """Query streams of RDF graphs in SPAseq, RSP-QL, C-SPARQL, RSEP-QL or EP-SPARQL."""
    if os.environ.get("NO_COLOR"):
        context.color = False
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show ∅ shows a question mark
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
