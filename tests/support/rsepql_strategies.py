"""Random trees of queries over windows (semantics 3.1 and 4.1): every construct of SPARQL 1.1, of windows, sources, events and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from pyoxigraph import NamedNode

from spaseq.algebra import event_patterns as ev
from spaseq.algebra import expressions as ex
from spaseq.algebra.windows import Emission, Interval, Landmark, Range, ReportPolicy, Trigger, Unit
from spaseq.languages.rsepql.dialect import DIALECT
from spaseq.languages.rsepql.printer import format_rsepql
from spaseq.languages.rsepql.tree import (
    Bracket,
    ConsumeClause,
    EventClause,
    Registration,
    ReportClause,
    RsepqlQuery,
    StreamClause,
    calls,
    clauses,
)
from spaseq.model.terms import iri_of
from spaseq.syntax import ast
from spaseq.temporal.instants import FIRST_INSTANT, LAST_INSTANT
from support.strategies import Maker, damaged

_HEADS = (ast.SelectQuery, ast.AskQuery, ast.ConstructQuery)


class _Maker(Maker):
    """Draws one query; ``windows`` are the names that WINDOW may use."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        super().__init__(draw, spaseq=False)
        self.windows: list[ex.Constant] = []
        self.events: list[EventClause] = []

    def element(self, depth: int, *, sums: bool) -> ast.GroupElement:
        """WINDOW and MATCH now and then; no SERVICE, which is an error here."""
        if self.events and self.maybe(1):
            return ast.MatchClause(self.event_pattern(2))
        if depth > 0 and self.windows and self.maybe(2):
            return ast.GraphClause(self.one_of(self.windows), self.group(depth - 1), window=self.maybe(8))
        found = super().element(depth, sums=sums)
        return ast.Triples(self.triples()) if isinstance(found, ast.ServiceClause) else found

    def call(self, inner: Callable[[], ex.Expression], plain: Any) -> ex.Expression:
        if self.maybe(1):
            return ex.Call("TIMESTAMP", (inner(), inner(), inner()))
        return super().call(inner, plain)

    def query(self) -> RsepqlQuery:
        streams = self.several(self.source, 0, 3)
        taken: set[object] = set()
        kept: list[ast.DatasetClause] = []
        for number, clause in enumerate(streams):
            # Names are different, so that each is declared once and each stream stands once.
            iri = replace(clause.iri, term=NamedNode(f"{clause.iri.term.value}{number}"), written="")
            clause = replace(clause, iri=iri)
            if clause.window_name is None or clause.window_name.term not in taken:
                kept.append(clause)
                taken |= {clause.window_name.term} if clause.window_name is not None else set()
        self.windows = [
            name for c in kept if isinstance(c, StreamClause) and (name := c.window_name) is not None
        ]
        if kept:
            kept.append(ast.DatasetClause(self.iri(), named=False))  # something fills the default graph
        kept += self.several(lambda: ast.DatasetClause(self.iri(), self.maybe()), 0, 2)
        events = self.declared_events()
        plain = self.sparql()
        while not isinstance(plain, _HEADS):
            plain = self.sparql()
        if isinstance(plain, ast.ConstructQuery) and self.windows:
            plain = replace(plain, template=plain.template or ())  # the short form has triples alone
        query = replace(
            plain, datasets=(*self.shuffled(kept), *events), where=self.using(plain.where, events)
        )
        report = ReportClause(self.policy(kept)) if self.maybe() else None
        kept_triples = ev.Consumption.NONE  # the patterns of these events are more than triple patterns
        consume = ConsumeClause(kept_triples) if self.events and self.maybe() else None
        return RsepqlQuery(query, report, self.registration() if self.maybe() else None, consume)

    def declared_events(self) -> list[EventClause]:
        """Events on the windows, each with a pattern that reads no window."""
        windows, self.windows = self.windows, []
        found = []
        for number in range(self.one_of((0, 0, 1, 2)) if windows else 0):
            name = self.one_of(("E", "Post", "n", "A_")) + str(number)
            pattern = self.group(1)
            read = (clause for clause, _ in clauses(pattern) if isinstance(clause, ast.GraphClause))
            timed = any(call.name in ("NOW", "TIMESTAMP") for call in calls(pattern))
            if not timed and not any(clause.name in windows for clause in read):
                found.append(EventClause(self.one_of(windows), True, pattern, name))
        self.windows, self.events = windows, found
        return found

    def event_pattern(self, depth: int) -> ev.EventPattern:
        """Names, FIRST, LAST, DURING and every SEQ."""
        kind = self.draw(st.integers(0, 5)) if depth else 0
        if kind == 0:
            event = self.one_of(self.events)
            return ev.DeclaredEvent(event.name, event.iri.term.value, event.pattern)
        if kind == 1:
            operand = self.event_pattern(depth - 1)
            return ev.FirstOf(operand) if self.maybe() else ev.LastOf(operand)
        left, right = self.event_pattern(depth - 1), self.event_pattern(depth - 1)
        if kind == 2:
            return ev.EventDuring(left, right)
        selected = self.one_of([each for each in ev.Selected if each is not ev.Selected.PARTITION])
        absent = self.event_pattern(depth - 1) if self.maybe(3) else None
        return ev.EventSeq(left, right, selected, None, absent)

    def using(self, where: ast.GroupPattern, events: list[EventClause]) -> ast.GroupPattern:
        """The same group with a WINDOW for every window and a MATCH for every event, so that none is unused."""
        blocks: list[ast.GroupElement] = [
            ast.GraphClause(name, ast.Group(()), window=True) for name in self.windows
        ]
        blocks += [
            ast.MatchClause(ev.DeclaredEvent(each.name, each.iri.term.value, each.pattern)) for each in events
        ]
        return ast.Group((*blocks, ast.UnionClause((where,)))) if blocks else where

    def shuffled(self, items: list[ast.DatasetClause]) -> list[ast.DatasetClause]:
        found: list[ast.DatasetClause] = self.draw(st.permutations(items))
        return found

    def label(self) -> ex.Constant:
        """A name: an IRI, or a relative one in a query without BASE."""
        based = any(isinstance(item, ast.BaseDeclaration) for item in self.prologue.declarations)
        if based or self.maybe(7):
            return self.iri()
        name = self.one_of(("w1", "stream", "a/b", "?x=1", ""))
        return ex.Constant(NamedNode(iri_of(name)), f"<{name}>")

    def source(self) -> StreamClause:
        kind = self.draw(st.integers(0, 2))
        if kind == 0:
            return StreamClause(self.label(), True, self.brackets(), self.label())
        return StreamClause(self.label(), kind == 1, self.brackets() if kind == 1 or self.maybe(8) else ())

    def brackets(self) -> tuple[Bracket, ...]:
        """At most one step; one of counts in the last body only."""
        depth = self.one_of((1, 1, 1, 2, 3))
        stepped = self.one_of((*range(depth), None))
        return tuple(
            Bracket(self.body(step=level == stepped, counts=level == depth - 1 or level != stepped))
            for level in range(depth)
        )

    def body(self, *, step: bool, counts: bool) -> Range | Landmark | Interval:
        kind = self.draw(st.integers(0, 3))
        if kind == 0 and not step:
            return Landmark(self.instant())
        if kind == 1 and not step:
            return Interval(*sorted((self.instant(), self.instant())))
        unit = self.one_of(tuple(Unit)) if counts else Unit.TIME
        size = self.number(1)
        advance = self.one_of((size, self.number(1))) if step else None
        return Range(size, advance, unit, self.instant() if self.maybe(3) else None)

    def instant(self) -> int:
        return int(self.draw(st.integers(FIRST_INSTANT, LAST_INSTANT)))

    def policy(self, clauses: list[ast.DatasetClause]) -> ReportPolicy:
        steps = [b.step for c in clauses if isinstance(c, StreamClause) for b in c.window]
        trigger = self.one_of(tuple(Trigger))
        if trigger is Trigger.EVERY:
            return ReportPolicy(
                trigger, self.number(1), self.instant() if self.maybe() else None, self.maybe()
            )
        closes = any(step is not None for step in steps)
        return ReportPolicy(trigger if closes else Trigger.CONTENT_CHANGE, non_empty=self.maybe())

    def registration(self) -> Registration:
        name = self.label() if self.maybe() else self.one_of(("q", "Q_1", "select", "as"))
        return Registration(name, self.one_of((*Emission, None)))


@st.composite
def rsepql_queries(draw: Callable[[st.SearchStrategy[Any]], Any]) -> RsepqlQuery:
    """Random queries over windows that obey the static rules."""
    return _Maker(draw).query()


@st.composite
def broken_rsepql_texts(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """The text of a random query with a few tokens deleted, doubled, swapped or cut in half."""
    return damaged(draw, format_rsepql(draw(rsepql_queries())), DIALECT.vocabulary)
