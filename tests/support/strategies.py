"""Hypothesis strategies: random queries over every construct of SPARQL 1.1 and SPAseq.

What is drawn obeys the static rules, so each tree is one that a text can mean: the printer writes it and
the parser must give it back. `broken_texts` then damages such texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from spaseq.algebra import expressions as ex
from spaseq.algebra import patterns as pt
from spaseq.languages.spaseq import printer, tree
from spaseq.languages.spaseq.dialect import DIALECT
from spaseq.syntax import ast, format_query
from spaseq.syntax.built_ins import AGGREGATES, ARGUMENTS
from spaseq.syntax.dialect import SPARQL
from spaseq.syntax.lexer import Lexer, Vocabulary, read_source

_T = TypeVar("_T")

NAMESPACES = {
    "": "http://example.org/",
    "ex": "http://example.org/vocab#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
LOCALS = ("p", "q", "Pw", "12.3", "a:b", "", "é", "x-1", "c\\~z\\.", "b%3D")
VARIABLES = ("x", "y", "z", "house", "Ω1", "_u")
GPM_NAMES = ("A", "B", "C", "a", "Filter", "SELECT", "count", "Überholt", "D_1", "seq", "on", "GPM")
DATATYPES = ("integer", "decimal", "double", "boolean", "dateTime", "string")
LEXICALS = (
    "0",
    "7",
    "-3",
    "+5",
    "2.50",
    "-.5",
    "1e9",
    "1.E-3",
    "true",
    "false",
    "05",
    "",
    "2020-01-01T00:00:00Z",
)


class Maker:
    """Draws the parts of one query; ``fresh`` names keep BIND, AS and blank nodes within the rules."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], *, spaseq: bool) -> None:
        self.draw = draw
        self.spaseq = spaseq
        self.count = 0
        prefixes = [ast.PrefixDeclaration(name, iri) for name, iri in NAMESPACES.items()]
        declared: list[ast.BaseDeclaration | ast.PrefixDeclaration] = [p for p in prefixes if self.maybe(7)]
        if self.maybe(2):
            declared.insert(0, ast.BaseDeclaration("http://example.org/base/"))
        self.prologue = ast.Prologue(tuple(declared))

    # --- choices ---

    def one_of(self, options: Sequence[_T]) -> _T:
        chosen: _T = self.draw(st.sampled_from(options))
        return chosen

    def maybe(self, tenths: int = 5) -> bool:
        return bool(self.draw(st.integers(1, 10)) <= tenths)

    def several(self, make: Callable[[], _T], least: int, most: int) -> tuple[_T, ...]:
        return tuple(make() for _ in range(self.draw(st.integers(least, most))))

    def number(self, least: int = 0) -> int:
        return int(self.draw(st.integers(least, 10**12)))

    def fresh(self) -> ex.Var:
        self.count += 1
        return ex.Var(f"fresh{self.count}")

    # --- terms ---

    def var(self) -> ex.Var:
        return ex.Var(self.one_of(VARIABLES))

    def iri(self) -> ex.Constant:
        if self.maybe(2):
            return ex.Constant(
                NamedNode(self.one_of(("urn:x:1", "http://example.org/a?b=c#d", "http://é.example/")))
            )
        prefix, local = self.one_of(tuple(NAMESPACES)), self.one_of(LOCALS)
        return ex.Constant(NamedNode(NAMESPACES[prefix] + local.replace("\\", "")), f"{prefix}:{local}")

    def literal(self) -> Literal:
        kind = self.draw(st.integers(0, 3))
        if kind == 0:
            return Literal(self.draw(st.text(max_size=8)))
        if kind == 1:
            return Literal(self.draw(st.text(max_size=4)), language=self.one_of(("en", "de-at")))
        datatype = NamedNode(NAMESPACES["xsd"] + self.one_of(DATATYPES))
        return Literal(self.one_of(LEXICALS), datatype=datatype)

    def constant(self) -> ex.Constant:
        return self.iri() if self.maybe() else ex.Constant(self.literal())

    def name(self) -> ex.Var | ex.Constant:
        return self.var() if self.maybe() else self.iri()

    # --- expressions ---

    def expression(
        self, depth: int, *, sums: bool = False, plain: Sequence[str] | None = None
    ) -> ex.Expression:
        """``sums`` allows aggregates; ``plain`` limits the variables outside of them."""
        if depth <= 0 or self.maybe(2):
            if plain is not None:
                return ex.Var(self.one_of(plain)) if plain and self.maybe() else self.constant()
            return self.var() if self.maybe() else self.constant()

        def inner() -> ex.Expression:
            return self.expression(depth - 1, sums=sums, plain=plain)

        kind = self.draw(st.integers(0, 10 if sums else 9))
        if kind == 0:
            return ex.Or(inner(), inner())
        if kind == 1:
            return ex.And(inner(), inner())
        if kind == 2:
            return ex.Compare(self.one_of(("=", "!=", "<", ">", "<=", ">=")), inner(), inner())
        if kind == 3:
            return ex.In(inner(), self.several(inner, 0, 3), self.maybe())
        if kind in (4, 5):
            return ex.Arithmetic(self.one_of("+-*/"), inner(), inner())
        if kind == 6:
            return ex.Unary(self.one_of("!+-"), inner())
        if kind == 7:
            return self.call(inner, plain)
        if kind == 8:
            arguments = self.several(inner, 0, 2)
            return ex.FunctionCall(self.iri(), arguments, bool(arguments) and self.maybe(2))
        if kind == 9:
            return ex.Exists(self.group(depth - 2), self.maybe())
        return self.aggregate(depth, iterations=self.spaseq and plain is None)

    def call(self, inner: Callable[[], ex.Expression], plain: Sequence[str] | None) -> ex.Expression:
        name = self.one_of(tuple(ARGUMENTS))
        if name == "BOUND":
            allowed = VARIABLES if plain is None else plain
            return ex.Call(name, (ex.Var(self.one_of(allowed)),)) if allowed else ex.Call("NOW", ())
        least, most = ARGUMENTS[name]
        return ex.Call(name, self.several(inner, least, min(most, 3) if most > 4 else most))

    def aggregate(self, depth: int, *, iterations: bool) -> ex.Expression:
        if iterations and self.maybe():
            if self.maybe():
                return ex.GpmFunction(self.one_of(("COUNT", "TIME", "EVENT")), self.one_of(GPM_NAMES))
            return ex.Iterated(self.one_of(("FIRST", "LAST", "PREV")), self.var())
        name = self.one_of(("COUNT", "GROUP_CONCAT", *AGGREGATES))
        operand = None if name == "COUNT" and self.maybe(3) else self.expression(depth - 1)
        separator = self.draw(st.text(max_size=3)) if name == "GROUP_CONCAT" and self.maybe() else None
        return ex.Aggregate(name, operand, self.maybe(3), separator)

    # --- triples and paths ---

    def path(self, depth: int) -> pt.Path:
        kind = self.draw(st.integers(0, 5)) if depth > 0 else 0

        def inner() -> pt.Path:
            return self.path(depth - 1)

        if kind == 1:
            return pt.Inverse(inner())
        if kind == 2:
            return pt.PathSequence(self.several(inner, 2, 3))
        if kind == 3:
            return pt.PathAlternative(self.several(inner, 2, 3))
        if kind == 4:
            return pt.PathRepeat(inner(), self.one_of("*+?"))
        if kind == 5:
            return pt.NegatedSet(self.several(self.iri, 0, 2), self.several(self.iri, 0, 2))
        return pt.Link(self.iri() if self.maybe(8) else self.rdf_type())

    def rdf_type(self) -> ex.Constant:
        return ex.Constant(NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), "a")

    def triples(self, *, paths: bool = True, least: int = 1) -> tuple[pt.TriplePattern, ...]:
        self.count += 1
        labels = [ex.Var(f"_:{label}{self.count}") for label in ("n", "b.", "0x")]

        def node() -> ex.Var | ex.Constant:
            kind = self.draw(st.integers(0, 3))
            return self.one_of(labels) if kind == 0 else self.var() if kind == 1 else self.constant()

        def triple() -> pt.TriplePattern:
            predicate: ex.Var | ex.Constant | pt.Path = self.name() if self.maybe(7) else self.rdf_type()
            if paths and self.maybe(3):
                path = self.path(3)
                predicate = path.iri if isinstance(path, pt.Link) else path
            return pt.TriplePattern(node(), predicate, node())

        return self.several(triple, least, 4)

    # --- groups ---

    def group(self, depth: int, *, sums: bool = False) -> ast.GroupPattern:
        """``sums`` allows aggregates in the group's own FILTER and BIND, as in a GPM."""
        if depth > 0 and self.maybe(1):
            return ast.SubSelect(self.select(depth - 1))
        elements: list[ast.GroupElement] = []
        for _ in range(self.draw(st.integers(0, 3))):
            element = self.element(depth, sums=sums)
            # Two blocks of triples side by side are one block.
            if not (elements and isinstance(elements[-1], ast.Triples) and isinstance(element, ast.Triples)):
                elements.append(element)
        return ast.Group(tuple(elements))

    def element(self, depth: int, *, sums: bool) -> ast.GroupElement:
        kind = self.draw(st.integers(0, 9 if depth > 0 else 4))
        if kind <= 1:
            return ast.Triples(self.triples())
        if kind == 2:
            return ast.FilterClause(self.expression(depth + 1, sums=sums))
        if kind == 3:
            return ast.BindClause(self.expression(depth + 1, sums=sums), self.fresh())
        if kind == 4:
            return self.values()
        if kind == 5:
            return ast.OptionalClause(self.group(depth - 1))
        if kind == 6:
            return ast.MinusClause(self.group(depth - 1))
        if kind == 7:
            return ast.UnionClause(self.several(lambda: self.group(depth - 1), 1, 3))
        if kind == 8:
            return ast.GraphClause(self.name(), self.group(depth - 1))
        return ast.ServiceClause(self.name(), self.group(depth - 1), self.maybe())

    def values(self) -> ast.ValuesClause:
        variables = self.draw(st.lists(st.sampled_from(VARIABLES), max_size=3, unique=True))
        rows = self.several(lambda: tuple(self.cell() for _ in variables), 0, 3)
        return ast.ValuesClause(tuple(map(ex.Var, variables)), rows)

    def cell(self) -> ex.Term | None:
        return None if self.maybe(3) else self.constant().term

    # --- SPARQL queries ---

    def select(self, depth: int) -> ast.SelectQuery:
        where = self.group(depth)
        grouped = self.maybe(4)
        modifiers = self.modifiers(depth, grouped=grouped)
        named = [key.variable or key.expression for key in modifiers.group_by]
        keys = [key.name for key in named if isinstance(key, ex.Var)]

        def item() -> ast.SelectItem:
            if self.maybe() and (keys or not grouped):
                return ast.SelectItem(ex.Var(self.one_of(keys)) if grouped else self.var())
            sums = {"sums": True, "plain": keys} if grouped else {}
            return ast.SelectItem(self.fresh(), self.expression(2, **sums))  # type: ignore[arg-type]

        items = None if not grouped and self.maybe(3) else self.several(item, 1, 3)
        clause = ast.SelectClause(items, self.one_of(("", "DISTINCT", "REDUCED")))
        return ast.SelectQuery(clause, where, modifiers)

    def modifiers(self, depth: int, *, grouped: bool) -> ast.Modifiers:
        def key() -> ast.GroupKey:
            return ast.GroupKey(self.expression(depth), self.fresh() if self.maybe(3) else None)

        def condition() -> ex.Expression:
            return self.expression(depth + 1, sums=grouped)

        return ast.Modifiers(
            self.several(key, 1, 2) if grouped else (),
            self.several(condition, 1, 2) if self.maybe(3) else (),
            self.several(lambda: ast.OrderCondition(condition(), self.maybe()), 1, 2)
            if self.maybe(3)
            else (),
            self.number() if self.maybe(3) else None,
            self.number() if self.maybe(3) else None,
            self.values() if self.maybe(2) else None,
        )

    def sparql(self) -> ast.SparqlQuery:
        kind = self.draw(st.integers(0, 5))
        datasets = self.several(lambda: ast.DatasetClause(self.iri(), self.maybe()), 0, 2)
        if kind <= 2:
            query = self.select(2)
            return ast.SelectQuery(query.select, query.where, query.modifiers, datasets, self.prologue)
        modifiers = self.modifiers(1, grouped=self.maybe(3))
        if kind == 3:
            return ast.AskQuery(self.group(2), modifiers, datasets, self.prologue)
        if kind == 4:
            if self.maybe(3):
                triples = self.triples(paths=False, least=0)
                where = ast.Group((ast.Triples(triples),) if triples else ())
                return ast.ConstructQuery(None, where, modifiers, datasets, self.prologue)
            template = self.triples(paths=False, least=0)
            return ast.ConstructQuery(template, self.group(2), modifiers, datasets, self.prologue)
        resources = None if self.maybe(3) else self.several(self.name, 1, 3)
        pattern = self.group(1) if self.maybe() else None
        return ast.DescribeQuery(resources, pattern, modifiers, datasets, self.prologue)

    # --- SPAseq queries ---

    def step(self, depth: int) -> tree.Step:
        kind = self.draw(st.integers(0, 3)) if depth > 0 else 0

        def inner() -> tree.Step:
            return self.step(depth - 1)

        if kind == 1:
            return tree.Conjunction(self.several(inner, 2, 3))
        if kind == 2:
            return tree.Disjunction(self.several(inner, 2, 3))
        if kind == 3:
            mark = self.one_of("+{?!")
            between = self.one_of(("", ",", ";", ":")) if mark in "+{" else ""
            if mark == "{":
                most = None if self.maybe(3) else self.number()
                return tree.Quantified(inner(), mark, self.number(), most, between)
            return tree.Quantified(inner(), mark, between=between)
        return tree.Name(self.one_of(GPM_NAMES))

    def sequence(self) -> tree.SequenceExpression:
        steps = self.several(lambda: self.step(3), 1, 4)
        return tree.SequenceExpression(steps, tuple(self.one_of(",;:") for _ in steps[1:]))

    def form(self) -> ast.SelectClause | tree.Construct | tree.Ask:
        kind = self.draw(st.integers(0, 3))
        if kind == 0:
            return tree.Ask()
        if kind == 1:
            return tree.Construct(self.triples(paths=False, least=0))

        def item() -> ast.SelectItem:
            if self.maybe():
                return ast.SelectItem(self.var())
            return ast.SelectItem(self.fresh(), self.expression(2, sums=True))

        items = None if self.maybe(3) else self.several(item, 1, 3)
        return ast.SelectClause(items, self.one_of(("", "DISTINCT")))

    def window(self) -> tree.WindowClause:
        unit = self.one_of(("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "EVENT"))
        size = 1 if self.maybe(2) else self.number()
        start = ex.Constant(
            Literal("2020-01-01T00:00:00Z", datatype=NamedNode(NAMESPACES["xsd"] + "dateTime"))
        )
        return tree.WindowClause(size, unit, self.maybe(), start if self.maybe(3) else None)

    def spaseq_query(self) -> tree.SpaseqQuery:
        def definition() -> tree.GpmDefinition:
            return tree.GpmDefinition(
                self.one_of(GPM_NAMES), self.one_of(("S1", "a", "Stream")), self.group(2, sums=True)
            )

        def clause() -> tree.SequenceExpression | tree.GpmDefinition:
            return self.sequence() if self.maybe(4) else definition()

        streams = self.several(
            lambda: tree.StreamDeclaration(self.one_of(("S1", "a", "On")), self.iri()), 1, 3
        )
        window = self.window() if self.maybe(6) else None
        partition = self.several(self.var, 0, 2)
        return tree.SpaseqQuery(
            self.form(), streams, self.several(clause, 0, 4), window, partition, self.prologue
        )


@st.composite
def sparql_queries(draw: Callable[[st.SearchStrategy[Any]], Any]) -> ast.SparqlQuery:
    """Random SPARQL 1.1 queries that obey the static rules."""
    return Maker(draw, spaseq=False).sparql()


@st.composite
def spaseq_queries(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tree.SpaseqQuery:
    """Random SPAseq texts' trees; the parser accepts them, later checks need not."""
    return Maker(draw, spaseq=True).spaseq_query()


@st.composite
def broken_texts(draw: Callable[[st.SearchStrategy[Any]], Any], *, dialect: str) -> str:
    """The text of a random query with a few tokens deleted, doubled, swapped or cut in half."""
    if dialect == "spaseq":
        text, vocabulary = printer.format_query(draw(spaseq_queries())), DIALECT.vocabulary
    else:
        text, vocabulary = format_query(draw(sparql_queries())), SPARQL.vocabulary
    return damaged(draw, text, vocabulary)


def damaged(draw: Callable[[st.SearchStrategy[Any]], Any], text: str, vocabulary: Vocabulary) -> str:
    """A text with a few tokens deleted, doubled, swapped or cut in half."""
    words = [token.text for token in Lexer(read_source(text), vocabulary)][:-1]
    for _ in range(draw(st.integers(1, 3))):
        if not words:
            break
        at, other = (draw(st.integers(0, len(words) - 1)) for _ in range(2))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            del words[at]
        elif kind == 1:
            words.insert(other, words[at])
        elif kind == 2:
            words[at], words[other] = words[other], words[at]
        else:
            words[at] = words[at][: len(words[at]) // 2]
    return draw(st.sampled_from((" ", "\n", "\r\n", ""))).join(words)  # type: ignore[no-any-return]
