"""What the parser expected, in words a reader knows."""

from __future__ import annotations

import re
from difflib import get_close_matches

from spaseq.errors import Span
from spaseq.syntax.errors import BadIri, UnexpectedEnd, UnexpectedToken
from spaseq.syntax.functions import AGGREGATES, ARGUMENTS
from spaseq.syntax.lalr import Rejected
from spaseq.syntax.lexer import END, THEN, Token

MOST = 6
"""How many expectations are listed; more would not be read."""

_IRI = frozenset(("IRIREF", "PNAME_LN", "PNAME_NS"))
_LITERAL = frozenset(("STRING", "INTEGER", "NUMBER", "SIGNED", "BOOLEAN"))
_BLANK = frozenset(("BLANK_NODE", "ANON"))
_CALL = frozenset(("FUNCTION", "AGGREGATE", "COUNT", "GROUP_CONCAT", "EXISTS", "NOT", "ITERATED"))
_TERM = _IRI | _LITERAL | _BLANK | {"VAR", "NIL", "(", "["}

_CLAUSE = frozenset(("FILTER", "OPTIONAL", "BIND", "GRAPH", "MINUS", "SERVICE", "VALUES", "{"))

# A phrase stands for its tokens if all that it needs are expected; wider phrases come first.
_PHRASES: tuple[tuple[str, frozenset[str], frozenset[str]], ...] = (
    (
        "an expression",
        frozenset(("VAR", "STRING", "FUNCTION", "!", "-")),
        _IRI | _LITERAL | _CALL | {"VAR", "(", "!", "-", "+"},
    ),
    (
        "a condition in parentheses or a function call",
        frozenset(("FUNCTION", "(", "IRIREF")),
        _IRI | _CALL | {"("},
    ),
    ("a triple pattern", _TERM | {"FILTER"}, _TERM),
    ("a term", frozenset(("VAR", "STRING", "IRIREF", "BLANK_NODE")), _TERM),
    ("a predicate", frozenset(("VAR", "IRIREF", "a")), _IRI | {"VAR", "a", "^", "!", "("}),
    ("a property path", frozenset(("IRIREF", "a")), _IRI | {"a", "^", "!", "("}),
    ("a value", frozenset(("STRING", "INTEGER")), _IRI | _LITERAL),
    ("a clause such as FILTER or OPTIONAL", _CLAUSE, _CLAUSE),
    ("a path operator", frozenset(("*", "/", "|")), frozenset(("*", "/", "|", "?", "+"))),
    ("a comparison", frozenset(("=", "!=", "<")), frozenset(("=", "!=", "<", ">", "<=", ">=", "IN", "NOT"))),
    ("an arithmetic operator", frozenset(("*", "/", "+", "-")), frozenset(("*", "/", "+", "-", "SIGNED"))),
    ("a sequence operator `,` `;` or `:`", frozenset((",", ";", ":")), frozenset((",", ";", ":"))),
    ("a quantifier", frozenset(("?", "!", "+", "{")), frozenset(("?", "!", "+", "{"))),
    ("an IRI", frozenset(("IRIREF",)), _IRI),
)

_WORDS = {
    END: "the end of the query",
    "IRIREF": "an IRI in <…>",
    "PNAME_LN": "a prefixed name",
    "PNAME_NS": "a prefix such as `ex:`",
    "BLANK_NODE": "a blank node",
    "ANON": "`[]`",
    "NIL": "`()`",
    "VAR": "a variable",
    "STRING": "a string",
    "LANGTAG": "a language tag",
    "INTEGER": "an integer",
    "NUMBER": "a number",
    "SIGNED": "a signed number",
    "BOOLEAN": "true or false",
    "FUNCTION": "a function",
    "AGGREGATE": "an aggregate",
    "NAME": "a name",
    "UNIT": "a unit (MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS or EVENTS)",
    "ITERATED": "FIRST, LAST or PREV",
}

_FOUND = {
    "IRIREF": "IRI",
    "PNAME_LN": "prefixed name",
    "PNAME_NS": "prefixed name",
    "BLANK_NODE": "blank node",
    "VAR": "variable",
    "STRING": "string",
    "LANGTAG": "language tag",
    "INTEGER": "number",
    "NUMBER": "number",
    "SIGNED": "number",
    "NAME": "name",
}

