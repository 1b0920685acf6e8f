"""The syntax of EP-SPARQL (semantics 2.1): SPARQL with joins over time, and several statements in one file."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from spaseq.algebra.intervals import TIME_FUNCTIONS
from spaseq.algebra.patterns import Relation
from spaseq.errors import QueryError
from spaseq.languages.epsparql.builder import EpsparqlActions
from spaseq.languages.epsparql.checks import check_epsparql
from spaseq.languages.epsparql.errors import BareName, OperandNeedsBraces, UpdateUnsupported
from spaseq.languages.epsparql.items import ItemLexer
from spaseq.languages.epsparql.tree import EpsparqlFile
from spaseq.syntax.built_ins import AGGREGATES, ARGUMENTS
from spaseq.syntax.dialect import SPARQL_GRAMMAR, Dialect
from spaseq.syntax.expected import NEAR, Wording
from spaseq.syntax.lalr import Rejected
from spaseq.syntax.parser import parse_dialect

_UPDATES: Final = frozenset(
    ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH")
)
_OPERATORS: Final = frozenset(("UNION", *(relation.value for relation in Relation)))
_IRI: Final = frozenset(("IRIREF", "PNAME_LN", "PNAME_NS"))
_INPUTS: Final = "inputs are named when the query is run, with --stream NAME=PATH or --kb IRI=PATH"
_DURATION: Final = 'a bound on the time is a filter: FILTER(getDURATION() < "PT1H"^^xsd:duration)'
SHOWN: Final = {name: f"get{name.removeprefix('GET')}()" for name in TIME_FUNCTIONS}
"""The functions of time as messages spell them."""
_HINTS: Final = {
    ("FROM", "STREAM"): _INPUTS,
    ("}", "WITHIN"): _DURATION,
    (")", "WITHIN"): _DURATION,
    (".", "WITHIN"): _DURATION,
    ("}", "AND"): "groups side by side are joined: { … } { … }",
    ("OPTIONAL", "SEQ"): "OPTIONALSEQ is one word: { … } OPTIONALSEQ { … }",
    ("EQUALS", "OPTIONAL"): "EQUALSOPTIONAL is one word: { … } EQUALSOPTIONAL { … }",
    ("SEQ", "NOT"): "absence is a filter: { … FILTER NOT EXISTS { … } }",
    ("=", "="): "equality is one `=`: ?x = 3",
    ("}", ","): "groups side by side are joined: { … } { … }",
}
"""What to write instead of a word, by the token before it and the word."""


_ALMOST: Final = {"OPTIONALEQUALS": "EQUALSOPTIONAL", "SEQOPTIONAL": "OPTIONALSEQ", "AND": "&&", "OR": "||"}
"""Words for which a close match is another one, or none."""


_TIMES: Final = {
    "T_START": "GETSTARTTIME",
    "T_END": "GETENDTIME",
    "T_DURATION": "GETDURATION",
    "DURATION": "GETDURATION",
}
"""What times are called elsewhere."""
_WINDOWS: Final = frozenset(("WINDOW", "STREAM"))
_NAMED_GROUP: Final = re.compile(r"\s+(<[^>]*>|[\w.-]*:[\w.-]*|\?\w+)\s*\{")


def _error(rejected: Rejected) -> QueryError | None:
    token, expected = rejected.token, rejected.expected
    if _pair(rejected) in _HINTS or token.text.upper() in _WINDOWS:
        return None
    if token.type in _OPERATORS:
        return OperandNeedsBraces(operator=token.text.upper(), span=token.span)
    if token.type == "NAME" and token.text.upper() in _UPDATES and "CONSTRUCT" in expected:
        return UpdateUnsupported(word=token.text.upper(), span=token.span)
    # Where a join over time may stand, a name like one is a slip rather than a resource.
    word = token.text.upper()
    misspelt = get_close_matches(word, expected, n=1, cutoff=0.85)
    misspelt += get_close_matches(word, _OPERATORS & expected, n=1, cutoff=NEAR)
    if token.type == "NAME" and expected >= _IRI and "FUNCTION" not in expected and not misspelt:
        return BareName(name=token.text, span=token.span)
    return None


def _pair(rejected: Rejected) -> tuple[str, str]:
    previous = rejected.previous
    return "" if previous is None else previous.type, rejected.token.text.upper()


def _hint(rejected: Rejected, text: str) -> str:
    if (known := _HINTS.get(_pair(rejected))) is not None:
        return known
    word = rejected.token.text.upper()
    if word in _WINDOWS:
        if _NAMED_GROUP.match(text, rejected.token.span.end):
            return f"all inputs are one stream, without windows: write the group without {word}; {_DURATION}"
        return f"write :{rejected.token.text} for a resource"
    if rejected.token.type == "NAME" and word in _TIMES and "TIME_FUNCTION" in rejected.expected:
        return f"write {SHOWN[_TIMES[word]]}"
    before = text[: rejected.token.span.start].upper().split()
    if before and before[-1] in _OPERATORS:
        return f"put braces around what comes after: {{ … }} {before[-1]} {{ … }}"
    if before and before[-1] in ("WHERE", "ASK") and "{" in rejected.expected:
        return "put braces around the pattern, and around each side of a join over time: { { … } SEQ { … } }"
    if word == "WITHIN" and "VAR" in rejected.expected:
        return _DURATION
    if word in _ALMOST and _ALMOST[word] in rejected.expected:
        return f"did you mean {_ALMOST[word]}?"
    if rejected.previous is not None and rejected.previous.type == "TIME_FUNCTION":
        return f"write {SHOWN[rejected.previous.text.upper()]}"
    return _name_hint(rejected)


def _name_hint(rejected: Rejected) -> str:
    """What a name may be meant for where an expression must stand: a function of time, or a variable."""
    word, expected = rejected.token.text, rejected.expected
    if rejected.token.type != "NAME" or not {"VAR", "FUNCTION"} <= expected:
        return ""
    if near := get_close_matches(word.upper(), SHOWN, n=1, cutoff=NEAR):
        return f"did you mean {SHOWN[near[0]]}?"
    if not get_close_matches(word.upper(), (*expected, *ARGUMENTS, *AGGREGATES), n=1, cutoff=NEAR):
        return f"write ?{word} for a variable, :{word} for a resource"
    return ""


DIALECT: Final = Dialect(
    name="epsparql",
    grammar=(SPARQL_GRAMMAR, Path(__file__).with_name("grammar.lark")),
    start="epsparql_file",
    actions=EpsparqlActions,
    check=check_epsparql,
    lexer=ItemLexer,
    classes=dict.fromkeys(TIME_FUNCTIONS, "TIME_FUNCTION"),
    wording=Wording(
        words={"TIME_FUNCTION": "a time function"},
        calls=frozenset(("TIME_FUNCTION",)),
        phrases=(("a join over time", frozenset(relation.value for relation in Relation)),),
        hint=_hint,
        error=_error,
    ),
)


def parse_epsparql(text: str, *, name: str = "query", base: str | None = None) -> EpsparqlFile:
    """Parse the statements of a file; a plain SPARQL query is one.

    >>> file = parse_epsparql("SELECT ?a WHERE { ?a <urn:p> ?b } SEQ { ?a <urn:q> ?c } FILTER(?b < ?c)")
    >>> len(file.statements), len(file.rules)
    (1, 0)
    """
    found = parse_dialect(text, DIALECT, name, base)
    assert isinstance(found, EpsparqlFile)
    return found
