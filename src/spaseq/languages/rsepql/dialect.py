"""The syntax of RSP-QL, C-SPARQL and RSEP-QL (semantics 3.1 and 4.1): SPARQL over windows, with event patterns."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Final

from spaseq.algebra.event_patterns import Selected
from spaseq.algebra.windows import Emission
from spaseq.errors import QueryError
from spaseq.languages.rsepql.builder import RsepqlActions, profiled
from spaseq.languages.rsepql.checks import check_rsepql
from spaseq.languages.rsepql.errors import MisplacedNot, NotInMatch
from spaseq.languages.rsepql.lengths import CALENDAR_UNITS, UNITS
from spaseq.languages.rsepql.tree import RsepqlQuery
from spaseq.syntax.dialect import SPARQL_GRAMMAR, Dialect
from spaseq.syntax.expected import Wording
from spaseq.syntax.lalr import Rejected
from spaseq.syntax.lexer import END, Token
from spaseq.syntax.parser import parse_dialect

_AFTER_NUMBERS = dict.fromkeys((*UNITS, *CALENDAR_UNITS), "UNIT")
_KINDS = frozenset(("QUERY", "STREAM"))
_EMISSIONS = frozenset(emission.value for emission in Emission)
_NAMES_AFTER: Final = {
    **dict.fromkeys(_KINDS, frozenset[str]()),
    **dict.fromkeys(_EMISSIONS, _KINDS),
    "REGISTER": _KINDS | _EMISSIONS,
}
"""Where a query may be given a name, any word, and the words that say what is registered instead."""
_EVERY: Final = "when a query is evaluated stands at its end: REPORT EVERY 5s"
_ELSEWHERE = {
    **dict.fromkeys(("COMPUTED", "EVERY", "PERIODIC"), _EVERY),
    **dict.fromkeys(
        _EMISSIONS, "a stream operator stands before the query: REGISTER ISTREAM <name> AS SELECT …"
    ),
    "NONEMPTY": "write REPORT ON NON-EMPTY CONTENT",
    "ON": "the window stands behind the stream: FROM NAMED WINDOW <w> ON <s> [RANGE 10s STEP 5s]",
    "STREAM": "streams are declared before WHERE: FROM NAMED WINDOW <w> ON <s> [RANGE 10s], and read with WINDOW <w> { … }",
    "RANGE": "a window stands in brackets: [RANGE 10s STEP 5s]",
    "EVENT": "events are declared after the sources and before WHERE: EVENT ON <w> { … } AS E1",
    "CONSUME": "CONSUME stands after WHERE and its modifiers, before REPORT",
    "REPORT": "REPORT stands at the end of the query",
    "WITHIN": "how far events may lie apart is the size of their window: [RANGE 10s]",
}
"""The cure for a word of another engine's spelling."""
_SIZE_FIRST: Final = "a window begins with its size: [RANGE 10s STEP 5s]"
_FIRST_IN_WINDOW: Final = {
    "STEP": _SIZE_FIRST,
    "SLIDE": _SIZE_FIRST,
    "TUMBLING": "a window begins with its size: [RANGE 10s TUMBLING]",
    "LANDMARK": "all from an instant on is [LND 10]",
    "ROWS": "write [RANGE 10 EVENTS] or [RANGE 10 TRIPLES]",
}
"""The cure for a word with which no window begins."""
_MODIFIERS: Final = frozenset(("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"))


_OPERATORS: Final = {
    ",": "events in sequence are joined by a word: E1 SEQ STRICT E2",
    ";": "events in sequence are joined by a word: E1 SEQ NEXT E2",
    "-": "events in sequence are joined by a word: E1 SEQ E2",
    "&&": "events have no AND: ask for both with two MATCH { … }",
    "||": "events have no OR: write { MATCH { E1 } } UNION { MATCH { E2 } }",
    "|": "events have no OR: write { MATCH { E1 } } UNION { MATCH { E2 } }",
    "UNION": "events have no OR: write { MATCH { E1 } } UNION { MATCH { E2 } }",
    "+": "events are not repeated: name them one after the other, E1 SEQ E1",
    "*": "events are not repeated: name them one after the other, E1 SEQ E1",
    "?": "events are not optional: put the MATCH into OPTIONAL { … }",
    "AND": "events have no AND: ask for both with two MATCH { … }",
    "OR": "events have no OR: write { MATCH { E1 } } UNION { MATCH { E2 } }",
    "!": "what must not happen stands between two events: E1 SEQ NOT E2 SEQ E3",
}
"""The cure for an operator of another language inside MATCH."""
_DECLARE: Final = "declare the pattern before WHERE, EVENT ON <w> { … } AS E1, and name it here"
_JOIN: Final = "between two events stands SEQ or DURING: E1 SEQ E2"


