"""The in-process engine agrees with the reference implementation on random queries and streams, however its input comes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaseq.planner import compile_query
from spaseq.planner.compiled import Optimisations
from spaseq.testing.comparison import comparable
from spaseq.testing.runner import Host, reference_host
from support.engine_hosts import ENGINE_HOSTS
from support.scenarios import Scenario, scenarios


@pytest.mark.parametrize("host", ENGINE_HOSTS, ids=lambda host: host.name)
@given(scenario=scenarios())
def test_the_engine_answers_like_the_judge(host: Host, scenario: Scenario) -> None:
    """Equal as multisets, with instants, bindings, events and identities."""
    query = compile_query(scenario.query)
    wanted = comparable(query, reference_host.run(query, scenario.events, scenario.knowledge))
    assert comparable(query, host.run(query, scenario.events, scenario.knowledge)) == wanted


@settings(max_examples=settings().max_examples * 5 // 2)
@given(scenario=st.one_of(scenarios(beyond=True), scenarios(beyond=True, absences=True)))
def test_sequences_beyond_the_paper_agree_with_the_reference(scenario: Scenario) -> None:
    """Groups, permutations, gaps, longest repetitions and skipping, mixed with everything else, however input comes."""
    query = compile_query(scenario.query)
    # The reference unrolls, which takes long: once for all hosts.
    wanted = comparable(query, reference_host.run(query, scenario.events, scenario.knowledge))
    for host in ENGINE_HOSTS:
        assert comparable(query, host.run(query, scenario.events, scenario.knowledge)) == wanted, host.name


@pytest.mark.parametrize("switch", [name for name in Optimisations.names() if name != "incremental"])
@settings(max_examples=max(settings().max_examples // 3, 10))
@given(scenario=scenarios())
def test_an_optimisation_switched_off_changes_no_answer(switch: str, scenario: Scenario) -> None:
    """Every optimisation of the paper is about speed alone."""
    query = compile_query(scenario.query, optimisations=Optimisations.without(switch))
    wanted = comparable(query, reference_host.run(query, scenario.events, scenario.knowledge))
    for host in ENGINE_HOSTS[:2]:
        assert comparable(query, host.run(query, scenario.events, scenario.knowledge)) == wanted


@settings(max_examples=1)
@given(scenario=scenarios())
def test_scenarios_compile(scenario: Scenario) -> None:
    """The strategy gives valid queries only."""
    assert compile_query(scenario.query).automaton.edges
