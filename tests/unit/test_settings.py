"""Facts about the settings, and the page that is generated from them: `docs/reference/settings.md`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import Field, fields
from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument
from spaseq.settings import LIMITS, THRESHOLDS, Settings, changed_settings, parse_settings, settings

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for path in sorted((ROOT / "src/spaseq").rglob("*.py")) if path.name != "settings.py"]
TREES = {str(path.relative_to(ROOT / "src/spaseq")): ast.parse(path.read_text()) for path in SOURCES}

READ = {
    node.attr
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)
}
"""The attributes of what a call returns, as in ``settings().batch_events``."""

NO_THRESHOLD = {
    "errors.py": "how much of a value a message shows",
    "algebra/functions.py": "caches of functions of a query's parts, by the standard library",
    "algebra/scope.py": "the same",
    "temporal/instants.py": "a cache of a function of a number, by the standard library",
    "cli/arguments.py": "units of sizes",
    "cli/time_axis.py": "how many letters a drawing has room for",
    "languages/rsepql/builder.py": "the digits of the largest number of a window",
    "columnar/bgp.py": "a number that no id is",
    "columnar/row_numbers.py": "the bits of a digit",
    "columnar/kernels/spelling.py": "the digits that 64 bits hold",
    "engine/bookmarks.py": "how much of the end of a file is digested",
    "engine/checkpoint.py": "a place in a file",
    "model/packing.py": "the largest count",
    "io/growing.py": "the largest number",
    "io/jelly.py": "the format's own bound",
    "io/jsonld.py": "how far the end of an unreadable value is looked for",
    "io/sources.py": "the largest number; what one call of the system reads",
    "model/budget.py": "units of sizes; the memory of a machine that does not tell",
    "model/matches.py": "how much of a text is shown",
    "model/terms.py": "the bits of a hash",
    "model/values.py": "the digits that 64 and 128 bits hold",
    "planner/compiled.py": "how much of a text is shown",
    "spark/shuffle/routing.py": "the bits of a hash",
    "spark/schemas.py": "a number that no query has",
    "spark/sources/splits.py": "the largest number",
}
"""Modules with a large number that is no size at which behaviour switches, and what it is."""
OUTSIDE = ("testing", "workloads", "syntax", "reference", "planner/explain")
"""Packages whose sizes concern no answer, and the reference implementation."""


@pytest.mark.parametrize("field", fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_read_and_described(field: Field[int]) -> None:
    """A setting that nobody reads says nothing, and the run with small values would miss what it stands for."""
    assert field.name in READ, f"nothing reads settings().{field.name}"
    assert len(field.metadata["about"]) > 10
    if field.metadata["kind"] == "threshold":
        assert 0 < field.metadata["small"] <= 400, "a few hundred events or bytes must cross it"
        assert field.metadata["small"] < field.default or field.name == "check_bounds"


def test_settings_are_read_where_they_are_used() -> None:
    """Read at import they would be frozen: a test could not change them, a process that forks neither."""
    frozen = [f"{name}:{line}" for name, tree in TREES.items() for line in _read_at_import(tree)]
    assert frozen == []


def _read_at_import(node: ast.AST) -> Iterator[int]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.Lambda)):
            for default in [*child.args.defaults, *child.args.kw_defaults]:
                yield from _read_at_import(ast.Expression(default)) if default is not None else ()
            continue
        if isinstance(child, ast.Call) and getattr(child.func, "id", "") == "settings":
            yield child.lineno
        yield from _read_at_import(child)


def test_no_size_at_which_behaviour_switches_is_left_in_a_module() -> None:
    """Sizes of caches, and powers of two that are compared or allocated, belong to the settings."""
    found = {
        name
        for name, tree in TREES.items()
        if not name.startswith(OUTSIDE) and any(_is_size(node) for node in ast.walk(tree))
    }
    assert found - NO_THRESHOLD.keys() == set()


def _is_size(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name("lru_cache"), keywords=[_, *_]):
            return True
        case ast.BinOp(ast.Constant(1), ast.LShift(), ast.Constant(int(bits))):
            return bits >= 5
        case ast.Compare(left, _, [right]):
            sides = [left, right]
            length = any(isinstance(side, ast.Call) and ast.unparse(side.func) == "len" for side in sides)
            return length and any(isinstance(side, ast.Constant) and _large(side.value) for side in sides)
        case ast.Call(func=ast.Name("max"), args=arguments):
            return any(isinstance(side, ast.Constant) and _large(side.value) for side in arguments)
    return False


def _large(value: object) -> bool:
    return isinstance(value, int) and value >= 8


def test_a_list_of_settings_is_parsed_or_refused_with_a_cure() -> None:
    """As the environment variable has it; a name that is none is answered with the nearest one."""
    assert parse_settings("") == Settings()
    chosen = parse_settings(" small , portion_events=7,")
    assert (chosen.portion_events, chosen.batch_events) == (7, 3)
    for text, message in (
        ("portion_event=7", "did you mean `portion_events`"),
        ("portion_events", "takes a whole number, not ``"),
        ("portion_events=-1", "takes a whole number, not `-1`"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            parse_settings(text)


def test_changed_settings_end_with_their_block() -> None:
    """Also if it fails."""
    before = settings()
    with pytest.raises(ZeroDivisionError), changed_settings(portion_events=0):
        assert 1 // settings().portion_events
    assert settings() is before


def page() -> str:
    """The reference page of the settings."""
    by_name = {field.name: field for field in fields(Settings)}
    lines = [
        "# Settings",
        "",
        "Generated from `spaseq.settings` by `make docs`; a test keeps it current.",
        "",
        "`SPASEQ_SETTINGS` in the environment changes them, for a process and the workers it starts:",
        "`SPASEQ_SETTINGS=portion_events=1000,batch_events=500 spaseq run …`. Few users need it.",
        "",
        "## Limits",
        "",
        "A limit ends work that would take the machine, with an error that names it.",
        "",
        *_table(["limit", "default", "what it bounds"], [[n, by_name[n]] for n in LIMITS]),
        "",
        "## Thresholds",
        "",
        "Sizes at which the engine works differently: a cache is emptied, a batch is cut, compiled code takes over. None changes",
        "an answer. `SPASEQ_SETTINGS=small` sets all of them to the small values, with which `make test` runs the specs and properties.",
        "",
        *_table(["threshold", "default", "small", "what it is"], [[n, by_name[n]] for n in THRESHOLDS]),
    ]
    return "\n".join(lines) + "\n"


def _table(titles: list[str], rows: list[list[object]]) -> list[str]:
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    for name, field in rows:
        assert isinstance(field, Field)
        cells = [f"`{name}`", f"{field.default:,}", f"{field.metadata['small']:,}", field.metadata["about"]]
        lines.append("| " + " | ".join(cells if len(titles) == 4 else [*cells[:2], cells[3]]) + " |")
    return lines


def test_the_page_of_settings_is_current(golden: Callable[[str, str], None]) -> None:
    """`make docs` rewrites it."""
    golden("docs/reference/settings.md", page())
