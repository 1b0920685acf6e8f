"""Every spec of EP-SPARQL (semantics 2), by every evaluator. An evaluator is added to the list, never to the cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from spaseq.algebra.intervals import IntervalQuery, Policy
from spaseq.errors import QueryError
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.model.events import localised
from spaseq.model.matches import Match
from spaseq.model.terms import BlankScopes
from spaseq.planner import compile_query
from spaseq.reference.interval_answers import interval_answers
from spaseq.testing import Case, load_all
from spaseq.testing.runner import Host, check_error, check_matches
from support.engine_hosts import ENGINE_HOSTS
from support.interval_hosts import WAYS, Portions, column_answers

SPECS = Path(__file__).resolve().parents[1] / "spec"
CASES = load_all(SPECS, "epsparql")


def _reference(query: IntervalQuery, case: Case) -> list[Match]:
    scopes = BlankScopes()
    events = [localised(event, scopes) for event in case.events]
    return interval_answers(query, events, case.knowledge, policy=Policy(case.policy), rdfs=case.rdfs)


def _by_columns(portions: Portions) -> Callable[[IntervalQuery, Case], list[Match]]:
    def answers(query: IntervalQuery, case: Case) -> list[Match]:
        scopes = BlankScopes()
        events = [localised(event, scopes) for event in case.events]
        wanted = replace(query, policy=Policy(case.policy))
        return column_answers(wanted, events, case.knowledge, portions, rdfs=case.rdfs)

    return answers


def _by_engine(host: Host) -> Callable[[IntervalQuery, Case], list[Match]]:
    def answers(query: IntervalQuery, case: Case) -> list[Match]:
        del query
        compiled = compile_query(case.query, "epsparql", name=case.id)
        run = cast(Callable[..., list[Match]], host.run)
        return run(compiled, case.events, case.knowledge, policy=case.policy, rdfs=case.rdfs)

    return answers


EVALUATORS: dict[str, Callable[[IntervalQuery, Case], list[Match]]] = {
    "reference": _reference,
    **{name: _by_columns(portions) for name, portions in WAYS.items()},
    **{host.name: _by_engine(host) for host in ENGINE_HOSTS},
}


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_spec(case: Case, evaluator: str) -> None:
    """The evaluator gives what the spec file says."""
    try:
        (query,) = compile_intervals(case.query, case.id, Policy(case.policy))
    except QueryError as error:
        check_error(case, error)
        return
    assert case.error is None, f"expected {case.error}, but it compiles"
    warned = {warning.code for warning in compile_query(case.query, "epsparql").warnings}
    assert warned >= set(case.warnings)
    if case.expected is not None:
        check_matches(case, evaluator, EVALUATORS[evaluator](query, case))


def test_case_names_are_unique() -> None:
    """A failing case can be found by its name."""
    assert len({case.id for case in CASES}) == len(CASES)


def test_every_error_case_names_its_place() -> None:
    """An error without line and column could point anywhere."""
    assert [case.id for case in CASES if case.error and not case.error[1]] == []
