"""Graph patterns and expressions by pyoxigraph (SEMANTICS 1.2 and 1.7).

A pyoxigraph store rewrites literals such as ``"05"^^xsd:integer`` to ``"5"``. Terms must keep their
lexical form, so such a literal is stored under a private datatype, and expressions that look at its
value unwrap it. Patterns over ordinary literals go to pyoxigraph as they are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Iterable, Mapping, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, QuerySolutions, Store, Triple

from spaseq.algebra.expressions import Expression, Term, Var
from spaseq.algebra.format import format_pattern
from spaseq.algebra.patterns import Extend, Filter, Pattern, Values
from spaseq.algebra.scope import in_scope
from spaseq.reference.lexical import VALUE, LEXICAL, preserve

Solution: TypeAlias = dict[str, Term]
Knowledge: TypeAlias = Mapping[str, Iterable[Triple]]

RAW = "urn:spaseq:raw:"


def solutions(pattern: Pattern, triples: Iterable[Triple] = (), knowledge: Knowledge = {}) -> list[Solution]:
    """The distinct solutions of a pattern over an event's graph, GRAPH reading the knowledge base."""
    graphs = [(None, list(triples)), *((NamedNode(name), list(graph)) for name, graph in knowledge.items())]
    preserved = preserve(pattern, wrap)
    raw = preserved != pattern or any(wrap(t) != t for _, graph in graphs for triple in graph for t in triple)
    store = Store()
    for name, graph in graphs:
        if name is not None:
            store.add_graph(name)
        for triple in graph:
            subject, predicate, object_ = triple
            store.add(Quad(subject, predicate, wrap(object_) if raw else object_, name))
    text = f"SELECT DISTINCT * WHERE {{ {format_pattern(preserved if raw else pattern)} }}"
    results = store.query(text, custom_functions={NamedNode(VALUE): value, NamedNode(LEXICAL): lexical})
    assert isinstance(results, QuerySolutions)
    names = [name for name in in_scope(pattern) if not name.startswith("_:")]
    return [
        {name: unwrap(term) for name in names if (term := solution[name]) is not None}
        for solution in (results if names else [])
    ] or ([{}] if not names and next(iter(results), None) is not None else [])


def holds(condition: Expression, mapping: Solution) -> bool:
    """True if a filter condition is true of a mapping; an error is false."""
    return bool(solutions(Filter(_row(mapping), condition)))


def value_of(expression: Expression, mapping: Solution) -> Term | None:
    """The value of an expression for a mapping; an error is None."""
    return solutions(Extend(_row(mapping), Var("value of"), expression))[0].get("value of")


def _row(mapping: Solution) -> Values:
    return Values(tuple(Var(name) for name in mapping), (tuple(mapping.values()),))


# --- lexical forms ------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def wrap(term: Term) -> Term:
    """The term itself, or a stand-in for a literal that a store would rewrite."""
    if not isinstance(term, Literal) or term.language is not None:
        return term
    store = Store()
    store.add(Quad(BlankNode("s"), NamedNode("urn:p"), term))
    stored = next(iter(store)).object
    return term if stored == term else Literal(term.value, datatype=NamedNode(RAW + term.datatype.value))


def unwrap(term: Term) -> Term:
    if isinstance(term, Literal) and term.datatype.value.startswith(RAW):
        return Literal(term.value, datatype=NamedNode(term.datatype.value[len(RAW) :]))
    return term


def value(term: Term) -> Term:
    """What an expression computes with."""
    return unwrap(term)


def lexical(term: Term) -> Term | None:
    """STR of a term, from its lexical form."""
    return None if isinstance(term, BlankNode) else Literal(term.value)
