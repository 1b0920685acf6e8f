"""The progress bar of a run, on standard error; rich is loaded only if somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from spaseq.engine.request import Show, Status, unwatched


@contextmanager
def progress_bar(wanted: bool | None) -> Iterator[Show]:
    """A function that shows how a run stands; without a watcher it does nothing.

    ``wanted`` is None if the user said nothing: then a terminal decides.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield unwatched
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("run", total=None, told="reading")

        def show(status: Status) -> None:
            if status.tasks is not None:
                done, total = status.tasks
                told = f"{done} of {total} tasks  {status.events:,} events  {status.matches:,} matches"
                bar.update(task, completed=done, total=total or None, told=told)
                return
            speed = bar.tasks[0].speed or 0
            told = (
                f"{status.events:,} events  {speed:,.0f}/s  {status.matches:,} matches  {status.runs:,} runs"
            )
            bar.update(task, completed=status.events, total=status.expected, told=told)

        yield show