_CLOSING = ("}", ")", "]")


def syntax_error(
    rejected: Rejected, text: str, dialect: str = "sparql"
) -> UnexpectedToken | UnexpectedEnd | BadIri:
    """The error for a token that the grammar of a dialect has no place for; ``text`` is the whole query."""
    token, expected = rejected.token, rejected.expected
    if token.type == "<" and expected & _IRI:
        return _bad_iri(text, token.start)
    words = _readable(expected)
    if token.type == END:
        before = rejected.previous
        if before is None:
            return UnexpectedEnd(expected=words, hint="the query is empty", span=token.span)
        closing = next((sign for sign in _CLOSING if sign in expected), "")
        hint = f"a `{closing}` may be missing" if closing else ""
        # The end of the text may be many blank lines away; the last token is where to look.
        return UnexpectedEnd(expected=words, hint=hint, span=Span(before.end, before.end))
    hint = _spaseq_hint(rejected, text) if dialect == "spaseq" else ""
    hint = hint or _hint(token, expected)
    return UnexpectedToken(found=_found(token), expected=words, hint=hint, span=token.span)


def _bad_iri(text: str, start: int) -> BadIri:
    line = text[start:].split("\n", 1)[0]
    end = line.find(">") + 1
    if not end:
        shown = line.split()[0]
        return BadIri(iri=f"`{shown}`", reason="no `>` closes it", span=Span(start, start + len(shown)))
    bad = next(character for character in line[1:end] if character <= " " or character in '<"{}|^`\\>')
    reason = "it holds a space" if bad == " " else f"it holds {bad!r}"
    return BadIri(iri=f"`{line[:end]}`", reason=reason, span=Span(start, start + end))


def _found(token: Token) -> str:
    shown = token.text if len(token.text) <= 40 else token.text[:37] + "…"
    kind = _FOUND.get(token.type)
    if kind is None:
        kind = "keyword" if token.text[:1].isalpha() else ""
    return f"{kind} `{shown}`".strip()


def _readable(expected: frozenset[str]) -> str:
    words = [f"`{sign}`" for sign in _CLOSING if sign in expected]
    left = set(expected).difference(_CLOSING)
    for phrase, needed, members in _PHRASES:
        # What a phrase needs may have gone into a wider one, but some of its own must be left.
        if needed <= expected and left & needed and needed & members <= left:
            words.append(phrase)
            left -= members
    words += [_WORDS.get(kind, f"`{kind}`") for kind in sorted(left)]
    if len(words) > MOST:
        return ", ".join(words[: MOST - 1]) + " …"
    if len(words) < 2:
        return words[0] if words else "nothing more"
    return ", ".join(words[:-1]) + f" or {words[-1]}"


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


def _spaseq_hint(rejected: Rejected, text: str) -> str:
    """What a user of other query languages may have meant."""
    token, expected = rejected.token, rejected.expected
    if token.type == "!" and {"NAME", "("} <= expected:
        name = re.match(r"[\s(]*(\w+)", text[token.end :])
        return f"`!` stands behind the step that must not occur: `{name[1] if name else 'A'}!`"
    if token.type == "NAME" and expected >= _BETWEEN_STEPS:
        return THEN
    if token.type in ("WHERE", "{") and "FROM" in expected:
        return "say which streams the query reads: FROM STREAM name <iri>; for plain SPARQL over one graph use `spaseq.evaluate`"
    return _NOT_HERE.get(token.type, "")


def _hint(token: Token, expected: frozenset[str]) -> str:
    if token.type == "NAME":
        known = [kind for kind in expected if kind.isalpha() and kind.isupper() and kind not in _WORDS]
        if "FUNCTION" in expected:
            known += [*ARGUMENTS, *AGGREGATES]
        near = get_close_matches(token.text.upper(), sorted(known), n=1, cutoff=0.7)
        return f"did you mean {near[0]}?" if near else ""
    if token.type == "," and "VAR" in expected:
        return "variables are separated by spaces, not by commas"
    if token.type in _CALL and {"VAR", "("} <= expected and "FUNCTION" not in expected:
        return f"an expression here needs parentheses and a name: ({token.text}(…) AS ?name)"
    return ""
