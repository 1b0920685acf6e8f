"""Every spec file, on every host. A host is added to the list, never to the cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaseq.errors import QueryError, QueryWarning
from spaseq.testing import Case, Host, check, load_all, reference_host
from support.engine_hosts import COMPILED_HOST, ENGINE_HOSTS

SPECS = Path(__file__).resolve().parents[1] / "spec"
CASES = [*load_all(SPECS), *load_all(SPECS, "rsepql")]
HOSTS = [reference_host, *ENGINE_HOSTS, COMPILED_HOST]
ELSEWHERE = {
    "SPQ402": "FROM in a plain SPARQL query (tests/unit/languages)",
    "SPW103": "told by hosts that have a fast path",
}
"""Codes that no SPAseq query can show, and where they are tested."""


# What a compiler says of a query does not depend on the host: one is enough.
RUNS = [(case, host) for case in CASES for host in (HOSTS if case.expected is not None else HOSTS[:1])]


@pytest.mark.parametrize(
    ("case", "host"), [pytest.param(case, host, id=f"{case.id} [{host.name}]") for case, host in RUNS]
)
def test_spec(case: Case, host: Host) -> None:
    """The host gives what the spec file says."""
    check(case, host)


def test_case_names_are_unique() -> None:
    """A failing case can be found by its name."""
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))


def test_every_code_has_a_case() -> None:
    """Each error and warning of the catalogue is named by some spec file, except those told why not."""
    cases = [*CASES, *load_all(SPECS, "epsparql")]
    named = {case.error[0] for case in cases if case.error} | {c for case in cases for c in case.warnings}
    # Languages that tests add have codes of their own.
    codes = {
        cls.code for base in (QueryError, QueryWarning) for cls in _all_below(base) if cls.code[:2] == "SP"
    }
    assert codes - named == ELSEWHERE.keys()


def test_every_error_case_names_its_place() -> None:
    """An error without line and column could point anywhere."""
    assert [case.id for case in CASES if case.error and not case.error[1] and case.error[0] != "SPQ009"] == []


def _all_below(cls: type) -> set[type]:
    return {sub for direct in cls.__subclasses__() for sub in (direct, *_all_below(direct))}
