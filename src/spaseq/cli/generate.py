"""`spaseq generate`: deterministic synthetic streams of any length (docs/reference/cli.md)."""

from __future__ import annotations

from pathlib import Path

import click

from spaseq.cli.productions import write_and_tell
from spaseq.workloads.catalogue import START, WORKLOADS

_LIST = "\b\n" + "\n".join(f"{name:<10} {what}" for name, what in WORKLOADS.items())


@click.command(
    help="Make synthetic streams, a background graph and a manifest; the same seed gives the same bytes.\n\n"
    f"{_LIST}\n\nThe manifest names streams, counts and a query to try."
)
@click.argument("workload", type=click.Choice(list(WORKLOADS)), metavar="WORKLOAD")
@click.option(
    "--events",
    metavar="N",
    type=click.IntRange(0),
    required=True,
    help="How many events, in all streams together.",
)
@click.option(
    "--seed", metavar="K", type=int, default=0, show_default=True, help="Where the random numbers begin."
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder to write.",
)
@click.option(
    "--keys",
    "--companies",
    "--houses",
    "--cards",
    "--segments",
    "--vessels",
    "--orders",
    "--universities",
    "keys",
    metavar="N",
    type=click.IntRange(1),
    help="How many companies, houses, cards and so on; default by workload.",
)
@click.option("--start", metavar="TIME", default=START, show_default=True, help="The first instant.")
@click.option(
    "--interval",
    metavar="MS",
    type=click.IntRange(1),
    help="Milliseconds from event to event (traffic: from round to round); default by workload.",
)
@click.option(
    "--jitter",
    metavar="MS",
    type=click.IntRange(0),
    default=0,
    help="Let each event come up to so many milliseconds after its turn, at random; at most the interval.",
)
@click.option(
    "--background-triples",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Make the background graph at least so large.",
)
@click.option("--compress", is_flag=True, help="Write .nq.gz.")
def generate(
    workload: str,
    *,
    events: int,
    seed: int,
    out: Path,
    keys: int | None,
    start: str,
    interval: int | None,
    jitter: int,
    background_triples: int,
    compress: bool,
) -> None:
    """Make synthetic streams."""
    from spaseq.workloads.catalogue import generate as make
    from spaseq.workloads.timed_events import instant_ms

    write_and_tell(
        lambda: make(
            workload,
            events=events,
            seed=seed,
            start=instant_ms(start),
            keys=keys,
            interval=interval,
            jitter=jitter,
            background_triples=background_triples,
        ),
        out,
        compress=compress,
    )
