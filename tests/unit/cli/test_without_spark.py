"""The package without the extra `spark`: the in-process engine is the default, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from spaseq.cli.engines import input_bytes
from spaseq.io.sources import find_sources
from spaseq.settings import settings

ROOT = Path(__file__).resolve().parents[3]
HIDE = "import sys; sys.modules.update(pyspark=None, py4j=None, pandas=None); sys.argv[0] = 'spaseq'; "
SPASEQ = HIDE + "from spaseq.cli import main; main()"
FIRST = ["examples/first-match/fares.spaseq", "--stream", "power=examples/first-match/fares.trig"]


def python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python in the project's folder."""
    paths = {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, **paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_query_runs_in_this_process_and_says_so() -> None:
    """The README's query, without naming an engine."""
    done = python(SPASEQ, "run", *FIRST)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"bindings"') == 3
    assert "running in this process" in done.stderr
    assert "pip install 'spaseq[spark]'" in done.stderr


def test_nothing_is_said_to_those_who_asked_for_this_process() -> None:
    """There is nothing that they do not know."""
    for option in (["--engine", "local"], ["--quiet"]):
        done = python(SPASEQ, "run", *FIRST, *option)
        assert (done.returncode, "Spark" in done.stderr) == (0, False)


@pytest.mark.parametrize("options", [["--engine", "spark"], ["--master", "local[2]"]])
def test_asking_for_spark_names_the_cure(options: list[str]) -> None:
    """One sentence, status 2."""
    done = python(SPASEQ, "run", *FIRST, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: Spark is not installed (pyspark and pandas missing): pip install 'spaseq[spark]', "
        "or use `--engine local`, which needs none\n"
    )


def test_importing_the_spark_host_names_the_cure() -> None:
    """An ImportError, for those who catch that; and one of ours."""
    code = HIDE + (
        "import spaseq\n"
        "for kind in (ImportError, spaseq.InvalidArgument):\n"
        "    try:\n"
        "        from spaseq import spark\n"
        "    except kind as error:\n"
        "        print(error)\n"
    )
    done = python(code)
    sentence = "spaseq.spark needs pyspark and pandas: pip install 'spaseq[spark]'; spaseq.run and spaseq.Engine work without"
    assert done.stdout.splitlines() == [sentence, sentence], done.stderr


def test_the_demo_plays_in_this_process() -> None:
    """With the same note."""
    done = python(SPASEQ, "demo")
    assert done.returncode == 0, done.stderr
    assert "The matches: 3" in done.stdout
    assert "running in this process" in done.stderr


def test_python_needs_neither_spark_nor_pandas() -> None:
    """What the tutorial shows runs without them."""
    code = HIDE + (
        "import spaseq\n"
        "query = spaseq.compile(open('examples/first-match/fares.spaseq').read())\n"
        "found = list(spaseq.run(query, {'power': 'examples/first-match/fares.trig'}))\n"
        "print(len(found), spaseq.Engine(query).push([]), spaseq.evaluate('ASK {}', ()))\n"
    )
    assert python(code).stdout == "3 [] True\n"


def test_spark_is_an_extra_and_set_up_installs_it() -> None:
    """`pip install spaseq` brings neither pyspark nor pandas; `make setup` brings everything."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = " ".join(project["dependencies"])
    assert "pyspark" not in needed
    assert "pandas" not in needed
    assert {name.partition(">")[0] for name in project["optional-dependencies"]["spark"]} == {
        "pyspark",
        "pandas",
    }
    setup = (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
    assert "'.[dev,spark,rdflib,hdfs]'" in setup


def test_only_small_files_are_told_that_they_need_no_spark(tmp_path: Path) -> None:
    """The size of all files counts; the limit is a setting."""
    files = [tmp_path / name for name in ("a.nq", "b.nq")]
    for file in files:
        file.write_bytes(b"x" * 1000)
    sources = {"http://ex.org/s": find_sources(files)}
    assert input_bytes(sources) == 2000
    assert input_bytes({"http://ex.org/s": find_sources("/dev/stdin", "nquads")}) > settings().spark_bytes
    assert settings().spark_bytes == 16 << 20
