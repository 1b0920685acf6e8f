"""The syntax of SPAseq (semantics 1.1): SPARQL graph patterns per event, and SEQ over them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from spaseq.languages.spaseq.builder import SpaseqActions
from spaseq.languages.spaseq.checks import check_spaseq
from spaseq.languages.spaseq.tree import SpaseqQuery
from spaseq.syntax.dialect import SPARQL_GRAMMAR, Dialect
from spaseq.syntax.expected import Wording
from spaseq.syntax.lalr import Rejected
from spaseq.syntax.parser import parse_dialect

_THEN: Final = "one step after another is written `A ; B` (the next that fits), `A , B` (directly after) or `A : B` (any later one)"
"""The cure for arrows and other words between steps."""
_NOT_HERE = {
    "WITHIN": "WITHIN stands before FROM STREAM: SELECT … WITHIN 1 HOUR FROM STREAM …",
    "PARTITION": "PARTITION BY stands after FROM STREAM, before WHERE",
    "LIMIT": "a SPAseq query has no LIMIT: matches are written as they are found; ASK ends at the first one, "
    "and the reader of the output can stop after as many as it wants",
    "ORDER": "a SPAseq query has no ORDER BY: matches come in order of time",
    "GROUP": "a SPAseq query has no GROUP BY: repeat a step (A+) and use COUNT(A), SUM(?v) … in SELECT, "
    "PARTITION BY evaluates it for every value of a variable, and a sub-SELECT in a GPM may have groups",
}
_NOT_HERE |= {"OFFSET": _NOT_HERE["LIMIT"], "HAVING": _NOT_HERE["GROUP"]}
_BETWEEN_STEPS = frozenset((",", ";", ":"))


def _hint(rejected: Rejected, text: str) -> str:
    """What a user of other query languages may have meant."""
    token, expected = rejected.token, rejected.expected
    if token.type == "!" and {"NAME", "("} <= expected:
        name = re.match(r"[\s(]*(\w+)", text[token.end :])
        return f"`!` stands behind the step that must not occur: `{name[1] if name else 'A'}!`"
    if token.type == "NAME" and expected >= _BETWEEN_STEPS:
        return _THEN
    if token.type in ("WHERE", "{") and "FROM" in expected:
        return "say which streams the query reads: FROM STREAM name <iri>; for plain SPARQL over one graph use `spaseq.evaluate`"
    return _NOT_HERE.get(token.type, "")


_UNITS: Final = {
    unit + plural: "UNIT"
    for unit in ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "EVENT")
    for plural in ("", "S")
}

DIALECT: Final = Dialect(
    name="spaseq",
    grammar=(SPARQL_GRAMMAR, Path(__file__).with_name("grammar.lark")),
    start="spaseq_query",
    actions=SpaseqActions,
    check=check_spaseq,
    classes=dict.fromkeys(("FIRST", "LAST", "PREV"), "ITERATED"),
    # SPARQL has functions of the same names: a unit is the word after a number.
    words_after={"INTEGER": _UNITS, "PAST": {"LAST": "LAST"}, "LAST": {"EVENT": "EVENT"}},
    names_after=dict.fromkeys(("GPM", "ON", "STREAM"), frozenset()),
    islands=frozenset(("SEQ",)),
    soft_words={"WITHIN": "WITHIN", "AFTER": "AFTER", "LONGEST": "LONGEST", **_UNITS},
    called_words=frozenset(("PERMUTE",)),
    counts_names=frozenset(("COUNT", "TIME", "EVENT")),
    island_hint=_THEN,
    wording=Wording(
        words={
            "UNIT": "a unit (MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS or EVENTS)",
            "ITERATED": "FIRST, LAST or PREV",
        },
        calls=frozenset(("ITERATED",)),
        phrases=(
            ("a sequence operator `,` `;` or `:`", _BETWEEN_STEPS),
            ("a quantifier", frozenset(("?", "!", "+", "{"))),
        ),
        hint=_hint,
    ),
)


def parse(text: str, *, name: str = "query", base: str | None = None) -> SpaseqQuery:
    """Parse a SPAseq query.

    ``name`` is the file name that errors show; ``base`` is what relative IRIs are resolved against when
    the query has no BASE.

    >>> query = parse('''SELECT * FROM STREAM S <urn:s>
    ...                  WHERE { SEQ (A; B+) DEFINE GPM A ON S { ?x <urn:p> ?y }
    ...                                      DEFINE GPM B ON S { ?x <urn:q> ?z } }''')
    >>> query.where[0].operators
    (';',)
    """
    found = parse_dialect(text, DIALECT, name, base)
    assert isinstance(found, SpaseqQuery)
    return found
