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
from spaseq.algebra.visibility import every_pattern
from spaseq.columnar.keeping import Keeper
from spaseq.intervals.build import IntervalBuilder
from spaseq.intervals.conjunction import ConjoinedSolutions
from spaseq.intervals.endless import counts_without_end, invents_without_end, writes_without_end
from spaseq.intervals.interval_rows import (
    NEVER_ENDED,
    Ids,
    IntervalRows,
    IntervalTable,
    SolutionSet,
    no_rows,
    stacked,
)
from spaseq.intervals.rule_limits import ProducedCounts
from spaseq.intervals.schema import selected
from spaseq.intervals.solution_views import NewOccurrences, SolutionView, TimeStep
from spaseq.intervals.timed_expressions import TimedEvaluator
from spaseq.model.dictionary import TermDictionary
from spaseq.model.values import Kind
from spaseq.settings import settings

_NO_LITERAL: Final = Unary("!", Call("ISLITERAL", (Var("s"),)))
_WELL_FORMED: Final = And(_NO_LITERAL, Call("ISIRI", (Var("p"),)))
Given = Mapping[TriplePattern, IntervalRows]
"""New occurrences by the triple pattern, by place, that they match."""


class RuleProduction(Keeper):
    """What one rule produces. ``solutions`` are those of the last step."""

    solutions: IntervalRows

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
        self._counting, self._inventing = counts_without_end(rule), invents_without_end(rule)
        self._writing = writes_without_end(rule)

    def step(self, current: TimeStep) -> IntervalRows:
        """The new triples, by place; ill-formed ones are left out."""
        self.solutions = rows = self.view.step(current)
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

    def endless_at(self) -> int | None:
        """An instant at which it found what lets it produce without end, if there is one."""
        rows = self.solutions
        endless = np.zeros(len(rows), np.bool_)
        if self._counting is not None and len(rows):
            endless |= (
                self._evaluator.rows.summands(rows.columns[self._counting]).numbers.kind == Kind.INTEGER
            )
        if self._writing is not None and len(rows):
            endless |= self._evaluator.rows.holds(self._writing, rows.columns, len(rows))
        if self._inventing is not None and len(rows):
            able = np.ones(len(rows), np.bool_)
            for name in self._inventing:
                able &= self._evaluator.rows.holds(_NO_LITERAL, {"s": rows.columns[name]}, len(rows))
            endless |= able
        return int(rows.end[endless].min()) if endless.any() else None

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
        self._agenda = Agenda(counts)
        self._by_instant = by_instant(stratum, rules)
        views = (view for rule in self.rules for view in rule.view.all_views())
        self._joins = [view for view in views if isinstance(view, ConjoinedSolutions)]

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
        if horizon == NEVER_ENDED:
            return self._fixpoint(new, horizon)
        parts = [self._fixpoint(own, min(first, horizon)) for first, own in self._stretches(new)]
        self._seen.forget(horizon)
        return stacked(parts, PLACES)

    def _stretches(self, new: Given) -> Iterator[tuple[int, Given]]:
        """New occurrences one stretch of time after the other, and when it begins; one instant each if the rules ask for that."""
        given = [rows for rows in new.values() if len(rows)]
        if not given:
            return
        first, last = min(int(rows.end.min()) for rows in given), max(int(rows.end.max()) for rows in given)
        if first == last or not (self._by_instant or sum(map(len, given)) > self._agenda.most):
            yield first, new
            return
        ordered = {triple: rows.by_end() for triple, rows in new.items()}
        ends = np.sort(np.concatenate([rows.end for rows in given]))
        done = 0
        while done < len(ends):
            first = int(ends[done])
            past = int(np.searchsorted(ends, first, side="right"))
            room = done + self._agenda.most
            if not self._by_instant and room > past:  # as many whole instants as fit
                past = len(ends) if room >= len(ends) else int(np.searchsorted(ends, ends[room]))
            limits = first, int(ends[past - 1]) + 1
            yield (
                first,
                {triple: rows.part(*np.searchsorted(rows.end, limits)) for triple, rows in ordered.items()},
            )
            done = past

    def _fixpoint(self, new: Given, first: int) -> IntervalRows:
        """Rounds until nothing new is produced: each adds some of what was found to all that was there before.

        Which comes first does not change what is found in the end, since at an instant these rules only ever add.
        """
        found = IntervalTable(PLACES, ())
        used = sum(map(len, new.values()))
        self._agenda.begin(used)
        joined = self._joined()
        while True:
            produced = self._round(new, first)
            self._counts.add(produced, self._stratum)
            found.add(produced)
            before, joined = joined, self._joined()
            made = joined - before + sum(len(rule.solutions) for rule in self.rules)
            self._agenda.add(produced, used, made)
            if not self._agenda:
                return found.rows(None, None)
            rows = self._agenda.take()
            new, used = self.inputs.of({}, rows), len(rows)

    def _joined(self) -> int:
        """How many rows the joins have made."""
        return sum(view.joined for view in self._joins)

    def _round(self, new: Given, horizon: int) -> IntervalRows:
        self.inputs.feed(new)
        current = TimeStep(horizon)
        found = stacked([rule.step(current) for rule in self.rules], PLACES)
        endless = [instant for rule in self.rules if (instant := rule.endless_at()) is not None]
        if endless:
            raise self._counts.refusal(self._stratum, min(endless))
        return self._seen.new(found, horizon)


