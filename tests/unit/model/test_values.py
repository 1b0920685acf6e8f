"""Value columns: what literals stand for, the same in both tiers and as pyoxigraph values them."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Store

from spaseq.model.dictionary import TermDictionary
from spaseq.model.terms import Term
from spaseq.model.values import Kind, ValueColumns, is_beyond
from spaseq.temporal.instants import XSD

COLUMNS = ("kind", "number", "exact", "integer", "integral", "instant", "zoned")
LEXICAL = st.one_of(
    st.sampled_from(
        ["", "-", ".", "5.", "-.5", "INF", "-INF", "NaN", "inf", "true", " 5", "1e3", "-0.0", "1_0"]
    ),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9).map(
        str
    ),
    st.from_regex(r"\A[+-]?[0-9]{0,22}(\.[0-9]{0,22})?([eE][+-]?[0-9]{1,3})?\Z"),
)
NUMERIC = st.sampled_from(["integer", "decimal", "double", "float", "int", "unsignedByte"])


def typed(lexical: str, datatype: str) -> Literal:
    """A literal with an XML Schema datatype."""
    return Literal(lexical, datatype=NamedNode(XSD + datatype))


def both_tiers(terms: list[Term]) -> tuple[ValueColumns, ValueColumns]:
    """The value columns of the same terms, by Python and by the kernel."""
    plain, promoted = TermDictionary(), TermDictionary()
    for dictionary in (plain, promoted):
        dictionary.encode_texts([str(term) for term in terms])
    promoted.promote()
    return ValueColumns(plain).extend(), ValueColumns(promoted).extend()


@given(st.lists(st.builds(typed, LEXICAL, NUMERIC), min_size=1, max_size=20))
def test_the_kernel_decodes_what_python_decodes(terms: list[Term]) -> None:
    """Every column agrees bit by bit."""
    one, other = both_tiers(terms)
    for column in COLUMNS:
        left, right = getattr(one, column)[: len(one) + 1], getattr(other, column)[: len(one) + 1]
        np.testing.assert_array_equal(left, right, err_msg=column)
    assert [str(x) for x in one.number[: len(one) + 1]] == [str(x) for x in other.number[: len(one) + 1]]


@given(LEXICAL, NUMERIC)
def test_a_literal_is_a_number_if_it_is_one_for_pyoxigraph_or_one_beyond(lexical: str, datatype: str) -> None:
    """It decides which lexical forms have a value, and what it is; it just cannot hold all of them."""
    literal = typed(lexical, datatype)
    values = both_tiers([literal])[0]
    solutions = Store().query(
        f"SELECT (isNumeric({literal}) AS ?n) (xsd:double({literal}) AS ?v) {{}}".replace(
            "xsd:double", f"<{XSD}double>"
        )
    )
    assert isinstance(solutions, QuerySolutions)
    answer = next(iter(solutions))
    kind = Kind(values.kind[1])
    beyond = kind in (Kind.INTEGER, Kind.DECIMAL) and is_beyond(kind, lexical)
    assert (kind.numeric and not beyond) == (answer["n"].value == "true")
    if Kind(values.kind[1]).numeric and answer["v"] is not None:
        number, judged = float(values.number[1]), float(answer["v"].value)
        assert (isnan(number) and isnan(judged)) or number == pytest.approx(judged, rel=1e-6)


@pytest.mark.parametrize(
    ("term", "kind"),
    [
        (NamedNode("urn:a"), Kind.IRI),
        (BlankNode("b"), Kind.BLANK),
        (Literal("x"), Kind.STRING),
        (Literal("x", language="en"), Kind.LANG),
        (typed("true", "boolean"), Kind.BOOLEAN),
        (typed("TRUE", "boolean"), Kind.INVALID),
        (typed("5", "positiveInteger"), Kind.INTEGER),
        (typed("2020-01-01T00:00:00Z", "dateTime"), Kind.DATETIME),
        (typed("2020-02-30T00:00:00Z", "dateTime"), Kind.INVALID),
        (typed("20200-01-01T00:00:00Z", "dateTime"), Kind.DATETIME),
        (typed("2020-01-01", "date"), Kind.DATE),
        (typed("10:00:00", "time"), Kind.TIME),
        (typed("25:00:00", "time"), Kind.INVALID),
        (typed("P1Y2M", "yearMonthDuration"), Kind.YEAR_MONTH_DURATION),
        (typed("P1DT2H", "dayTimeDuration"), Kind.DAY_TIME_DURATION),
        (typed("P1Y2DT3S", "duration"), Kind.DURATION),
        (typed("P", "duration"), Kind.INVALID),
        (typed("x", "hexBinary"), Kind.OTHER),
        (Literal("x", datatype=NamedNode("urn:dt")), Kind.OTHER),
    ],
)
def test_every_sort_of_term_has_its_kind(term: Term, kind: Kind) -> None:
    """Both tiers say what sort of term an id stands for."""
    for values in both_tiers([term]):
        assert Kind(values.kind[1]) is kind


def test_numbers_say_whether_they_are_exact() -> None:
    """A float that is only near the decimal must not decide equality."""
    values = both_tiers(
        [typed("0.1", "decimal"), typed("0.5", "decimal"), typed("9007199254740993", "integer")]
    )[1]
    assert values.exact[1:4].tolist() == [False, True, False]
    assert values.integer[3] == 9007199254740993
    assert values.integral[1:4].tolist() == [False, False, True]


def test_numbers_beyond_64_bits_have_their_nearest_float() -> None:
    """Which is never taken for the number itself; one too long has no value."""
    terms: list[Term] = [
        typed(text, "integer") for text in (str(2**63), str(-(2**63)), "9" * 400, "9" * 5000)
    ]
    for values in both_tiers([*terms, typed("0.1234567890123456789", "decimal")]):
        assert values.kind[1:6].tolist() == [Kind.INTEGER] * 3 + [Kind.INVALID, Kind.DECIMAL]
        assert values.number[[1, 2, 3, 5]].tolist() == [
            2.0**63,
            -(2.0**63),
            float("inf"),
            0.1234567890123456789,
        ]
        assert values.integral[1:6].tolist() == [False, True, False, False, False]
        assert values.exact[1:6].tolist() == [False, True, False, False, False]


def test_times_and_durations_are_microseconds() -> None:
    """Date-times, dates and day-time durations share one column; the zone is remembered."""
    terms: list[Term] = [
        typed("1970-01-01T00:00:01.5+00:00", "dateTime"),
        typed("1970-01-02", "date"),
        typed("-PT0.25S", "dayTimeDuration"),
        typed("1970-01-01T00:00:00.0000001Z", "dateTime"),
    ]
    values = both_tiers(terms)[1]
    assert values.instant[1:5].tolist() == [1_500_000, 86_400_000_000, -250_000, 0]
    assert values.zoned[1:5].tolist() == [True, False, False, True]
    assert values.exact[1:5].tolist() == [True, True, True, False]


@pytest.mark.parametrize("promoted", [False, True])
def test_columns_follow_the_dictionary(promoted: bool) -> None:
    """New terms are decoded on demand; compacting keeps values with their terms, remapped or not."""
    dictionary = TermDictionary()
    if promoted:
        dictionary.promote()
    values = ValueColumns(dictionary)
    first = dictionary.encode_texts([str(typed(str(i), "integer")) for i in range(200)])
    assert values.extend().integer[first[199]] == 199
    second = dictionary.encode(typed("7.5", "double"))
    assert values.extend().number[second] == 7.5
    mapping = dictionary.compact([first[5], second])
    values.remap(mapping)
    assert values.extend().integer[mapping[first[5]]] == 5
    assert values.number[mapping[second]] == 7.5
    dictionary.compact([int(mapping[second])])
    assert values.extend().number[1] == 7.5
