"""Facts about the page of windows, `docs/reference/windows.md`: it is generated, and its examples and pictures are true.

Prose is here; examples are the cases of `docs/reference/windows.spec`. What the page and its pictures show is what the
reference finds: the evaluations, what the window holds at each, and what is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spaseq.algebra.windows import Range, Trigger, Unit, WindowQuery
from spaseq.languages.rsepql.query import compile_windows
from spaseq.model.events import GraphEvent
from spaseq.reference.contents import interval
from spaseq.reference.continuous import window_answers
from spaseq.reference.evaluations import Evaluation, evaluations
from spaseq.testing import Case, load

ROOT = Path(__file__).resolve().parents[2]
CASES = {case.name: case for case in load(ROOT / "docs/reference/windows.spec")}
SECOND = 1_000_000

WINDOWS = {
    "tumbling": "One instance after the other; `TUMBLING` is a step as long as the range. An instance is open at its start and closed at its end: an event at 5 belongs to the one that ends at 5.",
    "hopping": "A step shorter than the range: instances overlap, and an event is in several of them.",
    "gaps between instances": "A step longer than the range leaves gaps. An event in a gap is in no instance: here `e1`, `e4` and `e5`.",
    "sliding": "Without a step the window ends at every instant. It has no closing instants, so it is evaluated with every event.",
    "starting at an instant": "Steps are counted from 1970-01-01T00:00:00Z, or from `STARTING AT`; events before that instant do not exist for the window.",
    "the last events": "Positions instead of times: the last two events of the stream.",
    "every two events": "A counted window closes with the event that fills it. One that is not full, here that of `e5`, never closes.",
    "the last triples": "Events are never cut: an event is in the window if its last triple is. `e3` has two triples, every other event one.",
    "landmark": "Everything from an instant on.",
    "interval": "Between two instants, both included; the later one first is an error (SPQ728). Events after it change nothing, so nothing is evaluated.",
    "a window over a window": "`W1 OF W2` is `W1` over what `W2` holds: here the last two events of each instance of five seconds.",
}
POLICIES = {
    "content change": "At every instant at which the window takes an event. The instance that is still open is shown, as far as it has come. What expires shows at the next evaluation.",
    "window close": "At the closing instants, also of empty instances: nothing is in the window at 10. After the last event, an instance still closes if it holds one.",
    "every": "At fixed instants, from the first event on to the first one that is not before the last event.",
    "non-empty content": "With `AND NON-EMPTY CONTENT` there is no evaluation over empty windows.",
}
OPERATORS = {
    "all of it": "`RSTREAM`: the whole answer, at every evaluation.",
    "what is new": "`ISTREAM`: what the answer has more than the one before.",
    "what is gone": "`DSTREAM`: what the answer before had more.",
}


# --- pictures -----------------------------------------------------------------------------------

LEFT, TOP, UNIT, ROW = 70, 34, 34, 22
CSS = """
svg.windows { --ink: #1f2933; --quiet: #8793a0; --fill: #cfe3f7; --line: #2f6fab; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  svg.windows { --ink: #e6edf3; --quiet: #7d8a97; --fill: #24425f; --line: #79b8ff; --paper: #12181f; }
}
svg.windows text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; text-anchor: middle; fill: var(--ink); }
svg.windows text.time { text-anchor: end; fill: var(--quiet); }
svg.windows line { stroke: var(--quiet); stroke-width: 1; }
svg.windows line.now { stroke: var(--ink); stroke-width: 2; }
svg.windows rect { fill: var(--fill); stroke: var(--line); stroke-width: 1; }
svg.windows circle { fill: var(--paper); stroke: var(--quiet); stroke-width: 1.3; }
svg.windows circle.held { fill: var(--line); stroke: var(--line); }
"""


def drawn(case: Case) -> str:
    """A line for every evaluation: its instant, the extent of the window where it is one of time, and the events it holds."""
    query = compile_windows(case.query)
    found = evaluations(query, case.events)
    last = max([16, *(each.instant // SECOND for each in found)])
    width, height = LEFT + (last + 1) * UNIT, TOP + (len(found) + 1) * ROW
    parts = [
        f'<svg class="windows" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{_clause(case)}</title>",
        f"<style>{CSS}</style>",
    ]
    for event in case.events:
        parts.append(f'<text x="{_x(event.time)}" y="14">{_name(event)}</text>')
        parts.append(
            f'<line x1="{_x(event.time)}" y1="18" x2="{_x(event.time)}" y2="{height - ROW}" stroke-dasharray="2 4"/>'
        )
    for number, evaluation in enumerate(found):
        parts += _row(query, evaluation, case.events, TOP + number * ROW + ROW // 2)
    parts.append(f'<line x1="{LEFT}" y1="{height - ROW + 2}" x2="{width - 8}" y2="{height - ROW + 2}"/>')
    parts += [f'<text x="{_x(t * SECOND)}" y="{height - 5}">{t}</text>' for t in range(0, last + 1, 2)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(query: WindowQuery, evaluation: Evaluation, events: tuple[GraphEvent, ...], y: int) -> list[str]:
    parts = [f'<text class="time" x="{LEFT - 14}" y="{y + 4}">{evaluation.instant // SECOND}</text>']
    (window,) = query.windows
    body = window.bodies[-1]
    if isinstance(body, Range) and body.unit is Unit.TIME:
        closed = query.report.trigger is Trigger.WINDOW_CLOSE
        start, end = interval(body, evaluation.instant, closed=closed)
        left, right = max(_x(start), LEFT - 8), _x(end)
        parts.append(f'<rect x="{left}" y="{y - 7}" width="{right - left}" height="14" rx="4"/>')
    now = _x(evaluation.instant)
    parts.append(f'<line class="now" x1="{now}" y1="{y - 9}" x2="{now}" y2="{y + 9}"/>')
    held = {id(event) for event in evaluation.held[0]}
    for event in events:
        if event.time <= evaluation.instant:
            kind = ' class="held"' if id(event) in held else ""
            parts.append(f'<circle{kind} cx="{_x(event.time)}" cy="{y}" r="4"/>')
    return parts


def _x(instant: int) -> int:
    return LEFT + round(instant / SECOND * UNIT)


def _name(event: GraphEvent) -> str:
    return next(iter(event.triples)).subject.value.removeprefix("http://ex.org/")


def picture(case: Case) -> str:
    """The file name of an example's drawing."""
    return f"window-{case.name.replace(' ', '-')}.svg"


