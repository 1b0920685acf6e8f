"""How the work of a continuous query may be spread without changing its answers (semantics 3.6).

By a variable ``?k``: what a pattern gives for one value of ``?k`` may depend on no triple of another value. A pattern is *split*
by ``?k`` if its solutions that bind ``?k`` to a value, and those that leave it unbound, are the same over all triples and over
the triples of that value alone. By evaluation: the answer at an instant depends on the contents of the windows then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from spaseq.algebra.event_patterns import Consumption, declared_events, format_events
from spaseq.algebra.events import SelectForm
from spaseq.algebra.expressions import Call, Var, walk
from spaseq.algebra.format import format_pattern
from spaseq.algebra.operator_query import Stretches
from spaseq.algebra.patterns import (
    Bgp,
    Distinct,
    EventMatch,
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
    TriplePattern,
    Union,
)
from spaseq.algebra.scope import certainly_bound, lowered, pattern_expressions, sub_patterns
from spaseq.algebra.visibility import every_pattern, exists_patterns
from spaseq.algebra.windows import Emission, Range, StreamWindow, Trigger, Unit, WindowQuery
from spaseq.windowed.event_plan import not_split
from spaseq.windowed.inputs import active_windows, counts_triples, dated_triples, matches, window_triples


@dataclass(frozen=True, slots=True)
class WindowDistribution:
    """The variable by which a query is split, the stretches by which evaluations can go apart, and why not further."""

    key: str | None
    stretches: Stretches | None
    reason: str
    cure: str = "nothing in the query changes that"


class _NotSplit(Exception):
    """Why a pattern is not split by a variable, and what would change it."""

    def __init__(self, reason: str, cure: str = "nothing in the query changes that") -> None:
        super().__init__(reason)
        self.cure = cure


def window_distribution(query: WindowQuery) -> WindowDistribution:
    """The finest distribution that provably changes nothing."""
    query = replace(query, key=None)
    keys, stretches = _candidates(query), _stretches(query)
    refused: _NotSplit | None = None
    for key in keys:
        try:
            _check(query, key)
        except _NotSplit as reason:
            refused = refused or reason
        else:
            return WindowDistribution(
                key,
                None if isinstance(stretches, str) else stretches,
                f"every triple pattern over a window has ?{key} as subject or object; every worker with rows of it hears of all instants",
            )
    refused = refused or _NotSplit("no triple pattern over a window has a variable as subject or object")
    if isinstance(stretches, str):
        return WindowDistribution(None, None, f"{refused}; {stretches}", refused.cure)
    return WindowDistribution(
        None,
        stretches,
        f"an answer depends on the contents of its own evaluation only; an endless input stays on one worker: {refused}",
        refused.cure,
    )


def _candidates(query: WindowQuery) -> tuple[str, ...]:
    """The variables that stand as subject or object in patterns over windows: those of GROUP BY, then those of most patterns first.

    Aggregates need a variable of their GROUP BY, so what stands against that one says most.
    """
    counted = Counter(
        name for triple in _triples(query.pattern, query.default_windows, query) for name in _ends(triple)
    )
    for match in matches(query):
        for event in declared_events(match.events):
            counted.update(sorted(certainly_bound(lowered(event.pattern))))
    names = [name for name, _ in counted.most_common() if not name.startswith("_:")]
    groups = (part for part in every_pattern(query.pattern) if isinstance(part, Group))
    grouped = {key.name for group in groups for key, value in group.keys if key == value}
    return tuple(sorted(names, key=lambda name: name not in grouped))


def _ends(triple: TriplePattern) -> tuple[str, ...]:
    ends = (triple.subject, triple.object)
    return tuple(dict.fromkeys(node.name for node in ends if isinstance(node, Var)))


def _triples(pattern: Pattern, active: tuple[str, ...], query: WindowQuery) -> Iterator[TriplePattern]:
    """The triple patterns that read windows, in order, and the triples that `timestamp` asks about."""
    active = active_windows(pattern, active, query)
    if active and isinstance(pattern, Bgp):
        yield from pattern.triples
    if active:
        for expression in pattern_expressions(pattern):
            yield from dated_triples(expression)
    for part in (*sub_patterns(pattern), *exists_patterns(pattern)):
        yield from _triples(part, active, query)


def _check(query: WindowQuery, key: str) -> None:
    """Raise `_NotSplit` if a query is not split by a variable."""
    for triple in _triples(query.pattern, query.default_windows, query):
        if key not in _ends(triple) or triple.is_path:
            text = format_pattern(Bgp((triple,))).removesuffix(" .")
            raise _NotSplit(
                f"`{text}` reads a window, and not by ?{key}",
                "bind one variable as subject or object in every triple pattern over a window",
            )
    for match in matches(query):
        if (reason := not_split(match.events, query.consumption, key)) is not None:
            raise _NotSplit(f"of `MATCH {{ {format_events(match.events)} }}` {reason}")
    if any(map(counts_triples, query.windows)):
        raise _NotSplit("a window counted in TRIPLES needs the triples of all values", "use a time window")
    if _makes_blank_nodes(query):
        raise _NotSplit("BNODE() makes blank nodes that must differ in all of the query")
    shown, core = _outermost(query, key)
    if not isinstance(query.form, SelectForm):
        raise _NotSplit("CONSTRUCT and ASK put the solutions of an evaluation together", "use SELECT")
    if not shown and query.emission is not Emission.RSTREAM:
        raise _NotSplit(
            f"{query.emission.value} compares the solutions of all values of ?{key}",
            f"select `?{key}` as well",
        )
    if not _anchored(core, query, query.default_windows, known=bool(query.default_graphs)):
        raise _NotSplit(f"?{key} may come from a background graph, VALUES or BIND alone")
    _Splitting(query, key).check(core, query.default_windows)


def _outermost(query: WindowQuery, key: str) -> tuple[bool, Pattern]:
    """Whether the variable, by whatever name, is in all solutions, and the pattern inside of the outermost projection."""
    core: Pattern = query.pattern
    projections, distinct = list[set[str]](), False
    while isinstance(core, (Slice, Distinct, Project, OrderBy)):
        if isinstance(core, (Slice, OrderBy)):
            raise _NotSplit("ORDER BY and LIMIT put the solutions of an evaluation in one order")
        if isinstance(core, Project):
            projections.append({variable.name for variable in core.variables})
        distinct = distinct or isinstance(core, Distinct)
        core = core.pattern
    names = {key}
    inner: Pattern = core
    while isinstance(inner, Extend):
        if inner.expression == Var(key):
            names.add(inner.variable.name)
        inner = inner.pattern
    shown = all(names & projection for projection in projections)
    if distinct and not shown:
        raise _NotSplit(
            f"DISTINCT compares the solutions of all values of ?{key}", f"select `?{key}` as well"
        )
    return shown, core


def _makes_blank_nodes(query: WindowQuery) -> bool:
    return any(
        isinstance(node, Call) and node.name == "BNODE"
        for part in every_pattern(query.pattern)
        for expression in pattern_expressions(part)
        for node in walk(expression)
    )


def _anchored(pattern: Pattern, query: WindowQuery, active: tuple[str, ...], *, known: bool) -> bool:
    """True if every solution has a triple of a window; ``known`` if the active graph has triples of the background too."""
    match pattern:
        case Bgp(triples):
            return bool(active and triples) and not known
        case EventMatch():
            return True
        case Graph(_, inner):
            return _anchored(inner, query, active_windows(pattern, active, query), known=False)
        case Join(left, right):
            return any(_anchored(each, query, active, known=known) for each in (left, right))
        case Union(left, right):
            return all(_anchored(each, query, active, known=known) for each in (left, right))
        case LeftJoin(inner) | Minus(inner) | Filter(inner) | Extend(inner) | Group(inner):
            return _anchored(inner, query, active, known=known)
        case Project(inner) | Distinct(inner):
            return _anchored(inner, query, active, known=known)
        case _:
            return False


class _Splitting:
    """Checks that patterns are split by a variable that all their triple patterns over windows have."""

    def __init__(self, query: WindowQuery, key: str) -> None:
        self._query, self._key = query, key

    def check(self, pattern: Pattern, active: tuple[str, ...]) -> None:
        """Raise `_NotSplit` if a pattern is not."""
        if not self._reads(pattern, active):
            return  # the same for all values
        active = active_windows(pattern, active, self._query)
        exists = [each for each in exists_patterns(pattern) if self._reads(each, active)]
        for part in (*sub_patterns(pattern), *exists):
            self.check(part, active)
        if exists:
            self._require(sub_patterns(pattern)[0], "EXISTS looks for partners")
        match pattern:
            case (
                Bgp()
                | Join()
                | Union()
                | Graph()
                | Distinct()
                | OrderBy()
                | Filter()
                | Extend()
                | EventMatch()
            ):
                pass
            case LeftJoin(left, right) | Minus(left, right):
                if self._reads(right, active):
                    self._require(left, "OPTIONAL and MINUS look for partners")
            case Group(_, keys):
                if (Var(self._key), Var(self._key)) not in keys:
                    raise _NotSplit(
                        f"an aggregate is over all values of ?{self._key}", f"GROUP BY ?{self._key} as well"
                    )
            case Project(_, variables):
                if Var(self._key) not in variables:
                    raise _NotSplit(
                        f"a sub-SELECT leaves ?{self._key} behind", f"select `?{self._key}` in it as well"
                    )
            case _:
                raise _NotSplit("LIMIT in a sub-SELECT chooses among the solutions of all values")

    def _reads(self, pattern: Pattern, active: tuple[str, ...]) -> bool:
        matched = any(isinstance(part, EventMatch) for part in every_pattern(pattern))
        return matched or next(window_triples(pattern, active, self._query), None) is not None

    def _require(self, pattern: Pattern, why: str) -> None:
        if self._key not in certainly_bound(pattern):
            raise _NotSplit(
                f"{why} of a solution that may leave ?{self._key} unbound",
                f"bind `?{self._key}` outside of OPTIONAL and UNION first",
            )


# --- by evaluation ----------------------------------------------------------------------------------


def _stretches(query: WindowQuery) -> Stretches | str:
    """By which stretches of time evaluations go apart, or why they do not."""
    gap = _gap(query)
    if gap is None:
        return f"{query.emission.value} compares every evaluation with the one before, which may lie far back"
    if query.consumption is not Consumption.NONE:
        return "what is consumed is gone at all later evaluations"
    if _makes_blank_nodes(query):
        return "blank nodes of BNODE() must differ in all evaluations"
    if any(
        isinstance(body, Range) and body.unit is not Unit.TIME
        for window in query.windows
        for body in window.bodies
    ):
        return "a counted window needs the events of all evaluations"
    closing = query.report.trigger is Trigger.WINDOW_CLOSE
    grids = {(window.stepping.step, window.stepping.start) for window in query.windows if window.stepping}
    sizes = [_reach(window, closing=closing and len(grids) > 1) for window in query.windows]
    reach = max((size for size in sizes if size is not None), default=None)
    if reach is None or None in sizes:
        return "a window without RANGE holds what came before any evaluation"
    (step, start), *others = grids or {(None, None)}
    if closing and not others and not gap and step is not None and all(map(_tumbles, query.windows)):
        return Stretches(step, 0, start or 0)
    return Stretches(reach + gap, reach + gap, 0)


def _gap(query: WindowQuery) -> int | None:
    """How long before an evaluation the one may lie that it is compared with; 0 if it is with none, None if any time before."""
    if query.emission is Emission.RSTREAM:
        return 0
    if query.report.non_empty or query.report.trigger is Trigger.CONTENT_CHANGE:
        return None
    steps = [body.step for window in query.windows if (body := window.stepping) and body.step]
    return query.report.every or max(steps, default=None)


def _reach(window: StreamWindow, *, closing: bool) -> int | None:
    """How long before an evaluation a window's events may have come, if that is bounded."""
    ranges = [body for body in window.bodies if isinstance(body, Range)]
    found = [body.size + (body.step or 0 if closing else 0) for body in ranges]
    return min(found, default=None)


def _tumbles(window: StreamWindow) -> bool:
    """True if the instances of a window share no event."""
    body = window.stepping
    return body is not None and len(window.bodies) == 1 and body.step is not None and body.size <= body.step
