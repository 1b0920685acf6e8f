"""A plain SPARQL query over one graph, through the evaluator of graph patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, assert_never

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.algebra.expressions import Constant, Term, Var
from spaseq.algebra.patterns import Pattern, TriplePattern
from spaseq.columnar.graphs import as_ntriples, encoded_graphs
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.plan import compile_pattern
from spaseq.columnar.views import Views
from spaseq.errors import InvalidArgument, QueryError, described
from spaseq.languages.sparql import lower_query
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import GraphLike, triples_from
from spaseq.syntax import ast, parse_sparql

Solution: TypeAlias = dict[str, Term]
"""A solution mapping; an unbound variable is absent."""


def evaluate(
    text: str,
    graph: GraphLike,
    format: str | None = None,  # noqa: A002 - the public name
    *,
    named: Mapping[str, GraphLike] | None = None,
    now: Literal,
    base: str | None = None,
) -> list[Solution] | bool | list[Triple]:
    """The answer of a SPARQL query: solutions for SELECT, a truth value for ASK, triples for CONSTRUCT.

    ``graph`` is an rdflib Graph, an iterable of triples, or text in the syntax ``format``; ``named`` are the
    graphs that GRAPH reads. ``now`` is what NOW() says.
    """
    query = parse_sparql(text, base=base)
    if named is not None and not isinstance(named, Mapping):
        raise InvalidArgument(f"`named=` is a mapping from IRIs to graphs, not {described(named)}")
    try:
        pattern = lower_query(query)
    except QueryError as error:
        error.located(text)
        raise
    solutions = _solutions(pattern, graph, format, named or {}, now, _base(query, base))
    match query:
        case ast.SelectQuery():
            return solutions
        case ast.AskQuery():
            return bool(solutions)
        case ast.ConstructQuery():
            return _constructed(query, solutions)
        case ast.DescribeQuery():
            raise AssertionError("lowering refuses DESCRIBE")
        case _:
            assert_never(query)


def _solutions(
    pattern: Pattern,
    graph: GraphLike,
    format: str | None,  # noqa: A002 - as above
    named: Mapping[str, GraphLike],
    now: Literal,
    base: str | None,
) -> list[Solution]:
    dictionary = TermDictionary()
    views = Views(encoded_graphs([as_ntriples(triples_from(graph, format))], dictionary))
    table = compile_pattern(pattern, base=base).solutions(views, dictionary, Knowledge(named), now=now)
    rows: list[Solution] = [{} for _ in range(table.size)]
    for name, column in table.columns.items():
        for row, known in zip(rows, column.tolist(), strict=True):
            if known:
                row[name] = dictionary.decode(known)
    return rows


def _base(query: ast.SparqlQuery, base: str | None) -> str | None:
    """The base IRI in force after the prologue."""
    for declaration in query.prologue.declarations:
        if isinstance(declaration, ast.BaseDeclaration):
            base = declaration.iri
    return base


def _constructed(query: ast.ConstructQuery, solutions: Iterable[Solution]) -> list[Triple]:
    """The triples of the template for every solution, each once (SPARQL 1.1, section 16.2)."""
    template = query.template
    if template is None:
        assert isinstance(query.where, ast.Group)
        template = tuple(
            triple
            for element in query.where.elements
            if isinstance(element, ast.Triples)
            for triple in element.triples
        )
    made: dict[Triple, None] = {}
    for solution in solutions:
        blanks: dict[str, BlankNode] = {}
        for triple in template:
            instance = _instance(triple, solution, blanks)
            if instance is not None:
                made[instance] = None
    return list(made)


def _instance(triple: TriplePattern, solution: Solution, blanks: dict[str, BlankNode]) -> Triple | None:
    """One triple of the template, or None where it is incomplete or no RDF."""
    terms: list[Term | None] = []
    for node in (triple.subject, triple.predicate, triple.object):
        match node:
            case Constant(term):
                terms.append(term)
            case Var(name):
                terms.append(blanks.setdefault(name, BlankNode()) if node.hidden else solution.get(name))
            case _:
                terms.append(None)
    subject, predicate, obj = terms
    if isinstance(subject, (NamedNode, BlankNode)) and isinstance(predicate, NamedNode) and obj is not None:
        return Triple(subject, predicate, obj)
    return None
