"""Whatever a program passes, the answer is a sentence of ours that names arguments, never an AttributeError."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyoxigraph import Literal, NamedNode

import spaseq
from spaseq import Engine, Event, InvalidArgument, SpaseqError
from spaseq.cli.arguments import in_options

ROOT = Path(__file__).resolve().parents[2]
QUERY = """PREFIX : <http://ex.org/> SELECT ?a WITHIN 1 HOUR FROM STREAM S <http://ex.org/s>
WHERE { SEQ (A) DEFINE GPM A ON S { ?a :p ?v } }"""
READS = QUERY.replace("?a :p ?v", "?a :p ?v GRAPH :kb { ?a :r ?x }")
FRAME = pd.DataFrame({"stream": ["S"], "time": [1]})
MAKE = "make one with spaseq.Event(stream=…, time=…, graph=…)"
ANY: list[Any] = [
    None,
    5,
    1.5,
    True,
    "x",
    b"x",
    {"a": 1},
    ["x"],
    [None],
    [[1]],
    {1},
    FRAME,
    date(2024, 1, 1),
    object(),
]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Engine(QUERY).push({"stream": "S"}), f"push takes an event or several, not a dict: {MAKE}"),  # type: ignore[arg-type]
        (lambda: Engine(QUERY).push("S"), f"push takes an event or several, not `S`: {MAKE}"),  # type: ignore[arg-type]
        (
            lambda: Engine(QUERY).push(FRAME),
            f"push takes an event or several, not a pandas DataFrame: {MAKE}",
        ),
        (lambda: Engine(QUERY).push([{"stream": "S"}]), f"a dict is not an event: {MAKE}"),  # type: ignore[list-item]
        (
            lambda: spaseq.run(QUERY, {"S": FRAME}),
            f"the stream `S` takes a path, a list of paths or events, not a pandas DataFrame: {MAKE}",
        ),
        (
            lambda: spaseq.run(QUERY, {"S": {"time": 1}}),  # type: ignore[dict-item]
            f"the stream `S` takes a path, a list of paths or events, not a dict: {MAKE}",
        ),
        (lambda: list(spaseq.run(QUERY, {"S": [{"time": 1}]})), f"a dict is not an event: {MAKE}"),  # type: ignore[list-item]
        (
            lambda: spaseq.run(QUERY, "power.nq"),  # type: ignore[arg-type]
            "`streams=` is a mapping from stream names to inputs, not `power.nq`",
        ),
        (
            lambda: spaseq.run(QUERY, {}),
            'the stream `S` <http://ex.org/s> has no input: say `streams={"S": …}`',
        ),
        (
            lambda: Engine(QUERY).push(Event("S", 1, FRAME)),
            "a pandas DataFrame is not a graph: pass an rdflib Graph, triples, or text with `format=`",
        ),
        (
            lambda: Engine(QUERY).push(Event("S", 1.5, ())),  # type: ignore[arg-type]
            "an event's time is a datetime, a text or an int of microseconds, not 1.5",
        ),
        (
            lambda: Engine(READS),
            'no background graph is registered as <http://ex.org/kb>: say `knowledge={"http://ex.org/kb": …}`; registered: none',
        ),
        (
            lambda: Engine(QUERY, knowledge="kb.ttl"),  # type: ignore[arg-type]
            "`knowledge=` is a mapping from graph IRIs to paths or graphs, not `kb.ttl`",
        ),
        (
            lambda: Engine(QUERY, knowledge={"http://ex.org/kb": FRAME}),
            "a pandas DataFrame is not a graph: pass an rdflib Graph, triples, or text with `format=`",
        ),
        (
            lambda: spaseq.compile(Path("rise.spaseq")),  # type: ignore[arg-type]
            f"a query is a text, not {Path('rise.spaseq')!r}; read a file with Path(…).read_text()",
        ),
        (lambda: Engine(QUERY, max_runs=0), "`max_runs=` is a number of at least 1, or None, not 0"),
        (
            lambda: spaseq.run(QUERY, {"S": "events.nt"}),
            "`events.nt` is N-Triples, which has no graphs: say `triples_per_event=` how many make an event",
        ),
        (
            lambda: spaseq.run(QUERY, {"S": "events.txt"}),
            "the extension of `events.txt` is not that of an event format; set `format=` to one of nquads, trig, jsonld, ntriples, jelly",
        ),
    ],
)
def test_a_wrong_argument_is_told_with_its_cure(
    call: Callable[[], object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word for word."""
    monkeypatch.chdir(tmp_path)
    Path("events.nt").touch()
    Path("events.txt").touch()
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert str(caught.value) == sentence


