"""Facts about the page of event patterns, `docs/reference/event-patterns.md`: it is generated, and its examples and pictures are true.

Prose is here; examples are the cases of `docs/reference/event-patterns.spec`. What the pictures show is what the reference finds:
the events that every answer is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from spaseq.languages.rsepql.profiles import PROFILES
from spaseq.languages.rsepql.query import compile_windows
from spaseq.model.matches import Match
from spaseq.reference.continuous import window_answers
from spaseq.testing import Case, load
from spaseq.testing.runner import check_matches

ROOT = Path(__file__).resolve().parents[2]
CASES = {case.name: case for case in load(ROOT / "docs/reference/event-patterns.spec")}
SECOND = 1_000_000

SEQUENCE = {
    "plain": "Every `A` with every later `B` that fits: here, of the same letter. Simultaneous events are never in sequence.",
}
ENDS = {
    "FIRST on the left": "To the left of `SEQ` it is relative: for each `B`, the first `A` *of those before it and compatible with it*. Both `B` of `u` have a first `A`.",
    "FIRST on the right": "To the right it is absolute: the first `B` *of all in the window*, whatever its letter. Then its partners are looked for.",
    "LAST on the left": "For each `B`, the last `A` before it that fits.",
    "LAST on the right": "The last `B` of all in the window. It is `v`'s, so `u` has no answer.",
}
POLICIES = {
    "SEQ NAIVE": "The last `A` and the last `B` of all, if they fit and are in this order: what C-SPARQL's `timestamp` was made for. This one is evaluated at 5: at 6 the last `B` is `v`'s and the last `A` is `u`'s, so there is no answer. (`SEQ^n`)",
    "SEQ CHRONOLOGICAL": "Of the `B` with equal values the first that has a partner, and its first partner. (`SEQ^c`)",
    "SEQ RECENT": "Of the `B` with equal values the last that has a partner, and its last partner. (`SEQ^r`)",
    "SEQ NEXT": "No `B` that fits lies between: skip till next match.",
    "SEQ STRICT": "No event at all lies between, in any window that the events of this `MATCH` are on.",
    "SEQ PARTITION": "`SEQ PARTITION ?x`: no event of the same `?x` lies between. An event has the values that `?x` takes in the triple patterns on its window.",
}
MORE = {
    "NOT": "`A SEQ NOT A SEQ B`: nothing that fits both sides lies strictly between. Any policy may stand at the second `SEQ`; it selects from what remains.",
    "DURING": "`B DURING (A SEQ B)`: strictly inside, as Allen has it. The answer lasts as long as what is around.",
}
CONSUMPTION = {
    "nothing consumed": "Without `CONSUME` an event takes part again and again. Evaluated at 3 and at 6:",
    "consumed": "With `CONSUME CHRONOLOGICAL` or `CONSUME RECENT`, which remove alike, what an answer used at 3 is gone at 6: `u`'s first `A` has no second answer.",
}

LEFT, UNIT, TOP, ROW = 40, 64, 34, 30
CSS = """
svg.events { --ink: #1f2933; --quiet: #8793a0; --a: #2f6fab; --b: #b4540a; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  svg.events { --ink: #e6edf3; --quiet: #7d8a97; --a: #79b8ff; --b: #ffb45e; --paper: #12181f; }
}
svg.events text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; text-anchor: middle; fill: var(--ink); }
svg.events text.quiet { fill: var(--quiet); }
svg.events line { stroke: var(--quiet); stroke-width: 1; }
svg.events path { fill: none; stroke: var(--ink); stroke-width: 1.6; }
svg.events circle.A { fill: var(--a); }
svg.events circle.B { fill: var(--b); }
"""


def drawn(case: Case) -> str:
    """The events above, and an arc for every answer over those that it is made of."""
    found = _found(case)
    width, height = LEFT + 7 * UNIT, TOP + (len(found) + 1) * ROW + 6
    parts = [
        f'<svg class="events" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{_match(case)}</title>",
        f"<style>{CSS}</style>",
    ]
    for event in case.events:
        (triple,) = event.triples
        kind = "A" if triple.predicate.value.endswith("/a") else "B"
        x, letter = _x(event.time), triple.subject.value[-1]
        parts.append(f'<line x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{height - 22}" stroke-dasharray="2 4"/>')
        parts.append(f'<circle class="{kind}" cx="{x}" cy="{TOP - 8}" r="5"/>')
        parts.append(f'<text x="{x}" y="14">{kind} {letter}</text>')
        parts.append(f'<text class="quiet" x="{x}" y="{height - 6}">{event.time // SECOND}</text>')
    for number, match in enumerate(found):
        several = len({each.instant for each in found}) > 1
        label = (
            f"{match.bindings['x'].value[-1]} at {match.instant // SECOND}"
            if several
            else match.bindings["x"].value[-1]
        )
        parts += _arcs(match, label, TOP + number * ROW + 26)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _arcs(match: Match, label: str, y: int) -> list[str]:
    events = sorted(match.events, key=lambda event: event.instant)
    places = [_x(event.instant) for event in events]
    parts = [f'<text class="quiet" x="{LEFT}" y="{y}">{label}</text>']
    for first, second in pairwise(places):
        parts.append(f'<path d="M {first} {y} Q {(first + second) / 2} {y - 24} {second} {y}"/>')
    kinds = zip(places, events, strict=True)
    return parts + [f'<circle class="{event.step}" cx="{x}" cy="{y}" r="4"/>' for x, event in kinds]


def _x(instant: int) -> int:
    return LEFT + round(instant / SECOND * UNIT)


def _found(case: Case) -> list[Match]:
    """The answers, in order of the evaluation and of their events."""
    found = window_answers(compile_windows(case.query), case.events)
    return sorted(found, key=lambda match: (match.instant, [event.instant for event in match.events]))


def _match(case: Case) -> str:
    line = next(line for line in case.query.split("\n") if "MATCH" in line)
    return line.removeprefix("WHERE { ").split(" } REPORT")[0].replace(" } CONSUME", "  CONSUME")


def picture(case: Case) -> str:
    """The file name of an example's drawing."""
    return f"events-{case.name.lower().replace(' ', '-')}.svg"


