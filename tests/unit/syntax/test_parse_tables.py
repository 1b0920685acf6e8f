"""The parsing tables: free of conflicts, cached on disk, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaseq.languages.spaseq.dialect import DIALECT as SPASEQ
from spaseq.syntax.builder.base import Building
from spaseq.syntax.dialect import SPARQL, Dialect
from spaseq.syntax.lalr import run
from spaseq.syntax.lexer import Lexer, read_source
from spaseq.syntax.parse_tables import compile_grammar, load_table

QUERY = "ASK FROM STREAM S <urn:s> { SEQ (A) DEFINE GPM A ON S { ?s ?p ?o } }"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache directory, and no table in memory."""
    monkeypatch.setenv("SPASEQ_CACHE_DIR", str(tmp_path / "cache"))
    load_table.cache_clear()
    yield tmp_path / "cache"
    load_table.cache_clear()


def start_python(code: str, cache: Path) -> str:
    """What a fresh interpreter prints."""
    environment = {**os.environ, "SPASEQ_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_grammar_with_a_conflict_is_refused() -> None:
    """Two readings of one text are found when the table is built, not by a user."""
    from lark.exceptions import GrammarError

    with pytest.raises(GrammarError, match="conflict"):
        compile_grammar('start: "x" | start "," start', "start")


@pytest.mark.parametrize("dialect", [SPARQL, SPASEQ], ids=lambda dialect: dialect.name)
def test_every_rule_has_an_action(dialect: Dialect) -> None:
    """A rule that is no list and hands nothing through is built by a method of the dialect's builder."""
    assert issubclass(dialect.actions, Building)
    missing = {
        rule.action
        for rule in dialect.table.rules
        if rule.action and not rule.expand and not hasattr(dialect.actions, rule.action)
    }
    assert not missing


def test_the_second_start_reads_the_cache_and_needs_no_lark(cache: Path) -> None:
    """One process builds the table, the next parses without importing Lark."""
    code = f"import sys; from spaseq.languages.spaseq.dialect import parse; parse({QUERY!r}); print('lark' in sys.modules)"
    assert start_python(code, cache) == "True"
    assert [path.suffix for path in cache.iterdir()] == [".json"]
    assert start_python(code, cache) == "False"


def test_importing_the_syntax_imports_no_lark(cache: Path) -> None:
    """Lark is loaded by the first parse at the earliest."""
    assert start_python("import sys, spaseq.syntax; print('lark' in sys.modules)", cache) == "False"


@pytest.mark.parametrize("damage", ["", "{}", '{"rows": 3}', "[1]"])
def test_a_damaged_cache_file_is_rebuilt(cache: Path, damage: str) -> None:
    """A file that was cut off or overwritten costs time, not correctness."""
    dialect = SPARQL
    whole = dialect.table
    (file,) = cache.iterdir()
    file.write_text(damage, "utf-8")
    load_table.cache_clear()
    assert dialect.table == whole
    assert json.loads(file.read_text("utf-8"))["start"] == whole.start


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the directory is a file, the table lives in memory only."""
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a directory")
    monkeypatch.setenv("SPASEQ_CACHE_DIR", str(blocked / "cache"))
    load_table.cache_clear()
    dialect = SPASEQ
    actions = dialect.actions()
    assert run(dialect.table, Lexer(read_source(QUERY), dialect.vocabulary), actions) is not None
    load_table.cache_clear()
