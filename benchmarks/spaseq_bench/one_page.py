"""The whole report on one page of HTML that needs no network."""

from __future__ import annotations

from html import escape
from typing import Final

from spaseq_bench.figures import Rows, plots_of, split_rows, told_rows
from spaseq_bench.results import Book, Result

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2733; background: #f5f7f9; margin: 0; }
main { max-width: 900px; margin: 0 auto; padding: 24px; }
section { background: #fff; border: 1px solid #e3e7ec; border-radius: 8px; padding: 8px 24px 20px; margin: 20px 0; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: 3px 12px 3px 0; text-align: left; border-bottom: 1px solid #eef1f4; white-space: nowrap; }
.true { color: #1f7a3f; } .false { color: #b3261e; } .none { color: #8a6d00; }
pre { background: #f5f7f9; padding: 12px; overflow-x: auto; font-size: 13px; }
"""


def html_page(book: Book) -> str:
    """The whole report on one page that needs no network."""
    facts = {**book.machine, **book.versions, "commit": book.commit, "profile": book.profile}
    told = " · ".join(f"{escape(name)} {escape(value)}" for name, value in facts.items())
    body = "".join(_html_section(result) for result in book.results)
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>spaseq benchmarks</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style></head>"
        f"<body><main><h1>spaseq benchmarks</h1><p>{escape(book.started)} · {told}</p>{body}</main></body></html>\n"
    )


def _html_section(result: Result) -> str:
    verdicts = "".join(
        f"<li class='{str(verdict.holds).lower()}'>{escape(verdict.sentence)}</li>"
        for verdict in result.claims
    )
    tables = "".join(_html_table(rows) for rows in (told_rows(result), split_rows(result)) if rows)
    plots = "".join(svg for _, svg in plots_of(result))
    source = f"<p>After {escape(result.source)}.</p>" if result.source else ""
    return (
        f"<section id='{result.name}'><h2>{escape(result.title)}</h2><p>{escape(result.question)}</p>{source}"
        f"<ul>{verdicts}</ul>{plots}{tables}<details><summary>query</summary>"
        f"<pre>{escape(result.query)}</pre></details></section>"
    )


def _html_table(rows: Rows) -> str:
    head, *body = rows
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in body]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
