"""Facts about explain: what each format tells, and that it tells the truth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from spaseq.errors import InvalidArgument
from spaseq.planner import CompiledQuery, compile_query, explain
from spaseq.planner.compiled import Optimisations
from spaseq.planner.explain import FORMATS, Explanation, explanation
from spaseq.testing import Case, load_all, reference_host

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.spaseq"))
Golden = Callable[[str, str], None]

MIXED = """PREFIX : <http://ex.org/>
SELECT ?a ?c ?d
WITHIN 10 MINUTES SLIDING
FROM STREAM S1 <http://ex.org/s1>
FROM STREAM S2 <http://ex.org/s2>
WHERE {
  SEQ (((A & B) | C) ; N! ; O? ; (D | E)+)
  DEFINE GPM A ON S1 { ?a :p ?k . OPTIONAL { ?a :q ?r FILTER(?r > 3) } FILTER(?k != :none) }
  DEFINE GPM B ON S2 { ?b :p ?k . { ?b :s 1 } UNION { ?b :s 2 } FILTER(?b != ?a) }
  DEFINE GPM C ON S1 { ?c :q ?k . GRAPH ?g { ?c a :Known } }
  DEFINE GPM N ON S1 { ?n :stop ?k . FILTER(?a != ?n) }
  DEFINE GPM O ON S2 { ?o :maybe ?k }
  DEFINE GPM D ON S2 { ?d :p ?k ; :v ?v . FILTER(?v > PREV(?v) && COUNT(D) < 5) }
  DEFINE GPM E ON S2 { ?e :p2 ?k }
}
"""


def compiled(sequence: str, *patterns: str, rest: str = "WITHIN 1 MINUTE") -> CompiledQuery:
    """A query over one stream; a pattern is `A { … }`."""
    definitions = "\n".join(f"DEFINE GPM {text.replace(' ', ' ON S ', 1)}" for text in patterns)
    return compile_query(
        f"PREFIX : <http://ex.org/>\nSELECT * {rest}\nFROM STREAM S <http://ex.org/s>\n"
        f"WHERE {{ SEQ ({sequence}) {definitions} }}"
    )


def gpm_facts(query: CompiledQuery, name: str):  # type: ignore[no-untyped-def]
    """What explain knows about one GPM."""
    return next(gpm for step in explanation(query).steps for gpm in step.gpms if gpm.name == name)


def corpus() -> list[str]:
    """Many different queries: the examples, and every spec that compiles."""
    cases = [case.query for case in load_all(ROOT / "tests" / "spec") if case.error is None]
    return list(dict.fromkeys([*(path.read_text(encoding="utf-8") for path in EXAMPLES), MIXED, *cases]))


# --- goldens ------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["text", "json", "mermaid", "dot", "svg"])
def test_the_plan_of_the_first_paper_query_is_as_reviewed(style: str, golden: Golden) -> None:
    """What users see of Query 1, in every format that is compared line by line."""
    query = compile_query(
        (ROOT / "examples/smart-grid.spaseq").read_text(encoding="utf-8"), name="smart-grid"
    )
    ending = {"text": "txt", "mermaid": "mmd"}.get(style, style)
    golden(f"tests/goldens/explain/smart-grid.{ending}", explain(query, style))


@pytest.mark.parametrize("style", ["text", "mermaid", "dot"])
def test_the_plan_of_a_query_with_every_kind_of_step_is_as_reviewed(style: str, golden: Golden) -> None:
    """Conjunction, disjunction, negation, optional, repetition, functions over iterations."""
    ending = {"text": "txt", "mermaid": "mmd"}.get(style, style)
    golden(f"tests/goldens/explain/mixed.{ending}", explain(compile_query(MIXED, name="mixed"), style))


# --- the rewritten query ------------------------------------------------------------------------


def test_the_rewritten_text_is_a_query_with_the_same_plan() -> None:
    """What explain prints as rewritten can be pasted back and means the same, for all queries we have."""
    for text in corpus():
        first = compile_query(text)
        again = compile_query(explanation(first).rewritten)
        assert str(again.automaton) == str(first.automaton), text
        assert again.distribution == first.distribution, text


def test_the_rewritten_text_has_the_same_answers() -> None:
    """The reference implementation finds the same matches for a query and for its rewritten text, on every spec with matches."""
    for case in load_all(ROOT / "tests" / "spec"):
        if case.expected:
            first = compile_query(case.query)
            again = compile_query(explanation(first).rewritten)
            assert outcome(first, case) == outcome(again, case), case.id


def outcome(query: CompiledQuery, case: Case) -> list[object]:
    """The matches of a query over the streams of a case, without what hangs on its text."""
    found = reference_host.run(query, case.events, case.knowledge)
    rows = [(m.begin, m.instant, sorted((k, str(v)) for k, v in m.bindings.items())) for m in found]
    return sorted(rows, key=str)


def test_a_filter_is_shown_where_it_was_pushed() -> None:
    """The filter on one side of a join stands inside that side."""
    query = compiled("A", "A { ?x :p ?v . GRAPH :db { ?x :q ?w } FILTER(?v > 3) }")
    body = explanation(query).rewritten
    assert re.search(r"\{\s+\?x :p \?v \.\s+FILTER\(\?v > 3\)\s+\}\s+GRAPH :db", body), body


# --- what a step needs --------------------------------------------------------------------------


def test_join_variables_are_those_that_earlier_steps_bind() -> None:
    """`B` joins on what `A` binds too, and on nothing else."""
    query = compiled("A ; B", "A { ?x :p ?y }", "B { ?x :q ?z }")
    assert [(join.name, join.gpms) for join in gpm_facts(query, "B").joins] == [("x", ("A",))]
    assert gpm_facts(query, "A").joins == ()


def test_a_negated_step_gives_nothing_to_join_on() -> None:
    """Variables of a negated pattern are not visible after it (semantics 1.6)."""
    query = compiled("A ; N! ; B", "A { ?x :p ?y }", "N { ?n :stop ?z }", "B { ?b :q ?z }")
    assert gpm_facts(query, "B").joins == ()


def test_a_negation_in_first_place_joins_with_the_step_after_it() -> None:
    """It has nobody before it, so it must be compatible with the next step (semantics 1.6)."""
    query = compiled("N! ; A", "N { ?x :stop ?n }", "A { ?x :p ?y }")
    assert [(join.name, join.gpms) for join in gpm_facts(query, "N").joins] == [("x", ("A",))]


def test_the_sides_of_a_conjunction_join_with_each_other_and_those_of_a_disjunction_do_not() -> None:
    """`&` needs compatible mappings at one instant, `|` takes either."""
    both = compiled("A & B", "A { ?x :p ?y }", "B { ?x :q ?z }")
    either = compiled("A | B", "A { ?x :p ?y }", "B { ?x :q ?z }")
    assert [join.gpms for join in gpm_facts(both, "A").joins] == [("B",)]
    assert gpm_facts(either, "A").joins == ()


def test_a_stateful_filter_says_which_step_it_reads() -> None:
    """The earlier variable is named with the pattern that binds it."""
    query = compiled("A ; B", "A { ?x :p ?y }", "B { ?x :q ?z . FILTER(?z > ?y && ?z > 3) }")
    facts = gpm_facts(query, "B")
    assert facts.filters == ("?z > 3",)
    (part,) = facts.stateful
    assert part.text == "FILTER(?z > ?y)"
    assert [(read.name, read.gpms) for read in part.reads] == [("y", ("A",))]


def test_a_filter_with_prev_reads_iterations_and_passes_the_first() -> None:
    """PREV makes a conjunct stateful and lets the first iteration through (semantics 1.5)."""
    query = compiled("A+", "A { ?x :v ?v . FILTER(?v > PREV(?v)) }")
    (part,) = gpm_facts(query, "A").stateful
    assert (part.iterations, part.skipped_first) == (("A",), True)


@pytest.mark.parametrize(
    ("sequence", "operators"),
    [("B+", (";",)), ("A ; B+", (",",)), ("A ; B+[:]", (":",)), ("A? ; B+", (";", ","))],
)
def test_the_operator_between_iterations_is_shown(sequence: str, operators: tuple[str, ...]) -> None:
    """`;` at the start, `,` later, both where an optional step decides (semantics 1.5)."""
    patterns = ["B { ?x :q ?z }"] + (["A { ?x :p ?y }"] if "A" in sequence else [])
    step = explanation(compiled(sequence, *patterns)).steps[-1]
    assert step.between == operators


def test_shared_and_iteration_variables_are_told_apart() -> None:
    """What joins everywhere, and what each iteration binds afresh."""
    facts = explanation(compiled("A ; B+", "A { ?x :p ?y }", "B { ?x :q ?z }"))
    assert [variable.name for variable in facts.shared] == ["x"]
    assert [(variable.name, variable.gpms) for variable in facts.iterated] == [("z", ("B",))]


def test_the_window_is_at_every_step() -> None:
    """The rule that pushes windows is visible in the plan."""
    facts = explanation(
        compiled("A ; B", "A { ?x :p ?y }", "B { ?x :q ?z }", rest="WITHIN 90 SECONDS SLIDING")
    )
    assert {step.window for step in facts.steps} == {"WITHIN 90 SECONDS SLIDING"}


@pytest.mark.parametrize("switch", [name for name in Optimisations.names() if name != "incremental"])
def test_an_optimisation_that_is_switched_off_is_told_with_what_then_runs(switch: str) -> None:
    """In every format that is read; what the plan says of an optimisation is not said without it."""
    plan = compile_query(MIXED, optimisations=Optimisations.without(switch))
    for style in ("text", "json", "html"):
        assert re.search(rf"{switch}: [a-z]", explain(plan, style)), style
    assert ("is dropped" in explain(plan)) == (switch != "push_window")
    assert "switched off" not in explain(compile_query(MIXED))


def test_the_cure_for_a_query_in_one_piece_is_shown() -> None:
    """A query that cannot be distributed says why and what would change it."""
    text = explain(compiled("A ; B", "A { ?x :p ?y }", "B { ?u :q ?z }", rest=""))
    assert "whole: all rows go to one worker" in text
    assert "cure" in text
    assert "warning[SPW101]" in text
    assert "warning[SPW102]" in text


@pytest.mark.parametrize("style", ["text", "html"])
def test_a_query_without_a_key_says_one_thing_of_how_it_is_spread(style: str) -> None:
    """Windows and slices of time that run apart are not called one piece."""
    steps = ("A ; B", "A { ?x :p ?y }", "B { ?u :q ?z }")
    tumbling = explain(compiled(*steps, rest="WITHIN 1 HOUR TUMBLING"), style)
    assert "windows: all rows of a window go to one worker" in tumbling
    assert "tumbling windows run apart, with no row twice" in tumbling
    assert "without a key only windows run apart: no variable" in tumbling
    sliding = explain(compiled(*steps, rest="WITHIN 1 HOUR SLIDING"), style)
    assert (
        "slices of time: of a finite input on Spark each goes to one worker, of a stream all rows do"
        in sliding
    )
    assert "without a key the query runs in one piece on a stream, and only by slices of time" in sliding
    for text in (tumbling, sliding):
        assert "whole: all rows go to one worker" not in text
        assert "the query runs in one piece:" not in text


# --- formats ------------------------------------------------------------------------------------


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    """The message shows what was asked for and what there is."""
    with pytest.raises(InvalidArgument, match="`yaml` is not a format of explain; use one of text, json"):
        explain(compiled("A", "A { ?x :p ?y }"), "yaml")


@pytest.mark.parametrize("style", FORMATS)
def test_every_query_can_be_explained_in_every_format(style: str) -> None:
    """No query that compiles makes explain fail."""
    for text in corpus():
        assert explain(compile_query(text), style).endswith("\n")


def test_json_carries_the_fields_of_the_explanation() -> None:
    """Tools can rely on the names; the version says when they change."""
    found = json.loads(explain(compile_query(MIXED), "json"))
    assert list(found) == [item.name for item in fields(Explanation)]
    assert found["version"] == 2
    assert found["steps"][3]["gpms"][1]["name"] == "D"


def records(kind: type, seen: dict[str, type]) -> dict[str, type]:
    """The dataclasses a dataclass is made of, by name."""
    seen[kind.__name__] = kind
    for hint in get_type_hints(
        kind, {**vars(__import__("spaseq.planner.explain.facts", fromlist=["x"]))}
    ).values():
        for part in (hint, *get_args(hint)):
            if isinstance(part, type) and is_dataclass(part) and part.__name__ not in seen:
                records(part, seen)
    return seen


def test_every_json_field_is_documented() -> None:
    """The page on explain has a row for each field of each object."""
    page = (ROOT / "docs/reference/explain.md").read_text(encoding="utf-8")
    for kind in records(Explanation, {}).values():
        for item in fields(kind):
            assert f"| `{item.name}` |" in page, f"{kind.__name__}.{item.name}"


class Tags(HTMLParser):
    """Checks that tags nest, and notes what a page would load."""

    void = frozenset({"meta", "br", "circle", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.loaded += [value or "" for name, value in attrs if name in {"src", "href", "srcset"}]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void:
            assert self.open.pop() == tag


@pytest.mark.parametrize("path", [*EXAMPLES, None], ids=lambda path: path.stem if path else "mixed")
def test_the_page_is_well_formed_and_loads_nothing(path: Path | None) -> None:
    """It can be opened without network, anywhere, for ever."""
    text = MIXED if path is None else path.read_text(encoding="utf-8")
    page = explain(compile_query(text), "html")
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.loaded == []
    assert "script" not in tags.seen
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) <= {"#"}


def test_what_a_query_contains_cannot_break_out_of_the_page() -> None:
    """Strings and names are escaped, in the text, the tables and the drawing."""
    query = compiled("A", 'A { ?x :p "</pre><script>alert(1)</script>" . FILTER(STR(?x) != "<b>&") }')
    page = explain(query, "html")
    assert "<script>" not in page
    assert "<b>&" not in page
    assert "&lt;script&gt;" in page
