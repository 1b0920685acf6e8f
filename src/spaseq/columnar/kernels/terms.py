"""Functions on RDF terms that read or keep a term's spelling (SPARQL 1.1, section 17.4.2); None is an error.

These must not go through pyoxigraph, which rewrites ``"05"`` to ``"5"`` (semantics 0).
"""

from __future__ import annotations

from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode

from spaseq.algebra.expressions import Term
from spaseq.columnar.kernels.strings import TermFunction, plain_text


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
