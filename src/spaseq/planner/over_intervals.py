"""What hosts must know of an EP-SPARQL query: which triples of single events it reads, and how it is distributed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from spaseq.algebra.by_place import by_place
from spaseq.algebra.events import SelectForm
from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.format import format_pattern
from spaseq.algebra.intervals import IntervalQuery, Policy, Rule
from spaseq.algebra.operator_query import OperatorQuery, StreamPattern
from spaseq.algebra.patterns import Bgp, Graph, Group, Pattern, Slice, TriplePattern
from spaseq.algebra.scope import in_scope, sub_patterns
from spaseq.algebra.strata import readings, unify
from spaseq.algebra.visibility import every_pattern, exists_patterns
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.rule_limits import CURE, too_much
from spaseq.intervals.schema import Schema
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import EVERY_STREAM, CountLimit, ResultForm, Stream

KEY: Final = "key"
"""What the variable is called by which occurrences go apart."""
TRIPLE: Final = TriplePattern(Var("s"), Var("p"), Var("o"))


def interval_query(query: IntervalQuery, knowledge: Knowledge | None = None) -> OperatorQuery:
    """A query over intervals as one that an operator answers; with RDFS, what it reads follows from the background's schema."""
    known = knowledge or Knowledge()
    schema = Schema.of(known)
    dictionary = TermDictionary()
    evaluation = IntervalEvaluation(query, dictionary, known, RowEvaluator(dictionary))
    found = "RDFS makes of a triple what another key may need" if schema else common_key(query)
    key = None if isinstance(found, str) else found
    return OperatorQuery(
        operator="intervals",
        form=_form(query),
        streams=(Stream("*", EVERY_STREAM),),
        patterns=tuple(
            StreamPattern(read.name, EVERY_STREAM, Bgp((read.pattern,)))
            for read in inputs_read(evaluation.inputs, key)
        ),
        details=query,
        key=() if key is None else (KEY,),
        reason=found
        if isinstance(found, str)
        else f"every triple pattern has ?{found.name} as subject or object"
        + (", under its own name in rules" if query.rules else ""),
        cure="let every triple pattern have one variable in common, as subject or object",
        hears_instants=evaluation.waits,
        reads_background=True,
        template=(TRIPLE,) if query.asked is None else (),
        counted=_counted(query) if key is not None and query.rules else None,
    )


def _counted(query: IntervalQuery) -> CountLimit:
    """What all rules produce at an instant, for all keys (semantics 2.7)."""
    return CountLimit(
        query.rule_limit, f"{too_much(query.rule_names, query.rule_limit)} at {{instant}}{CURE}"
    )


@dataclass(frozen=True, slots=True)
class InputRead:
    """A triple pattern that events are matched with: one that the evaluation asks for, by place, and the place of the key."""

    triple: TriplePattern
    place: str | None = None

    @property
    def pattern(self) -> TriplePattern:
        """The pattern, with the name of the key where it is."""
        nodes = (self.triple.subject, self.triple.predicate, self.triple.object)
        subject, predicate, obj = (
            Var(KEY) if isinstance(node, Var) and node.name == self.place else node for node in nodes
        )
        return TriplePattern(subject, predicate, obj)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """What summaries call it."""
        return format_pattern(Bgp((self.pattern,))).removesuffix(" .")


def inputs_read(inputs: Sequence[TriplePattern], key: CommonKey | None) -> tuple[InputRead, ...]:
    """What is asked of events; with a key, where it is in each triple pattern."""
    return tuple(InputRead(triple, None if key is None else key.places[triple]) for triple in inputs)


@dataclass(frozen=True, slots=True)
class CommonKey:
    """A variable of the query by which occurrences may go apart, and its place in every triple pattern that evaluation asks for.

    Rules may call it otherwise.
    """

    name: str
    places: Mapping[TriplePattern, str]


def common_key(query: IntervalQuery) -> CommonKey | str:
    """The variable by which occurrences may go apart (semantics 2.10), or why there is none."""
    asked = query.asked
    if asked is None:
        return "what rules produce is written as one graph for each interval"
    if asked.limit is not None or asked.offset:
        return "LIMIT and OFFSET count the answers of all keys"
    triples = list(_triples(query))
    if not triples:
        return "no triple pattern matches an occurrence"
    if any(triple.is_path for triple in triples):
        return "a path leads from one key to another"
    reason = ""
    for name in _at_every_end(asked.read):
        obstacle = _obstacle(asked.read, name)
        places = None if obstacle else _with_places({}, asked.read, name)
        if places is None:
            reason = (
                reason
                or obstacle
                or f"?{name} is the subject of one triple pattern and the object of another {ALIKE}"
            )
            continue
        if query.policy is not Policy.UNRESTRICTED and _in_two_roles(places):
            reason = (
                reason or f"?{name} is the subject of one triple pattern and the object of another {CONSUMED}"
            )
            continue
        found = _with_rules(places, query.rules)
        if found is not None:
            return CommonKey(name, found)
        reason = f"?{name} has no counterpart in {WHOLE}"
    return reason or "no variable is subject or object of every triple pattern"


