"""The W3C suites of N-Quads, N-Triples and TriG through the readers.

The suites have no timestamps, so they go through `read_quads`: the same byte lexer, term encoder and
statement cutter that events are read with.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import CanonicalizationAlgorithm, Dataset, NamedNode, Quad, RdfFormat, parse

from support.quads import read_quads

SUITES = Path(__file__).resolve().parents[3] / "shared" / "w3c" / "rdf11"
FORMATS = {"rdf-n-quads": "nquads", "rdf-n-triples": "ntriples", "rdf-trig": "trig"}
SYNTAX = {"nquads": RdfFormat.N_QUADS, "ntriples": RdfFormat.N_TRIPLES, "trig": RdfFormat.TRIG}
ACTION = NamedNode("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#action")
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
BASE = "http://www.w3.org/2013/TrigTests/"


def cases(suite: str, negative: bool) -> list[Path]:
    """The input files of a suite's positive or negative tests."""
    manifest = SUITES / suite / "manifest.ttl"
    if not manifest.is_file():
        return []
    quads = list(parse(path=manifest, format=RdfFormat.TURTLE, base_iri="file:///"))
    kinds = {quad.subject: quad.object.value for quad in quads if quad.predicate == TYPE}
    actions = [quad for quad in quads if quad.predicate == ACTION]
    chosen = [quad for quad in actions if ("Negative" in kinds.get(quad.subject, "")) == negative]
    return [manifest.parent / quad.object.value.rsplit("/", 1)[-1] for quad in chosen]


def params(negative: bool) -> list[object]:
    """One case per file, or one that says why there is none."""
    found = [
        pytest.param(file, FORMATS[suite], id=f"{suite}/{file.name}")
        for suite in FORMATS
        for file in cases(suite, negative)
    ]
    skip = pytest.mark.skip(reason="the W3C suites (folder `shared/w3c`) are not beside this clone")
    return list(found) or [pytest.param(Path(), "", id="absent", marks=skip)]


def canonical(quads: list[Quad]) -> set[str]:
    """Quads up to the names of blank nodes."""
    dataset = Dataset(quads)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return {str(quad) for quad in dataset}


@pytest.mark.parametrize(("file", "syntax"), params(negative=False))
def test_a_valid_file_gives_the_quads_that_pyoxigraph_gives(file: Path, syntax: str) -> None:
    """The byte lexer (N-Quads, N-Triples) and the statement cutter (TriG) lose and add nothing."""
    data = file.read_bytes()
    base = BASE + file.name if syntax == "trig" else None
    expected = list(parse(data, format=SYNTAX[syntax], base_iri=base))
    actual = list(read_quads(data, syntax, compiled=True, base_iri=base))
    assert canonical(actual) == canonical(expected)


@pytest.mark.parametrize(("file", "syntax"), params(negative=True))
def test_an_invalid_file_is_reported_with_its_line(file: Path, syntax: str) -> None:
    """The error names the line that pyoxigraph names (TriG: the line its statement begins in)."""
    data = file.read_bytes()
    base = BASE + file.name if syntax == "trig" else None
    with pytest.raises(SyntaxError) as judged:
        list(parse(data, format=SYNTAX[syntax], base_iri=base))
    with pytest.raises(SyntaxError) as found:
        list(read_quads(data, syntax, compiled=True, base_iri=base))
    assert found.value.lineno is not None
    if syntax == "trig":
        assert found.value.lineno <= data.count(b"\n") + 1
    else:
        assert found.value.lineno == judged.value.lineno
