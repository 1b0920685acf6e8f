"""Facts about structure and set-up that no linter checks: what `__init__` holds, pinned versions, missing programs."""

from __future__ import annotations

import ast
import re
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "spaseq"


def relative(path: Path) -> str:
    """A path as test ids show it."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("__init__.py")), ids=relative)
def test_init_modules_only_re_export(path: Path) -> None:
    """Behaviour in an `__init__` is behaviour nobody looks for; a lazy `__getattr__` still re-exports."""
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        lazy = isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert lazy or text or isinstance(node, allowed), f"{relative(path)}:{node.lineno}"


def pins() -> dict[str, str]:
    """The pinned versions by normalised name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    rows = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in rows}


def test_constraints_are_names_and_versions_only() -> None:
    """A registry address or a local path in a pin would tie the project to one machine."""
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line), line


def test_every_declared_dependency_is_pinned() -> None:
    """What the project and the harness of the benchmarks ask for, constraints.txt fixes."""
    asked: list[str] = []
    for file in ("pyproject.toml", "benchmarks/pyproject.toml"):
        project = tomllib.loads((ROOT / file).read_text())["project"]
        asked += [name for name in project["dependencies"] if name != "spaseq"]
        for extra in project.get("optional-dependencies", {}).values():
            asked += extra
    names = {re.match(r"[A-Za-z0-9-]+", line).group().lower() for line in asked}  # type: ignore[union-attr]
    assert names <= set(pins())


def test_every_declared_dependency_has_a_row_in_the_decision() -> None:
    """A dependency is chosen, not accumulated: decision 4 says what each one replaces."""
    decision = (ROOT / "docs/decisions/0004-dependencies.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in project["dependencies"]:
        name = re.split(r"[<>=]", line)[0]
        assert f"| {name} |" in decision


# --- what a machine lacks is named in one sentence ------------------------------------------------


def doctor(bin_folder: Path, what: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the doctor on a machine that has only the programs in ``bin_folder``."""
    return subprocess.run(
        ["/bin/sh", str(ROOT / "scripts" / "doctor.sh"), what],
        env={"PATH": str(bin_folder), **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def bare_machine(tmp_path: Path) -> Path:
    """A folder for PATH with the few tools a shell script needs and nothing else."""
    for tool in ("sed", "head", "cat"):
        real = next(p for p in (Path("/usr/bin") / tool, Path("/bin") / tool) if p.exists())
        (tmp_path / tool).symlink_to(real)
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    """Put a fake program into ``folder``."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


INSTALLERS = ("sudo apt install", "(Debian, Ubuntu)", "(macOS)", "conda ", "(conda)")


def test_a_missing_python_is_one_sentence_with_three_cures(bare_machine: Path) -> None:
    """No Python at all: name it and say how to get it."""
    done = doctor(bare_machine, "python")
    assert done.returncode == 1
    assert done.stderr.startswith("spaseq needs Python 3.11 or newer and found no Python;")
    assert all(word in done.stderr for word in INSTALLERS)
    assert done.stderr.count("\n") == 1


def test_an_old_python_is_not_taken(bare_machine: Path) -> None:
    """Python 3.9 is named as what was found."""
    program(bare_machine, "python3", '[ "$1" = --version ] && echo Python 3.9.2 && exit 0; exit 1')
    done = doctor(bare_machine, "python")
    assert done.returncode == 1
    assert done.stderr.startswith("spaseq needs Python 3.11 or newer and found Python 3.9.2;")


def test_a_python_without_venv_is_named(bare_machine: Path) -> None:
    """Debian ships Python without venv; the cure is a package of its own."""
    program(
        bare_machine,
        "python3",
        'case "$2" in *ensurepip*) exit 1;; *print*) echo 3.12;; esac; exit 0',
    )
    done = doctor(bare_machine, "python")
    assert done.returncode == 1
    assert "venv module" in done.stderr
    assert "sudo apt install python3.12-venv" in done.stderr


@pytest.mark.parametrize(
    ("version", "found"),
    [('"1.8.0_402"', "Java 8"), ('"11.0.2" 2019-01-15', "Java 11")],
)
def test_an_old_java_is_named(bare_machine: Path, version: str, found: str) -> None:
    """Spark needs Java 17; the sentence says which one is there."""
    program(bare_machine, "java", f"echo 'openjdk version {version}' >&2")
    done = doctor(bare_machine, "java")
    assert done.returncode == 1
    assert f"spaseq needs Java 17 or newer for Spark and found {found};" in done.stderr
    assert all(word in done.stderr for word in INSTALLERS)


@pytest.mark.parametrize("version", ['"17.0.15" 2025-04-15', '"21" 2023-09-19 LTS', '"25.0.1"'])
def test_a_new_java_is_taken(bare_machine: Path, version: str) -> None:
    """17 and everything after it."""
    program(bare_machine, "java", f"echo 'openjdk version {version}' >&2")
    assert doctor(bare_machine, "java").returncode == 0


def test_a_wrong_java_home_is_shown(bare_machine: Path) -> None:
    """A JAVA_HOME that leads nowhere wins over the PATH, so the sentence shows it."""
    program(bare_machine, "java", "echo 'openjdk version \"21.0.1\"' >&2")
    done = doctor(bare_machine, "java", JAVA_HOME="/nowhere")
    assert done.returncode == 1
    assert "JAVA_HOME=/nowhere" in done.stderr


def test_make_alone_lists_the_targets() -> None:
    """`make` says what it can do, the two commands of the README first among it."""
    done = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True)
    for target in (
        "setup",
        "demo",
        "test",
        "check",
        "test-all",
        "format",
        "lint",
        "types",
        "docs",
        "goldens",
    ):
        assert f"make {target} " in done.stdout
