"""Facts about the documentation: links lead somewhere, examples run, decisions and words are complete."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changelog.d").glob("*.md")])
PAGES += [ROOT / "tests" / "README.md", ROOT / "examples" / "README.md"]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SPASEQ = "import sys; sys.argv[0] = 'spaseq'; from spaseq.cli import main; main()"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def relative(path: Path) -> str:
    """A path as test ids show it."""
    return str(path.relative_to(ROOT))


def prose(page: Path) -> str:
    """A page without its code: fenced blocks and spans in backticks hold no links."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings can be reached by, as GitHub names them."""
    headings = re.findall(r"^#+ +(.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language on a page."""
    return [text for name, text in FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_relative_links_lead_somewhere(page: Path) -> None:
    """A link to a page that has moved is worse than no link."""
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), target
        assert not fragment or fragment in anchors(file), target


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_files_named_in_backticks_exist(page: Path) -> None:
    """A tour that names a folder long gone misleads; placeholders in angle brackets are left out."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for name in re.findall(r"`((?:src|tests|docs|scripts|changelog\.d|\.ci)/[\w./-]+)`", text):
        if "NNNN" not in name:
            assert (ROOT / name).exists(), name


SOURCES = [
    path
    for folder in ("src", "tests", "scripts", "benchmarks", "examples", "docs")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".spec", ".bench", ".lark", ".toml", ".sh", ".spaseq"}
]
ELSEWHERE = re.compile(r"\b(SEMANTICS|CONTRACT|STYLE|ARCHITECTURE|CODEBASES)\b(?![|)])")
"""Names that pages of this project do not have."""


def test_only_documents_of_the_project_are_cited() -> None:
    """A reader can open what the code cites: pages that are there, and numbered sections of the semantics."""
    sections = re.findall(
        r"^#+ (\d(?:\.\d+)?)", (ROOT / "docs/reference/semantics.md").read_text("utf-8"), re.MULTILINE
    )
    wrong = []
    for path in (*SOURCES, *PAGES, ROOT / "pyproject.toml", ROOT / "Makefile"):
        text = path.read_text(encoding="utf-8")
        cited = re.findall(r"\bsemantics\s+(\d(?:\.\d+)?)\b", text)
        wrong += [f"{relative(path)}: semantics {number}" for number in set(cited) - set(sections)]
        wrong += [f"{relative(path)}: {name}" for name in ELSEWHERE.findall(text)]
        pages = re.findall(r"(?<![\w/])docs/[\w/-]+\.md", text)
        wrong += [
            f"{relative(path)}: {page}" for page in pages if not (ROOT / page).exists() and "NNNN" not in page
        ]
    assert wrong == []


def sessions() -> list[ParameterSet]:
    """Every page, marked if its `pycon` blocks start Spark."""
    return [
        pytest.param(
            page,
            id=relative(page),
            marks=[pytest.mark.spark]
            if any("SparkSession" in text for text in blocks(page, "pycon"))
            else [],
        )
        for page in PAGES
    ]


@pytest.mark.parametrize("page", sessions())
def test_python_sessions_in_the_documentation_run(page: Path) -> None:
    """What a `pycon` block shows is what Python prints; the blocks of a page are one session."""
    text = "\n".join(blocks(page, "pycon"))
    case = doctest.DocTestParser().get_doctest(text, {}, relative(page), str(page), 0)
    outcome: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(case, out=outcome.append)
    assert not outcome, "".join(outcome)


def commands(page: Path) -> list[str]:
    """The `$ …` lines of a page's `console` blocks, each with what it prints."""
    return re.split(r"^\$ ", "\n".join(blocks(page, "console")), flags=re.MULTILINE)[1:]


def marked(page: Path) -> ParameterSet:
    """A page, marked if one of its commands starts Spark."""
    asked = [part.partition("\n")[0] for part in commands(page)]
    on_spark = any(
        line.startswith(("spaseq demo", "spaseq run")) and not re.search("--engine local|--help", line)
        for line in asked
    )
    return pytest.param(page, id=relative(page), marks=[pytest.mark.spark] if on_spark else [])


@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_commands_in_the_documentation_print_what_is_shown(page: Path) -> None:
    """The `$ spaseq …` lines of a `console` block are run in the project's folder, in order."""
    for part in commands(page):
        command, _, expected = part.partition("\n")
        name, *arguments = shlex.split(command)
        python = {"spaseq": ["-c", SPASEQ], "spaseq-bench": ["-m", "spaseq_bench"]}
        assert name in python, f"only commands of the project are run: {command}"
        paths = os.pathsep.join(map(str, (SOURCE, ROOT / "benchmarks")))
        done = subprocess.run(
            [sys.executable, *python[name], *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "110", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        shown = done.stdout + done.stderr
        assert doctest.OutputChecker().check_output(expected, shown, FLAGS), f"$ {command}\n{shown}"


def test_decisions_are_numbered_without_gaps() -> None:
    """A gap would mean that a decision was deleted; superseded ones stay."""
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("page", DECISIONS, ids=relative)
def test_a_decision_tells_context_choice_alternatives_and_consequence(page: Path) -> None:
    """Each page has its own number in the title, a status and the four parts, and the index lists it."""
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(page.name[:4])}. ")
    assert re.search(r"^Status: (accepted|superseded by \[?decision \d+)", text, re.MULTILINE)
    parts = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert parts == ["Context", "Choice", "Rejected", "Consequence"]
    assert f"]({page.name})" in (page.parent / "README.md").read_text(encoding="utf-8")


def words() -> dict[str, str]:
    """The glossary's words with their texts."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]
    entries = [row.partition("\n") for row in rows]
    return {word: body.strip() for word, _, body in entries if body.strip()}


def test_the_glossary_fixes_the_words_everyone_uses() -> None:
    """The words the style guide asks for are there."""
    needed = (
        "event, graph event, run, match, binding, window, watermark, selection, consumption, timed mapping"
    )
    assert set(needed.split(", ")) <= set(words())


@pytest.mark.parametrize("word", sorted(words()))
def test_every_word_of_the_glossary_has_a_meaning_and_a_source(word: str) -> None:
    """A definition ends with its citation in parentheses."""
    body = words()[word]
    assert len(body) > 40
    assert re.search(
        r"\([^()]*(SPAseq|semantics|RSEP-QL|SPECTRA|EP-SPARQL|SPARQL|RDF|reference/)[^$]*\)$", body
    )


def test_no_word_of_the_glossary_is_without_text() -> None:
    """A heading alone explains nothing."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert re.findall(r"^### .+\n+(?=#|\Z)", text, re.MULTILINE) == []


def test_the_page_about_the_structure_names_every_package() -> None:
    """A package that it leaves out is not found."""
    text = (ROOT / "docs" / "explanation" / "code-structure.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (SOURCE / "spaseq").glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}`" not in text} == set()


@pytest.mark.parametrize("fragment", sorted((ROOT / "changelog.d").glob("*")), ids=relative)
def test_changelog_fragments_are_named_by_kind(fragment: Path) -> None:
    """The release puts fragments together by their kind, so the name must say it."""
    assert re.fullmatch(r"README\.md|[\w-]+\.(added|changed|fixed|breaking)\.md", fragment.name)
    assert fragment.read_text(encoding="utf-8").strip()
