"""Facts about the error catalogue, and the page that is generated from it: `docs/reference/errors.md`.

Every subclass of `QueryError` and `QueryWarning` is a row. Its example is a case of
`docs/reference/errors.spec`; the frame on the page is what the example really prints.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spaseq.algebra.intervals import Policy
from spaseq.errors import Diagnostic, QueryError, QueryWarning
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.languages.rsepql.query import compile_text
from spaseq.languages.sparql import lower_query
from spaseq.planner import compile_query
from spaseq.syntax.parser import parse_sparql
from spaseq.testing import load

ROOT = Path(__file__).resolve().parents[2]
LANGUAGE_ROOMS = ("syntax", "algebra", "languages", "planner")

AROUND = (
    "PREFIX : <http://ex.org/>\nSELECT *\nWITHIN {size} HOURS\nFROM STREAM S <http://ex.org/s>\nWHERE {{\n"
)
AROUND += "  SEQ (A)\n  DEFINE GPM A ON S {{ ?h :fare ?f . FILTER({condition}) }}\n}}"
DEFINED = "PREFIX : <http://ex.org/>\nSELECT *\nWITHIN 1 HOUR\nFROM STREAM S <http://ex.org/s>\nWHERE {{\n  SEQ ({seq})\n{gpms}\n}}"


def _defined(seq: str) -> str:
    names = re.findall(r"[A-Z][0-9]+", seq)
    return DEFINED.format(
        seq=seq, gpms="\n".join(f"  DEFINE GPM {n} ON S {{ ?h :fare{n} ?f }}" for n in names)
    )


TOO_LONG = {
    "SPQ009": ("a sum of 300 values", AROUND.format(size=1, condition=" + ".join(["?f"] * 300) + " > 3")),
    "SPQ525": ("ten pairs of alternatives", _defined(" & ".join(f"(A{n} | B{n})" for n in range(10)))),
    "SPQ526": ("fifty optional steps", _defined("A0 ; " + " ; ".join(f"A{n}?" for n in range(1, 51)))),
    "SPQ010": ("a number of 2,000 digits", AROUND.format(size="9" * 2000, condition="?f > 3")),
}
"""Examples that would fill the page; they are run, but only their headline is shown."""

GROUPS = (
    ("SPQ0", "The text", "Letters and grammar: the query cannot be read."),
    ("SPQ1", "SPARQL's rules", "It reads well, but SPARQL 1.1 gives it no meaning."),
    ("SPQ2", "The parts of a query", "Sequences, patterns, streams and prefixes that do not fit together."),
    ("SPQ3", "Variables", "Every variable that is read must be bound, by a step that may bind it."),
    ("SPQ4", "What is not supported", "Parts of SPARQL that no engine here runs."),
    ("SPQ5", "Sequences and repetitions", "Operators, quantifiers and functions over iterations."),
    ("SPQ6", "Windows", "Sizes and starts."),
    (
        "SPQ7",
        "Queries over windows",
        "Windows, streams and reports of RSP-QL and C-SPARQL, and the event patterns of RSEP-QL.",
    ),
    ("SPQ8", "EP-SPARQL", "Joins over time, rules and policies."),
    ("SPW", "Warnings", "The query runs, but it may not do what its author hopes."),
)


def catalogue() -> list[type[Diagnostic]]:
    """Every error and warning class, by code; those of the language rooms are imported first."""
    for room in LANGUAGE_ROOMS:
        package = importlib.import_module(f"spaseq.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"spaseq.{room}."):
            importlib.import_module(module.name)
    found = [*_below(QueryError), *_below(QueryWarning)]
    return sorted(found, key=lambda kind: (kind.code.startswith("SPW"), kind.code))


def _below(kind: type[Diagnostic]) -> Iterator[type[Diagnostic]]:
    for sub in kind.__subclasses__():
        if "code" in vars(sub):
            yield sub
        yield from _below(sub)


def examples() -> dict[str, tuple[str, str]]:
    """The example of every code: its title and its text."""
    cases = load(ROOT / "docs/reference/errors.spec")
    found = {(case.error[0] if case.error else case.warnings[0]): (case.name, case.query) for case in cases}
    return {**found, **TOO_LONG}


def findings(title: str, text: str) -> list[Diagnostic]:
    """What a query's checks find."""
    try:
        if title.startswith("sparql:"):
            lower_query(parse_sparql(text))
            return []
        if title.startswith("rsepql:"):
            lowered = compile_text(text, "query", "csparql-seq" if "`csparql-seq`" in title else None)
            return [each.located(text) for each in lowered.warnings]
        if title.startswith("epsparql:"):
            compile_intervals(text, policy=Policy.RECENT if "`recent`" in title else Policy.UNRESTRICTED)
            return list(compile_query(text, "epsparql").warnings)
        return list(compile_query(text).warnings)
    except QueryError as error:
        return [each.located(text) for each in (error, *error.also)]