CALLS: dict[str, Callable[[Any], object]] = {
    "compile": lambda given: spaseq.compile(given),
    "explain": lambda given: spaseq.compile(QUERY).explain(given),
    "evaluate a query": lambda given: spaseq.evaluate(given, ()),
    "evaluate over a graph": lambda given: spaseq.evaluate("SELECT * { ?s ?p ?o }", given),
    "evaluate with a format": lambda given: spaseq.evaluate("SELECT * { ?s ?p ?o }", "", given),
    "evaluate over named graphs": lambda given: spaseq.evaluate("ASK {}", (), named=given),
    "an engine": lambda given: Engine(given),
    "an engine with knowledge": lambda given: Engine(QUERY, knowledge=given),
    "an engine with a graph": lambda given: Engine(QUERY, knowledge={"http://ex.org/kb": given}),
    "an engine with a graph of a name": lambda given: Engine(QUERY, knowledge={_key(given): ()}),
    "an engine with lateness": lambda given: Engine(QUERY, lateness=given),
    "an engine with max_runs": lambda given: Engine(QUERY, max_runs=given),
    "an engine with max_memory": lambda given: Engine(QUERY, max_memory=given),
    "push": lambda given: Engine(QUERY).push(given),
    "push a list": lambda given: Engine(QUERY).push([given]),
    "an event on a stream": lambda given: Engine(QUERY).push(Event(given, 1, ())),
    "an event at a time": lambda given: Engine(QUERY).push(Event("S", given, ())),
    "an event of a graph": lambda given: Engine(QUERY).push(Event("S", 1, given)),
    "an event of a triple": lambda given: Engine(QUERY).push(Event("S", 1, [given])),
    "an event of a term": lambda given: Engine(QUERY).push(Event("S", 1, [(given, given, given)])),
    "an event of a name": lambda given: Engine(QUERY).push(Event("S", 1, (), name=given)),
    "an event in a format": lambda given: Engine(QUERY).push(Event("S", 1, "", format=given)),
    "advance_to": lambda given: Engine(QUERY).advance_to(given),
    "restore": lambda given: Engine.restore(QUERY, given),
    "replace_knowledge": lambda given: Engine(QUERY).replace_knowledge("http://ex.org/kb", given),
    "run a query": lambda given: _all(given, {"S": []}),
    "run over streams": lambda given: _all(QUERY, given),
    "run over a stream": lambda given: _all(QUERY, {"S": given}),
    "run over a stream of a name": lambda given: _all(QUERY, {_key(given): []}),
    "run over events": lambda given: _all(QUERY, {"S": [given]}),
    "run over an iterator": lambda given: _all(QUERY, {"S": iter([given])}),
    **{
        f"run with {name}": lambda given, name=name: _all(QUERY, {"S": []}, **{name: given})  # type: ignore[misc]
        for name in (
            "knowledge", "lateness", "format", "timestamp_predicate", "time_unit", "triples_per_event", "on_bad_input",
            "quarantine", "max_runs", "max_memory",
        )
    },
    "to_pandas": lambda given: spaseq.to_pandas(given),
}  # fmt: skip


def _key(given: object) -> Any:
    return given if getattr(given, "__hash__", None) else repr(given)


def _all(query: Any, streams: Any, **options: Any) -> list[spaseq.Match]:
    return list(spaseq.run(query, streams, **options))


@pytest.mark.parametrize("name", CALLS)
def test_no_other_error_reaches_a_caller(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every argument of the API takes what it should, or refuses the rest with an error of ours."""
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore")
    told = []
    for given in [*ANY, Literal("x"), NamedNode("http://ex.org/x"), Event("S", 1, ())]:
        try:
            CALLS[name](given)
        except SpaseqError as error:
            told.append(str(error).replace("  -->", ""))
    assert all(told)
    assert not any("--" in sentence for sentence in told)


# --- arguments and options ----------------------------------------------------------------------

COMMAND_LINE = ("cli/", "workloads/", "testing/")
OWN_WORDS = {
    "engine/output.py": "only `spaseq run` has an output",
    "engine/outgoing.py": "the same",
    "spark/command/spark_run.py": "only `spaseq run` has requests",
    "spark/spark_session.py": "sessions are made by `spaseq run` and `spaseq demo`",
    "engine/checkpoint.py": "checkpoints are those of `spaseq run`",
    "spark/command/run_folder.py": "the same",
    "spark/sources/task_place.py": "options of spark-submit",
}


def test_errors_of_the_python_api_name_no_options() -> None:
    """Modules that only the command line uses may; all others name arguments, which the command line translates."""
    found = set()
    for path in sorted((ROOT / "src" / "spaseq").rglob("*.py")):
        name = str(path.relative_to(ROOT / "src" / "spaseq"))
        raised = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Raise)
        ]
        texts = [n.value for node in raised for n in ast.walk(node) if isinstance(n, ast.Constant)]
        if not name.startswith(COMMAND_LINE) and any(isinstance(t, str) and _option(t) for t in texts):
            found.add(name)
    assert found <= OWN_WORDS.keys()


def _option(text: str) -> bool:
    return any(word.startswith("--") and word[2:3].isalpha() for word in text.replace("`", " ").split())


def test_the_command_line_says_options_where_python_says_arguments() -> None:
    """The same sentence, in the words of the caller."""
    assert in_options('say `knowledge={"http://ex.org/?a=b": …}`') == "say `--kb http://ex.org/?a=b=PATH`"
    assert in_options("say `triples_per_event=` how many") == "say `--triples-per-event` how many"
    assert in_options('`on_bad_input="skip"` or "quarantine"') == '`--on-bad-input skip` or "quarantine"'
    assert in_options("more than max_memory=5,000") == "more than --max-memory 5,000"
    assert in_options("nothing to say about x=5") == "nothing to say about x=5"
