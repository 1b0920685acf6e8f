"""Facts about the operators' page, `docs/reference/operators.md`: it is generated, and its examples are true.

Prose is here; examples are the cases of `docs/reference/operators.spec`, and the page shows the automaton
and the matches that they really have.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spaseq.planner import compile_query
from spaseq.planner.explain import explanation
from spaseq.testing import Case, check, load, reference_host

ROOT = Path(__file__).resolve().parents[2]
CASES = {case.name: case for case in load(ROOT / "docs/reference/operators.spec")}

OPERATORS = {
    "strict contiguity": (
        "`σ , Ψ`",
        "SPAseq Definition 12; SEMANTICS 1.3",
        (
            "The next event: between `σ` and `Ψ` lies no event of any stream that the query declares, whether it matches "
            "something or not. Events at the very instants of `σ` or `Ψ` do not matter."
        ),
        "`a1` and `b1` are neighbours, and so are `a3` and `b2`. Between `a2` and `b2` lies `a3`.",
    ),
    "skip-till-next": (
        "`σ ; Ψ`",
        "SPAseq Definition 11; SEMANTICS 1.3",
        (
            "The first event that fits: what does not combine with `σ` is skipped, and the first instant at which `Ψ` combines is "
            "taken. Combining means: equal values for shared variables, and all filters that look back hold."
        ),
        "Each `A` takes the first `B` after it. `a1` does not see `b2`, because `b1` came first.",
    ),
    "skip-till-any": (
        "`σ : Ψ`",
        "SPAseq Definition 10; SEMANTICS 1.3",
        "Every later event that fits. The number of matches can grow with the product of the events; give it a window.",
        "Now `a1` goes with `b1` and with `b2`.",
    ),
    "conjunction": (
        "`Ψ₁ & Ψ₂`",
        "SPAseq Definition 8; SEMANTICS 1.3",
        (
            "Both at one timestamp, with equal values for shared variables; they may come from two events, or from one event of one "
            "stream. `&` binds tighter than `|`. In the drawing a bar ties the edges that must match together."
        ),
        "At 5 there is an `A` on one stream and a `D` on the other.",
    ),
    "disjunction": (
        "`Ψ₁ | Ψ₂`",
        "SPAseq Definition 9; SEMANTICS 1.3",
        "Either. An event that matches both sides gives a match for each; the variables of the other side are unbound.",
        "Two `B`s and two `D`s; at 2 one of each, so two matches.",
    ),
    "repetition": (
        "`Ψ+`, `Ψ+[;]`, `Ψ+[:]`, `Ψ+[,]`",
        "SPAseq Definitions 13 and 14; SEMANTICS 1.5",
        (
            "One or more, and every number of them is a match of its own. At the start of a sequence the iterations follow each other "
            "with `;`, later with `,`; brackets choose another operator. A variable that only the repeated pattern binds is an "
            "*iteration variable*: each iteration binds it afresh, and outside its name means the last value."
        ),
        "`a2` and `a3` are the iterations between `c1` and `b2`; `?a` is the last one. With `a2` alone, `b2` is no neighbour.",
    ),
    "bounded repetition": (
        "`Ψ{m}`, `Ψ{m,n}`, `Ψ{m,}`",
        "SEMANTICS 1.5",
        "Kleene plus with `m` to `n` iterations, `m` at least 1.",
        "Pairs of `A`s, each with the next one (`;`, because the repetition is at the start).",
    ),
    "optional": (
        "`Ψ?`",
        "SPAseq appendix C.4, figure 24; SEMANTICS 1.6",
        "With the step, or with its negation: it is left out only where it does not occur. In last place it may just be missing.",
        "Without a `C` in between, `a1` goes with `b1`; with `c1` it goes with `b2`.",
    ),
    "negation": (
        "`Ψ!`",
        "SPAseq appendix C.4, figure 25; SEMANTICS 1.6",
        (
            "No match of the step in the gap between its positive neighbours. It sees the values of what came before it, not of what comes "
            "after. The operator before it is the one after it, or `;` or `:`."
        ),
        "As with skip-till-any above, but `c1` lies between `a1` and `b2`.",
    ),
    "negation at the end": (
        "`σ ; Ψ!` in last place",
        "SEMANTICS 1.6",
        (
            "Until the window ends, no match of the step. The match's instant is that end, and it is reported when time has passed it. A time "
            "window is needed. In first place a negation looks back to the window's start."
        ),
        "`b1` is followed by `a2`. After `b2` there is no `A` until 10, when the window ends.",
    ),
}


def page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Operators",
        "",
        (
            "Generated from `docs/reference/operators.spec` by `make docs`: every automaton is drawn by `explain`, and every match below was "
            "found by the reference."
        ),
        "",
        "`σ` is the sequence so far, `Ψ` a step: a pattern or several joined by `&` and `|`. Only timestamps order events: simultaneous",
        "events are never in sequence. On an edge stands `(streams operator pattern)`, with `∅` for none; grey edges let any event pass,",
        "dashed ones (`ε`) go on without an event, red ones end the run.",
        "",
        "All examples run over these two streams, in a window of 10 seconds:",
        "",
        *_streams(next(iter(CASES.values()))),
    ]
    for name, (form, source, meaning, remark) in OPERATORS.items():
        lines += ["", f"## {name.capitalize()}", "", f"{form} ({source})", "", meaning, ""]
        lines += _example(CASES[name])
        lines += ["", remark]
    return "\n".join(lines) + "\n"


def _streams(case: Case) -> list[str]:
    times = sorted({event.time for event in case.events})
    head = "| stream | " + " | ".join(str(time // 1_000_000) for time in times) + " |"
    lines = [head, "|---" * (len(times) + 1) + "|"]
    for iri in dict.fromkeys(event.stream for event in case.events):
        names = {
            event.time: next(iter(event.triples)).subject.value.removeprefix("http://ex.org/")
            for event in case.events
            if event.stream == iri
        }
        alias = iri.removeprefix("http://ex.org/").upper()
        lines.append(f"| {alias} | " + " | ".join(names.get(time, "") for time in times) + " |")
    return lines


def _example(case: Case) -> list[str]:
    query = compile_query(case.query)
    facts = explanation(query)
    lines = [f"![The automaton of SEQ ({facts.sequence})](images/{picture(case)})", ""]
    lines += ["```sparql", f"SEQ ({facts.sequence})", "```", "", "| match | from | to |", "|---|---|---|"]
    for match in reference_host.run(query, case.events, case.knowledge):
        events = " ".join(f"{event.step}@{event.instant // 1_000_000}" for event in match.events)
        lines.append(f"| {events} | {match.begin // 1_000_000} | {match.instant // 1_000_000} |")
    return lines


def picture(case: Case) -> str:
    """The file name of an example's drawing."""
    return f"{case.name.replace(' ', '-')}.svg"


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_an_example_has_the_matches_it_states(case: Case) -> None:
    """The numbers in the examples were written by hand and are checked by the judge."""
    check(case, reference_host)


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_drawing_of_an_example_is_current(case: Case, golden: Callable[[str, str], None]) -> None:
    """What the page shows is what explain draws."""
    golden(f"docs/reference/images/{picture(case)}", compile_query(case.query).explain("svg"))


def test_the_page_of_operators_is_current(golden: Callable[[str, str], None]) -> None:
    """`make docs` rewrites it."""
    golden("docs/reference/operators.md", page())


def test_every_example_is_on_the_page() -> None:
    """No example without prose, no prose without example."""
    assert list(CASES) == list(OPERATORS)


def test_the_picture_of_the_front_page_is_current(golden: Callable[[str, str], None]) -> None:
    """The README shows the automaton of the first query of the paper."""
    text = (ROOT / "examples/smart-grid.spaseq").read_text(encoding="utf-8")
    golden("docs/images/smart-grid.svg", compile_query(text, name="smart-grid.spaseq").explain("svg"))
