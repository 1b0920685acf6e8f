"""What `generate` and `convert` share: write a production into a folder and print what is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spaseq.cli.query_files import WRONG, show_problem
from spaseq.cli.tables import Cells, columns
from spaseq.errors import InvalidArgument

if TYPE_CHECKING:
    from spaseq.workloads.production import Manifest, Production


def write_and_tell(make: Callable[[], Production], out: Path, *, compress: bool) -> None:
    """Write what ``make`` gives; a wrong option ends the command with status 2."""
    from spaseq.workloads.production import write

    try:
        written = write(make(), out, compress=compress)
    except InvalidArgument as error:
        show_problem(error)
        raise SystemExit(WRONG) from None
    click.echo(columns(_rows(written, out)))


def _rows(written: Manifest, out: Path) -> list[Cells]:
    streams = [
        (
            str(out / each["file"]),
            f"{each['events']:,} events",
            f"{each['quads']:,} quads",
            f"<{each['iri']}>",
        )
        for each in written["streams"]
    ]
    graphs = [
        (str(out / each["file"]), "background", f"{each['triples']:,} triples", f"<{each['iri']}>")
        for each in written["background"]
    ]
    return [*streams, *graphs]
