"""The expected answers of the smallest profile are those of the reference."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import parse

from spaseq.algebra.intervals import IntervalQuery, Policy
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.windows import WindowQuery
from spaseq.io.readers import read_graph_events
from spaseq.io.result_json import match_line
from spaseq.planner.compiled import compile_query
from spaseq.reference import answers
from spaseq.reference.continuous import window_answers
from spaseq.reference.interval_answers import interval_answers
from spaseq_bench.declared import Benchmark, Params, Variant, load_all
from spaseq_bench.input_files import make_input
from spaseq_bench.measure import answer_in
from spaseq_bench.queries import named_queries, query_text

BENCHMARKS = load_all(Path(__file__).resolve().parents[3] / "benchmarks")
CELLS = [
    pytest.param(benchmark, point, variant, id=benchmark.answer_key(benchmark.name, point, variant))
    for benchmark in BENCHMARKS
    for point in benchmark.points("tiny")
    for variant in benchmark.variants
    if variant.task not in ("parse", "compile", "refused") and not variant.answer
]


@pytest.mark.slow
@pytest.mark.parametrize(("benchmark", "point", "variant"), CELLS)
def test_the_expected_answer_is_the_reference_s(
    benchmark: Benchmark, point: Params, variant: Variant, tmp_path: Path
) -> None:
    """Times count only with right answers, and those come from the reference implementation."""
    params = benchmark.values("tiny", point, variant)
    data = make_input(benchmark.workload, params, tmp_path)
    knowledge = {iri: [quad.triple for quad in parse(path=path)] for iri, path in data.knowledge.items()}
    named = named_queries(query_text(benchmark.query, params), params)
    found: list[str] = []
    for name, text in named.items():
        watched = variant.task == "watched"
        query = compile_query(text, str(params.get("language", "epsparql")) if watched else None)
        if isinstance(query.source, OperatorQuery) and isinstance(query.source.details, IntervalQuery):
            every = [event for path in data.streams.values() for event in read_graph_events(path, stream="")]
            policy = Policy(str(params.get("policy", "unrestricted")))
            rdfs = params.get("rdfs") is True
            found += map(
                match_line, interval_answers(query.source.details, every, knowledge, policy=policy, rdfs=rdfs)
            )
            continue
        events = sorted(
            (
                event
                for stream in query.streams
                for name in stream.names
                if name in data.streams
                for event in read_graph_events(data.streams[name], stream=stream.iri)
            ),
            key=lambda event: event.time,
        )
        several = name if "queries" in params else None
        if isinstance(query.source, OperatorQuery):
            assert isinstance(query.source.details, WindowQuery)
            matches = window_answers(query.source.details, events, knowledge, query.normal_text)
        else:
            matches = answers(query.algebra, events, knowledge, query.normal_text)
        found += [match_line(match, query=several) for match in matches]
    lines = tmp_path / "answer.jsonl"
    lines.write_text("".join(found), encoding="utf-8")
    assert answer_in(lines) == benchmark.expected[benchmark.answer_key("tiny", point, variant)]
