"""Graph patterns and expressions by pyoxigraph (semantics 1.2 and 1.7).

A pyoxigraph store rewrites literals such as ``"05"^^xsd:integer`` to ``"5"``, and a query text cannot
name a blank node of the data. Terms must keep their lexical form and rows of solutions are handed over
as VALUES, so such a term is stored under a stand-in, and expressions that look at its value unwrap it.
Patterns over other terms go to pyoxigraph as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, QuerySolutions, Store, Triple

from spaseq.algebra.expressions import Exists, Expression, Term, Var, walk
from spaseq.algebra.format import format_pattern, format_select
from spaseq.algebra.patterns import (
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Slice,
    Union,
    Values,
)
from spaseq.algebra.scope import expression_variables, in_scope, lowered, mentioned, sub_patterns, visible
from spaseq.reference.lexical import AGGREGATE, LEXICAL, VALUE, preserve
from spaseq.reference.numbers import computed, functions, sizes, total
from spaseq.reference.paths import written_out

Solution: TypeAlias = dict[str, Term]
Knowledge: TypeAlias = Mapping[str, Iterable[Triple]]

EMPTY: Knowledge = MappingProxyType({})
Function: TypeAlias = Callable[..., Term | None]
NO_FUNCTIONS: Mapping[str, Function] = MappingProxyType({})
RAW = "urn:spaseq:raw:"
BLANK = "urn:spaseq:blank:"


def solutions(
    pattern: Pattern, triples: Iterable[Triple] = (), knowledge: Knowledge = EMPTY
) -> list[Solution]:
    """The distinct solutions of a pattern over an event's graph, GRAPH reading the knowledge base."""
    return _found(pattern, triples, knowledge, _distinct)


def bag(
    pattern: Pattern, triples: Iterable[Triple], graphs: Knowledge, own: Mapping[str, Function] = NO_FUNCTIONS
) -> list[Solution]:
    """The solutions of a pattern in its order, each as often as it occurs; ``own`` are further functions by IRI."""
    return _found(pattern, triples, graphs, format_select, own)


def _by_itself(pattern: Pattern) -> Pattern:
    """The pattern with a sub-SELECT around operands whose EXISTS names a variable that they do not bind.

    The store would put in what the other operand binds; SPARQL evaluates a group by itself (section 18.6).
    """
    if isinstance(pattern, (Join, LeftJoin, Union, Minus)):
        sides = [_by_itself(pattern.left), _by_itself(pattern.right)]
        left, right = (Project(each, visible(each)) if _looks_out(each) else each for each in sides)
        return replace(pattern, left=left, right=right)
    if isinstance(pattern, (Filter, Extend, Graph, Group, OrderBy, Project, Distinct, Slice)):
        return replace(pattern, pattern=_by_itself(pattern.pattern))
    return pattern


def _looks_out(pattern: Pattern) -> bool:
    """True if EXISTS in a filter of a group names a variable that the group does not bind."""
    if isinstance(pattern, Filter):
        asked = (node for node in walk(pattern.condition) if isinstance(node, Exists))
        bound = frozenset(in_scope(pattern))
        return any(mentioned(lowered(each.pattern)) - bound for each in asked) or _looks_out(pattern.pattern)
    return not isinstance(pattern, Project) and any(map(_looks_out, sub_patterns(pattern)))


def _distinct(pattern: Pattern) -> str:
    return f"SELECT DISTINCT * WHERE {{ {format_pattern(pattern)} }}"


def _found(
    pattern: Pattern,
    triples: Iterable[Triple],
    knowledge: Knowledge,
    query: Callable[[Pattern], str],
    own: Mapping[str, Function] = NO_FUNCTIONS,
) -> list[Solution]:
    pattern = _by_itself(written_out(pattern))
    graphs = [(None, list(triples)), *((NamedNode(name), list(graph)) for name, graph in knowledge.items())]
    preserved = preserve(pattern, wrap)
    raw = preserved != pattern or any(wrap(t) != t for _, graph in graphs for triple in graph for t in triple)
    store = Store()
    for name, graph in graphs:
        if name is not None:
            store.add_graph(name)
        for triple in graph:
            subject, predicate, object_ = (wrap(term) if raw else term for term in triple)
            store.add(Quad(subject, predicate, object_, name))  # type: ignore[arg-type]
    text = query(preserved if raw else pattern)
    bags = {name: partial(Bag, name) for name in re.findall(f"{AGGREGATE}[A-Z_0-9a-f:]*", text)}
    results = store.query(
        text,
        custom_functions={
            NamedNode(VALUE): value,
            NamedNode(LEXICAL): lexical,
            **functions(),
            **{NamedNode(name): function for name, function in own.items()},
        },
        custom_aggregate_functions={NamedNode(name): bag for name, bag in bags.items()},
    )
    assert isinstance(results, QuerySolutions)
    names = [name for name in in_scope(pattern) if not name.startswith("_:")]
    return [
        {name: unwrap(term) for name in names if (term := solution[name]) is not None} for solution in results
    ]


