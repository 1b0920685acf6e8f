"""The syntax of every query in the W3C SPARQL 1.1 suites: what must parse parses, what must not does not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Store

from spaseq.errors import QueryError
from spaseq.languages.epsparql.dialect import parse_epsparql
from spaseq.languages.epsparql.printer import format_epsparql
from spaseq.languages.rsepql.dialect import parse_rsepql
from spaseq.languages.rsepql.printer import format_rsepql
from spaseq.syntax import format_query, parse_sparql

SUITES = Path(__file__).resolve().parents[2].parent / "shared" / "w3c" / "sparql11"

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QUERY = NamedNode("http://www.w3.org/2001/sw/DataAccess/tests/test-query#query")
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")

# These lie in the folders, but no manifest lists them: path{m,n} was in a draft of SPARQL 1.1 and is not
# in the recommendation.
NO_SPARQL_1_1 = frozenset(
    f"property-path/{name}.rq"
    for name in ["path-2-1", "path-2-3", "path-3-1", "path-3-2", "path-3-4", "pp04", "pp05", "pp13", "pp15"]
)


@dataclass(frozen=True)
class SyntaxCase:
    """A query file and what its manifest says of its syntax."""

    path: Path
    valid: bool

    @property
    def text(self) -> str:
        return self.path.read_bytes().decode("utf-8")

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"


@cache
def listed() -> tuple[SyntaxCase, ...]:
    """Every query that a manifest lists."""
    found: dict[Path, SyntaxCase] = {}
    for manifest in sorted(SUITES.glob("*/manifest.ttl")):
        store = Store()
        store.load(path=manifest, format=RdfFormat.TURTLE, base_iri=manifest.as_uri())
        for action in store.quads_for_pattern(None, NamedNode(MF + "action"), None):
            target = action.object
            assert isinstance(target, (NamedNode, BlankNode))
            inner = [quad.object for quad in store.quads_for_pattern(target, QUERY, None)]
            file = inner[0] if inner else target
            assert isinstance(file, NamedNode)
            path = manifest.parent / Path(file.value).name
            kinds = [str(quad.object) for quad in store.quads_for_pattern(action.subject, TYPE, None)]
            assert kinds, f"{action.subject} has no type"
            found[path] = SyntaxCase(path, not any("NegativeSyntaxTest" in kind for kind in kinds))
    return tuple(found.values())


VALID = [case for case in listed() if case.valid]
INVALID = [case for case in listed() if not case.valid]

pytestmark = pytest.mark.skipif(
    not SUITES.is_dir(), reason="the W3C suites (../shared/w3c) are not beside this clone"
)


@pytest.mark.parametrize("case", VALID, ids=str)
def test_a_valid_query_parses_and_survives_printing(case: SyntaxCase) -> None:
    """Positive syntax and evaluation tests parse; their printed form is the same query."""
    query = parse_sparql(case.text, str(case))
    assert parse_sparql(format_query(query), str(case)) == query


@pytest.mark.parametrize("case", VALID, ids=str)
def test_a_valid_query_is_one_over_everything_so_far(case: SyntaxCase) -> None:
    """The grammar of queries over windows has all of SPARQL 1.1; SERVICE and DESCRIBE are refused by name."""
    refused = {"SPQ401", "SPQ403"} if re.search("SERVICE|DESCRIBE", case.text, re.IGNORECASE) else set()
    found = set()
    try:
        query = parse_rsepql(case.text, name=str(case), base="http://base.invalid/")
        assert parse_rsepql(format_rsepql(query)) == query
    except QueryError as error:
        found = {error.code}
    assert found <= refused


@pytest.mark.parametrize("case", VALID, ids=str)
def test_a_valid_query_is_one_over_intervals(case: SyntaxCase) -> None:
    """EP-SPARQL has all of SPARQL 1.1; FROM, SERVICE, DESCRIBE and a CONSTRUCT with LIMIT are refused by name."""
    refused = {"SPQ401", "SPQ403"} if re.search("SERVICE|DESCRIBE", case.text, re.IGNORECASE) else set()
    refused |= {"SPQ806"} if re.search("FROM", case.text, re.IGNORECASE) else set()
    refused |= {"SPQ805"} if re.search("CONSTRUCT", case.text, re.IGNORECASE) else set()
    found = set()
    try:
        file = parse_epsparql(case.text, name=str(case), base="http://base.invalid/")
        assert parse_epsparql(format_epsparql(file)) == file
        (statement,) = file.statements
        plain = parse_sparql(case.text, str(case), "http://base.invalid/")
        assert replace(statement, prologue=plain.prologue) == plain
    except QueryError as error:
        found = {error.code}
    assert found <= refused


@pytest.mark.parametrize("case", INVALID, ids=str)
def test_an_invalid_query_is_rejected_with_a_place(case: SyntaxCase) -> None:
    """Negative syntax tests raise an error that points into the text."""
    with pytest.raises(QueryError) as caught:
        parse_sparql(case.text, str(case))
    with pytest.raises(QueryError):
        parse_rsepql(case.text, base="http://base.invalid/")
    assert 1 <= caught.value.line <= case.text.count("\n") + 1


def test_the_suites_are_complete() -> None:
    """No manifest was overlooked: the numbers of the suites as they were delivered."""
    assert (len(VALID), len(INVALID)) == (278, 40)


def test_files_outside_the_manifests_parse_or_are_explained() -> None:
    """A query file that no manifest lists parses as well, or is listed above with its reason."""
    known = {case.path for case in listed()}
    for path in sorted(SUITES.glob("*/*.rq")):
        if path in known:
            continue
        case = SyntaxCase(path, str(SyntaxCase(path, True)) not in NO_SPARQL_1_1)
        if case.valid:
            parse_sparql(case.text, str(case))
        else:
            with pytest.raises(QueryError):
                parse_sparql(case.text, str(case))
