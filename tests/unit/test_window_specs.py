"""Every spec file of queries over windows, on every evaluator of them. An evaluator is added to the list, never to the cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaseq.reference.continuous import window_answers
from spaseq.testing import Case, check_windows, load_all
from support.continuous import followed_answers

SPECS = Path(__file__).resolve().parents[1] / "spec"
CASES = load_all(SPECS, "rsepql")
EVALUATORS = {"reference": window_answers, "views": followed_answers}


@pytest.mark.parametrize("name", EVALUATORS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_spec(case: Case, name: str) -> None:
    """The evaluator gives what the spec file says."""
    check_windows(case, name, EVALUATORS[name])


def test_case_names_are_unique() -> None:
    """A failing case can be found by its name."""
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))


def test_every_error_case_names_its_place() -> None:
    """An error without line and column could point anywhere."""
    assert [case.id for case in CASES if case.error and not case.error[1]] == []
