"""The plan as one HTML page: no network, no scripts, light or dark as the reader prefers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from spaseq.errors import listed
from spaseq.planner.explain.facts import Explanation, GpmFacts, StepFacts, WarningFacts
from spaseq.planner.explain.layout import layout
from spaseq.planner.explain.svg import draw
from spaseq.planner.explain.text import (
    cut,
    distributed_by,
    iterated_by,
    joined,
    meaning,
    occurrence,
    questioned,
    reads,
    window_lines,
    windows_apart,
)

_CSS = Path(__file__).with_name("page.css")
LONG = 70
"""From here on a sequence is no headline any more."""
_LEGEND = (
    ("take", "takes an event and goes on"),
    ("skip", "lets any event pass"),
    ("epsilon", "goes on without an event"),
    ("guard", "ends the run"),
)


def to_html(facts: Explanation) -> str:
    """The whole page."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(facts.name)}: plan</title>",
        f"<style>{_CSS.read_text(encoding='utf-8')}</style></head><body><main>",
        _header(facts),
        _section("Warnings", _warnings(facts.warnings)) if facts.warnings else "",
        _section("Automaton", _automaton(facts)),
        _section("Steps", _steps(facts)),
        '<div class="columns">',
        _section("Variables", _variables(facts)),
        _section("Distribution", _distribution(facts)),
        "</div>",
        _section("Query", f'<pre class="numbered">{numbered(facts.text.rstrip())}</pre>'),
        _section("Rewritten", _rewritten(facts)),
        "</main></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>\n{body}</section>"


def _header(facts: Explanation) -> str:
    rows = [
        ("answers", escape(f"{facts.form} {' '.join(f'?{name}' for name in facts.results)}".strip())),
        ("window", _lines(window_lines(facts))),
        ("streams", _lines(f"{s.alias} <{s.iri}>" for s in facts.streams)),
    ]
    if facts.partition:
        rows.append(("partition", escape(f"a query of its own for every {questioned(facts.partition)}")))
    graphs = [f"<{iri}>" for iri in facts.graphs] + (["every registered graph"] if facts.any_graph else [])
    if graphs:
        rows.append(("background", _lines(graphs)))
    if facts.switched_off:
        rows.append(("switched off", _lines(facts.switched_off)))
    long = ' class="long"' if len(facts.sequence) > LONG else ""
    return (
        f'<header><p class="file">{escape(facts.name)}</p>'
        f"<h1{long}>SEQ ({escape(facts.sequence)})</h1>"
        f"{_definitions(rows)}</header>"
    )


def _definitions(rows: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in rows) + "</dl>"


def _lines(values: Iterable[str]) -> str:
    return "<br>".join(escape(value) for value in values)


def _warnings(warnings: tuple[WarningFacts, ...]) -> str:
    return "\n".join(f'<pre class="warning">{escape(warning.rendered)}</pre>' for warning in warnings)


# --- the automaton ------------------------------------------------------------------------------


def _automaton(facts: Explanation) -> str:
    used = {edge.kind for edge in facts.automaton.edges}
    legend = "".join(
        f'<li class="{kind}"><i></i>{escape(words)}</li>' for kind, words in _LEGEND if kind in used
    )
    rows = "".join(
        f"<tr><td>{e.source}</td><td><code>{escape(e.label)}</code></td><td>{e.target}</td>"
        f"<td>{escape(meaning(e))}</td></tr>"
        for e in facts.automaton.edges
    )
    return (
        f'<div class="drawing">{draw(facts, layout(facts.automaton))}</div>\n<ul class="legend">{legend}</ul>\n'
        f"<details><summary>{len(facts.automaton.states)} states, {len(facts.automaton.edges)} edges</summary>"
        f'<div class="scroll"><table><tr><th>from</th><th>predicate</th><th>to</th><th>meaning</th></tr>'
        f"{rows}</table></div></details>"
    )


# --- steps and variables ------------------------------------------------------------------------


def _steps(facts: Explanation) -> str:
    head = "".join(
        f"<th>{title}</th>"
        for title in ("", "step", "pattern", "joins on", "decided by the event alone", "stateful")
    )
    rows = "".join(_step(step) for step in facts.steps)
    return f'<div class="scroll"><table class="steps"><tr>{head}</tr>{rows}</table></div>'


def _step(step: StepFacts) -> str:
    count = len(step.gpms)
    lead = (
        f'<td rowspan="{count}" class="number">{step.number}</td><td rowspan="{count}">'
        f'<code class="step">{escape(step.text)}</code><br><small>{escape(occurrence(step))}</small></td>'
    )
    return "".join(
        f"<tr>{lead if number == 0 else ''}{_gpm_cells(gpm)}</tr>" for number, gpm in enumerate(step.gpms)
    )


