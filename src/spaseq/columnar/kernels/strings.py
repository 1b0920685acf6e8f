"""String functions of one row of terms, and those that read or keep a term's spelling (SPARQL 1.1, 17.4.2 and 17.4.3).

None is an error. They are written out because filters on strings are common and a Python call is cheaper than a question to
pyoxigraph, which also rewrites ``"05"`` to ``"5"`` (semantics 0); the property tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode

from spaseq.algebra.expressions import Term
from spaseq.algebra.functions import XSD
from spaseq.columnar.kernels.oracle import ask
from spaseq.model.values import Kind, literal_value
from spaseq.settings import limit_reached, settings

TermFunction = Callable[..., Term | None]

_STRING: Final = XSD + "string"


def text_of(term: Term) -> str | None:
    """The characters of a string literal, plain or with a language; None for anything else."""
    if isinstance(term, Literal) and (term.language is not None or term.datatype.value == _STRING):
        return term.value
    return None


def plain_text(term: Term) -> str | None:
    """The characters of a string literal without language."""
    if isinstance(term, Literal) and term.language is None and term.datatype.value == _STRING:
        return term.value
    return None


def like(text: str, term: Term) -> Literal:
    """A string with the language of another literal."""
    language = term.language if isinstance(term, Literal) else None
    return Literal(text) if language is None else Literal(text, language=language)


def check_length(length: int) -> None:
    """Refuse to compute a string of so many characters: a few lines of a query can double it again and again."""
    if length > settings().max_string_length:
        raise limit_reached(f"an expression computes a string of {length:,} characters", "max_string_length")


def _operands(one: Term, other: Term) -> tuple[str, str] | None:
    """Two compatible arguments (section 17.4.3.1.2): the second is plain, or has the first's language."""
    left, right = text_of(one), text_of(other)
    if left is None or right is None:
        return None
    assert isinstance(one, Literal)
    assert isinstance(other, Literal)
    if other.language is not None and other.language != one.language:
        return None
    return left, right


def _integer(term: Term) -> int | None:
    if not isinstance(term, Literal):
        return None
    value = literal_value(term.value, term.datatype.value)
    return value.integer if value.kind is Kind.INTEGER and value.integral else None


def strlen(term: Term) -> Term | None:
    """The number of characters."""
    text = text_of(term)
    return None if text is None else Literal(len(text))


def substr(term: Term, start: Term, length: Term | None = None) -> Term | None:
    """The characters from a position on, counted from 1."""
    text, first = text_of(term), _integer(start)
    count = None if length is None else _integer(length)
    if text is None or first is None or (length is not None and count is None):
        return None
    last = len(text) if count is None else min(first - 1 + count, len(text))
    return like(text[max(first - 1, 0) : max(last, 0)], term)


def ucase(term: Term) -> Term | None:
    """Upper case."""
    return _cased(term, str.upper, "UCASE(?a0)")


def lcase(term: Term) -> Term | None:
    """Lower case."""
    return _cased(term, str.lower, "LCASE(?a0)")


def _cased(term: Term, change: Callable[[str], str], question: str) -> Term | None:
    text = text_of(term)
    if text is None:
        return None
    # Beyond ASCII the two libraries may know different versions of Unicode.
    return like(change(text), term) if text.isascii() else ask(question, [(term,)])[0]


def strstarts(term: Term, start: Term) -> Term | None:
    """Whether the first string begins with the second."""
    pair = _operands(term, start)
    return None if pair is None else Literal(pair[0].startswith(pair[1]))


def strends(term: Term, end: Term) -> Term | None:
    """Whether the first string ends with the second."""
    pair = _operands(term, end)
    return None if pair is None else Literal(pair[0].endswith(pair[1]))


def contains(term: Term, part: Term) -> Term | None:
    """Whether the first string has the second inside."""
    pair = _operands(term, part)
    return None if pair is None else Literal(pair[1] in pair[0])


def strbefore(term: Term, mark: Term) -> Term | None:
    """What stands before the first occurrence of the second string."""
    pair = _operands(term, mark)
    if pair is None:
        return None
    head, found, _ = pair[0].partition(pair[1]) if pair[1] else ("", True, "")
    return like(head, term) if found else Literal("")


def strafter(term: Term, mark: Term) -> Term | None:
    """What stands after the first occurrence of the second string."""
    pair = _operands(term, mark)
    if pair is None:
        return None
    _, found, tail = pair[0].partition(pair[1]) if pair[1] else ("", True, pair[0])
    return like(tail, term) if found else Literal("")


def concat(*terms: Term) -> Term | None:
    """All strings in a row, with their language if it is the same everywhere."""
    parts: list[str] = []
    for term in terms:
        text = text_of(term)
        if text is None:
            return None
        parts.append(text)
    check_length(sum(map(len, parts)))
    languages = {term.language for term in terms if isinstance(term, Literal)}
    joined = "".join(parts)
    return like(joined, terms[0]) if len(languages) == 1 else Literal(joined)


STRINGS: Final[dict[str, TermFunction]] = {
    "STRLEN": strlen,
    "SUBSTR": substr,
    "UCASE": ucase,
    "LCASE": lcase,
    "STRSTARTS": strstarts,
    "STRENDS": strends,
    "CONTAINS": contains,
    "STRBEFORE": strbefore,
    "STRAFTER": strafter,
    "CONCAT": concat,
}


def str_(term: Term) -> Term | None:
    """The spelling of a literal or the characters of an IRI."""
    return None if isinstance(term, BlankNode) else Literal(term.value)


def lang(term: Term) -> Term | None:
    """The language tag, empty if there is none."""
    return Literal(term.language or "") if isinstance(term, Literal) else None


def datatype(term: Term) -> Term | None:
    """The datatype IRI."""
    return term.datatype if isinstance(term, Literal) else None


def strdt(text: Term, kind: Term) -> Term | None:
    """A literal with this spelling and this datatype."""
    characters = plain_text(text)
    if characters is None or not isinstance(kind, NamedNode):
        return None
    try:
        return Literal(characters, datatype=kind)
    except ValueError:
        return None


def strlang(text: Term, language: Term) -> Term | None:
    """A literal with this spelling and this language."""
    characters, tag = plain_text(text), plain_text(language)
    if characters is None or tag is None:
        return None
    try:
        return Literal(characters, language=tag)
    except ValueError:
        return None


TERMS: Final[dict[str, TermFunction]] = {
    "STR": str_,
    "LANG": lang,
    "DATATYPE": datatype,
    "STRDT": strdt,
    "STRLANG": strlang,
}
