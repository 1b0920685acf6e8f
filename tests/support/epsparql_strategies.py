"""Random trees of EP-SPARQL files (semantics 2.1): every construct of SPARQL 1.1, chains of joins over time, rules, time functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from spaseq.algebra import expressions as ex
from spaseq.algebra.intervals import TIME_FUNCTIONS
from spaseq.algebra.patterns import Relation
from spaseq.languages.epsparql.dialect import DIALECT
from spaseq.languages.epsparql.printer import format_epsparql
from spaseq.languages.epsparql.tree import EpsparqlFile, Statement
from spaseq.syntax import ast
from support.strategies import Maker, damaged


class _Maker(Maker):
    """Draws one file."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        super().__init__(draw, spaseq=False)

    def element(self, depth: int, *, sums: bool) -> ast.GroupElement:
        """Chains now and then; no SERVICE, which is an error here."""
        found = super().element(depth, sums=sums)
        if isinstance(found, ast.UnionClause) and self.maybe(7):
            many = len(found.groups) - 1
            relations = tuple(self.one_of((*Relation, None)) for _ in range(many))
            return replace(found, relations=relations if any(relations) else ())
        return ast.Triples(self.triples()) if isinstance(found, ast.ServiceClause) else found

    def call(self, inner: Callable[[], ex.Expression], plain: Any) -> ex.Expression:
        return ex.Call(self.one_of(TIME_FUNCTIONS), ()) if self.maybe(3) else super().call(inner, plain)

    def file(self) -> EpsparqlFile:
        return EpsparqlFile(self.several(self.statement, 1, 3), self.prologue)

    def statement(self) -> Statement:
        found = self.sparql()
        while isinstance(found, ast.DescribeQuery):
            found = self.sparql()
        found = replace(found, datasets=(), prologue=ast.Prologue())
        if isinstance(found, ast.ConstructQuery):
            return replace(found, modifiers=replace(ast.Modifiers(), values=found.modifiers.values))
        return found


@st.composite
def epsparql_files(draw: Callable[[st.SearchStrategy[Any]], Any]) -> EpsparqlFile:
    """Random files that obey the static rules."""
    return _Maker(draw).file()


@st.composite
def broken_epsparql_texts(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """The text of a random file with a few tokens deleted, doubled, swapped or cut in half."""
    return damaged(draw, format_epsparql(draw(epsparql_files())), DIALECT.vocabulary)
