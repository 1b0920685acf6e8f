"""Random EP-SPARQL queries with rules, and small random streams of intervals: what every evaluator must answer like the reference.

Queries come as text and use every operator, form and modifier; what is drawn obeys the rules of semantics 2.1, 2.7 and 2.9, but
for a negative cycle that RDFS may close. Times are whole seconds around the epoch, so that occurrences tie often. Nothing is
drawn whose answer SPARQL leaves open: LIMIT has a total order, aggregates are over numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.algebra.intervals import Policy
from spaseq.model.events import GraphEvent
from spaseq.model.terms import Term

EX = "http://ex.org/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
INTEGER = NamedNode("http://www.w3.org/2001/XMLSchema#integer")
NODES = tuple(NamedNode(EX + name) for name in "ab")
CLASSES = tuple(NamedNode(EX + name) for name in ("C", "D"))
PREDICATES = tuple(NamedNode(EX + name) for name in "pq")
NUMBERS = (Literal(1), Literal(2), Literal(3))
ODD = (Literal("02", datatype=INTEGER), Literal("two"))
GRAPHS = (EX + "g", EX + "h")
SECOND = 1_000_000
PREFIXES = f"PREFIX : <{EX}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
JOINS = ("SEQ", "SEQ", "SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "UNION")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class IntervalScenario:
    """A file of EP-SPARQL with at most one query, a finite input, background graphs and options."""

    query: str
    events: tuple[GraphEvent, ...]
    knowledge: dict[str, frozenset[Triple]] = field(default_factory=dict)
    policy: Policy = Policy.UNRESTRICTED
    rdfs: bool = False


@st.composite
def interval_scenarios(
    draw: st.DrawFn,
    *,
    most_events: int = 8,
    rules: bool = True,
    policies: bool = True,
    knowledge: bool = True,
) -> IntervalScenario:
    """A random file, and a stream on which it is likely to have answers."""
    policy = Policy.UNRESTRICTED
    if policies and draw(st.integers(0, 3)) == 0:
        policy = draw(st.sampled_from((Policy.CHRONOLOGICAL, Policy.RECENT)))
    drawing = _Drawing(draw, counting=policy is Policy.UNRESTRICTED, graphs=knowledge)
    text = PREFIXES + drawing.file(rules=rules)
    odd = draw(st.integers(0, 3)) == 0
    events = tuple(_event(draw, odd=odd) for _ in range(draw(st.integers(3, most_events))))
    graphs = {name: _graph(draw) for name in GRAPHS} if knowledge else {}
    return IntervalScenario(text, events, graphs, policy, knowledge and draw(st.integers(0, 2)) == 0)


@st.composite
def plain_scenarios(draw: st.DrawFn) -> IntervalScenario:
    """Plain SPARQL over one instant, whose every row uses a triple and whose groups have no duplicates."""
    text = PREFIXES + _Drawing(draw, counting=False, graphs=False, plain=True).select()
    events = tuple(_event(draw, odd=False, instant=True) for _ in range(draw(st.integers(1, 4))))
    return IntervalScenario(text, events)


def _event(draw: st.DrawFn, *, odd: bool, instant: bool = False) -> GraphEvent:
    subjects: tuple[NamedNode | BlankNode, ...] = (*NODES, BlankNode("n")) if odd else NODES
    objects: tuple[Term, ...] = (*NODES, *NUMBERS, *(ODD if odd else ()))
    triples = set()
    for _ in range(draw(st.integers(1, 3))):
        subject = draw(st.sampled_from(subjects))
        if draw(st.integers(0, 5)) == 0:
            triples.add(Triple(subject, TYPE, draw(st.sampled_from(CLASSES))))
        else:
            triples.add(Triple(subject, draw(st.sampled_from(PREDICATES)), draw(st.sampled_from(objects))))
    time = 0 if instant else draw(st.integers(-1, 5))
    long = 0 if instant else draw(st.sampled_from((0, 0, 0, 1, 2)))
    start = (time - long) * SECOND if long else None
    return GraphEvent(EX + draw(st.sampled_from("st")), time * SECOND, frozenset(triples), start=start)


def _graph(draw: st.DrawFn) -> frozenset[Triple]:
    """Some facts, and some schema."""
    objects: tuple[Term, ...] = (*NODES, *NUMBERS)
    known = {
        Triple(
            draw(st.sampled_from(NODES)),
            draw(st.sampled_from((NamedNode(EX + "k"), *PREDICATES))),
            draw(st.sampled_from(objects)),
        )
        for _ in range(draw(st.integers(0, 2)))
    }
    schema = (
        Triple(CLASSES[0], NamedNode(RDFS + "subClassOf"), CLASSES[1]),
        Triple(PREDICATES[0], NamedNode(RDFS + "subPropertyOf"), PREDICATES[1]),
        Triple(PREDICATES[0], NamedNode(RDFS + "domain"), CLASSES[0]),
        Triple(PREDICATES[1], NamedNode(RDFS + "range"), CLASSES[1]),
    )
    known |= {triple for triple in schema if draw(st.integers(0, 3)) == 0}
    return frozenset(known)


class _Drawing:
    """Draws one file. ``counting`` allows grouping and LIMIT, ``graphs`` background graphs; ``plain`` is SPARQL alone."""

    def __init__(self, draw: st.DrawFn, *, counting: bool, graphs: bool, plain: bool = False) -> None:
        self._draw = draw
        self._counting, self._graphs, self._plain = counting, graphs, plain
        self._fresh = 0
        self._any = True
        """Whether a predicate may be any: a rule would read what it produces itself, maybe for its absence."""
        self._derived: list[str] = []
        """The predicates that earlier rules produce."""

    def _one(self, options: Sequence[_T]) -> _T:
        return self._draw(st.sampled_from(options))

    def _chance(self, one_in: int) -> bool:
        return self._draw(st.integers(1, one_in)) == 1

    # --- files ---

    def file(self, *, rules: bool) -> str:
        """Some rules, and a query unless there are enough of them."""
        many = self._one((0, 0, 1, 2)) if rules else 0
        self._any = False
        statements = [self._rule(number) for number in range(many)]
        self._any = True
        if not statements or not self._chance(5):
            statements.append(self.ask() if self._chance(6) else self.select())
        return "\n".join(statements)

    def _rule(self, number: int) -> str:
        """A rule of its own predicate, which it may read again where more means more; new terms are never read by it."""
        own = f":d{number}"
        if self._chance(4):
            self._derived.append(own)
            return self._counting_rule(own)
        invents = self._chance(4)
        body = self._body(1)
        if not invents and self._chance(3):
            body = f"{{ ?x {own} ?y }} {self._one(('SEQ', 'UNION', ''))} {{ {self._triple()} {body} }}"
        template = f"?x {own} [] . ?x :note ?y" if invents else f"?x {own} ?y"
        text = f"CONSTRUCT {{ {template} }} WHERE {{ ?x {self._predicate()} ?y . {body} }}"
        self._derived.append(own)
        return text

    def _counting_rule(self, own: str) -> str:
        """A rule that makes new numbers of those it made: at later instants, or up to an end."""
        body = self._one(
            (
                f"{{ ?x {own} ?k }} SEQ {{ ?x :p ?y }} BIND(?k + 1 AS ?m)",
                f"{{ ?z {own} ?k }} SEQ {{ ?x :q ?z }} BIND(?k + 1 AS ?m)",
                f"?x {own} ?k BIND(?k + 1 AS ?m) FILTER(?m < {self._one((4, 9))})",
                f"?x {own} ?k . ?x {own} ?l BIND(?k + ?l AS ?m) FILTER(?m < {self._one((4, 9))})",
                f"?x {own} ?k . ?y {own} ?l MINUS {{ ?x :q ?y }} BIND(?k + ?l AS ?m) FILTER(?m < 7)",
            )
        )
        first = (
            f"CONSTRUCT {{ ?x {own} ?y }} WHERE {{ ?x {self._one((':p', ':q'))} ?y FILTER(isNumeric(?y)) }}"
        )
        return f"{first}\nCONSTRUCT {{ ?x {own} ?m }} WHERE {{ {body} }}"

    def ask(self) -> str:
        return f"ASK {{ {self._triple()} . {self._body(2)} }}"

    def select(self) -> str:
        first = f"{self._triple()} . " if self._plain or self._chance(2) else ""
        body = first + self._body(2)
        if self._counting and self._chance(6):
            return self._grouped(body)
        items = self._one(("*", "?x ?y", "?x ?v", "DISTINCT ?x", "?y"))
        if not self._plain and self._chance(4):
            items = f"?x ({self._time()} AS ?time)"
        every = (
            *"xyzvwopcg",
            *(f"{letter}{number}" for letter in "bn" for number in range(1, self._fresh + 1)),
        )
        modifiers = ""
        if not self._plain and self._chance(4):
            modifiers = self._limit(every) if self._counting and self._chance(2) else self._order(every)
        return f"SELECT {items} WHERE {{ {body} }} {modifiers}"

    def _grouped(self, body: str) -> str:
        aggregate = self._one(("COUNT(*)", "COUNT(DISTINCT ?v)", "COUNT(?v)", "SUM(?v)", "MAX(STR(?y))"))
        key = self._one(("?x", ""))
        self._fresh += 1
        name = f"n{self._fresh}"
        having = f" HAVING({self._condition((name,))})" if self._chance(3) else ""
        by = f" GROUP BY {key}" if key else ""
        return f"SELECT {key} ({aggregate} AS ?{name}) WHERE {{ {body} }}{by}{having}"

    def _limit(self, names: Sequence[str]) -> str:
        offset = f" OFFSET {self._one((1, 2))}" if self._chance(3) else ""
        return f"{self._order(names)} LIMIT {self._one((1, 2, 3))}{offset}"

    def _order(self, names: Sequence[str]) -> str:
        """A total order: any keys, then the texts of all variables and the start."""
        keys = [self._key() for _ in range(self._one((0, 1, 1, 2)))]
        return " ".join(("ORDER BY", *keys, *(f"STR(?{name})" for name in names), "getSTARTTIME()"))

    def _key(self) -> str:
        key = self._one(("?v + 1", "?y", self._time(), "BOUND(?w)", "COALESCE(?v, ?x)"))
        if self._chance(2):
            key = f"{self._one(('', 'NOT '))}EXISTS {self._group(self._one((0, 1)))}"
            key = f"({key} || ?v < 2)" if self._chance(3) else key
        return f"{self._one(('ASC', 'DESC'))}({key})"

    # --- groups ---

    def _group(self, depth: int) -> str:
        if depth > 0 and self._chance(8):
            return self._sub_select(depth - 1)
        return f"{{ {self._triple()} . {self._body(depth - 1) if depth > 0 else ''} }}"

    def _sub_select(self, depth: int) -> str:
        inner = f"{self._triple()} . {self._body(depth)}"
        if self._plain:
            return f"{{ SELECT ?x (COUNT(?y) AS ?n) {{ ?x {self._predicate()} ?y }} GROUP BY ?x }}"
        if self._counting and self._chance(2):
            return f"{{ {self._grouped(inner)} }}" if self._chance(2) else self._limited(inner)
        return f"{{ SELECT ?x ?v {{ {inner} }} }}"

    def _limited(self, inner: str) -> str:
        return f"{{ SELECT ?x ?y {{ {inner} }} {self._limit(('x', 'y'))} }}"

    def _body(self, depth: int) -> str:
        return " ".join(self._element(depth) for _ in range(self._one((0, 1, 1, 2))))

    def _element(self, depth: int) -> str:
        if depth <= 0:
            return self._one((self._filter, self._bind))() if self._chance(2) else f"{self._triple()} ."
        kind = self._draw(st.integers(0, 9))
        match kind:
            case 0 | 1 | 2:
                return self._chain(depth)
            case 3 | 4:
                return f"OPTIONAL {self._group(depth - 1)}" if self._chance(2) else self._optional(depth)
            case 5:
                return f"MINUS {self._group(depth - 1)}"
            case 6:
                return f"FILTER {self._one(('', 'NOT '))}EXISTS {self._group(depth - 1)}"
            case 7 if self._graphs:
                return f"GRAPH {self._one(('?g', f'<{GRAPHS[0]}>'))} {{ {self._triple()} }}"
            case 8:
                return "VALUES (?x ?v) { (:a 1) (UNDEF 2) (:b UNDEF) }"
            case _:
                return self._one((self._filter, self._bind))()

    def _optional(self, depth: int) -> str:
        """An optional group with a filter of its own."""
        return f"OPTIONAL {{ {self._triple()} . {self._body(depth - 1)} {self._filter()} }}"

    def _chain(self, depth: int) -> str:
        operators = ("UNION",) if self._plain else JOINS
        text = self._group(depth - 1)
        for _ in range(self._one((1, 1, 2))):
            operator = self._one(operators)
            group = self._group(depth - 1)
            if operator in ("OPTIONALSEQ", "EQUALSOPTIONAL") and self._chance(2):
                group = f"{{ {self._triple()} {self._filter()} }}"
            text = f"{text} {operator} {group}"
        return text

    def _bind(self) -> str:
        self._fresh += 1
        value = self._one(("?v + 1", "?x", "STR(?y)", 'COALESCE(?v, "none")'))
        value = self._time() if not self._plain and self._chance(2) else value
        return f"BIND({value} AS ?b{self._fresh})"

    def _filter(self) -> str:
        return f"FILTER({self._condition(('x', 'y', 'v', 'w'))})"

    # --- triples and expressions ---

    def _triple(self) -> str:
        subject = self._one(("?x", "?x", "?x", "?x", "?z", "?y", ":a", "[]"))
        if self._chance(12):
            return f"{self._one(('?x', '?x', '?y'))} a {self._one((':C', ':D', '?c'))}"
        objects = ("?y", "?v", "?v", "?w", "?w", "?o", "?o", "?o", "[]", ":b", "1", "?x")
        return f"{subject} {self._predicate()} {self._one(objects)}"

    def _predicate(self) -> str:
        simple = [":p", ":q", *self._derived, *([":k"] if self._graphs else [])]
        if self._chance(6):
            path = self._one(("{0}/{1}", "^{0}", "{0}|{1}", "{0}+", "({0}/{1})+"))
            if self._any and self._chance(4):
                path = self._one(("!{0}", "!(^{0})"))
            elif not self._plain:
                path = self._one((path, "{0}*", "{0}?", "{0}*/{1}"))
            return path.format(self._one(simple), self._one(simple))
        return "?p" if self._any and self._chance(8) else self._one(simple)

    def _time(self) -> str:
        return self._one(("getDURATION()", "getSTARTTIME()", "getENDTIME()"))

    def _condition(self, names: Sequence[str]) -> str:
        if not self._plain and self._chance(2):
            bound = self._one(("PT1S", "PT2S", "PT0M3S", "PT4S"))
            return f'getDURATION() {self._one(("<", "<=", "<=", ">", "!="))} "{bound}"^^xsd:duration'
        one, other = self._one(names), self._one(names)
        return self._one(
            (
                f"?{one} < 2",
                f"?{one} >= 2",
                f"?{one} = ?{other}",
                f"?{one} != ?{other}",
                f"!BOUND(?{one}) || ?{one} != 1",
                f"?{one} = 2 || BOUND(?{other})",
            )
        )
