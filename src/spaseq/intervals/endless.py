"""Rules that certainly produce without end (semantics 2.7), so that nobody waits until they have reached a limit one by one."""

from __future__ import annotations

from collections import Counter

from pyoxigraph import Literal

from spaseq.algebra.expressions import Arithmetic, Constant, Expression, Var
from spaseq.algebra.intervals import Rule
from spaseq.algebra.patterns import Bgp, Extend, TriplePattern
from spaseq.model.values import Kind, literal_value


def counts_without_end(rule: Rule) -> str | None:
    """The variable of a rule that feeds itself for ever from every solution in which it is an integer.

    The pattern is a basic graph pattern and nothing but BINDs on it. One of its triple patterns has the variable as object, which
    stands nowhere else in it, and the template has the same triple with the variable plus or minus a constant. What the rule
    produces is then again a solution, together with the same other triples, at the same interval and with a number not seen before.
    """
    pattern, made = rule.pattern, dict[str, Expression]()
    while isinstance(pattern, Extend):
        made[pattern.variable.name] = pattern.expression
        pattern = pattern.pattern
    if not isinstance(pattern, Bgp):
        return None
    many = Counter(
        node.name for triple in pattern.triples for node in _nodes(triple) if isinstance(node, Var)
    )
    nodes = (node for triple in rule.template for node in _nodes(triple))
    needed = {node.name for node in nodes if isinstance(node, Var) and not node.hidden}
    for triple in pattern.triples:
        for own in rule.template:
            number, next_one = triple.object, own.object
            if (
                isinstance(number, Var)
                and isinstance(next_one, Var)
                and many[number.name] == 1
                and needed <= {*many, next_one.name}
                and (own.subject, own.predicate) == (triple.subject, triple.predicate)
                and not (isinstance(own.subject, Var) and own.subject.hidden)
                and _moves(made.get(next_one.name), number)
            ):
                return number.name
    return None


def _nodes(triple: TriplePattern) -> tuple[object, ...]:
    return triple.subject, triple.predicate, triple.object


def _moves(expression: Expression | None, number: Var) -> bool:
    """True for a number plus or minus an integer that is not zero."""
    match expression:
        case Arithmetic("+" | "-", Var(name), Constant(Literal() as term)) if name == number.name:
            pass
        case Arithmetic("+", Constant(Literal() as term), Var(name)) if name == number.name:
            pass
        case _:
            return False
    value = literal_value(term.value, term.datatype.value)
    return value.kind is Kind.INTEGER and value.number != 0
