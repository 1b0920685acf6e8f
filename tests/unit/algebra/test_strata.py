"""The order of rules (semantics 2.7)."""

from __future__ import annotations

import pytest
from pyoxigraph import NamedNode

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.intervals import Rule
from spaseq.algebra.patterns import Bgp, Minus, TriplePattern
from spaseq.algebra.strata import NegativeCycle, Stratum, strata


def triple(number: int) -> TriplePattern:
    """A triple pattern with a predicate of that number."""
    return TriplePattern(Var("x"), Constant(NamedNode(f"urn:p{number}")), Var("y"))


def rule(made: int, *read: int) -> Rule:
    """A rule that makes triples of one predicate out of those of others."""
    return Rule((triple(made),), Bgp(tuple(map(triple, read))))


def test_each_rule_comes_behind_those_it_needs() -> None:
    """Rules that need each other are applied together, in the order of the text."""
    rules = [rule(1, 2), rule(2, 3, 5), rule(3, 4), rule(4, 3), rule(5, 6)]
    assert strata(rules) == (
        Stratum((2, 3), recursive=True),
        Stratum((4,), recursive=False),
        Stratum((1,), recursive=False),
        Stratum((0,), recursive=False),
    )


def test_a_cycle_through_absence_names_its_rules() -> None:
    """All of the cycle, none beside it."""
    absent = Rule((triple(2),), Minus(Bgp((triple(1),)), Bgp((triple(3),))))
    with pytest.raises(NegativeCycle) as caught:
        strata([rule(1, 0), absent, rule(3, 2)])
    assert caught.value.rules == (1, 2)


def test_a_chain_of_rules_may_be_longer_than_pythons_stack() -> None:
    """Each needs the next one."""
    many = 1_100
    assert [each.rules for each in strata([rule(n, n + 1) for n in range(many)])] == [
        (n,) for n in reversed(range(many))
    ]