# --- the page -----------------------------------------------------------------------------------

HEAD = """# Event patterns over windows

Generated from `docs/reference/event-patterns.spec` by `make docs`: every picture was drawn from what the reference finds. The exact definitions are in
[semantics 4](semantics.md#4-rsep-ql-event-patterns-over-windows); a worked example is [a post, then a popular follower](../use-cases/social-network.md).

RSEP-QL is RSP-QL with sequences: `EVENT` says what a single event of a window looks like, `MATCH` how such events follow, and what `MATCH` finds is joined
with the rest of `WHERE` like a sub-SELECT: with windows, background graphs, filters and aggregates.

```sparql
PREFIX : <http://ex.org/>
SELECT ?x
FROM NAMED WINDOW :w ON :s [RANGE 10s]
EVENT ON :w { ?x :a [] } AS A
EVENT ON :w { ?x :b [] } AS B
WHERE { MATCH { A SEQ B } }
```

## Syntax

```
Event    := EVENT ON w GroupGraphPattern AS Name            after the sources, before WHERE
Pattern  := MATCH '{' EP '}'                                wherever GRAPH may stand
EP       := Unit ( Op Unit )*                               from the left, all Op alike
Op       := SEQ [ Select ] | SEQ NOT Unit SEQ [ Select ] | DURING
Select   := NAIVE | CHRONOLOGICAL | RECENT | ANY | NEXT | STRICT | PARTITION ?k      also SEQ^n, SEQ^c, SEQ^r
Unit     := Name | '(' EP ')' | FIRST Unit | LAST Unit
Consume  := CONSUME ( NONE | CHRONOLOGICAL | RECENT )       after WHERE and its modifiers, before REPORT
```

The pattern of an event is any SPARQL pattern over **that event alone**; `GRAPH` in it reads background graphs. A blank node in it is a variable of that event
alone. A name may stand several times in `MATCH`, and in several `MATCH`es.

By default a query with `MATCH` is evaluated at every instant with a new event and reports what is new (`REPORT ON CONTENT CHANGE`, `ISTREAM`); one that consumes
reports all of every evaluation (`RSTREAM`). `--provenance` names the events of an answer, if `WHERE` has one `MATCH`, at its top, and nothing is grouped.

All examples read the same six events; `u` and `v` are the values of `?x`. They are evaluated once, when all events are there. In a picture every arc is an answer,
over the events that it is made of; the letter before it is its `?x`.

## Sequence
"""
PROFILES_TEXT = """
## Profiles

`spaseq run --profile NAME`, `spaseq.compile(text, profile=…)` and [`spaseq compare`](cli.md#compare) run the same text as another engine would. A profile replaces every
`SEQ` and `CONSUME`, and the windows of events where it says so; it replaces `REPORT` and the stream operator only if the text has none.

| profile | windows of events | `SEQ` | `CONSUME` | `REPORT` | operator |
|---|---|---|---|---|---|
"""
AFTER = """
The `csparql-` profiles need `[RANGE … STEP …]` in time on every window, and no `FIRST`, `LAST`, `NOT` and `DURING` (SPQ725, SPQ726). `csparql-seq` is the
paper's reading of C-SPARQL's `timestamp`, one latest instant per *pattern*; the function [`timestamp`](semantics.md#3-windows-and-continuous-sparql) is per solution.

## What it costs

`spaseq explain` says for every `SEQ` whether its answers are followed from event to event or looked for anew. A `MATCH` over a window that drops nothing, in a query
that consumes nothing, keeps every event: it is warned of (SPW701).
"""