CATALOGUE = catalogue()
EXAMPLES = examples()


# --- the page -----------------------------------------------------------------------------------


def page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Errors and warnings",
        "",
        "Generated from the error classes and from `docs/reference/errors.spec` by `make docs`; a test keeps it current.",
        "",
        "Every error has a stable code, a place with a caret, and a cure. `spaseq check` shows all errors of a query at once;",
        "in Python `QueryError` carries `code`, `line`, `column`, `message`, `cure`, and further errors in `also`.",
        "",
        "| code | name | meaning |",
        "|---|---|---|",
    ]
    lines += [
        f"| [{k.code}](#{k.code.lower()}-{k.__name__.lower()}) | {k.__name__} | {_meaning(k)} |"
        for k in CATALOGUE
    ]
    for prefix, title, note in GROUPS:
        lines += ["", f"## {title}", "", note]
        for kind in CATALOGUE:
            if kind.code.startswith(prefix):
                lines += ["", *_entry(kind)]
    return "\n".join(lines) + "\n"


def _meaning(kind: type[Diagnostic]) -> str:
    return " ".join((kind.__doc__ or "").split()).replace("|", "\\|")


def _entry(kind: type[Diagnostic]) -> list[str]:
    title, text = EXAMPLES[kind.code]
    (found,) = [each for each in findings(title, text) if each.code == kind.code][:1]
    lines = [f"### {kind.code} {kind.__name__}", "", _meaning(kind), ""]
    if kind.code in TOO_LONG:
        headline = found.render().splitlines()
        shown = [headline[0], *(line for line in headline if line.startswith("help"))]
        return [*lines, f"Example: {title}.", "", "```text", *shown, "```"]
    label = re.sub("^(sparql|rsepql|epsparql): ", "", title)
    return [*lines, f"Example: {label}.", "", "```sparql", text, "```", "", "```text", found.render(), "```"]


def test_the_page_of_errors_is_current(golden: Callable[[str, str], None]) -> None:
    """`make docs` rewrites it; its diff shows what users will read."""
    golden("docs/reference/errors.md", page())


# --- the catalogue ------------------------------------------------------------------------------


def test_codes_are_unique() -> None:
    """A code is a name for one thing."""
    counts = Counter(kind.code for kind in CATALOGUE)
    assert [code for code, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.code)
def test_every_code_is_complete(kind: type[Diagnostic]) -> None:
    """It has the project's form, a meaning that is more than its name, a message and a cure."""
    assert re.fullmatch(r"SPQ\d{3}" if issubclass(kind, QueryError) else r"SPW\d{3}", kind.code)
    assert len(kind.__doc__ or "") > 20
    assert kind.message_template
    assert kind.label_template
    assert kind.cure_template
    assert any(kind.code.startswith(prefix) for prefix, _, _ in GROUPS)


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.code)
def test_every_code_has_an_example_that_raises_it_and_nothing_else(kind: type[Diagnostic]) -> None:
    """The example shows this mistake alone, at a place inside the text, with no field left unfilled."""
    title, text = EXAMPLES[kind.code]
    found = findings(title, text)
    assert [each.code for each in found] == [kind.code]
    assert type(found[0]) is kind
    assert 1 <= found[0].line <= text.count("\n") + 1
    assert not re.search(r"\{[a-z_]{2,}\}", found[0].message + found[0].cure)


def test_no_example_is_left_over() -> None:
    """A code that is gone takes its example with it."""
    assert set(EXAMPLES) <= {kind.code for kind in CATALOGUE}
