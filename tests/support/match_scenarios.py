"""Random queries with event patterns over windows (semantics 4), with small random streams.

Every kind of window, policy, consumption, report and form, one or several MATCHes beside what WHERE has otherwise, events that tie
and, now and then, last. What is drawn obeys the rules of semantics 3.1 and 4.1, so each query compiles.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.model.events import GraphEvent
from support.window_scenarios import (
    EX,
    GRAPHS,
    HALF,
    KEYS,
    PLAIN,
    PREDICATES,
    STREAMS,
    Drawing,
    WindowScenario,
)

OBJECTS: tuple[NamedNode | Literal, ...] = (*KEYS[:2], Literal(2))
CONSUMED = (
    "?x :p ?v",
    "?x :p ?y",
    "?x :q ?v",
    "?y :q ?v",
    "?x :q ?y",
    "?x ?any ?v",
    "?x :p ?v . ?x :q ?w",
    "?x :p ?y . ?y :q ?v",
    "[] :p ?x",
    "?x :p _:b . ?x :q _:b",
    ":k1 :p ?v",
    "?x :p ?v FILTER(?v > 0)",
    "?x :p ?y FILTER NOT EXISTS { ?x :q ?v }",
    "?x :q ?y FILTER EXISTS { ?x :p ?v }",
    "?x :p ?v FILTER(?v = 2 || NOT EXISTS { ?y :q ?v })",
    "[] :q ?x FILTER NOT EXISTS { ?y :p* ?x . FILTER(?x != ?y) }",
    "?x :p ?v FILTER NOT EXISTS { { SELECT (COUNT(*) AS ?n) { ?x :q ?o } HAVING(?n > 1) } }",
    "?x :p ?v FILTER EXISTS { ?x :q ?o GRAPH :g { ?x :r ?r } }",
    "FILTER EXISTS { ?x :q ?o }",
)
"""Patterns of events that say which triples they use."""
OTHERS = (
    "?x :p ?v OPTIONAL { ?x :q ?y }",
    "{ ?x :p ?v } UNION { ?x :q ?y }",
    "?x :p ?v GRAPH :g { ?x :r ?r }",
    "?x :p/:q ?v",
    "?x :p ?v BIND(?v + 1 AS ?w)",
    "?x :p ?v MINUS { ?x :q ?v }",
    "SELECT ?x (COUNT(*) AS ?many) { ?x ?any ?o } GROUP BY ?x",
)
USUAL = ("?x :p ?v", "?x :q ?w", "?x :q []", "?x :p ?w", "?x :q ?v", "?x ?any ?v")
"""Patterns of one triple that often fit together."""


@st.composite
def match_scenarios(draw: st.DrawFn, *, lasting: bool = True, most_events: int = 14) -> WindowScenario:
    """A random query with MATCH that compiles, and events on which it is likely to have answers.

    With ``lasting`` some events are intervals.
    """
    origin = draw(st.sampled_from((0, 0, -7, 1_000_000_001)))
    query = _MatchDrawing(draw, origin).query()
    count = draw(st.sampled_from(range(min(6, most_events), most_events + 1)))
    spread = lasting and draw(st.sampled_from((False, False, True)))
    events = tuple(_event(draw, origin, spread) for _ in range(count))
    knowledge = {
        name: frozenset(
            Triple(draw(st.sampled_from(KEYS)), NamedNode(EX + "r"), draw(st.sampled_from(PLAIN)))
            for _ in range(2)
        )
        for name in GRAPHS
    }
    return WindowScenario(query, events, knowledge)


def _event(draw: st.DrawFn, origin: int, spread: bool) -> GraphEvent:
    """Of few terms, so that events often fit together."""
    triples = frozenset(
        Triple(
            draw(st.sampled_from(KEYS[:2])),
            draw(st.sampled_from(PREDICATES)),
            draw(st.sampled_from(OBJECTS)),
        )
        for _ in range(draw(st.sampled_from((1, 2, 3, 4))))
    )
    time = origin * 1_000_000 + draw(st.sampled_from(range(16))) * HALF
    event = GraphEvent(EX + draw(st.sampled_from(STREAMS)), time, triples)
    length = draw(st.sampled_from((0, 1, 2, 5))) if spread else 0
    return replace(event, start=event.time - length * HALF) if length else event


class _MatchDrawing(Drawing):
    """Draws one query with MATCH."""

    def __init__(self, draw: st.DrawFn, origin: int) -> None:
        super().__init__(draw, origin, portable=False, paths=True, limits=True)
        self.events: list[tuple[str, str, str]] = []
        """The name, the window and the pattern of each event."""
        self.consumes = ""

    def query(self) -> str:
        while not any(window.name for window in self.windows):
            self.windows, self.steps = [], False
            self.declare()
        self.consumes = self.pick(("", "", "", "CONSUME RECENT", "CONSUME CHRONOLOGICAL", "CONSUME NONE"))
        where = " ".join(f"MATCH {{ {self.pattern(2)} }}" for _ in range(1 if not self.chance(5) else 2))
        many = 0 if not self.chance(2) else self.number(1, 2)
        where += " " + " ".join(self.decoration() for _ in range(many))
        head, tail = self.form()
        if "LIMIT" in tail:
            where += " FILTER(isIRI(?x))"
        read = where + " ".join(window for _, window, _ in self.events)
        for window in self.windows:
            if window.name and f"{window.name} " not in read + " ":
                where += f" OPTIONAL {{ WINDOW {window.name} {{ ?x :p ?f }} }}"
        operator = self.pick(("", "", "RSTREAM", "RSTREAM", "ISTREAM", "DSTREAM"))
        return "\n".join(
            (
                "PREFIX : <http://ex.org/>",
                f"REGISTER {operator} :query AS" if operator else "",
                head,
                *(window.clause for window in self.windows),
                *(f"EVENT ON {window} {{ {pattern} }} AS {name}" for name, window, pattern in self.events),
                f"WHERE {{ {where} }}",
                tail,
                self.consumes,
                self.report(),
            )
        )

    def decoration(self, depth: int = 2) -> str:
        """MATCH inside other groups, too."""
        if self.chance(3):
            inner = f"MATCH {{ {self.pattern(1)} }}"
            return self.pick(
                (
                    f"OPTIONAL {{ {inner} }}",
                    f"MINUS {{ {inner} }}",
                    f"FILTER EXISTS {{ {inner} }}",
                    f"FILTER NOT EXISTS {{ {inner} }}",
                    f"{{ {inner} }} UNION {{ {self.somewhere()} }}",
                    f"{{ SELECT ?x (COUNT(*) AS {self.fresh()}) {{ {inner} }} GROUP BY ?x }}",
                )
            )
        return super().decoration(depth)

    def form(self) -> tuple[str, str]:
        """Mostly all variables, so that little is hidden."""
        return ("SELECT *", "") if not self.chance(3) else super().form()

    def window(self) -> str:
        """Mostly one that holds several events."""
        if self.chance(3):
            return super().window()
        if self.chance(3):
            return f"[LND {self.origin}]"
        step = f" STEP {self.number(1, 4) * 500}ms" if self.chance(3) else ""
        self.steps = self.steps or bool(step)
        return f"[RANGE {self.number(6, 24) * 500}ms{step}]"

    # --- event patterns ---

    def pattern(self, depth: int) -> str:
        kind = self.number(0, 9) if depth else 0
        if kind == 0:
            return self.unit(0)
        if kind >= 6:  # one plain pair, which often has answers
            left, right = self.event(), self.event()
            return f"{left} SEQ {self.policy(left, right)} {right}"
        if kind == 1:
            return f"{self.unit(depth - 1)} DURING {self.unit(depth - 1)}"
        left, right = self.unit(depth - 1), self.unit(depth - 1)
        absent = f" SEQ NOT {self.unit(depth - 1)}" if self.chance(5) else ""
        return f"{left}{absent} SEQ {self.policy(left, right)} {right}"

    def unit(self, depth: int) -> str:
        kind = self.number(0, 7)
        if kind <= 1:
            return f"{self.pick(('FIRST', 'LAST'))} {self.unit(depth - 1) if depth > 0 else self.event()}"
        if kind <= 3 and depth > 0:
            return f"({self.pattern(depth)})"
        return self.event()

    def event(self) -> str:
        if len(self.events) < 4 and (not self.events or self.chance(2)):
            windows = [window.name for window in self.windows if window.name]
            shapes = (
                CONSUMED if "RECENT" in self.consumes or "CHRON" in self.consumes else (*CONSUMED, *OTHERS)
            )
            shapes = (*USUAL, *USUAL, *USUAL, *shapes)
            window = windows[0] if not self.chance(3) else self.pick(windows)
            self.events.append((f"E{len(self.events)}", window, self.pick(shapes)))
            return self.events[-1][0]
        return self.draw(st.sampled_from(self.events))[0]

    def policy(self, left: str, right: str) -> str:
        """A policy; PARTITION by a variable that an event of either side has."""
        kinds = ("", "", "", "NAIVE", "CHRONOLOGICAL", "RECENT", "CHRONOLOGICAL", "RECENT", "NEXT", "STRICT")
        if not self.chance(6):
            return self.pick(kinds)
        named = [pattern for name, _, pattern in self.events if name in f"{left} {right}"]
        keys = [key for key in ("x", "v", "y") if any(f"?{key} " in f"{text} " for text in named)]
        plain = [
            key
            for key in keys
            if any(f"?{key}" in text.split("FILTER")[0].split("BIND")[0] for text in named)
        ]
        return f"PARTITION ?{self.pick(plain)}" if plain else ""
