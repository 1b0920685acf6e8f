"""Random valid SPAseq queries with small random streams: what every host must answer like the reference implementation.

Queries come as text and use every operator, window and form; what is drawn obeys the rules of semantics
1.1 to 1.9, so each compiles. Domains are small, so that events match, join and tie often, and a case is
small enough for the reference implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from hypothesis import reject
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.errors import QueryError
from spaseq.model.events import GraphEvent
from spaseq.model.terms import Term
from spaseq.planner import compile_query

EX = "http://ex.org/"
INTEGER = NamedNode("http://www.w3.org/2001/XMLSchema#integer")
DECIMAL = NamedNode("http://www.w3.org/2001/XMLSchema#decimal")
KEYS = (NamedNode(EX + "k1"), NamedNode(EX + "k2"))
PREDICATES = tuple(NamedNode(EX + name) for name in "pqr")
VALUES = (
    *(Literal(n) for n in range(3)),
    Literal("02", datatype=INTEGER),
    Literal("2.0", datatype=DECIMAL),
    Literal(2**63 - 1),  # a sum with it leaves 64 bits
)
STREAMS = ("S1", "S2", "S3")
GRAPHS = (EX + "g1", EX + "g2")
NAMES = "ABCDEFGH"
MOST_EVENTS = 12


@dataclass(frozen=True, slots=True)
class Scenario:
    """A query, a finite streamset in the order of arrival, and background graphs."""

    query: str
    events: tuple[GraphEvent, ...]
    knowledge: dict[str, frozenset[Triple]] = field(default_factory=dict)


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    kleene: bool = True,
    partitioned: bool | None = None,
    tumbling: bool = False,
    beyond: bool = False,
    absences: bool = False,
    most_events: int = MOST_EVENTS,
) -> Scenario:
    """A random query that compiles, and events on which it is likely to match.

    ``kleene`` False leaves out repetitions, ``partitioned`` says whether there is a PARTITION BY (None:
    sometimes), ``tumbling`` allows tumbling time windows only. ``beyond`` adds what goes beyond the paper (semantics
    1.11): groups, permutations, gaps, longest repetitions, skipping; with ``absences`` negated steps are frequent, many of
    them with a bound.
    """
    drawing = _Drawing(draw, kleene, partitioned, tumbling, beyond, absences)
    query = drawing.query()
    # Skip-till-any between iterations takes every subset of the events; the reference implementation tries them all.
    most = min(most_events, 7) if "[:" in query or beyond else most_events
    if beyond:
        try:
            compile_query(query)
        except QueryError:
            reject()
    events = tuple(_event(drawing.hints, *parts) for parts in draw(_STREAMSETS[most]))
    return Scenario(query, events, draw(_BACKGROUNDS) if "GRAPH" in query else {})


# --- events -------------------------------------------------------------------------------------

_SUBJECTS: tuple[NamedNode | BlankNode, ...] = (KEYS[0], KEYS[0], KEYS[1], BlankNode("b"))
_OBJECTS: tuple[Term, ...] = (*VALUES[:3], *VALUES, KEYS[0], Literal("x"), BlankNode("b"))
_GRAPHS = st.frozensets(
    st.sampled_from([Triple(*t) for t in product(_SUBJECTS, PREDICATES, _OBJECTS)]), max_size=3
)
_ANYTHING = tuple(product(("s1", "s2", "s3", "undeclared"), "pqr"))
_EVENTS = st.tuples(
    st.integers(0, 10),  # its second
    st.integers(0, 3 * len(_ANYTHING) - 1),  # its stream and what it says there
    st.sampled_from((*product((KEYS[0], *KEYS), VALUES), None)),
    _GRAPHS,
    st.sampled_from((None, None, NamedNode(EX + "e1"), BlankNode("e"))),
)
_STREAMSETS = {
    most: st.lists(_EVENTS, min_size=min(5, most), max_size=most) for most in range(MOST_EVENTS + 1)
}
_GROUPS = [Triple(key, NamedNode(EX + "group"), value) for key, value in product(KEYS, VALUES)]
_BACKGROUNDS = st.fixed_dictionaries(
    dict.fromkeys(GRAPHS, st.frozensets(st.sampled_from(_GROUPS), max_size=3))
)


def _event(
    hints: Sequence[tuple[str, str]],
    second: int,
    choice: int,
    said: tuple[NamedNode, Literal] | None,
    graph: frozenset[Triple],
    name: NamedNode | BlankNode | None,
) -> GraphEvent:
    """An event that says what a pattern looks for, two times out of three, and other things.

    A hint is a stream and a predicate that some pattern looks for there.
    """
    options = hints if hints and choice >= len(_ANYTHING) else _ANYTHING
    stream, predicate = options[choice % len(options)]
    if said is not None:
        graph |= {Triple(said[0], NamedNode(EX + predicate), said[1])}
    return GraphEvent(EX + stream, second * 1_000_000, graph, name)


# --- queries ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Gpm:
    """A GPM while it is drawn; ``certain`` are the variables that every mapping binds."""

    name: str
    predicate: str
    parts: list[str]
    certain: list[str]
    others: list[str] = field(default_factory=list)

    @property
    def variables(self) -> list[str]:
        return self.certain + self.others


class _Drawing:
    """Draws one query, step by step; keeps what earlier steps bind."""

    def __init__(
        self,
        draw: st.DrawFn,
        kleene: bool,
        partitioned: bool | None,
        tumbling: bool,
        beyond: bool,
        absences: bool = False,
    ) -> None:
        self._draw = draw
        self._absences = absences
        self._beyond = beyond
        self._kleene = kleene
        self._tumbling = tumbling
        self._partitioned = self._chance(6) if partitioned is None else partitioned
        self._names = iter(NAMES)
        self._gpms: list[_Gpm] = []
        self._visible: list[str] = []
        self._repeated: list[_Gpm] = []
        self.hints: list[tuple[str, str]] = []

    def _pick(self, options: Sequence[str]) -> str:
        return self._draw(st.sampled_from(options))

    def _chance(self, of: int) -> bool:
        """True about once in ``of`` times."""
        return self._draw(st.integers(1, of)) == of

    def query(self) -> str:
        sequence, leading, trailing = self._steps_beyond() if self._beyond else self._sequence()
        window = self._window(leading, trailing)
        form = self._form()
        skips = " AFTER MATCH SKIP PAST LAST EVENT" if self._beyond and self._chance(5) else ""
        lines = ["PREFIX : <http://ex.org/>", form, *([window] if window else [])]
        lines += [f"FROM STREAM {alias} <{EX}{alias.lower()}>" for alias in STREAMS]
        lines += ["PARTITION BY ?k"] if self._partitioned else []
        lines += ["WHERE {", f"  SEQ ({sequence}){skips}"]
        for gpm in self._gpms:
            stream = self._pick(("S1", "S1", "S1", "S2", "S2", "S3"))
            self.hints.append((stream.lower(), gpm.predicate))
            lines.append(f"  DEFINE GPM {gpm.name} ON {stream} {{ {' '.join(gpm.parts)} }}")
        return "\n".join([*lines, "}"])

    # --- the sequence ---

    def _sequence(self) -> tuple[str, bool, bool]:
        """SEQ's text, and whether something may have to be absent at its start and at its end."""
        marks = self._marks()
        text = ""
        operator = ""
        for index, mark in enumerate(marks):
            if index:
                # semantics 1.6: `,` before a step that may be missing needs `,` behind it.
                operator = "," if operator == "," and marks[index - 1] in "?!" else self._pick(",;;:")
                text += f" {operator} "
            text += self._step(mark)
        end = len(marks)
        while marks[end - 1] == "?":
            end -= 1
        return text, marks[0] in "?!", marks[end - 1] == "!"

    # --- beyond the paper ---

    def _steps_beyond(self) -> tuple[str, bool, bool]:
        """SEQ's text with groups and the like; what its rules forbid is found out by compiling it."""
        text = self._group(2, repeated=False)
        unbounded = text.replace("! WITHIN", "") if self._absences else text
        return text, False, "!" in unbounded or "LONGEST" in text

    def _group(self, depth: int, *, repeated: bool) -> str:
        parts = []
        for index in range(self._draw(st.integers(1, 3 if depth == 2 else 2))):
            if len(self._gpms) > len(NAMES) - 4:
                break
            if index:
                parts.append(self._pick(",;;:"))
            parts.append(self._part(depth, repeated, first=index == 0))
        return " ".join(parts)

    def _part(self, depth: int, repeated: bool, *, first: bool) -> str:
        kinds = ["step", "step", "step"] + ["group", "group", "permute"] * (depth > 0)
        kind = self._pick(kinds) if len(self._gpms) < len(NAMES) - 4 else "step"
        if kind == "step":
            marks = ("1", "1", "?", "!", "+", "*", "{0,2}", "{2}")
            mark = self._pick(("!", "!", "!", *marks) if self._absences and not first else marks)
            text = self._step(
                "+" if mark in "+*" or "{" in mark else mark, repeated=repeated, quantifier=mark
            )
            if self._absences and mark == "!" and not first:
                return text + (f" WITHIN {self._draw(st.integers(1, 5))} SECONDS" if self._chance(2) else "")
            return text + self._gap(8 if mark == "!" else 5)
        quantifier = self._pick(("", "+", "+", "*", "{2}", "{0,2}", "?"))
        again = repeated or quantifier not in ("", "?")
        if kind == "permute":
            operator = self._pick(",;:")
            text = f"PERMUTE({f' {operator} '.join(self._step('1', repeated=again) for _ in range(2))})"
        else:
            text = f"({self._group(depth - 1, repeated=again)})"
        between = self._between() if quantifier not in ("", "?") else ""
        return text + quantifier + between + self._gap(6)

    def _between(self) -> str:
        operator = self._pick(("", ";", ";", ","))
        return f"[{operator}{self._gap(4)}]" if operator else ""

    def _gap(self, of: int) -> str:
        if not self._chance(of):
            return ""
        low, high = self._draw(st.integers(1, 3)), self._draw(st.integers(2, 5))
        return self._pick(
            (
                f" WITHIN {high} SECONDS",
                f" AFTER {low} SECONDS",
                f" AFTER {low} SECONDS WITHIN {low + high} SECONDS",
            )
        )

    def _marks(self) -> list[str]:
        """One mark for each step; ``1`` is a plain one. At least one step has to occur."""
        options = ("1", "1", "1", "?", "!") + (("+", "+") if self._kleene else ())
        marks = [self._pick(options) for _ in range(self._draw(st.integers(1, 4)))]
        if all(mark in "?!" for mark in marks):
            marks[self._draw(st.integers(0, len(marks) - 1))] = "1"
        return marks

    def _step(self, mark: str, *, repeated: bool = False, quantifier: str = "") -> str:
        shape = self._pick(("{}", "{}", "{}", "({} & {})", "({} | {})", "(({} | {}) & {})"))
        if shape.count("{}") > 8 - len(self._gpms) - 3:
            shape = "{}"
        bases = [self._base() for _ in range(shape.count("{}"))]
        together = [bases] if "&" in shape else [[gpm] for gpm in bases]
        if len(bases) == 3:
            together = [[bases[0], bases[2]], [bases[1], bases[2]]]
        for gpm in bases:
            readable = [
                v for choice in together if gpm in choice for other in choice for v in other.variables
            ]
            self._decorate(gpm, list(dict.fromkeys(self._visible + readable)), mark == "+" or repeated)
        self._gpms += bases
        if mark != "!":
            self._visible += [v for gpm in bases for v in gpm.variables if v not in self._visible]
        if (mark == "+" or repeated) and mark != "!":
            self._repeated += bases
        text = shape.format(*(gpm.name for gpm in bases))
        if quantifier not in ("", "1", "?", "!"):
            return text + quantifier + self._between() + (" LONGEST" if self._chance(4) else "")
        return text + {"1": "", "+": self._repetition()}.get(mark, mark)

    def _repetition(self) -> str:
        between = self._pick(("", "", "[;]", "[,]", "[:]"))
        bounds = self._pick(
            ("{1,2}", "{2}", "{2,3}") if between == "[:]" else ("+", "+", "{2}", "{1,2}", "{2,}")
        )
        return bounds + between

    # --- graph patterns ---

    def _base(self) -> _Gpm:
        """A GPM with what it binds for certain."""
        name = next(self._names)
        if self._partitioned and self._chance(5):  # the key is read from the event, and may stay open
            parts = [f"?s{name} :p ?v{name} .", f"OPTIONAL {{ ?k :q ?o{name} }}"]
            return _Gpm(name, "p", parts, [f"?s{name}", f"?v{name}"], ["?k", f"?o{name}"])
        subject = "?k" if self._partitioned else self._pick(("?k", "?k", f"?s{name}", ":k1"))
        known = [variable for variable in self._visible if variable != subject]
        own = f"?v{name}"
        value = self._pick((own, own, own, own, "?w", self._pick(known) if known else own))
        predicate = self._pick((":p", ":p", ":p", ":q", ":r", f"?p{name}"))
        plain = f"{subject} {predicate} {value} ."
        patterns = [plain, plain, f"{{ {subject} :p {value} }} UNION {{ {subject} :q {value} }}"]
        if not self._partitioned:  # keys are read from triples, not from paths
            selected = " ".join(term for term in (subject, value) if term.startswith("?"))
            patterns += [
                f"{subject} (:p|:q) {value} .",
                f"{{ SELECT {selected} {{ {subject} :p {value} }} }}",
            ]
        pattern = self._pick(patterns)
        terms = (subject, predicate, value) if pattern is plain else (subject, value)
        wanted = predicate[1:] if pattern is plain and predicate.startswith(":") else "p"
        return _Gpm(name, wanted, [pattern], [term for term in terms if term.startswith("?")])

    def _decorate(self, gpm: _Gpm, readable: list[str], repeated: bool) -> None:
        """Add what is optional: patterns, local and stateful filters, BINDs."""
        subject, value = (
            gpm.certain[0] if gpm.certain[0] in ("?k", f"?s{gpm.name}") else ":k1",
            gpm.certain[-1],
        )
        name = gpm.name
        if self._chance(4):
            optional = self._pick((f"?o{name}", f"?o{name}", "?w"))
            if optional not in gpm.certain:
                gpm.parts.append(f"OPTIONAL {{ {subject} :q {optional} }}")
                gpm.others.append(optional)
        if self._chance(4):
            gpm.parts.append(self._local(gpm, subject, value))
        if self._chance(8):
            gpm.parts.append(self._graph(gpm, subject))
        # What an earlier BIND computed is a term that no event carries.
        made = [variable for variable in self._visible if variable.startswith("?b")]
        if self._chance(2 if made else 4):
            gpm.parts.append(f"FILTER({self._stateful(gpm, made or readable, repeated)})")
        if self._chance(3):
            numbers = [variable for variable in self._visible if variable.startswith("?v")]
            term = self._pick(numbers or [*readable, *gpm.variables])
            gpm.parts.append(f"BIND({value} + {term} AS ?b{name})")
            gpm.others.append(f"?b{name}")

    def _local(self, gpm: _Gpm, subject: str, value: str) -> str:
        return self._pick(
            (
                f"FILTER({value} > 0)",
                f"FILTER({value} != :k1 || isIRI({value}))",
                f"FILTER NOT EXISTS {{ {subject} :r ?e{gpm.name} }}",
                f"FILTER EXISTS {{ {subject} :q ?e{gpm.name} . FILTER(?e{gpm.name} < 2) }}",
                f"MINUS {{ {subject} :r 0 }}",
                f"VALUES {value} {{ 0 1 2 :k1 }}",
            )
        )

    def _graph(self, gpm: _Gpm, subject: str) -> str:
        group = f"?g{gpm.name}"
        gpm.others.append(group)
        graph = f"GRAPH {self._pick(('<http://ex.org/g1>', '<http://ex.org/g2>', f'?n{gpm.name}'))}"
        if "?" in graph:
            gpm.others.append(f"?n{gpm.name}")
        pattern = f"{graph} {{ {subject} :group {group} }}"
        return self._pick((pattern, f"OPTIONAL {{ {pattern} }}"))

    def _stateful(self, gpm: _Gpm, compared: list[str], repeated: bool) -> str:
        value = gpm.certain[-1]
        other = self._pick(compared or gpm.variables)
        tests = [
            f"{value} >= {other}",
            f"{value} != {other}",
            f"{value} < {other}",
            f"!BOUND({other}) || {value} = {other}",
        ]
        if repeated:
            own = gpm.variables[-1]
            tests += [
                f"{value} >= PREV({value})",
                f"{value} != PREV({own}) && {value} >= 0",
                f"COALESCE(PREV({value}), 1) > 0",
                f"FIRST({value}) <= {value}",
                f"COUNT({gpm.name}) < 3",
                f"SUM({value}) < 4",
            ]
        if self._beyond and self._gpms:
            earlier = self._pick([other.name for other in self._gpms])
            tests += [
                f'TIME({gpm.name}) - TIME({earlier}) < "PT3S"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>',
                f"EVENT({earlier}) = :e1",
                f"COUNT({earlier}) < 2",
            ]
        for before in self._repeated[-1:]:
            tests += [
                f"{value} >= MAX({before.certain[-1]})",
                f"COUNT({before.name}) <= {value}",
                f"{value} != LAST({before.certain[-1]})",
            ]
        return self._pick(tests)

    # --- window and form ---

    def _window(self, leading: bool, trailing: bool) -> str:
        size = self._draw(st.integers(3, 9))
        start = self._draw(st.integers(0, 5))
        windows = [
            f"WITHIN {size} SECONDS",
            f"WITHIN {size} SECONDS TUMBLING",
            f'WITHIN {size} SECONDS STARTING AT "1970-01-01T00:00:0{start}Z"',
        ]
        if self._tumbling:
            return self._pick(windows)
        windows += [f"WITHIN {size} SECONDS SLIDING"] * 2
        if not trailing:
            windows += ["", f"WITHIN {size} EVENTS"]
        if not trailing and not leading:
            windows += [f"WITHIN {size} EVENTS SLIDING"]
        return self._pick(windows)

    def _form(self) -> str:
        visible = self._visible
        if not visible:
            return self._pick(("SELECT *", "SELECT (1 AS ?one)", "ASK"))
        variable, other = self._pick(visible), self._pick(visible)
        if self._beyond and self._chance(4):
            named = self._pick([gpm.name for gpm in self._gpms])
            return f"SELECT {variable} (TIME({named}) AS ?x1) (EVENT({named}) AS ?x2)"
        forms = ["SELECT *"] * 4 + [
            f"SELECT {variable}",
            f"SELECT DISTINCT {variable}",
            f"SELECT DISTINCT {variable} (BOUND({other}) AS ?x1)",
            f"SELECT {variable} (COALESCE({variable} + {other}, 0) AS ?x1) (?x1 AS ?x2)",
            f"CONSTRUCT {{ {variable} :match {other} . _:m :of {variable} }}",
            f"CONSTRUCT {{ :m :of {variable} , {other} }}",
            "ASK",
        ]
        for gpm in self._repeated[:1]:
            v = gpm.certain[-1]
            forms += [
                f"SELECT {v} (COUNT({gpm.name}) AS ?x1) (SUM({v}) AS ?x2)",
                f"SELECT (FIRST({v}) AS ?x1) (LAST({v}) AS ?x2) (MIN({v}) AS ?x3) (AVG({v}) AS ?x4)",
                f'SELECT (GROUP_CONCAT({v}; SEPARATOR="-") AS ?x1) (MAX({v}) AS ?x2)',
            ]
        return self._pick(forms)
