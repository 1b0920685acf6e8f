"""Random queries over windows with small random streams: what every evaluator must answer like the reference implementation.

Queries come as text and use every kind of window, policy, stream operator, form and pattern; what is drawn obeys the rules of
semantics 3.1, so each compiles. Times are multiples of half a second around the epoch, so that events tie, expire and close
windows often; now and then there is a gap in the middle, at which windows are empty at many evaluations. Nothing is drawn whose answer SPARQL leaves open: LIMIT has a total order, MIN and MAX compare strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.model.events import GraphEvent
from spaseq.model.terms import Term

EX = "http://ex.org/"
INTEGER = NamedNode("http://www.w3.org/2001/XMLSchema#integer")
DECIMAL = NamedNode("http://www.w3.org/2001/XMLSchema#decimal")
DOUBLE = NamedNode("http://www.w3.org/2001/XMLSchema#double")
STREAMS = ("s", "t")
KEYS = tuple(NamedNode(EX + name) for name in ("k1", "k2", "k3"))
PREDICATES = tuple(NamedNode(EX + name) for name in "pq")
PLAIN = (Literal(0), Literal(1), Literal(2))
ODD = (
    Literal("02", datatype=INTEGER), Literal("2.0", datatype=DECIMAL), Literal("1.5", datatype=DOUBLE),
    Literal("two"), Literal(2**63 - 1),
)  # fmt: skip
GRAPHS = (EX + "g", EX + "h")
HALF = 500_000
MOST_EVENTS = 10


@dataclass(frozen=True, slots=True)
class WindowScenario:
    """A query over windows, a finite input in the order of arrival, and background graphs."""

    query: str
    events: tuple[GraphEvent, ...]
    knowledge: dict[str, frozenset[Triple]] = field(default_factory=dict)
    ordered: bool = False
    """True if ORDER BY says in which order all lines of an evaluation come."""


@st.composite
def window_scenarios(
    draw: st.DrawFn,
    *,
    portable: bool = False,
    paths: bool = True,
    limits: bool = True,
    open_choices: bool = False,
    most_events: int = MOST_EVENTS,
) -> WindowScenario:
    """A random query that compiles, and events on which it is likely to have answers.

    A ``portable`` query is plain SPARQL once WINDOW is written GRAPH, over terms that every store keeps as they are. Without
    ``paths`` there are no property paths, without ``limits`` no LIMIT. With ``open_choices`` SPARQL leaves open what the answer is.
    """
    odd = not portable and draw(st.sampled_from((False, False, True)))
    origin = draw(st.sampled_from((0, 0, -7, 1_000_000_001)))
    drawing = Drawing(draw, origin, portable=portable, paths=paths, limits=limits, open_choices=open_choices)
    query = drawing.query()
    terms = (*KEYS, *KEYS, *PLAIN, *(ODD if odd else ()))
    gap = draw(st.sampled_from((0, 0, 0, 60)))
    least = 0 if draw(st.sampled_from(range(8))) == 7 else min(4, most_events)
    events = tuple(
        _event(draw, terms, origin, gap, blank=odd)
        for _ in range(draw(st.sampled_from(range(least, most_events + 1))))
    )
    knowledge = {
        name: frozenset(
            Triple(draw(st.sampled_from(KEYS)), NamedNode(EX + "r"), draw(st.sampled_from(PLAIN)))
            for _ in range(2)
        )
        for name in GRAPHS
    }
    return WindowScenario(query, events, knowledge, drawing.ordered)


def _event(draw: st.DrawFn, terms: Sequence[Term], origin: int, gap: int, *, blank: bool) -> GraphEvent:
    subjects: tuple[NamedNode | BlankNode, ...] = (*KEYS, BlankNode("n")) if blank else KEYS
    triples = frozenset(
        Triple(
            draw(st.sampled_from(subjects)),
            draw(st.sampled_from(PREDICATES)),
            draw(st.sampled_from(terms)),
        )
        for _ in range(draw(st.sampled_from((1, 2, 3, 1, 2, 3, 4, 0))))
    )
    moment = draw(st.sampled_from(range(25)))
    time = origin * 1_000_000 + (moment + (gap if moment > 12 else 0)) * HALF
    return GraphEvent(EX + draw(st.sampled_from(STREAMS)), time, triples)


@dataclass(slots=True)
class _Window:
    clause: str
    name: str
    """Empty for a window of the default graph."""


_REACHING = ("?x :p {}", "{} :p ?x", "?x :q {}", "?y :p {}", "?x ?any {}", "{} :q ?v")
"""Triples from what a solution binds to what it does not."""


class Drawing:
    """Draws one query over windows."""

    def __init__(
        self,
        draw: st.DrawFn,
        origin: int,
        *,
        portable: bool,
        paths: bool,
        limits: bool,
        open_choices: bool = False,
    ) -> None:
        self.draw = draw
        self.origin = origin
        self.portable = portable
        self.paths = paths
        self.limits = limits
        self.open_choices = open_choices
        self.count = 0
        self.windows: list[_Window] = []
        self.steps = False
        self.ordered = False

    # --- choices ---

    def pick(self, options: Sequence[str]) -> str:
        return self.draw(st.sampled_from(options))

    def chance(self, of: int) -> bool:
        return self.number(1, of) == of

    def number(self, least: int, most: int) -> int:
        """All are equally likely; hypothesis prefers small integers."""
        return self.draw(st.sampled_from(range(least, most + 1)))

    def fresh(self) -> str:
        self.count += 1
        return f"?f{self.count}"

    # --- the query ---

    def query(self) -> str:
        self.declare()
        where = " ".join(self.element(number) for number in range(max(len(self.windows), 1)))
        where += " " + " ".join(self.decoration() for _ in range(self.number(0, 3)))
        head, tail = self.open_form() if self.open_choices else self.form()
        if self.ordered:  # blank nodes have no order
            where += " FILTER(isIRI(?x))"
        operator = self.pick(("", "", "RSTREAM", "ISTREAM", "DSTREAM"))
        register = f"REGISTER {operator} :query AS\n" if operator else ""
        clauses = [window.clause for window in self.windows]
        if self.windows and self.chance(4):
            clauses.insert(self.number(0, len(clauses)), "FROM :g")
        if not self.portable and self.chance(4):
            clauses.append("FROM NAMED :h")
        return "\n".join(
            (
                "PREFIX : <http://ex.org/>",
                f"{register}{head}",
                *clauses,
                f"WHERE {{ {where} }}",
                tail,
                self.report(),
            )
        )

    def declare(self) -> None:
        if self.chance(8):
            return
        streams = list(STREAMS)
        for number in range(self.number(1, 3)):
            kind = self.number(0, 4)
            if kind <= 2 or not streams:
                name, stream = f":w{number}", ":" + self.pick(STREAMS)
                window = self.window()
                clause = f"FROM NAMED WINDOW {name} ON {stream} {window}"
                if self.chance(4):
                    clause = f"FROM NAMED {stream} WIN {window} AS {name}"
                self.windows.append(_Window(clause, name))
                continue
            stream = ":" + streams.pop()
            if kind == 3:
                self.windows.append(_Window(f"FROM NAMED STREAM {stream} {self.window()}", stream))
            else:
                window = "" if self.chance(5) else self.window()
                self.windows.append(_Window(f"FROM STREAM {stream} {window}", ""))

    def window(self) -> str:
        """A window, now and then over the contents of others; a step of counts only in the last."""
        depth = 1 if not self.chance(4) else self.number(2, 3)
        stepped = self.number(0, depth - 1) if not self.chance(3) else None
        bodies = [
            self.body(step=stepped == level, last=level == depth - 1, alone=depth == 1)
            for level in range(depth)
        ]
        self.steps = self.steps or stepped is not None
        return " OF ".join(f"[{body}]" for body in bodies)

    def body(self, *, step: bool, last: bool, alone: bool) -> str:
        kind = self.number(0, 7)
        if not step and kind >= 6:
            first = self.origin + self.number(-2, 8)
            if kind == 6:
                return f"LND {first}"
            return f"FROM {first} TO {first + self.number(0, 8)}"
        if kind >= 4 and (last or not step):
            unit = self.pick(("EVENTS", "TRIPLES"))
            size = self.number(1, 5)
            text = f"RANGE {size} {unit}"
            text += f" STEP {self.number(1, 6)}" if step else ""
        else:
            size = self.number(1, 16)
            text = f"RANGE {size * 500}ms"
            text += f" STEP {self.number(1, 12) * 500}ms" if step else ""
        return f"{text} STARTING AT {self.instant()}" if alone and self.chance(5) else text

    def instant(self) -> float:
        return self.origin + self.number(-6, 20) / 2

    def report(self) -> str:
        kind = self.number(0, 6)
        if kind <= 1:
            return ""
        policy = "CONTENT CHANGE"
        if kind <= 3 and self.steps:
            policy = "WINDOW CLOSE"
        elif kind == 4:
            policy = f"EVERY {self.number(1, 10) * 500}ms"
            policy += f" STARTING AT {self.instant()}" if self.chance(2) else ""
        return f"REPORT ON {policy}{' AND NON-EMPTY CONTENT' if self.chance(3) else ''}"

    def form(self) -> tuple[str, str]:
        """What stands before and behind WHERE."""
        kind = self.number(0, 9)
        if kind == 0:
            return "ASK", self.pick(("", "", "LIMIT 1", "OFFSET 1", "LIMIT 0", "ORDER BY ?x OFFSET 2"))
        if kind == 1:
            return "CONSTRUCT { ?x :new ?v . [] :of ?x ; :is ?y . ?v :bad ?x }", ""
        if kind <= 4:
            aggregate = self.pick(
                (
                    "COUNT(*)",
                    "COUNT(?v)",
                    "COUNT(DISTINCT ?v)",
                    "SUM(?v)",
                    "AVG(?v)",
                    "MIN(STR(?v))",
                    "MAX(STR(?y))",
                    "SUM(DISTINCT ?v)",
                )
            )
            if self.portable and "VG" in aggregate:
                aggregate = "COUNT(?y)"
            if self.chance(2):
                return f"SELECT ({aggregate} AS ?n)", ""
            having = f"HAVING(COUNT(*) > {self.number(0, 2)})" if self.chance(3) else ""
            if self.chance(5):
                return f"SELECT ?key ({aggregate} AS ?n)", f"GROUP BY (isIRI(?v) AS ?key) {having}"
            if self.chance(4):
                self.ordered = True
                key = self.pick(
                    (aggregate, f"DESC({aggregate})", f"EXISTS {{ {self.somewhere('?x :q ?z')} }}")
                )
                return f"SELECT ?x ({aggregate} AS ?n)", f"GROUP BY ?x {having} ORDER BY {key} ?x"
            return f"SELECT ?x ({aggregate} AS ?n)", f"GROUP BY ?x {having}"
        if kind == 5 and self.limits:
            offset = f" OFFSET {self.number(0, 2)}" if self.chance(3) else ""
            tail = f"LIMIT {self.number(0, 2)}{offset}"
            if self.chance(2):
                return "SELECT ?x ?v", f"{self.order()} {tail}"
            self.ordered = True
            return "SELECT DISTINCT ?x", f"ORDER BY {self.pick(('?x', 'DESC(?x)'))} {tail}"
        if kind == 6:
            return "SELECT DISTINCT ?x ?v", ""
        if kind == 7:
            extra = (
                "" if self.portable else self.pick(("", " (timestamp(?x :p ?v) AS ?at)", " (NOW() AS ?now)"))
            )
            return f"SELECT ?x (?v AS ?renamed) (BOUND(?y) AS ?has){extra}", "ORDER BY ?x"
        if self.chance(4):
            return "SELECT ?x ?v", self.order()
        return self.pick(("SELECT *", "SELECT ?x ?y ?v", "SELECT ?v")), ""

    def order(self) -> str:
        """ORDER BY for ``SELECT ?x ?v``, which leaves no order open but that of equal lines."""
        self.ordered = True
        somewhere = self.somewhere()
        keys = [
            "?v",
            "DESC(?v + 1)",
            "(2 * ?v)",
            f"EXISTS {{ {somewhere} }}",
            f"DESC(EXISTS {{ {somewhere} }} || ?v > 1)",
            f"NOT EXISTS {{ {somewhere} FILTER(?v > 0) }}",
        ]
        if not self.portable:
            dated = ("timestamp(?x :p ?v)", "DESC(timestamp(?x :p ?v))", "DESC(timestamp(?x, :q, ?v))")
            keys += [*dated, *dated, "NOW()", "(timestamp(?x :p ?v) < NOW())"]
        return f"ORDER BY {self.pick(keys)} STR(?x) STR(?v)"

    def open_form(self) -> tuple[str, str]:
        """One whose answer SPARQL leaves open: terms of equal value, members without an order, ties."""
        chosen = self.pick(("?v", "?x", "?y"))
        match self.number(0, 3):
            case 0:
                part = self.pick(("", "DISTINCT "))
                aggregate = self.pick(("GROUP_CONCAT", "SAMPLE", "MIN", "MAX"))
                group = self.pick(("", "GROUP BY ?x"))
                return f"SELECT ({aggregate}({part}{chosen}) AS ?n)", group
            case 1:
                return (
                    "SELECT ?x (GROUP_CONCAT(STR(?v); SEPARATOR=',') AS ?n) (SAMPLE(?y) AS ?s)",
                    "GROUP BY ?x",
                )
            case 2:
                offset = f" OFFSET {self.number(0, 2)}" if self.chance(3) else ""
                head = self.pick(("SELECT ?x ?v", "SELECT DISTINCT ?v", "SELECT *", "SELECT ?y"))
                return head, f"LIMIT {self.number(1, 2)}{offset}"
            case _:
                return (
                    "SELECT ?x ?v",
                    f"ORDER BY {self.pick((chosen, f'DESC({chosen})'))} LIMIT {self.number(1, 2)}",
                )

    # --- patterns ---

    def element(self, number: int) -> str:
        """A pattern that reads a window of the query; all but the first need not join."""
        block = self.block(self.windows[number]) if self.windows else self.block(None)
        if number == 0 or self.chance(3):
            return block
        return self.pick(
            (
                f"OPTIONAL {{ {block} }}",
                f"{{ {block} }} UNION {{ {self.somewhere()} }}",
                f"MINUS {{ {block} }}",
            )
        )

    def somewhere(self, triples: str = "") -> str:
        return self.block(self.draw(st.sampled_from(self.windows)) if self.windows else None, triples)

    def block(self, window: _Window | None, triples: str = "") -> str:
        triples = triples or self.triples()
        if window is None or not window.name:
            return f"{triples} ."
        inner = f"{triples} . {self.extra()}" if not self.portable and self.chance(4) else triples
        word = "WINDOW" if self.portable or not self.chance(6) else "GRAPH"
        return f"{word} {window.name} {{ {inner} }}"

    def triples(self) -> str:
        shapes = [
            *["?x :p ?v", "?x :p ?y", "?x ?any ?v"] * 2,
            "?x :p ?v",
            "?x :p ?y",
            "?x :q ?v",
            "?y :q ?v",
            "?x :p ?y . ?y :q ?v",
            "?x :p ?v ; :q ?y",
            "?x :p ?y . ?y :p ?z . ?z :p ?x",
            "?x ?any ?v",
            ":k1 :p ?v",
            "?x :p 2",
            "[] :p ?x",
        ]
        if self.paths:
            shapes += ["?x :p+ ?y", "?x (:p|^:q)* ?y", "?x :p/:q ?v", "?x :p? ?y", "?x !:p ?v"]
        if self.paths and not self.portable:  # a store has these once, or not at terms that it does not have
            shapes += ["?x (:p|:q) ?v", "?x (:p|^:q)/:p ?y", "?x !(:p|^:q) ?y", ":k1 :p* ?y", "?x :q? :k2"]
        return self.pick(shapes)

    def extra(self) -> str:
        name = self.fresh()
        return self.pick(
            (
                f"BIND(timestamp(?x :p ?v) AS {name})",
                f"BIND(timestamp(?x, :q, ?y) AS {name})",
                "FILTER(timestamp(?x :p ?v) < NOW())",
                "GRAPH :g { ?x :r ?v }",
            )
        )

    def inner(self, depth: int) -> str:
        """The inside of a nested group."""
        more = self.decoration(depth - 1) if depth > 0 and self.chance(3) else ""
        return f"{self.somewhere()} {more}"

    def decoration(self, depth: int = 2) -> str:
        """What may follow in a group: it narrows, widens or extends the solutions before it."""
        name = self.fresh()
        match self.number(0, 13):
            case 0 | 1:
                guard = self.pick(("", "FILTER(?v > 0)", "FILTER(?x != ?y)", "FILTER(BOUND(?v))"))
                guard = f"FILTER {self.existence()}" if self.chance(5) else guard
                return f"OPTIONAL {{ {self.inner(depth)} {guard} }}"
            case 2:
                return f"{{ {self.inner(depth)} }} UNION {{ {self.inner(depth)} }}"
            case 3:
                return f"MINUS {{ {self.inner(depth)} }}"
            case 4:
                return f"FILTER {self.existence()}"
            case 5:
                return self.question(name)
            case 6:
                return self.condition()
            case 7:
                return f"BIND({self.pick(('?v + 1', 'STR(?x)', 'IF(BOUND(?y), ?y, ?x)', '?v'))} AS {name})"
            case 8:
                return self.pick(
                    (
                        "VALUES ?x { :k1 :k2 }",
                        "VALUES (?x ?v) { (:k1 2) (:k2 UNDEF) (UNDEF 1) }",
                        "VALUES ?v { 0 1 2 }",
                        "VALUES ?x { :k1 :k1 }",
                    )
                )
            case 9:
                having = self.pick(("", "HAVING(COUNT(*) > 1)"))
                return f"{{ SELECT ?x (COUNT(*) AS {name}) {{ {self.inner(depth)} }} GROUP BY ?x {having} }}"
            case 10:
                return f"{{ SELECT {self.pick(('DISTINCT ?x', '?x', 'DISTINCT ?x ?y'))} {{ {self.inner(depth)} }} }}"
            case 11:
                return f"{{ SELECT (COUNT(DISTINCT ?v) AS {name}) {{ {self.inner(depth)} }} }}"
            case 12:
                return f"{{ {self.inner(depth)} }}"
            case _:
                graphs = ("GRAPH :g { ?x :r ?r }", "GRAPH :h { ?x :r ?v }")
                return self.pick(graphs) if self.portable else self.graph()

    def question(self, name: str) -> str:
        """EXISTS inside an expression."""
        found = self.existence()
        return self.pick(
            (
                f"FILTER({found} || ?v = 2)",
                f"FILTER(!({found}) && ?x != ?v)",
                f"FILTER(IF({found}, ?v > 0, BOUND(?y)))",
                f"FILTER({found} = {self.existence()})",
                f"BIND({found} AS {name})",
                f"{{ SELECT ?x {{ {self.somewhere()} }} GROUP BY ?x HAVING({found} || COUNT(*) > 1) }}",
                f"{{ SELECT ?x (SUM(IF({found}, 1, 0)) AS {name}) {{ {self.somewhere()} }} GROUP BY ?x }}",
            )
        )

    def existence(self, depth: int = 1) -> str:
        """EXISTS over what joins with the solution, or reads it in another way; what is in there has names of its own."""
        word = self.pick(("EXISTS", "NOT EXISTS"))
        if self.chance(3):
            return f"{word} {{ {self.somewhere()} {self.pick(('', 'FILTER(?v > 0)'))} }}"
        own = f"?in{depth}"
        first, second = (
            self.somewhere(self.pick(tuple(each.format(own) for each in _REACHING))) for _ in range(2)
        )
        compared = self.pick((f"FILTER({own} > ?v)", f"FILTER({own} != ?v)", f"FILTER(?y != {own})"))
        more = self.somewhere(f"{own} :q ?more")
        forms = [
            first,
            f"{first} {compared}",
            f"{first} {compared}",
            f"{first} {compared} {more}",
            f"{{ {first} }} UNION {{ {second} {compared} }}",
            f"{{ {first} {compared} }} UNION {{ {second} }} {more}",
            f"{first} OPTIONAL {{ {more} }}",
            f"{first} OPTIONAL {{ {more} }} FILTER(!BOUND(?more) || ?more != ?v)",
            f"{first} MINUS {{ {more} }} {compared}",
            f"{first} BIND({own} + ?v AS ?sum) FILTER(?sum > 1)",
            f"{first} VALUES {own} {{ 0 1 :k1 }} {compared}",
            f"{{ SELECT ?x {{ {self.somewhere(f'?x :p {own}')} }} GROUP BY ?x HAVING(COUNT(*) > 1) }}",
        ]
        if depth < 2:
            forms += [f"{first} FILTER {self.existence(depth + 1)}"] * 2
        return f"{word} {{ {self.pick(forms)} }}"

    def condition(self) -> str:
        return self.pick(
            (
                "FILTER(?v > 0)",
                "FILTER(?x != ?v)",
                "FILTER(!BOUND(?y))",
                "FILTER(isIRI(?x) || ?v = 2)",
                "FILTER(?v IN (0, 2))",
                "FILTER(COALESCE(?v, 0) < 2)",
            )
        )

    def graph(self) -> str:
        return self.pick(
            (
                "GRAPH ?g { ?x :r ?r }",
                "GRAPH :g { ?x :r ?v }",
                "OPTIONAL { GRAPH ?g { ?x :r ?r } }",
                "FILTER EXISTS { GRAPH ?g { ?x :r ?v } }",
            )
        )
