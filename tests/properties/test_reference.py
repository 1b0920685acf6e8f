"""Laws that the reference implementation must obey on every query and every stream (semantics 1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from spaseq.algebra.events import (
    Absent,
    Contiguity,
    EventQuery,
    Gpm,
    Maybe,
    Once,
    ProjectionItem,
    Repeat,
    SelectForm,
    Sequence,
    Step,
    TimeWindow,
    gpms,
)
from spaseq.algebra.expressions import Var
from spaseq.algebra.patterns import Join, Values
from spaseq.algebra.rules import RULES, Rule, rewrite
from spaseq.algebra.rules.classify_variables import classify_variables
from spaseq.algebra.rules.over_gpms import map_gpms, map_steps
from spaseq.algebra.structure import possible_last
from spaseq.algebra.visibility import result_variables
from spaseq.model.events import GraphEvent, localised
from spaseq.model.matches import Match
from spaseq.model.terms import BlankScopes
from spaseq.planner import CompiledQuery, compile_query
from spaseq.reference import answers
from spaseq.reference.partitions import partitions
from support.scenarios import EX, Scenario, scenarios

SECOND = 1_000_000
Row = tuple[object, ...]


def with_everything(query: EventQuery) -> EventQuery:
    """The query with all variables selected, so that rows tell matches apart as well as rows can."""
    names = result_variables(query.sequence)
    return replace(query, form=SelectForm(tuple(ProjectionItem(Var(name)) for name in names)))


def told_apart(events: tuple[GraphEvent, ...]) -> list[GraphEvent]:
    """The events under names of their own, their blank nodes kept apart."""
    scopes = BlankScopes()
    return [
        localised(replace(event, name=NamedNode(f"{EX}event{number}")), scopes)
        for number, event in enumerate(events)
    ]


def row(match: Match) -> Row:
    """What tells a match apart; the labels of blank nodes in a constructed graph do not."""
    triples = None if match.triples is None else len(match.triples)
    events = tuple((event.step, event.graph, event.instant) for event in match.events)
    return match.begin, match.instant, frozenset(match.bindings.items()), triples, events


def rows(query: EventQuery, events: list[GraphEvent], scenario: Scenario) -> Counter[Row]:
    """The answers as a multiset."""
    return Counter(row(match) for match in answers(query, events, scenario.knowledge))


def selecting(query: EventQuery, change: dict[Contiguity, Contiguity]) -> EventQuery:
    """The query with other operators between steps and, where they are written, between iterations."""

    def changed(step: Step) -> Step:
        operator = None if step.operator is None else change.get(step.operator, step.operator)
        quantifier = step.quantifier
        if isinstance(quantifier, Repeat) and quantifier.between is not None:
            quantifier = replace(quantifier, between=change.get(quantifier.between, quantifier.between))
        return replace(step, operator=operator, quantifier=quantifier)

    return map_steps(query, changed)


# --- event selection ----------------------------------------------------------------------------


@given(scenarios(most_events=8))
def test_strict_contiguity_is_within_skip_till_next_within_skip_till_any(scenario: Scenario) -> None:
    """What is contiguous is a first partner, and a first partner is a partner; absences do not change."""
    query = with_everything(compile_query(scenario.query).algebra)
    events = told_apart(scenario.events)
    strict = {Contiguity.ANY: Contiguity.STRICT, Contiguity.NEXT: Contiguity.STRICT}
    anything = {Contiguity.STRICT: Contiguity.ANY, Contiguity.NEXT: Contiguity.ANY}
    following = {Contiguity.STRICT: Contiguity.NEXT, Contiguity.ANY: Contiguity.NEXT}
    by_strict, by_next, by_any = (
        rows(selecting(query, change), events, scenario) for change in (strict, following, anything)
    )
    assert by_strict <= by_next
    assert by_next <= by_any


@given(scenarios())
def test_an_event_of_an_undeclared_stream_changes_nothing(scenario: Scenario) -> None:
    """Streams that the query does not declare do not exist for it."""
    query = compile_query(scenario.query).algebra
    events = told_apart(scenario.events)
    declared = [event for event in events if event.stream != f"{EX}undeclared"]
    strangers = [replace(event, stream=f"{EX}stranger", time=event.time + 500_000) for event in declared]
    assert rows(query, declared + strangers, scenario) == rows(query, declared, scenario)


@given(scenarios(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_matters_only_among_events_of_one_instant(
    scenario: Scenario, random: Random
) -> None:
    """With distinct timestamps any order of arrival gives the same answers and identities."""
    query = compile_query(scenario.query)
    apart = [replace(event, time=event.time + number) for number, event in enumerate(scenario.events)]
    events = told_apart(tuple(apart))
    shuffled = list(events)
    random.shuffle(shuffled)
    text = query.normal_text
    first = answers(query.algebra, events, scenario.knowledge, text)
    second = answers(query.algebra, shuffled, scenario.knowledge, text)
    assert Counter((row(m), m.identity) for m in first) == Counter((row(m), m.identity) for m in second)


# --- optional steps -----------------------------------------------------------------------------


@given(scenarios(partitioned=False, most_events=8))  # a GPM that is gone would read no keys
def test_an_optional_step_is_the_union_of_taking_and_missing_it(scenario: Scenario) -> None:
    """``σ • A? ∘ Ψ`` is ``(σ • A ∘ Ψ) ∪ (σ • A! ∘ Ψ)``; in last place it is ``(σ • A) ∪ σ``."""
    query = with_everything(compile_query(scenario.query).algebra)
    steps = query.sequence.steps
    optional = [index for index, step in enumerate(steps) if isinstance(step.quantifier, Maybe)]
    assume(optional)
    events = told_apart(scenario.events)
    index = optional[-1]
    before, step, after = steps[:index], steps[index], steps[index + 1 :]
    taken = replace(step, quantifier=Once())
    missed = (replace(step, quantifier=Absent()),) if any(s.positive for s in after) else ()
    with_it, without_it = (_with_steps(query, (*before, *chosen, *after)) for chosen in ((taken,), missed))
    # Without the last step a variable may no longer be shared, and then it is another query.
    assume(classify_variables(without_it).iterated <= classify_variables(query).iterated)
    union = rows(with_it, events, scenario) + rows(without_it, events, scenario)
    assert rows(query, events, scenario) == union


def _with_steps(query: EventQuery, steps: tuple[Step, ...]) -> EventQuery:
    """Another sequence in the query; names of GPMs that are gone go too."""
    changed = replace(query, sequence=Sequence(steps))
    kept = {gpm.name for step in steps for gpm in gpms(step.body)}
    return replace(changed, names=tuple(name for name in query.names if name in kept))


# --- windows and partitions ---------------------------------------------------------------------


@given(scenarios(tumbling=True, most_events=10))
def test_tumbling_windows_are_queries_over_the_events_of_each_window(scenario: Scenario) -> None:
    """A match lies in one window; one on a boundary counts once, if it holds in either."""
    query = with_everything(compile_query(scenario.query).algebra)
    window = query.window
    assert isinstance(window, TimeWindow)
    last = possible_last(query.sequence)
    assume(
        not any(step.negated and step.number in last for step in query.sequence.steps)
    )  # they wait for its end
    events = told_apart(scenario.events)
    origin = window.start or 0
    expected: Counter[Row] = Counter()
    for low in range(origin - (window.size if window.start is None else 0), 11 * SECOND, window.size):
        inside = [event for event in events if low <= event.time <= low + window.size]
        found = rows(replace(query, window=None), inside, scenario)
        on_boundary = Counter({r: n for r, n in found.items() if r[0] == r[1] == low})
        expected = (expected | on_boundary) + (found - on_boundary)
    assert rows(query, events, scenario) == expected


@given(scenarios(partitioned=True, most_events=10))
def test_partitions_are_queries_over_the_events_of_each_key(scenario: Scenario) -> None:
    """PARTITION BY ?k is the query for every v alone: on the events with key v, and with ?k = v."""
    query = with_everything(compile_query(scenario.query).algebra)
    events = told_apart(scenario.events)
    assume(len(query.gpms) > 1)  # with one GPM the key would no longer be shared
    declared = {stream.iri for stream in query.streams}
    known = sorted((e for e in events if e.stream in declared), key=lambda event: event.time)
    expected: Counter[Row] = Counter()
    for key, own in partitions(query, tuple(known)):
        constant = Values(tuple(Var(name) for name in key), (tuple(key.values()),))
        alone = map_gpms(replace(query, partition=()), partial(_joined_with, constant=constant))
        expected += rows(alone, list(own), scenario)
    assert rows(query, events, scenario) == expected


def _joined_with(gpm: Gpm, constant: Values) -> Gpm:
    return replace(gpm, pattern=Join(gpm.pattern, constant))


# --- rules --------------------------------------------------------------------------------------


@given(scenarios(most_events=8), st.sets(st.sampled_from(RULES)))
def test_any_subset_of_the_rules_keeps_the_answers(scenario: Scenario, chosen: set[Rule]) -> None:
    """Every rewrite rule, alone and with others, preserves meaning."""
    query = compile_query(scenario.query).algebra
    events = told_apart(scenario.events)
    kept = tuple(rule for rule in RULES if rule in chosen)
    assert rows(rewrite(query, kept), events, scenario) == rows(query, events, scenario)


# --- identity -----------------------------------------------------------------------------------


@given(scenarios())
def test_every_match_has_an_identity_of_its_own(scenario: Scenario) -> None:
    """Also matches of the same events with the same bindings, which are numbered."""
    compiled = compile_query(scenario.query)
    found = answers(compiled.algebra, told_apart(scenario.events), scenario.knowledge, compiled.normal_text)
    assert len({match.identity for match in found}) == len(found)


@given(scenarios())
def test_identities_are_stable_and_belong_to_the_query(scenario: Scenario) -> None:
    """A replay gives the same identities, and so does another layout; another query gives others."""
    query, laid_out_anew = compile_query(scenario.query), compile_query(_laid_out_anew(scenario.query))
    events = told_apart(scenario.events)

    def identities(compiled: CompiledQuery, text: str) -> list[str]:
        return [match.identity for match in answers(compiled.algebra, events, scenario.knowledge, text)]

    own = identities(query, query.normal_text)
    assert identities(laid_out_anew, laid_out_anew.normal_text) == own
    assert not set(identities(query, query.normal_text + "ASK")) & set(own)


def _laid_out_anew(text: str) -> str:
    return "# a comment\n" + text.replace("\n", "\n\n  ").replace(" { ", " {\n ")
