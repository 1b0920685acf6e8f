"""What the parser expected, in words a reader knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from spaseq.errors import QueryError, Span
from spaseq.syntax.built_ins import AGGREGATES, ARGUMENTS
from spaseq.syntax.errors import BadIri, UnexpectedEnd, UnexpectedToken
from spaseq.syntax.lalr import Rejected
from spaseq.syntax.lexer import END, Token

MOST = 6
"""How many expectations are listed; more would not be read."""
NEAR = 0.66
"""How like a keyword a name must be to be taken for a slip of it: two letters of three that are the same, in order."""

_IRI = frozenset(("IRIREF", "PNAME_LN", "PNAME_NS"))
_LITERAL = frozenset(("STRING", "INTEGER", "NUMBER", "SIGNED", "BOOLEAN"))
_BLANK = frozenset(("BLANK_NODE", "ANON"))
_CALL = frozenset(("FUNCTION", "AGGREGATE", "COUNT", "GROUP_CONCAT", "EXISTS", "NOT"))
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

_OPERATORS = frozenset(("=", "!=", "<", "<=", ">", ">=", "&&", "||", "+", "-", "*", "/", "IN", "NOT"))
_CALLED = re.compile(
    r"\b(FILTER|HAVING)\s*((?:[\w:.-]+|<[^<>\s]*>)\s*\((?:[^()]|\([^()]*\))*\))\s*\Z", re.IGNORECASE
)
"""A function call that is a whole condition, as far as a text goes."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a language words its syntax errors, beyond what SPARQL's tokens need.

    ``words`` names its token classes; ``calls`` are those that begin a function call; ``phrases`` stand for several
    tokens that are expected together. ``hint`` gives the cure for a rejected token, or ""; ``error`` an error of the
    language's own instead, or None.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    calls: frozenset[str] = frozenset()
    phrases: tuple[tuple[str, frozenset[str]], ...] = ()
    hint: Callable[[Rejected, str], str] | None = None
    error: Callable[[Rejected], QueryError | None] | None = None


def syntax_error(rejected: Rejected, text: str, wording: Wording) -> QueryError:
    """The error for a token that a grammar has no place for; ``text`` is the whole query."""
    token, expected = rejected.token, rejected.expected
    own = wording.error(rejected) if wording.error is not None else None
    if own is not None:
        return own
    called = _CALLED.search(text, 0, token.start) if token.text.upper() in _OPERATORS else None
    if token.type == "<" and expected & _IRI and called is None:
        return _bad_iri(text, token.start)
    words = _readable(expected, wording)
    if called is not None:
        shown = f"{called[1]} ({called[2]} {token.text} …)"
        hint = f"a condition that is more than a function call stands in parentheses: {shown}"
        return UnexpectedToken(found=_found(token), expected=words, hint=hint, span=token.span)
    if token.type == END:
        before = rejected.previous
        if before is None:
            return UnexpectedEnd(expected=words, hint="the query is empty", span=token.span)
        closing = next((sign for sign in _CLOSING if sign in expected), "")
        hint = f"a `{closing}` may be missing" if closing else ""
        # The end of the text may be many blank lines away; the last token is where to look.
        return UnexpectedEnd(expected=words, hint=hint, span=Span(before.end, before.end))
    hint = wording.hint(rejected, text) if wording.hint is not None else ""
    hint = hint or _hint(token, expected, wording)
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


def _readable(expected: frozenset[str], wording: Wording) -> str:
    words = [f"`{sign}`" for sign in _CLOSING if sign in expected]
    left = set(expected).difference(_CLOSING)
    phrases = (*_PHRASES, *((phrase, members, members) for phrase, members in wording.phrases))
    for phrase, needed, members in phrases:
        # What a phrase needs may have gone into a wider one, but some of its own must be left.
        if needed <= expected and left & needed and needed & members <= left:
            words.append(phrase)
            left -= members
            if needed & _CALL:
                left -= wording.calls
    names = {**_WORDS, **wording.words}
    words += [names.get(kind, f"`{kind}`") for kind in sorted(left)]
    if len(words) > MOST:
        return ", ".join(words[: MOST - 1]) + " …"
    if len(words) < 2:
        return words[0] if words else "nothing more"
    return ", ".join(words[:-1]) + f" or {words[-1]}"


def _hint(token: Token, expected: frozenset[str], wording: Wording) -> str:
    if token.type == "NAME":
        names = {**_WORDS, **wording.words}
        known = [kind for kind in expected if kind.isalpha() and kind.isupper() and kind not in names]
        if "FUNCTION" in expected:
            known += [*ARGUMENTS, *AGGREGATES]
        near = get_close_matches(token.text.upper(), sorted(known), n=1, cutoff=NEAR)
        return f"did you mean {near[0]}?" if near else ""
    if token.type == "," and "VAR" in expected:
        return "variables are separated by spaces, not by commas"
    if token.type in _CALL | wording.calls and {"VAR", "("} <= expected and "FUNCTION" not in expected:
        return f"an expression here needs parentheses and a name: ({token.text}(…) AS ?name)"
    return ""
