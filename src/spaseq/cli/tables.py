"""Plain tables and terms for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaseq.planner.explain.sparql_text import Spelling

Cells: TypeAlias = tuple[str, ...]


def columns(rows: Sequence[Cells]) -> str:
    """Rows as text with aligned columns.

    >>> print(columns([("a", "bcd"), ("ab", "c")]))
    a   bcd
    ab  c
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def spelled(term: object, spelling: Spelling) -> str:
    """A term as the query would write it: prefixed names, plain numbers."""
    return spelling.text(str(term))
