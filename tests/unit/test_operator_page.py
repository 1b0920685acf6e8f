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
        "SPAseq Definition 12; semantics 1.3",
        (
            "The next event: between `σ` and `Ψ` lies no event of any stream that the query declares, whether it matches "
            "something or not. Events at the very instants of `σ` or `Ψ` do not matter."
        ),
        "`a1` and `b1` are neighbours, and so are `a3` and `b2`. Between `a2` and `b2` lies `a3`.",
    ),
    "skip-till-next": (
        "`σ ; Ψ`",
        "SPAseq Definition 11; semantics 1.3",
        (
            "The first event that fits: what does not combine with `σ` is skipped, and the first instant at which `Ψ` combines is "
            "taken. Combining means: equal values for shared variables, and all filters that look back hold."
        ),
        "Each `A` takes the first `B` after it. `a1` does not see `b2`, because `b1` came first.",
    ),
    "skip-till-any": (
        "`σ : Ψ`",
        "SPAseq Definition 10; semantics 1.3",
        "Every later event that fits. The number of matches can grow with the product of the events; give it a window.",
        "Now `a1` goes with `b1` and with `b2`.",
    ),
    "conjunction": (
        "`Ψ₁ & Ψ₂`",
        "SPAseq Definition 8; semantics 1.3",
        (
            "Both at one timestamp, with equal values for shared variables; they may come from two events, or from one event of one "
            "stream. `&` binds tighter than `|`."
        ),
        "At 5 there is an `A` on one stream and a `D` on the other.",
    ),
    "disjunction": (
        "`Ψ₁ | Ψ₂`",
        "SPAseq Definition 9; semantics 1.3",
        "Either. An event that matches both sides gives a match for each; the variables of the other side are unbound.",
        "Two `B`s and two `D`s; at 2 one of each, so two matches.",
    ),
    "repetition": (
        "`Ψ+`, `Ψ+[;]`, `Ψ+[:]`, `Ψ+[,]`",
        "SPAseq Definitions 13 and 14; semantics 1.5",
        (
            "One or more, and every number of them is a match of its own. At the start of a sequence the iterations follow each other "
            "with `;`, later with `,`; brackets choose another operator. A variable that only the repeated pattern binds is an "
            "*iteration variable*: each iteration binds it afresh, and outside its name means the last value."
        ),
        "`a2` and `a3` are the iterations between `c1` and `b2`; `?a` is the last one. With `a2` alone, `b2` is no neighbour.",
    ),
    "bounded repetition": (
        "`Ψ{m}`, `Ψ{m,n}`, `Ψ{m,}`",
        "semantics 1.5",
        "Kleene plus with `m` to `n` iterations. They are counted: `{2,1000}` has as many states as `{2,3}`. `{0,n}` is `{1,n}` or nothing.",
        "Pairs of `A`s, each with the next one (`;`, because the repetition is at the start).",
    ),
    "optional": (
        "`Ψ?`",
        "SPAseq appendix C.4, figure 24; semantics 1.6",
        "With the step, or with its negation: it is left out only where it does not occur. In last place it may just be missing.",
        "Without a `C` in between, `a1` goes with `b1`; with `c1` it goes with `b2`.",
    ),
    "negation": (
        "`Ψ!`",
        "SPAseq appendix C.4, figure 25; semantics 1.6",
        (
            "No match of the step in the gap between its positive neighbours. It sees the values of what came before it, not of what comes "
            "after. The operator before it is the one after it, or `;` or `:`."
        ),
        "As with skip-till-any above, but `c1` lies between `a1` and `b2`.",
    ),
    "negation at the end": (
        "`σ ; Ψ!` in last place",
        "semantics 1.6",
        (
            "Until the window ends, no match of the step. The match's instant is that end, and it is reported when time has passed it. A time "
            "window is needed. In first place a negation looks back to the window's start."
        ),
        "`b1` is followed by `a2`. After `b2` there is no `A` until 10, when the window ends.",
    ),
    "group": (
        "`(Ψ₁ ; Ψ₂)+`, `(…){m,n}[⋆]`, `(…)?`",
        "semantics 1.11",
        (
            "A sequence in parentheses can be repeated or left out as a whole, and groups nest. A variable that only the group binds is bound "
            "afresh by each iteration; within an iteration it joins. A group that is left out leaves nothing behind: unlike a single "
            "optional step it need not be absent."
        ),
        "One iteration or two. `;` takes the first partner of the next *step*: after `b1` the next iteration starts with `a2`.",
    ),
    "zero or more": (
        "`Ψ*`, `Ψ{0,n}`",
        "semantics 1.11",
        "`Ψ+`, or nothing. As with `?`, a choice is left out only where it does not occur.",
        "`a1` goes with `b1`, because no `C` lies between them, and by way of `c1` with `b2`.",
    ),
    "any order": (
        "`PERMUTE(Ψ₁ ; … ; Ψₙ)`",
        "semantics 1.11",
        (
            "The items in any order, 2 to 8 of them, with one operator throughout. The automaton has a state for every set of items that "
            "were taken. A filter may look at the other items; those that have not come yet are unbound."
        ),
        "Three neighbours, one of each kind, whatever comes first.",
    ),
    "gap": (
        "`σ ; Ψ WITHIN d`, `σ ; Ψ AFTER d`, `Ψ+[; WITHIN d]`",
        "semantics 1.11",
        (
            "How long after the last event before it a step may come. A step that comes too early or too late does not combine, so `;` takes "
            "the first one in the gap. In the brackets of a repetition it is the gap between iterations. A run is forgotten when its gap has "
            "passed, whatever the window."
        ),
        "`b1` comes too soon after `a1`, and `b2` too soon after `a3`.",
    ),
    "negation for a time": (
        "`σ ; Ψ! WITHIN d`",
        "semantics 1.11",
        (
            "No match of the step for this long. In last place the match's instant is the end of that time, and no window is needed: *A, and "
            "then no B within five minutes*."
        ),
        "Of the three `A`s only `a2` has no `B` in the second after it; this is known at 5.",
    ),
    "longest repetition": (
        "`Ψ+ LONGEST`",
        "semantics 1.11",
        (
            "No further iteration before the next step: of repetitions that start with the same event only the longest is left. It looks forward "
            "only, so shorter ones that start later remain."
        ),
        "After `a1` comes `c1`, and no further `A` before it. Before `c2`, a repetition that stops at `a2` is not the longest.",
    ),
    "skipping": (
        "`SEQ ( … ) AFTER MATCH SKIP PAST LAST EVENT`",
        "semantics 1.11",
        (
            "Of the matches in a partition, in order of their end and then of their start, one is kept only if it starts after the last event of "
            "every match kept before it: no two matches overlap."
        ),
        "`a3` goes with `b2` as well, but starts before the match of `a2` has ended.",
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
    lines += [
        "```sparql",
        f"SEQ ({facts.sequence}){' AFTER MATCH SKIP PAST LAST EVENT' if facts.skips else ''}",
        "```",
        "",
        "| match | from | to |",
        "|---|---|---|",
    ]
    for match in reference_host.run(query, case.events, case.knowledge):
        events = " ".join(f"{event.step}@{event.instant // 1_000_000}" for event in match.events)
        lines.append(f"| {events} | {match.begin // 1_000_000} | {match.instant // 1_000_000} |")
    return lines


def picture(case: Case) -> str:
    """The file name of an example's drawing."""
    return f"{case.name.replace(' ', '-')}.svg"


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_an_example_has_the_matches_it_states(case: Case) -> None:
    """The numbers in the examples were written by hand and are checked by the reference implementation."""
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
