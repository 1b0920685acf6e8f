"""The syntax of RSP-QL, C-SPARQL and the window clauses of RSEP-QL (semantics 3.1): SPARQL over windows."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from spaseq.languages.rsepql.builder import RsepqlActions
from spaseq.languages.rsepql.checks import check_rsepql
from spaseq.languages.rsepql.lengths import UNITS
from spaseq.languages.rsepql.tree import RsepqlQuery
from spaseq.syntax.dialect import SPARQL_GRAMMAR, Dialect
from spaseq.syntax.expected import Wording
from spaseq.syntax.lalr import Rejected
from spaseq.syntax.parser import parse_dialect

_AFTER_NUMBERS = dict.fromkeys(UNITS, "UNIT")
_ELSEWHERE = {
    "COMPUTED": "when a query is evaluated stands at its end: REPORT EVERY 5s",
    "ON": "the window stands behind the stream: FROM NAMED WINDOW <w> ON <s> [RANGE 10s STEP 5s]",
    "STREAM": "streams are declared before WHERE: FROM NAMED WINDOW <w> ON <s> [RANGE 10s], and read with WINDOW <w> { … }",
    "RANGE": "a window stands in brackets: [RANGE 10s STEP 5s]",
}
"""The cure for a word of another engine's spelling."""


def _hint(rejected: Rejected, _text: str) -> str:
    token, expected = rejected.token, rejected.expected
    if token.type == "," and expected & {"STEP", "SLIDE"}:
        return "the parts of a window have no comma between them: [RANGE 10s STEP 5s]"
    if token.type == "NAME" and "UNIT" in expected:
        return "the units of time are ms, s, m, h, d and the words MILLISECONDS to DAYS"
    return _ELSEWHERE.get(token.text.upper(), "")


DIALECT: Final = Dialect(
    name="rsepql",
    grammar=(SPARQL_GRAMMAR, Path(__file__).with_name("grammar.lark")),
    start="rsepql_query",
    actions=RsepqlActions,
    check=check_rsepql,
    # SPARQL has functions of the same names: a unit is the word after a number.
    words_after=dict.fromkeys(("INTEGER", "NUMBER", "SIGNED"), _AFTER_NUMBERS),
    names_after=frozenset(("QUERY", "STREAM")),
    wording=Wording(
        words={"UNIT": "a unit of time"},
        calls=frozenset(("TIMESTAMP",)),
        hint=_hint,
    ),
)


def parse_rsepql(text: str, *, name: str = "query", base: str | None = None) -> RsepqlQuery:
    """Parse a query over windows; a plain SPARQL query is one over everything so far.

    >>> query = parse_rsepql("SELECT * FROM STREAM <s> [RANGE 10s STEP 5s] { ?a ?b ?c }")
    >>> query.streams[0].window[0].step
    5000000
    """
    found = parse_dialect(text, DIALECT, name, base)
    assert isinstance(found, RsepqlQuery)
    return found