def holds(condition: Expression, mapping: Solution) -> bool:
    """True if a filter condition is true of a mapping; an error is false."""
    return bool(solutions(Filter(_row(mapping), condition)))


def value_of(expression: Expression, mapping: Solution) -> Term | None:
    """The value of an expression for a mapping; an error is None."""
    fresh = "value" + "_" * max(map(len, (*mapping, *expression_variables(expression), "")))
    return solutions(Extend(_row(mapping), Var(fresh), expression))[0].get(fresh)


def _row(mapping: Solution) -> Values:
    return Values(tuple(Var(name) for name in mapping), (tuple(mapping.values()),))


# --- lexical forms ------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def wrap(term: Term) -> Term:
    """The term itself, or a stand-in: for a literal that a store would rewrite, and for a blank node."""
    if isinstance(term, BlankNode):
        return NamedNode(BLANK + term.value)
    if not isinstance(term, Literal) or term.language is not None:
        return term
    return (
        term if stored(term) == term else Literal(term.value, datatype=NamedNode(RAW + term.datatype.value))
    )


def stored(term: Term) -> Term:
    """The term as it comes back from a store."""
    store = Store()
    store.add(Quad(NamedNode("urn:s"), NamedNode("urn:p"), term))
    found: Term = next(iter(store)).object
    return found


def unwrap(term: Term) -> Term:
    """The term behind a stand-in."""
    match term:
        case Literal(datatype=NamedNode(value=datatype)) if datatype.startswith(RAW):
            return Literal(term.value, datatype=NamedNode(datatype[len(RAW) :]))
        case NamedNode(value=iri) if iri.startswith(BLANK):
            return BlankNode(iri[len(BLANK) :])
        case _:
            return term


def value(term: Term) -> Term:
    """What an expression computes with."""
    return unwrap(term)


def lexical(term: Term) -> Term | None:
    """STR of a term, from its lexical form."""
    term = unwrap(term)
    return None if isinstance(term, BlankNode) else Literal(term.value)


def same_value(term: Term, found: Term | None) -> bool:
    """True if a term is, or equals by ``=``, a value that a store gave back."""
    return found is not None and (
        stored(term) == found or computed("=", stored(term), found) == Literal(True)
    )


class Bag:
    """An aggregate over the terms of a group, as `aggregate_name` describes it."""

    def __init__(self, name: str) -> None:
        self._name, distinct, separator = name.removeprefix(AGGREGATE).split(":")
        self._distinct = distinct == "1"
        self._separator = bytes.fromhex(separator).decode()
        self._terms: list[Term] = []

    def accumulate(self, element: Term | Triple) -> None:
        if not isinstance(element, Triple) and not (self._distinct and element in self._terms):
            self._terms.append(element)

    def finish(self) -> Term | None:
        """The value; None is an error."""
        terms = [unwrap(term) for term in self._terms]
        if self._name in ("SUM", "AVG"):
            return total(self._name, terms)
        if self._name == "GROUP_CONCAT":
            texts = [lexical(term) for term in terms]
            return None if None in texts else Literal(self._separator.join(t.value for t in texts if t))
        return self._extreme(terms)

    def _extreme(self, terms: list[Term]) -> Term | None:
        """MIN or MAX: a term whose value is extreme, so that it keeps its spelling; of several the first or last by their texts."""
        choose = min if self._name == "MIN" else max
        numbers = sizes(terms)
        if numbers:
            found = [term for term, number in zip(terms, numbers, strict=True) if number == choose(numbers)]
            return wrap(choose(found, key=str))
        store = Store()
        for number, term in enumerate(terms):
            store.add(Quad(NamedNode(f"urn:{number}"), NamedNode("urn:p"), term))
        results = store.query(f"SELECT ({self._name}(?v) AS ?r) WHERE {{ ?s ?p ?v }}")
        assert isinstance(results, QuerySolutions)
        value = next(iter(results))["r"]
        found = [term for term in terms if same_value(term, value)]
        return wrap(choose(found, key=str)) if found else None
