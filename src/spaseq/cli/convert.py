"""`spaseq convert`: real data sets as streams and background graphs."""

from __future__ import annotations

from pathlib import Path

import click

from spaseq.cli.productions import write_and_tell
from spaseq.workloads.catalogue import DATASETS

_LIST = "\b\n" + "\n".join(f"{name:<12} {what}" for name, what in DATASETS.items())


@click.command(
    help="Read a data set's CSV files and write streams, background graphs and a manifest.\n\n"
    f"{_LIST}\n\nWhere the data comes from: docs/use-cases/README.md."
)
@click.argument("dataset", type=click.Choice(list(DATASETS)), metavar="DATASET")
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder with the CSV files.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder to write.",
)
@click.option("--from", "start", metavar="TIME", help="Leave out what is earlier.")
@click.option("--to", "end", metavar="TIME", help="Leave out what is at this time or later.")
@click.option("--only", metavar="KEY,...", default="", help="Only these cards, vessels, symbols or segments.")
@click.option("--compress", is_flag=True, help="Write .nq.gz.")
def convert(
    dataset: str, *, data: Path, out: Path, start: str | None, end: str | None, only: str, compress: bool
) -> None:
    """Read a data set."""
    from spaseq.workloads.catalogue import convert as read
    from spaseq.workloads.selection import Selection
    from spaseq.workloads.timed_events import instant_ms

    write_and_tell(
        lambda: read(
            dataset,
            data,
            Selection(
                None if start is None else instant_ms(start),
                None if end is None else instant_ms(end),
                frozenset(key for key in only.split(",") if key),
            ),
        ),
        out,
        compress=compress,
    )
