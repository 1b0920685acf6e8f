"""What every test can use: property profiles, the documents folder, golden files, one Spark worker."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from spaseq.settings import SMALL, VARIABLE, changed_settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

# A job of its own, `make scale`; its modules import each other by name.
collect_ignore = ["scale"]

# A busy machine is no failure: no deadline, and slow generation is not an error.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Tests repeat the same cases, so that red is reproducible; `make fuzz` looks for new ones.
settings.register_profile("dev", patient, max_examples=25, derandomize=True)
settings.register_profile("ci", patient, max_examples=120, derandomize=True)
settings.register_profile("small", patient, max_examples=60, derandomize=True)
# Of the properties that compare with the reference, 5,000 cases each: before a release, and after a change to an evaluator.
settings.register_profile("full", patient, max_examples=2000, print_blob=True)
settings.register_profile("fuzz", patient, max_examples=200, print_blob=True)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") == "true" else "dev")
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch behind `make goldens`."""
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="write what the code gives into the golden files instead of comparing",
    )


class OneWorkerForHosts(LoadScopeScheduling):
    """Deal out tests one by one, but keep all of ``tests/hosts`` in one worker.

    A second Spark session would double the memory and gain nothing. (xdist's own groups, ``--dist
    loadgroup``, put nothing together under pytest 9.2.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return "hosts" if nodeid.startswith("tests/hosts/") else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneWorkerForHosts:
    """Use the scheduler above whenever tests run in several workers."""
    return OneWorkerForHosts(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With small settings one spread of the input is enough: it is cut into small pieces anyway."""
    if os.environ.get(VARIABLE) != SMALL:
        return
    left = {item for item in items if _spread(item) not in ({"partitions": 2}, {"batches": 3}, {})}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


def _spread(item: pytest.Item) -> dict[str, object]:
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    return {name: parameters[name] for name in ("partitions", "batches") if name in parameters}


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder with pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The documents folder beside the clone: W3C suites, papers, real data."""
    if not SHARED.is_dir():
        pytest.skip("the documents folder `shared` (W3C suites, real data) is not beside this clone")
    return SHARED


@pytest.fixture
def change_settings() -> Iterator[Callable[..., None]]:
    """Other settings until the end of the test: ``change_settings(portion_events=2)``."""
    with ExitStack() as stack:
        yield lambda **values: stack.enter_context(changed_settings(**values)) and None


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str | Path, str], None]:
    """Compare a text with a golden file: ``golden("tests/spec/errors/SPQ203.txt", text)``.

    Paths are relative to the project's root. `make goldens` writes the files; their diff is reviewed as
    behaviour.
    """

    def compare(path: str | Path, actual: str) -> None:
        file = ROOT / path
        if request.config.getoption("--update-goldens"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(actual, encoding="utf-8")
            return
        expected = file.read_text(encoding="utf-8") if file.exists() else ""
        if actual != expected:
            diff = "\n".join(
                difflib.unified_diff(
                    expected.splitlines(), actual.splitlines(), f"{path}", "what the code gives", lineterm=""
                )
            )
            pytest.fail(f"{diff}\nif this is meant, run `make goldens` and review the diff", pytrace=False)

    return compare
