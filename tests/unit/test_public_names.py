"""Facts about `import spaseq`: what it offers, and that offering costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import spaseq
from spaseq.planner import CompiledQuery

ROOT = Path(__file__).resolve().parents[2]
TEXT = "ASK FROM STREAM S <urn:s> WHERE { SEQ (A) DEFINE GPM A ON S { ?s ?p ?o } }"


def test_everything_promised_is_there() -> None:
    """Each name of `__all__` leads somewhere, and `dir` shows it."""
    for name in spaseq.__all__:
        assert getattr(spaseq, name) is not None
        assert name in dir(spaseq)


def test_compile_gives_a_query_that_explains_itself() -> None:
    """The public `query`."""
    query = spaseq.compile(TEXT)
    assert isinstance(query, CompiledQuery)
    assert query.explain() == spaseq.explain(query)
    assert query.explain("mermaid").startswith("stateDiagram-v2")


def test_a_wrong_query_raises_an_error_with_a_place_and_a_code() -> None:
    """What docs/reference/python.md promises of QueryError."""
    with pytest.raises(spaseq.QueryError) as caught:
        spaseq.compile(TEXT.replace("SEQ (A)", "SEQ (B)"))
    assert (caught.value.code, caught.value.line, caught.value.column) == ("SPQ203", 1, 40)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        _ = spaseq.nothing  # type: ignore[attr-defined]


def test_import_spaseq_imports_no_stage_of_the_compiler() -> None:
    """`import spaseq` alone loads errors only; the compiler comes with the first query."""
    code = "import sys; import spaseq; print(*(name for name in sys.modules if name.startswith('spaseq.')))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["spaseq.errors"]


def test_the_public_module_stays_small() -> None:
    """Re-exports only, under 60 lines."""
    assert len((ROOT / "src/spaseq/__init__.py").read_text(encoding="utf-8").splitlines()) < 60