def _error(rejected: Rejected) -> QueryError | None:
    """An error of its own inside MATCH, where an event is expected, or what joins two."""
    token, expected = rejected.token, rejected.expected
    between = "SEQ" in expected
    if token.type == END or not (between or expected >= {"NAME", "FIRST"}):
        return None
    if token.type == "NOT":
        return MisplacedNot(label="not between two SEQ", span=token.span)
    if between and "DURING" not in expected:
        return MisplacedNot(label="a SEQ and an event must follow", span=token.span)
    closing = "`)`" if ")" in expected else "`}`"
    wanted = f"SEQ, DURING or {closing}" if between else "the name of an event, FIRST, LAST or `(`"
    cure = _OPERATORS.get(token.text.upper()) or (_misspelt(rejected) if between else _no_event(token))
    return NotInMatch(found=f"`{token.text}`", expected=wanted, cure=cure, span=token.span)


def _misspelt(rejected: Rejected) -> str:
    """The cure where two events have nothing between them: the first may be a policy with a slip in it."""
    before = rejected.previous.text.upper() if rejected.previous is not None else ""
    near = get_close_matches(before, [selected.value for selected in Selected], n=1, cutoff=0.7)
    return f"did you mean SEQ {near[0]}?" if near and rejected.token.type == "NAME" else _JOIN


def _no_event(token: Token) -> str:
    word = token.text.upper()
    if token.type in ("SEQ", "DURING", "}", ")"):
        return _JOIN
    return f"{word} is a keyword: give the event another name, such as E1" if word.isalpha() else _DECLARE


def _hint(rejected: Rejected, _text: str) -> str:
    token, expected = rejected.token, rejected.expected
    if token.type == "," and expected & {"STEP", "SLIDE"}:
        return "the parts of a window have no comma between them: [RANGE 10s STEP 5s]"
    if token.type == "FROM" and "EVENT" in expected:
        return "sources stand before the first EVENT"
    word = token.text.upper()
    if expected == {"ON"}:
        return _ELSEWHERE["ON"]
    if "LND" in expected and word in _FIRST_IN_WINDOW:
        return _FIRST_IN_WINDOW[word]
    if word == "WINDOW":
        named = "a window has a name: FROM NAMED WINDOW <w> ON <s> [RANGE 10s STEP 5s]"
        return named if "NAMED" in expected else _inside_where("WINDOW <w> { … }", expected)
    if word == "MATCH":
        return _inside_where("MATCH", expected)
    if word in _MODIFIERS and END in expected and "REPORT" not in expected:
        return f"{word} stands before REPORT"
    if expected == {"NAME"} and token.text[:1].isalpha():
        return f"{token.text} is a keyword: give the event another name, such as E1"
    if (token.type == "NAME" or word == "MIN") and "UNIT" in expected:
        return "the units of time are ms, s, m, h, d and the words MILLISECONDS to DAYS"
    return _ELSEWHERE.get(word, "")


def _inside_where(clause: str, expected: frozenset[str]) -> str:
    """The cure for a clause outside WHERE, or inside CONSTRUCT's template or its short form."""
    triples = "}" in expected and "FILTER" not in expected
    return f"{'write CONSTRUCT { … } WHERE { … }: ' if triples else ''}{clause} stands inside WHERE {{ … }}"


DIALECT: Final = Dialect(
    name="rsepql",
    grammar=(SPARQL_GRAMMAR, Path(__file__).with_name("grammar.lark")),
    start="rsepql_query",
    actions=RsepqlActions,
    check=check_rsepql,
    # SPARQL has functions of the same names: a unit is the word after a number.
    words_after=dict.fromkeys(("INTEGER", "NUMBER", "SIGNED"), _AFTER_NUMBERS),
    names_after=_NAMES_AFTER,
    wording=Wording(
        words={"UNIT": "a unit of time"},
        calls=frozenset(("TIMESTAMP",)),
        hint=_hint,
        error=_error,
    ),
)


@cache
def _dialect(profile: str | None) -> Dialect:
    return DIALECT if profile is None else replace(DIALECT, actions=profiled(profile))


def parse_rsepql(
    text: str, *, name: str = "query", base: str | None = None, profile: str | None = None
) -> RsepqlQuery:
    """Parse a query over windows; a plain SPARQL query is one over everything so far.

    With a ``profile`` it is the query that another engine would run.

    >>> query = parse_rsepql("SELECT * FROM STREAM <s> [RANGE 10s STEP 5s] { ?a ?b ?c }")
    >>> query.streams[0].window[0].step
    5000000
    """
    found = parse_dialect(text, _dialect(profile), name, base)
    assert isinstance(found, RsepqlQuery)
    return found