ALIKE: Final = "like it, so that one occurrence would belong to two keys"
CONSUMED: Final = "that may match the same occurrence, which one key could consume and another one still use"
WHOLE: Final = (
    "every rule: a variable that is subject or object of all its triple patterns, in the same place of those that are alike, "
    "and of what others read of what they produce"
)


def _at_every_end(pattern: Pattern) -> list[str]:
    """The variables that are subject or object of every triple pattern that may match an occurrence."""
    ends = [
        {node.name for node in (t.subject, t.object) if isinstance(node, Var)}
        for t in (reading.triple for reading in readings(pattern))
    ]
    common = sorted(set.intersection(*ends)) if ends else []
    return [name for name in common if not name.startswith("_:")]


def _candidates(pattern: Pattern) -> Iterator[str]:
    """The variables that are an end of every triple pattern and stay in scope."""
    return (name for name in _at_every_end(pattern) if _obstacle(pattern, name) is None)


def _with_rules(places: Places, rules: Sequence[Rule]) -> Places | None:
    """The places of the key in what rules read, too; None if what one of them produces may belong to another key."""
    if not rules:
        return places
    first, *others = rules
    for name in _candidates(first.pattern):
        more = _with_places(places, first.pattern, name)
        found = None if more is None else _with_rules(more, others)
        if found is not None and all(_stays_apart(triple, name, found) for triple in first.template):
            return found
    return None


Places = dict[TriplePattern, str]


def _with_places(known: Places, pattern: Pattern, name: str) -> Places | None:
    """Where a variable is in the triple patterns that evaluation asks for; None if one of them has it elsewhere."""
    found = dict(known)
    for reading in readings(pattern):
        place = by_place(reading.triple)
        names = dict(zip(in_scope(Bgp((reading.triple,))), in_scope(Bgp((place,))), strict=True))
        if found.setdefault(place, names[name]) != names[name]:
            return None
    return found


def _in_two_roles(places: Places) -> bool:
    """True if an occurrence may match two triple patterns, in one as subject of its key and in the other one as object of another key."""
    return any(unify(one, other) and places[one] != places[other] for one, other in combinations(places, 2))


def _stays_apart(template: TriplePattern, name: str, places: Places) -> bool:
    """True if whoever reads what a template produces reads it under the key of its rule."""
    at = {"s": template.subject, "o": template.object}
    return all(at[place] == Var(name) for triple, place in places.items() if unify(triple, template))


def _triples(query: IntervalQuery) -> Iterator[TriplePattern]:
    patterns = [rule.pattern for rule in query.rules] + ([query.asked.read] if query.asked else [])
    return (reading.triple for pattern in patterns for reading in readings(pattern))


def _obstacle(pattern: Pattern, name: str) -> str | None:
    """Why a variable is not in scope of every part that reads occurrences, or which part counts over several of its values."""
    if isinstance(pattern, Graph) or not any(True for _ in readings(pattern)):
        return None
    if isinstance(pattern, Slice):
        return "LIMIT and OFFSET of a sub-SELECT count the answers of all keys"
    if isinstance(pattern, Group) and Var(name) not in [key for _, key in pattern.keys]:
        return f"a group that is not by ?{name} has the solutions of all keys"
    for part in (*sub_patterns(pattern), *exists_patterns(pattern)):
        if (found := _obstacle(part, name)) is not None:
            return found
    return None if name in in_scope(pattern) else f"?{name} does not stay in scope of every triple pattern"


def _form(query: IntervalQuery) -> ResultForm:
    asked = query.asked
    if asked is None:
        return ResultForm("construct", ("s", "p", "o"), continuous=True, lasting=True)
    if isinstance(asked.form, SelectForm):
        limited = asked.limit is not None or asked.offset > 0
        names = asked.form.variables
        return ResultForm("select", names, distinct=asked.distinct and not limited, most=asked.limit)
    return ResultForm("ask")


def graphs_of(query: IntervalQuery) -> tuple[tuple[str, ...], bool]:
    """The background graphs that a query names; it reads all of them."""
    patterns: list[Pattern] = [rule.pattern for rule in query.rules]
    if query.asked is not None:
        patterns.append(query.asked.read)
    named = [
        part.name.term.value
        for pattern in patterns
        for part in every_pattern(pattern)
        if isinstance(part, Graph) and isinstance(part.name, Constant)
    ]
    return tuple(dict.fromkeys(named)), True
