"""Rules that certainly produce without end (semantics 2.7), so that they are reported before they reach a limit one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final

from pyoxigraph import Literal

from spaseq.algebra.expressions import Arithmetic, Call, Compare, Constant, Expression, Unary, Var
from spaseq.algebra.intervals import Rule
from spaseq.algebra.patterns import Bgp, Extend, Pattern, TriplePattern
from spaseq.model.values import Kind, literal_value
from spaseq.temporal.instants import XSD


def counts_without_end(rule: Rule) -> str | None:
    """The variable of a rule that feeds itself for ever from every solution in which it is an integer.

    The pattern is a basic graph pattern and nothing but BINDs on it. One of its triple patterns has the variable as object, which
    stands nowhere else in it, and the template has the same triple with the variable plus or minus a constant. What the rule
    produces is then again a solution, together with the same other triples, at the same interval and with a number not seen before.
    """
    return next((number.name for number, made in _fed_back(rule) if _moves(made, number)), None)


def writes_without_end(rule: Rule) -> Expression | None:
    """What must be true of a solution from which a rule feeds itself for ever: as by counting, with texts that get longer or new names."""
    found = (_renews(made, own) for own, made in _fed_back(rule))
    return next((condition for condition in found if condition is not None), None)


def _fed_back(rule: Rule) -> Iterator[tuple[Var, Expression]]:
    """The variables that stand once, as object, where the template puts a value of a BIND in the same triple; with that BIND."""
    triples, made = _basic(rule.pattern)
    many = Counter(node.name for triple in triples for node in _nodes(triple) if isinstance(node, Var))
    needed = _needed(rule)
    for triple in triples:
        for own in rule.template:
            before, next_one = triple.object, own.object
            if (
                isinstance(before, Var)
                and isinstance(next_one, Var)
                and many[before.name] == 1
                and needed <= {*many, next_one.name}
                and (own.subject, own.predicate) == (triple.subject, triple.predicate)
                and not (isinstance(own.subject, Var) and own.subject.hidden)
                and next_one.name in made
            ):
                yield before, made[next_one.name]


_MOST: Final = 1_000
"""How many ways to read what a rule produces are tried."""


def invents_without_end(rule: Rule) -> frozenset[str] | None:
    """The variables of a rule that feeds itself for ever from every solution in which none of them is a literal.

    The pattern is a basic graph pattern and nothing but BINDs on it. Some of its triple patterns read triples of the template, the
    others what they have read before, and a variable reads a blank node. What the rule produces is then again a solution, at the
    same interval and with a node not seen before: the template makes another one of it.
    """
    triples, _ = _basic(rule.pattern)
    variables = {node for triple in triples for node in _nodes(triple) if isinstance(node, Var)}
    blanks = {node for triple in rule.template for node in _nodes(triple) if _is_new(node)}
    subjects = {triple.subject for triple in triples if not triple.is_path}
    predicates = {triple.predicate for triple in triples}
    if not blanks or blanks & variables or not _needed(rule) <= {each.name for each in variables}:
        return None
    if (len(rule.template) + 1) ** len(triples) > _MOST:
        return None
    for choice in product((None, *rule.template), repeat=len(triples)):
        read = _read_again(triples, choice)
        made = [each for each in choice if each is not None]
        free = {each.subject for each in made if isinstance(each.subject, Var) and not each.subject.hidden}
        free -= subjects
        if (
            read is not None
            and any(_is_new(node) and not variable.hidden for variable, node in read.items())
            and all(isinstance(each.predicate, Constant) or each.predicate in predicates for each in made)
            and all(read[each] == each or _is_new(read[each]) for each in free)
        ):
            return frozenset(each.name for each in free)
    return None


def _read_again(
    triples: tuple[TriplePattern, ...], choice: tuple[TriplePattern | None, ...]
) -> Mapping[Var, object] | None:
    """What every variable stands for if each triple pattern reads what is chosen for it, or what it has read before."""
    found: dict[Var, object] = {}
    for triple, made in zip(triples, choice, strict=True):
        for own, node in zip(_nodes(triple), _nodes(made or triple), strict=True):
            if (found.setdefault(own, node) if isinstance(own, Var) else own) != node:
                return None
    return found


def _is_new(node: object) -> bool:
    return isinstance(node, Var) and node.hidden


def _basic(pattern: Pattern) -> tuple[tuple[TriplePattern, ...], dict[str, Expression]]:
    """The triple patterns of a basic graph pattern and the BINDs on it; none of any other pattern."""
    made: dict[str, Expression] = {}
    while isinstance(pattern, Extend):
        made[pattern.variable.name] = pattern.expression
        pattern = pattern.pattern
    return (pattern.triples, made) if isinstance(pattern, Bgp) else ((), {})


def _needed(rule: Rule) -> set[str]:
    """The variables of a template."""
    nodes = (node for triple in rule.template for node in _nodes(triple))
    return {node.name for node in nodes if isinstance(node, Var) and not node.hidden}


def _nodes(triple: TriplePattern) -> tuple[object, ...]:
    return triple.subject, triple.predicate, triple.object


def _moves(expression: Expression, number: Var) -> bool:
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


def _renews(expression: Expression, own: Var) -> Expression | None:
    """What must hold of a variable so that an expression gives a value not seen before, of which the same holds again."""
    match expression:
        case Call("UUID" | "STRUUID", ()):
            return Call("BOUND", (own,))
        case Call("CONCAT", parts) if own in parts or Call("STR", (own,)) in parts:
            pass
        case _:
            return None
    others = [part for part in parts if part not in (own, Call("STR", (own,)))]
    if not all(isinstance(part, Constant) and _is_text(part.term) for part in others):
        return None
    if not any(isinstance(part, Constant) and part.term.value for part in others):
        return None
    return Compare("=", Call("STR", (own,)), own) if own in parts else Unary("!", Call("ISBLANK", (own,)))


def _is_text(term: object) -> bool:
    return isinstance(term, Literal) and (term.language is not None or term.datatype.value == XSD + "string")
