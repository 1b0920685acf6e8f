"""The cost of compiling a query: linear in its GPMs, and bounded where steps combine."""

from __future__ import annotations

import sys
from time import process_time

import pytest

from spaseq.errors import QueryError
from spaseq.planner import compile_query
from spaseq.planner.program import build_program
from spaseq.settings import changed_settings

SHAPES = {
    "one after the other": " ; ".join,
    "a conjunction": " & ".join,
    "a disjunction": " | ".join,
    "repetitions": lambda names: " ; ".join(f"{name}+" for name in names),
    "absences": lambda names: " ; ".join([*(f"{name}!" for name in names[:-1]), names[-1]]),
    "a repeated group": lambda names: f"({' ; '.join(names)})+",
}


def query(shape: str, size: int) -> str:
    """A query of so many GPMs that share a variable; each but the first reads what the one before binds."""
    names = [f"G{number}" for number in range(size)]
    read = "" if "absences" in shape or "junction" in shape else " FILTER(?v{0} > ?v{1})"
    gpms = [
        f"DEFINE GPM {name} ON S {{ ?k :p{n} ?v{n} .{read.format(n, max(n - 1, 0))} }}"
        for n, name in enumerate(names)
    ]
    head = "PREFIX : <http://ex.org/> SELECT * WITHIN 1 MINUTE FROM STREAM S <http://ex.org/s> WHERE {"
    return "\n".join([head, f"SEQ ({SHAPES[shape](names)})", *gpms, "}"])


def calls(text: str) -> int:
    """How many Python functions are called to compile a query and its program."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        build_program(compile_query(text))
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_gpms_take_twice_the_work(shape: str) -> None:
    """Counted in calls, which no other process disturbs."""
    calls(query(shape, 10))  # what is loaded or cached at first use
    assert calls(query(shape, 120)) < 2.5 * calls(query(shape, 60))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_thousand_gpms_compile_in_seconds(shape: str) -> None:
    """A generous bound on processor time: it takes half a second, and took more than a minute."""
    began = process_time()
    build_program(compile_query(query(shape, 1_000)))
    assert process_time() - began < 10


def test_a_limit_on_choices_can_be_raised() -> None:
    """The error names the setting and the value that lets this query pass."""
    alternatives = " & ".join(f"(A{n}|B{n})" for n in range(4))
    gpms = " ".join(f"DEFINE GPM {x}{n} ON S {{ ?k :{x}{n} ?v{n} }}" for n in range(4) for x in "AB")
    text = f"PREFIX : <http://ex.org/> ASK FROM STREAM S <http://ex.org/s> WHERE {{ SEQ ({alternatives}) {gpms} }}"
    with changed_settings(max_choices=15), pytest.raises(QueryError, match="SPASEQ_SETTINGS=max_choices=16"):
        compile_query(text)
    with changed_settings(max_choices=16):
        assert len(build_program(compile_query(text)).sequence.choices) == 16


def test_a_limit_on_moves_can_be_raised() -> None:
    """So many optional steps in a row are refused, or compiled if the limit says so."""
    optional = " ; ".join(f"G{number}?" for number in range(1, 9))
    text = query("absences", 9).replace(SHAPES["absences"]([f"G{n}" for n in range(9)]), f"G0 ; {optional}")
    with changed_settings(max_moves=5), pytest.raises(QueryError, match="SPASEQ_SETTINGS=max_moves=50"):
        compile_query(text)
    with changed_settings(max_moves=500):
        compile_query(text)