def _gpm_cells(gpm: GpmFacts) -> str:
    notes = [f"binds {questioned(gpm.binds)}"]
    notes += [f"per iteration: {questioned(gpm.per_iteration)}"] if gpm.per_iteration else []
    notes += [f"background: {name}" for name in gpm.graphs]
    pattern = f"<b>{escape(gpm.name)}</b> on {escape(gpm.stream)}"
    cells = (
        "<br>".join([pattern, *(f"<small>{escape(note)}</small>" for note in notes)]),
        "<br>".join(escape(joined(gpm, join)) for join in gpm.joins),
        "<br>".join(_code(f"FILTER({text})") for text in gpm.filters),
        "<br>".join(
            f"{_code(part.text)}<br><small>reads {escape(reads(part))}</small>" for part in gpm.stateful
        ),
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _code(text: str) -> str:
    return f"<code>{coloured(text)}</code>"


def _variables(facts: Explanation) -> str:
    rows = [("shared", f"{_code(f'?{v.name}')} joins {escape(cut(v.gpms))}") for v in facts.shared]
    rows += [
        ("per iteration", f"{_code(questioned(names))} of {escape(listed(of))}")
        for of, names in iterated_by(facts)
    ]
    return (
        _definitions(rows)
        if rows
        else "<p>No variable is shared: the steps are independent of each other.</p>"
    )


def _distribution(facts: Explanation) -> str:
    found = facts.distribution
    windows = escape(windows_apart(found))
    rows = [("by", escape(distributed_by(found))), ("why", escape(found.reason)), ("windows", windows)]
    return _definitions([*rows, *([("cure", escape(found.cure))] if found.cure else [])])


def _rewritten(facts: Explanation) -> str:
    note = "What the engines evaluate: filters stand as deep as they can, steps in the order they are tried."
    return f"<p>{note}</p><pre>{coloured(facts.rewritten)}</pre>"


KEYWORDS = (
    "PREFIX|BASE|SELECT|DISTINCT|REDUCED|CONSTRUCT|ASK|WITHIN|TUMBLING|SLIDING|STARTING|AT|FROM|STREAM|"
    "PARTITION|BY|WHERE|SEQ|DEFINE|GPM|ON|FILTER|BIND|AS|OPTIONAL|UNION|MINUS|GRAPH|VALUES|UNDEF|EXISTS|NOT|IN|"
    "MILLISECONDS?|SECONDS?|MINUTES?|HOURS?|DAYS?|EVENTS?|GROUP|ORDER|HAVING|LIMIT|OFFSET|ASC|DESC|"
    "COUNT|SUM|AVG|MIN|MAX|FIRST|LAST|PREV|GROUP_CONCAT|SAMPLE|SEPARATOR"
)
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>\"{3}.*?\"{3} | '{3}.*?'{3} | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
      | (?P<iri><[^\s<>"{}|^`\\]*>)
      | (?P<variable>[?$]\w+)
      | (?P<keyword>\b(?:"""
    + KEYWORDS
    + r""")\b(?!:))
      | (?P<name>(?:[A-Za-z][\w-]*)?:[A-Za-z_][\w-]*)
      | (?P<number>\b\d+(?:\.\d+)?\b)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def coloured(text: str) -> str:
    """The text, escaped, with a ``span`` around every word of a known kind."""
    parts: list[str] = []
    position = 0
    for found in _TOKEN.finditer(text):
        parts.append(escape(text[position : found.start()], quote=False))
        parts.append(f'<span class="{found.lastgroup}">{escape(found[0], quote=False)}</span>')
        position = found.end()
    return "".join(parts) + escape(text[position:], quote=False)


def numbered(text: str) -> str:
    """Coloured text, each line in an element that a style sheet can number."""
    return "\n".join(f'<span class="line">{line}</span>' for line in _whole_lines(coloured(text)))


def _whole_lines(html: str) -> list[str]:
    """Lines in which every span is closed; a string over several lines is opened again in each."""
    lines: list[str] = []
    open_span = ""
    for line in html.split("\n"):
        full = open_span + line
        opened = re.findall(r"<span class=\"\w+\">|</span>", full)
        open_span = opened[-1] if opened and opened[-1] != "</span>" else ""
        lines.append(full + ("</span>" if open_span else ""))
    return lines


def to_fragment(facts: Explanation) -> str:
    """The fragment; `explain("html")` is the whole page."""
    answers = f"{facts.form} {' '.join(f'?{name}' for name in facts.results)}".strip()
    head = f"<b>{escape(facts.name)}</b>: {escape(answers)}, window: {escape(facts.window or 'everything')}"
    warnings = "".join(f"<pre>{escape(warning.rendered)}</pre>" for warning in facts.warnings)
    # The picture follows the system's light or dark theme, the notebook may not: so it brings its own background.
    picture = draw(facts, layout(facts.automaton)).replace(
        "<svg ", '<svg style="background:var(--paper)" ', 1
    )
    return f"<div><p>{head}</p><p><code>SEQ ({escape(facts.sequence)})</code></p>{picture}{warnings}</div>"
