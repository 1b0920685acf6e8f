"""The registry of functions: a declared function is one that works."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from spaseq import evaluate
from spaseq.algebra.functions import BUILT_INS, CASTS
from spaseq.syntax.built_ins import ARGUMENTS

SAMPLES = {
    "IRI": '("http://e/x")',
    "URI": '("http://e/x")',
    "STRDT": '("1", <http://e/t>)',
    "STRLANG": '("a", "en")',
    "SUBSTR": '("abc", 2)',
    "LANGMATCHES": '("en", "*")',
    "REGEX": '("abc", "b")',
    "REPLACE": '("abc", "b", "x")',
    "IF": "(true, 1, 2)",
    "BOUND": "(?x)",
    "COALESCE": "(1)",
    **dict.fromkeys(("ABS", "ROUND", "CEIL", "FLOOR"), "(-2.5)"),
    **dict.fromkeys(
        ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"),
        '("2020-02-03T04:05:06Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>)',
    ),
}


@pytest.mark.parametrize("function", BUILT_INS.values(), ids=lambda function: function.name)
def test_every_declared_function_has_a_kernel(function: object) -> None:
    """A walk over the registry: each built-in gives a value on good arguments."""
    arguments = SAMPLES.get(function.name, "(" + ", ".join(['"a"'] * function.minimum) + ")")
    (row,) = evaluate(f"SELECT ({function.name}{arguments} AS ?v) {{ BIND(1 AS ?x) }}", [])
    assert "v" in row


def test_the_grammar_and_the_registry_agree() -> None:
    """What parses is declared, with the same number of arguments."""
    assert set(ARGUMENTS) == set(BUILT_INS)
    for name, (least, most) in ARGUMENTS.items():
        function = BUILT_INS[name]
        assert function.minimum == least, name
        assert (function.maximum or most) == most, name


@pytest.mark.parametrize("iri", CASTS)
def test_every_declared_cast_has_a_kernel(iri: str) -> None:
    """A cast of a literal of its own type is that literal's value."""
    samples = {
        "string": "a", "boolean": "true", "integer": "1", "decimal": "1.5", "float": "1.5", "double": "1.5",
        "dateTime": "2020-01-01T00:00:00Z", "date": "2020-01-01", "time": "10:00:00", "duration": "P1Y1D",
        "dayTimeDuration": "P1D", "yearMonthDuration": "P1Y", "gYear": "2020", "gYearMonth": "2020-01",
        "gMonth": "--01", "gMonthDay": "--01-02", "gDay": "---03",
    }  # fmt: skip
    lexical = samples[iri.rpartition("#")[2]]
    (row,) = evaluate(f'SELECT (<{iri}>("{lexical}") AS ?v) {{}}', [])
    assert row["v"] == Literal(lexical, datatype=NamedNode(iri))
