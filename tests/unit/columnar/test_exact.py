"""Numbers of any size in the column evaluator, against Python's own."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq import evaluate
from spaseq.errors import LimitReached

LARGE = st.integers(-(2**200), 2**200)
DECIMAL = st.from_regex(r"-?[0-9]{1,30}\.[0-9]{1,30}", fullmatch=True, alphabet="-.0123456789")


def value(expression: str) -> str | None:
    """The spelling of an expression's value."""
    answer = evaluate(f"SELECT ({expression} AS ?x) {{}}", [])
    assert isinstance(answer, list)
    found = answer[0].get("x")
    return None if found is None else found.value


@given(LARGE, LARGE)
def test_integers_are_compared_and_computed_as_python_does(a: int, b: int) -> None:
    """Sums, products, order."""
    assert value(f"({a}) + ({b})") == str(a + b)
    assert value(f"({a}) - ({b})") == str(a - b)
    assert value(f"({a}) * ({b})") == str(a * b)
    assert value(f"({a}) < ({b})") == str(a < b).lower()
    assert value(f"({a}) = ({b})") == str(a == b).lower()


@given(DECIMAL, DECIMAL)
def test_decimals_are_compared_and_computed_as_fractions(a: str, b: str) -> None:
    """Whatever their digits before and behind the point."""
    one, other = Fraction(a), Fraction(b)
    assert Fraction(value(f"({a}) + ({b})") or "") == one + other
    assert Fraction(value(f"({a}) - ({b})") or "") == one - other
    assert Fraction(value(f"({a}) * ({b})") or "") == one * other
    assert value(f"({a}) >= ({b})") == str(one >= other).lower()
    assert value(f"({a}) != ({b})") == str(one != other).lower()


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("ABS(-9223372036854775809)", "9223372036854775809"),
        ("CEIL(-9223372036854775808.5)", "-9223372036854775808"),
        ("FLOOR(123456789012345678901.9)", "123456789012345678901"),
        ("ROUND(123456789012345678901.5)", "123456789012345678902"),
        ("ISNUMERIC(9223372036854775808)", "true"),
        ("<http://www.w3.org/2001/XMLSchema#integer>('9223372036854775808')", "9223372036854775808"),
        ("<http://www.w3.org/2001/XMLSchema#integer>('9223372036854775808.5')", None),
        ("<http://www.w3.org/2001/XMLSchema#decimal>(9223372036854775808)", "9223372036854775808"),
        ("<http://www.w3.org/2001/XMLSchema#double>(9223372036854775808)", "9223372036854776000"),
        ("<http://www.w3.org/2001/XMLSchema#boolean>(9223372036854775808)", "true"),
        ("9223372036854775808 = 9.223372036854775808e18", "true"),
        ("9223372036854775808 + 1e0", "9223372036854776000"),
        ("9223372036854775808 = 'x'", "false"),
        ("9223372036854775808 < 'x'", None),
        ("9223372036854775808 / 0", None),
        ("IF(9223372036854775808, 1, 2)", "1"),
        ("9223372036854775808 IN (1, 9223372036854775808)", "true"),
    ],
)
def test_functions_of_large_numbers(expression: str, wanted: str | None) -> None:
    """Functions, casts, promotion to double, and comparison with what is no number."""
    assert value(expression) == wanted


def test_large_numbers_are_sorted_as_numbers() -> None:
    """Among each other and among doubles."""
    numbers = "18446744073709551616 3 9223372036854775808 -9223372036854775809 2.5 1e19"
    answer = evaluate(f"SELECT ?v {{ VALUES ?v {{ {numbers} }} }} ORDER BY ?v", [])
    assert isinstance(answer, list)
    assert [float(row["v"].value) for row in answer] == sorted(map(float, numbers.split()))


def test_a_number_that_doubles_its_digits_again_and_again_reaches_a_limit() -> None:
    """The error names the limit and how to change it."""
    squares = "BIND(9223372036854775808 AS ?n0) " + " ".join(
        f"BIND(?n{i} * ?n{i} AS ?n{i + 1})" for i in range(30)
    )
    with pytest.raises(LimitReached, match="SPASEQ_SETTINGS=number_digits=8000"):
        evaluate(f"SELECT * {{ {squares} }}", [])