# --- the page -----------------------------------------------------------------------------------


def page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Windows, reports and stream operators",
        "",
        (
            "Generated from `docs/reference/windows.spec` by `make docs`: every picture and every answer below was found by the reference. The exact "
            "definitions are in [semantics 3](semantics.md#3-windows-and-continuous-sparql)."
        ),
        "",
        (
            "All examples read the same stream: five events at 1, 4, 5, 7 and 12 seconds, each with a triple `:eN :at …`; `e3` has a second one. The query asks for "
            "the events in the window: `WINDOW :w { ?e :at ?t }`. In a picture every line is one evaluation: the number is its instant, which the thick mark shows as well, "
            "the bar is the extent of a window of time, filled dots are the events that the window holds, empty ones those it does not."
        ),
        "",
        "## Windows",
    ]
    lines += _entries(WINDOWS, _clause)
    lines += [
        "",
        "## Reports",
        "",
        "When the query is evaluated. Without `REPORT`: `WINDOW CLOSE` if a window has a step, else `CONTENT CHANGE`.",
    ]
    lines += _entries(POLICIES, _whole)
    lines += [
        "",
        "## Stream operators",
        "",
        "What of an answer is reported. The default is `ISTREAM` for `CONTENT CHANGE`, else `RSTREAM`. Answers are bags: a solution that goes from two occurrences to three is new once.",
        "The picture is the same for all three:",
        "",
        f"![Evaluations of a sliding window](images/{picture(CASES['all of it'])})",
    ]
    for name, prose in OPERATORS.items():
        lines += ["", f"### {name.capitalize()}", "", prose, "", *_answers(CASES[name])]
    return "\n".join(lines) + "\n"


def _entries(prose: dict[str, str], shown: Callable[[Case], str]) -> list[str]:
    lines = []
    for name, text in prose.items():
        case = CASES[name]
        lines += ["", f"### {name.capitalize()}", "", text, "", "```sparql", shown(case), "```", ""]
        lines.append(f"![Evaluations: {name}](images/{picture(case)})")
    return lines


def _clause(case: Case) -> str:
    """The clause that declares the window."""
    return next(line for line in case.query.split("\n") if line.startswith("FROM"))


def _whole(case: Case) -> str:
    return "\n".join(line for line in case.query.split("\n") if line.startswith(("FROM", "REPORT")))


def _answers(case: Case) -> list[str]:
    rows: dict[int, list[str]] = {}
    query = compile_windows(case.query)
    for evaluation in evaluations(query, case.events):
        rows[evaluation.instant] = []
    for match in window_answers(query, case.events):
        rows[match.instant].append(f"`{match.bindings['e'].value.removeprefix('http://ex.org/')}`")
    lines = ["| at | reported |", "|---|---|"]
    return lines + [f"| {time // SECOND} | {' '.join(sorted(found))} |" for time, found in rows.items()]


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_an_example_reports_what_it_states(case: Case) -> None:
    """The reference gives the lines that the example expects."""
    found = window_answers(compile_windows(case.query), case.events)
    lines = [(match.begin, match.instant, tuple(match.bindings.items())) for match in found]
    expected = [(line.start, line.time, line.bindings) for line in case.expected or ()]
    assert sorted(lines, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_drawing_of_a_window_is_current(case: Case, golden: Callable[[str, str], None]) -> None:
    """What the page shows is what the reference finds."""
    if case.name not in OPERATORS or case.name == "all of it":
        golden(f"docs/reference/images/{picture(case)}", drawn(case))


def test_the_page_of_windows_is_current(golden: Callable[[str, str], None]) -> None:
    """`make docs` rewrites it."""
    golden("docs/reference/windows.md", page())


def test_every_example_is_on_the_page() -> None:
    """No example without prose, no prose without example."""
    assert list(CASES) == [*WINDOWS, *POLICIES, *OPERATORS]