def page() -> str:
    """The whole page as Markdown."""
    lines = [HEAD.rstrip("\n"), *_entries(SEQUENCE)]
    lines += [
        "",
        "## FIRST and LAST",
        "",
        "Those that no other precedes, or that precede no other; all simultaneous ones count. They mean something else on the two sides of `SEQ`:",
    ]
    lines += _entries(ENDS)
    lines += [
        "",
        "## Which pairs: policies",
        "",
        "A policy belongs to one `SEQ`. `SEQ ANY` is the plain one.",
    ]
    lines += [*_entries(POLICIES), "", "## NOT and DURING", *_entries(MORE)]
    lines += [
        "",
        "## Consumption",
        "",
        (
            "`CONSUME` holds for every `MATCH` of the query, each by itself: the triples that some answer of it used at an evaluation are gone for that window in that `MATCH` at "
            "all later ones. Whether the rest of `WHERE` kept the answer does not matter, and `WINDOW` still sees everything. The patterns of events are then triple patterns and "
            "filters only; EXISTS in a filter looks at what is left of the event."
        ),
    ]
    lines += [*_entries(CONSUMPTION), PROFILES_TEXT.rstrip("\n")]
    for name, each in PROFILES.items():
        windows = "everything so far" if each.everything else "their own"
        how = "`WINDOW` for each event" if each.windows else f"`{each.selected.value}`"
        report = each.report.trigger.value + (" AND NON-EMPTY CONTENT" if each.report.non_empty else "")
        cells = (f"`{name}`", windows, how, each.consumption.value, report, each.emission.value)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, AFTER.rstrip("\n")]) + "\n"


def _entries(prose: dict[str, str]) -> list[str]:
    lines = []
    for name, text in prose.items():
        case = CASES[name]
        title = name[0].upper() + name[1:]
        lines += ["", f"### {title}", "", text, "", "```sparql", _match(case), "```", ""]
        lines.append(f"![Answers: {name}](images/{picture(case)})")
    return lines


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_an_example_answers_what_it_states(case: Case) -> None:
    """The reference gives the lines that the example expects, with their events."""
    check_matches(case, "reference", _found(case))


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_drawing_of_an_event_pattern_is_current(case: Case, golden: Callable[[str, str], None]) -> None:
    """What the page shows is what the reference finds."""
    golden(f"docs/reference/images/{picture(case)}", drawn(case))


def test_the_page_of_event_patterns_is_current(golden: Callable[[str, str], None]) -> None:
    """`make docs` rewrites it."""
    golden("docs/reference/event-patterns.md", page())


def test_every_example_is_on_the_page() -> None:
    """No example without prose, no prose without example."""
    assert list(CASES) == [*SEQUENCE, *ENDS, *POLICIES, *MORE, *CONSUMPTION]
