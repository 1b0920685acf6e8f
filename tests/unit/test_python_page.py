"""Facts about the page `docs/reference/python.md`: it is generated from the docstrings, and names everything public."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import pytest

import spaseq
from spaseq import spark

HEAD = """# Python

Generated from the docstrings by `make docs`. Everything that `spaseq` and `spaseq.spark` export, and nothing else, is public.
Terms are pyoxigraph's `NamedNode`, `BlankNode` and `Literal`; times are aware `datetime` objects in UTC.
How-to pages: [run on files](../how-to/run-on-files.md), [use it from PySpark](../how-to/use-spark.md).
"""


MADE_BY_USERS = ("Engine", "Event", "Session")
"""The classes whose constructor is part of the interface."""


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    typed = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{typed}"
    default = repr(parameter.default)
    return f"{parameter.name}{typed} = {default if len(default) <= 60 else '...'}"


def _signature(name: str, thing: Callable[..., Any]) -> str:
    """A signature with annotations as they are written, one parameter per line where it is long."""
    signature = inspect.signature(thing)
    parts: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
    result = signature.return_annotation
    arrow = "" if inspect.isclass(thing) or result is signature.empty else f" -> {result}"
    short = f"{name}({', '.join(parts)}){arrow}"
    return short if len(short) <= 100 else "\n".join([f"{name}(", *(f"    {p}," for p in parts), f"){arrow}"])


def _text(thing: object) -> list[str]:
    """A docstring as Markdown: double backticks are single ones, examples are sessions."""
    text = inspect.cleandoc(inspect.getdoc(thing) or "").replace("``", "`")
    prose, session = text, ""
    if ">>> " in text:
        at = text.index(">>> ")
        prose, session = text[:at], text[at:]
    example = ["", "```pycon", ">>> from spaseq import *", session, "", "```"]
    return [prose.strip(), *(example if session else [])]


def _members(owner: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(owner).items():
        if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
            yield name, member


def _class(name: str, owner: type) -> list[str]:
    lines = [f"### {name}", ""]
    if name in MADE_BY_USERS:
        lines += ["```python", _signature(name, owner), "```", ""]
    lines += [*_text(owner), ""]
    if is_dataclass(owner):
        public = [entry for entry in fields(owner) if not entry.name.startswith("_")]
        lines += [f"Fields: {', '.join(f'`{entry.name}`' for entry in public)}.", ""] if public else []
    for attribute, member in _members(owner):
        said = inspect.getdoc(member)
        if isinstance(member, property):
            lines += [f"- `{attribute}`{': ' + said.splitlines()[0].replace('``', '`') if said else ''}"]
    for attribute, member in _members(owner):
        if not isinstance(member, property):
            function = member.__func__ if isinstance(member, classmethod) else member
            lines += [
                "",
                f"#### {name}.{attribute}",
                "",
                "```python",
                _signature(attribute, function),
                "```",
                "",
            ]
            lines += _text(function)
    return [*lines, ""]


def _function(name: str, thing: Callable[..., Any]) -> list[str]:
    return [f"### {name}", "", "```python", _signature(name, thing), "```", "", *_text(thing), ""]


def _module(module: ModuleType, title: str) -> list[str]:
    lines = [f"## {title}", ""]
    for name in sorted(module.__all__, key=str.lower):
        thing = getattr(module, name)
        lines += _class(name, thing) if inspect.isclass(thing) else _function(name, thing)
    return lines


def page() -> str:
    """The whole page."""
    lines = [HEAD, *_module(spaseq, "spaseq"), *_module(spark, "spaseq.spark")]
    text = "\n".join(lines).replace("'''", '"""')  # as ruff formats examples
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def test_the_page_of_the_python_interface_is_current(golden: Callable[[str, str], None]) -> None:
    """`make docs` rewrites it."""
    golden("docs/reference/python.md", page())


@pytest.mark.parametrize("module", [spaseq, spark], ids=["spaseq", "spaseq.spark"])
def test_everything_public_has_a_docstring(module: ModuleType) -> None:
    """What has no docstring would be an empty heading."""
    for name in module.__all__:
        thing = getattr(module, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for attribute, member in _members(thing):
                if not isinstance(member, property):
                    assert inspect.getdoc(member), f"{name}.{attribute}"
