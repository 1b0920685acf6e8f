"""The stream completed by rules: stratum by stratum, each to its least fixpoint (semantics 2.7)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from pyoxigraph import BlankNode

from spaseq.algebra.by_place import PLACES as PLACES
from spaseq.algebra.expressions import And, Call, Constant, Unary, Var
from spaseq.algebra.functions import has_exists
from spaseq.algebra.intervals import Rule
from spaseq.algebra.patterns import (
    Extend,
    Group,
    IntervalJoin,
    LeftJoin,
    Minus,
    Pattern,
    Relation,
    Slice,
    TriplePattern,
)
from spaseq.algebra.scope import pattern_expressions
from spaseq.algebra.strata import Stratum
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.needs import parts
from spaseq.errors import LimitReached
from spaseq.intervals.build import IntervalBuilder
from spaseq.intervals.interval_rows import (
    LAST,
    NEVER_ENDED,
    Ids,
    IntervalRows,
    Longs,
    SolutionSet,
    no_rows,
    stacked,
)
from spaseq.intervals.schema import selected
from spaseq.intervals.solution_views import NewOccurrences, SolutionView, TimeStep
from spaseq.intervals.timed_expressions import TimedEvaluator
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import settings
from spaseq.temporal.instants import format_instant

_WELL_FORMED: Final = And(Unary("!", Call("ISLITERAL", (Var("s"),))), Call("ISIRI", (Var("p"),)))
Given = Mapping[TriplePattern, IntervalRows]
"""New occurrences by the triple pattern, by place, that they match."""


class RuleProduction(Keeper):
    """What one rule produces."""

    def __init__(
        self,
        number: int,
        rule: Rule,
        view: SolutionView,
        dictionary: TermDictionary,
        evaluator: TimedEvaluator,
    ) -> None:
        self._number, self._rule, self.view = number, rule, view
        self._dictionary, self._evaluator = dictionary, evaluator
        nodes = [
            node for triple in rule.template for node in (triple.subject, triple.predicate, triple.object)
        ]
        self._needed = {node.name for node in nodes if isinstance(node, Var) and not node.hidden}
        self._labels = {node.name for node in nodes if isinstance(node, Var) and node.hidden}

    def step(self, current: TimeStep) -> IntervalRows:
        """The new triples, by place; ill-formed ones are left out."""
        rows = self.view.step(current)
        if not len(rows) or not self._needed <= set(self.view.names):
            return no_rows(PLACES)
        bound = np.ones(len(rows), np.bool_)
        for name in self._needed:
            bound &= rows.columns[name] != 0
        rows = rows.take(bound)
        if not len(rows):
            return no_rows(PLACES)
        blanks = self._blank_nodes(rows) if self._labels else {}
        found = []
        for triple in self._rule.template:
            nodes = (triple.subject, triple.predicate, triple.object)
            columns = {
                place: self._column(node, rows, blanks) for place, node in zip(PLACES, nodes, strict=True)
            }
            found.append(rows.with_columns(columns))
        triples = stacked(found, PLACES)
        return triples.take(self._evaluator.rows.holds(_WELL_FORMED, triples.columns, len(triples)))

    def _column(self, node: object, rows: IntervalRows, blanks: Mapping[str, Ids]) -> Ids:
        match node:
            case Constant(term):
                return np.full(len(rows), self._evaluator.rows.constant(term), np.int32)
            case Var(name):
                return blanks[name] if node.hidden else rows.columns[name]
            case _:
                raise AssertionError(node)

    def _blank_nodes(self, rows: IntervalRows) -> dict[str, Ids]:
        """A node per label and solution, which the same solution always gives."""
        names = sorted(self.view.names)
        ids = rows.matrix(names)
        digests = []
        for row in range(len(rows)):
            terms = " ".join(self._dictionary.ntriples(int(each)) if each else "" for each in ids[row])
            text = f"{self._number} {rows.start[row]} {rows.end[row]} {terms}"
            digests.append(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24])
        return {
            label: np.array(
                [self._dictionary.encode(BlankNode(f"{label[2:]}-r{digest}")) for digest in digests], np.int32
            )
            for label in self._labels
        }


class ProducedCounts(Keeper):
    """How many occurrences all rules have produced at every instant that is not over; too many at one are an error (semantics 2.7)."""

    ARRAYS = ("_instants", "_many")

    def __init__(self, limit: int, strata: int) -> None:
        self._limit, self._strata = limit, strata
        self._seen = SolutionSet(PLACES)
        """What several strata may each produce counts once."""
        self._instants = np.zeros(0, np.int64)
        self._many = np.zeros(0, np.int64)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "seen", self._seen

    def add(self, rows: IntervalRows, stratum: Stratum) -> None:
        """Count what the rules of a stratum have produced."""
        if self._strata > 1:
            rows = self._seen.new(rows, -LAST)
        if not len(rows):
            return
        found, many = np.unique(rows.end, return_counts=True)
        self._instants, place = np.unique(np.concatenate([self._instants, found]), return_inverse=True)
        before, self._many = self._many, np.zeros(len(self._instants), np.int64)
        np.add.at(self._many, place.reshape(-1), np.concatenate([before, many]))
        if self._many.max() > self._limit:
            instant = int(self._instants[self._many.argmax()])
            raise refusal(too_much(stratum.rules, self._limit), instant)

    def over(self, horizon: int) -> tuple[Longs, Longs]:
        """The instants that are over, but for the background, and how many each had; they are forgotten."""
        self._seen.forget(horizon)
        past = self._instants < horizon
        done = past & (self._instants != NEVER_ENDED)
        found = self._instants[done], self._many[done]
        self._instants, self._many = self._instants[~past], self._many[~past]
        return found


CURE: Final = (
    ": does it feed itself without end? If not, raise the limit "
    "(`rule_limit=`; for rounds SPASEQ_SETTINGS=rule_rounds=…)"
)


def too_much(rules: Sequence[int], limit: int) -> str:
    """What is wrong with rules, by their numbers from 0, that produce more than a limit."""
    return f"{_who(rules)} more than {limit:,} occurrences"


def _who(rules: Sequence[int]) -> str:
    names = ", ".join(str(number + 1) for number in rules)
    return f"rules {names} produce" if len(rules) > 1 else f"rule {names} produces"


def refusal(what: str, instant: int) -> LimitReached:
    """The error that ends a run whose rules produce too much at an instant."""
    when = "in the background" if instant == NEVER_ENDED else f"at {format_instant(instant)}"
    return LimitReached(f"{what} {when}{CURE}")


class StratumClosure(Keeper):
    """The rules of one stratum."""

    def __init__(
        self,
        stratum: Stratum,
        rules: Sequence[Rule],
        builder: IntervalBuilder,
        dictionary: TermDictionary,
        evaluator: TimedEvaluator,
        counts: ProducedCounts,
    ) -> None:
        self._stratum, self._counts = stratum, counts
        self.rules = [
            RuleProduction(number, rules[number], builder.build(rules[number].pattern), dictionary, evaluator)
            for number in stratum.rules
        ]
        self.inputs = Inputs(builder.occurrences, evaluator)
        self._seen = SolutionSet(PLACES)
        self._by_instant = by_instant(stratum, rules)
        self._invents = stratum.recursive and any(_invents(rules[number]) for number in stratum.rules)

    @property
    def waits(self) -> bool:
        """True if an instant must be over before it is completed."""
        return any(view.waits for rule in self.rules for view in rule.view.all_views())

    def views(self) -> Iterator[tuple[str, SolutionView]]:
        """What finds the solutions of each rule."""
        yield from (
            (f"rule {number + 1}", rule.view)
            for number, rule in zip(self._stratum.rules, self.rules, strict=True)
        )

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "seen", self._seen
        for number, rule in enumerate(self.rules):
            yield from ((f"rule{number}.{at}", view) for at, view in enumerate(rule.view.all_views()))

    def step(self, given: Given, produced: IntervalRows, horizon: int) -> IntervalRows:
        """What these rules produce of new occurrences; what ends before the horizon will not come any more.

        The first step is that of the background, whose horizon is before all instants.
        """
        new = self.inputs.of(given, produced)
        if not self._stratum.recursive:
            found = self._round(new, horizon)
            self._counts.add(found, self._stratum)
            return found
        if horizon == NEVER_ENDED or not self._by_instant:
            return self._fixpoint(new, min(self._earliest(new), horizon), horizon)
        parts = []
        instants = np.unique(np.concatenate([rows.end for rows in new.values()] or [np.zeros(0, np.int64)]))
        for instant in instants.tolist():
            own = {triple: rows.take(rows.end == instant) for triple, rows in new.items()}
            parts.append(self._fixpoint(own, instant, instant))
        return stacked(parts, PLACES)

    @staticmethod
    def _earliest(new: Given) -> int:
        return min((int(rows.end.min()) for rows in new.values() if len(rows)), default=LAST)

    def _fixpoint(self, new: Given, first: int, horizon: int) -> IntervalRows:
        """Rounds until nothing new is produced."""
        parts: list[IntervalRows] = []
        rounds = 0
        while True:
            found = self._round(new, first)
            rounds += 1
            if not len(found):
                break
            parts.append(found)
            self._counts.add(found, self._stratum)
            if self._invents and rounds > settings().rule_rounds:
                what = f"{_who(self._stratum.rules)} ever new terms, after {rounds - 1:,} rounds"
                raise refusal(what, int(found.end[-1]))
            new = self.inputs.of({}, found)
        self._seen.forget(horizon)
        return stacked(parts, PLACES)

    def _round(self, new: Given, horizon: int) -> IntervalRows:
        self.inputs.feed(new)
        current = TimeStep(horizon)
        return self._seen.new(stacked([rule.step(current) for rule in self.rules], PLACES), horizon)


def by_instant(stratum: Stratum, rules: Sequence[Rule]) -> bool:
    """True if one instant must be complete before the next: the rules feed themselves, and absence at earlier instants matters."""
    return stratum.recursive and not all(_monotone(rules[number].pattern) for number in stratum.rules)


def _monotone(pattern: Pattern) -> bool:
    """True if more occurrences never mean fewer solutions."""
    for part in parts(pattern):
        if isinstance(part, (LeftJoin, Minus, Group, Slice)) or any(
            has_exists(expression) for expression in pattern_expressions(part)
        ):
            return False
        if isinstance(part, IntervalJoin) and part.relation not in (Relation.SEQ, Relation.EQUALS):
            return False
    return True


def _invents(rule: Rule) -> bool:
    """True if a rule can produce terms that were not there before."""
    labels = any(
        isinstance(node, Var) and node.hidden
        for triple in rule.template
        for node in (triple.subject, triple.object)
    )
    return labels or any(isinstance(part, (Extend, Group)) for part in parts(rule.pattern))


class Inputs:
    """The triple patterns, by place, that some views read, and what reaches each."""

    def __init__(
        self, occurrences: Mapping[TriplePattern, NewOccurrences], evaluator: TimedEvaluator
    ) -> None:
        self._occurrences, self._evaluator = occurrences, evaluator

    @property
    def triples(self) -> tuple[TriplePattern, ...]:
        """The patterns."""
        return tuple(self._occurrences)

    def names(self, triple: TriplePattern) -> tuple[str, ...]:
        """The columns of a pattern."""
        return self._occurrences[triple].names

    def of(self, given: Given, produced: IntervalRows) -> Given:
        """New occurrences by pattern: those that are given, and those of some triples that match."""
        found = {}
        for triple, source in self._occurrences.items():
            parts = [given[triple]] if triple in given else []
            if len(produced):
                parts.append(selected(produced, triple, self._evaluator))
            found[triple] = stacked(parts, source.names)
        return found

    def feed(self, new: Given) -> None:
        """Let the views see them."""
        for triple, source in self._occurrences.items():
            source.new = new[triple]
