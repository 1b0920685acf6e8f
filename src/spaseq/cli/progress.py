"""What a run shows on standard error while it goes on; rich is imported only for a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from spaseq.cli.query_files import say
from spaseq.engine.request import Show, Status, unwatched


@dataclass(frozen=True, slots=True)
class Screen:
    """Progress callbacks of a run: ``show`` its status, ``warn`` of bad input."""

    show: Show
    warn: Callable[[str], None]


def _warn(text: str) -> None:
    say("warning", text)


def _on_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()  # a stream that the shell has closed is None


@contextmanager
def progress_bar(wanted: bool | None, *, results_here: bool) -> Iterator[Screen]:
    """A screen with a progress bar, or without one if it is off.

    ``wanted`` is None if the user said nothing: then a terminal decides. ``results_here`` means that matches go to
    standard output: if that is a terminal there is no bar, which would be drawn over them.
    """
    over_results = results_here and _on_terminal(sys.stdout)
    if wanted and over_results:
        say("note", "no progress bar: matches go to this terminal; --output PATH keeps them apart")
    if over_results or not (_on_terminal(sys.stderr) if wanted is None else wanted):
        yield Screen(unwatched, _warn)
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

        def warn(text: str) -> None:
            # Through the bar's console, which draws the bar again below the sentence.
            bar.console.print("warning", style="bold yellow", end=": ")
            bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

        yield Screen(show, warn)
