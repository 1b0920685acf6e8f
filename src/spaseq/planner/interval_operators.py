"""The operators that evaluate an EP-SPARQL query: what each goes by, how long it keeps what, what it waits for, whom it chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spaseq.algebra.events import SelectForm
from spaseq.algebra.intervals import Asked, IntervalQuery, Policy
from spaseq.algebra.patterns import (
    Bgp,
    IntervalJoin,
    Inverse,
    LeftJoin,
    PathAlternative,
    PathRepeat,
    PathSequence,
    Pattern,
)
from spaseq.algebra.visibility import every_pattern
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.errors import NOWHERE, Span
from spaseq.intervals.conjunction import ConjoinedSolutions, PairJoin
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.interval_joins import MinusView, OptionalSolutions, Partners
from spaseq.intervals.limits import SliceView
from spaseq.intervals.running_groups import GroupedSolutions
from spaseq.intervals.solution_views import OccurrenceView, SolutionView
from spaseq.intervals.substituted import SubstitutedPartners
from spaseq.intervals.traces import TracedWalkView
from spaseq.intervals.walks import WalkView
from spaseq.model.dictionary import TermDictionary
from spaseq.temporal.durations import format_duration


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """One operator. ``keeps`` is in words; ``grows`` if its state does and a duration could bound it."""

    name: str
    key: tuple[str, ...] | None
    """The variables it goes by; None if it goes by none."""
    keeps: str
    waits: bool
    of: str = "query"
    """Whose operator it is: the query's or a rule's."""
    policy: Policy = Policy.UNRESTRICTED
    grows: bool = False
    parts: int = 2
    """How many parts one operator joins, in an order that follows from what comes."""


def operators(query: IntervalQuery) -> tuple[OperatorFacts, ...]:
    """Those of the query and of its rules, as they are evaluated."""
    dictionary = TermDictionary()
    evaluation = IntervalEvaluation(query, dictionary, Knowledge(), RowEvaluator(dictionary))
    chooses = query.policy is not Policy.UNRESTRICTED
    found = [
        replace(each, of=of, waits=each.waits or (chooses and of == "query"))
        for of, view in evaluation.views()
        for part in view.all_views()
        for each in _operators(part)
    ]
    if query.asked is not None:
        found += _finishing(query.asked)
    return tuple(found)


def _operators(view: SolutionView) -> Iterator[OperatorFacts]:
    """What one view does, besides reading others."""
    match view:
        case ConjoinedSolutions():
            grows = view.joins[0].kept_for is None and not view.joins[0].at_once
            for number, join in enumerate(view.joins):
                policy = Policy.UNRESTRICTED if join.title == "join" else join.policy
                parts = 2 if number else len(view.order)
                keeps = _kept(join)
                yield OperatorFacts(
                    join.title, join.key, keeps, waits=False, policy=policy, grows=grows, parts=parts
                )
        case OptionalSolutions():
            _, partners, *_ = view.parts()
            grows = view.kept_for is None and not view.at_once and _reads_events(partners)
            yield OperatorFacts(
                view.title, view.key, _kept(view), waits=view.waits, policy=view.policy, grows=grows
            )
        case GroupedSolutions():
            keeps = "everything" if view.endless else "groups until their time has passed"
            yield OperatorFacts("GROUP BY", view.key, keeps, waits=True)
        case WalkView() | TracedWalkView():
            keeps = "everything" if view.kept_for is None else duration(view.kept_for)
            grows = view.kept_for is None and _reads_events(view)
            yield OperatorFacts("path", None, keeps, waits=False, grows=grows)
        case SliceView():
            yield OperatorFacts("LIMIT", None, "a count", waits=True)
        case _:
            pass
    name = "MINUS" if isinstance(view, MinusView) else "EXISTS"
    for keeper in _searches(view):
        key = keeper.key if isinstance(keeper, Partners) else tuple(sorted(keeper.shared))
        keeps = "the first of equal solutions" if isinstance(keeper, Partners) else "everything"
        yield OperatorFacts(name, key, keeps, waits=True)


def _reads_events(view: SolutionView) -> bool:
    """True if occurrences are among what a view reads: background triples do not become more."""
    return any(isinstance(each, OccurrenceView) for each in view.all_views())


def _searches(keeper: Keeper) -> Iterator[Partners | SubstitutedPartners]:
    """What only looks for partners."""
    for _, each in keeper.keepers():
        if isinstance(each, (Partners, SubstitutedPartners)):
            yield each
        else:
            yield from _searches(each)


def _finishing(asked: Asked) -> Iterator[OperatorFacts]:
    """What is done with all solutions."""
    if not isinstance(asked.form, SelectForm):
        yield OperatorFacts("ASK", None, "the first answer", waits=True)
    if asked.distinct:
        yield OperatorFacts("DISTINCT", None, "one instant", waits=True)
    if asked.order:
        yield OperatorFacts("ORDER BY", None, "one instant", waits=True)
    if asked.limit is not None or asked.offset:
        yield OperatorFacts("LIMIT", None, "a count", waits=bool(asked.order))


def _kept(join: PairJoin | OptionalSolutions) -> str:
    if join.at_once:
        return "one instant"
    return "everything" if join.kept_for is None else duration(join.kept_for)


def growing(query: IntervalQuery) -> tuple[OperatorFacts, Span] | None:
    """The first operator whose state grows as long as the stream does, and where it is written."""
    found = operators(query)
    for operator in found:
        if operator.grows:
            return operator, _place(query, operator, found)
    return None


def _place(query: IntervalQuery, operator: OperatorFacts, found: Sequence[OperatorFacts]) -> Span:
    """Where an operator is written: the triple patterns that it is about; those of the whole statement if that is uncertain."""
    of = operator.of
    if of == "query":
        assert query.asked is not None
        pattern = query.asked.pattern
    else:
        pattern = query.rules[int(of.removeprefix("rule ")) - 1].pattern
    alike = [each for each in found if (each.of, each.name) == (of, operator.name)]
    written = list(_written(pattern, operator.name))
    if len(written) != len(alike):
        written = [pattern] if len(written) > 1 else written or [pattern]
    at = next(number for number, each in enumerate(alike) if each is operator)
    return _span(written[at % len(written)])


def _written(pattern: Pattern, name: str) -> Iterator[Pattern]:
    """The parts of a pattern that an operator of this name evaluates, in the order of the text."""
    for part in every_pattern(pattern):
        match part:
            case IntervalJoin(relation=relation) if relation.value == name:
                yield part
            case LeftJoin(right=right) if name == "OPTIONAL":
                yield right
            case Bgp(triples) if name == "path":
                yield from (Bgp((triple,)) for triple in triples if _repeats(triple.predicate))
            case _:
                pass


def _repeats(path: object) -> bool:
    match path:
        case PathRepeat():
            return True
        case Inverse(inner):
            return _repeats(inner)
        case PathSequence(several) | PathAlternative(several):
            return any(map(_repeats, several))
        case _:
            return False


def _span(pattern: Pattern) -> Span:
    """From the first triple pattern of a part to its last."""
    spans = [
        triple.span for part in every_pattern(pattern) if isinstance(part, Bgp) for triple in part.triples
    ]
    known = [span for span in spans if span != NOWHERE]
    return Span(min(span.start for span in known), max(span.end for span in known)) if known else NOWHERE


def duration(longest: int) -> str:
    """A longest duration, as it is written: ``<`` a whole number of milliseconds, or ``<=`` this."""
    if (longest + 1) % 1000 == 0:
        return f"less than {format_duration(longest + 1)}"
    return format_duration(longest)
