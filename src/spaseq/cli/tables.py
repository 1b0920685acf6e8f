"""Plain tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Cells: TypeAlias = tuple[str, ...]


def columns(rows: Sequence[Cells]) -> str:
    """Rows as text with aligned columns, also where characters are wide; no line is folded.

    >>> print(columns([("a", "bcd"), ("日本", "c")]))
    a     bcd
    日本  c
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for row in rows:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ignore") for cell in row))
    console = Console(width=100_000, color_system=None, markup=False)
    with console.capture() as printed:
        console.print(table)
    return "\n".join(line.rstrip() for line in printed.get().splitlines())