class Agenda:
    """What rules have produced and not read yet: the newest first, of several instants the earliest, not too much at a time.

    So rules without end reach the limit of one instant before they fill the memory: the instants that are read together have
    produced at most as much as one instant may, and a round is as small as the one before it suggests.
    """

    def __init__(self, counts: ProducedCounts) -> None:
        self._counts = counts
        self.most = max(settings().rule_rows >> 10, 1)
        """How many occurrences should be read at a time."""
        self.begin(0)

    def begin(self, given: int) -> None:
        """Begin a fixpoint with so many occurrences."""
        self._known = given
        self._parts: list[IntervalRows] = []

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, produced: IntervalRows, used: int, made: int) -> None:
        """What a round has produced, which read so many occurrences and made so many solutions."""
        before, self._known = self._known, self._known + len(produced)
        if len(produced):
            self._parts.append(produced.by_end())
        if made and used:
            # Each occurrence meets all others: the more there are, the more solutions it makes.
            room = settings().rule_rows * used * before // (made * self._known)
            self.most = max(min(room, 2 * self.most if 2 * used >= self.most else self.most), 1)

    def take(self) -> IntervalRows:
        """What to read next."""
        rows = self._parts.pop()
        many = min(len(rows), self.most)
        if many > 1:
            ends = rows.end[:many]
            first = np.ones(many, np.bool_)
            first[1:] = ends[1:] != ends[:-1]
            together = np.cumsum(np.where(first, self._counts.of(ends), 0))
            many = max(int(np.searchsorted(together, self._counts.limit, side="right")), 1)
        if many < len(rows):
            self._parts.append(rows.part(many, len(rows)))
        return rows.part(0, many)


def by_instant(stratum: Stratum, rules: Sequence[Rule]) -> bool:
    """True if one instant must be complete before the next: the rules feed themselves, and absence at earlier instants matters."""
    return stratum.recursive and not all(_monotone(rules[number].pattern) for number in stratum.rules)


def _monotone(pattern: Pattern) -> bool:
    """True if more occurrences never mean fewer solutions."""
    for part in every_pattern(pattern):
        if isinstance(part, (LeftJoin, Minus, Group, Slice)) or any(
            has_exists(expression) for expression in pattern_expressions(part)
        ):
            return False
        if isinstance(part, IntervalJoin) and part.relation not in (Relation.SEQ, Relation.EQUALS):
            return False
    return True


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
