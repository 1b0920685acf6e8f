"""A match as a small HTML table, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from spaseq.temporal.instants import format_instant

if TYPE_CHECKING:
    from spaseq.model.matches import Match

MOST_LINES = 20
"""Triples and events beyond these are counted, not shown."""


def match_html(match: Match) -> str:
    """When the match began and ended, what it found, and its events."""
    rows = [("start", format_instant(match.begin)), ("time", format_instant(match.instant))]
    if match.boolean is not None:
        rows.append(("answer", str(match.boolean).lower()))
    elif match.triples is not None:
        rows.append(("graph", _lines(sorted(f"{triple} ." for triple in match.triples))))
    else:
        rows += [(f"?{name}", escape(str(value))) for name, value in match.values.items()]
    if match.events:
        rows.append(("events", _lines([str(event) for event in match.events])))
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{value}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"


def _lines(lines: list[str]) -> str:
    shown = [escape(line) for line in lines[:MOST_LINES]]
    more = len(lines) - len(shown)
    return "<br>".join([*shown, *([f"and {more} more"] if more else [])])
