"""What two hosts must agree on: the matches of a query as a multiset that can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyoxigraph import BlankNode, NamedNode

from spaseq.algebra.events import AskForm
from spaseq.model.matches import Match
from spaseq.planner import CompiledQuery

Fact = tuple[object, ...]


def comparable(
    query: CompiledQuery, found: Iterable[Match], *, labels: bool = True, with_events: bool = True
) -> Counter[Fact]:
    """All there is to the matches; without ``labels`` hosts may give blank nodes other names.

    Which of several matches with equal keys has which number is not said (semantics 1.10), nor which one DISTINCT and ASK
    keep. So identities are counted with what the key is made of, and everything else is counted on its own.
    """
    form = query.algebra.form
    chooses = isinstance(form, AskForm) or getattr(form, "distinct", False)
    facts: Counter[Fact] = Counter()
    for match in found:
        when = (match.begin, match.instant)
        triples = None if match.triples is None else _lines(match)
        facts["answer", *when, _bindings(match, labels), triples] += 1
        if with_events:
            events = [(e.step, e.stream, e.instant, e.graph) for e in match.events]
            iris = tuple((*e[:3], e[3] if isinstance(e[3], NamedNode) else None) for e in events)
            facts["identity", *when, _bindings(match, False), iris, match.identity] += 1
            if not chooses:
                facts["events", *when, tuple((*e[:3], _text(e[3], labels)) for e in events)] += 1
    return facts


def _bindings(match: Match, labels: bool) -> frozenset[tuple[str, str]]:
    return frozenset((name, _text(term, labels)) for name, term in match.bindings.items())


def _lines(match: Match) -> tuple[str, ...]:
    """The graph of a CONSTRUCT, its blank nodes without their labels, which depend on the number of the match."""
    return tuple(sorted(" ".join(_text(term, False) for term in triple) for triple in match.triples or ()))


def _text(term: object, labels: bool) -> str:
    if isinstance(term, BlankNode) and not labels:
        return "_:"
    return str(term)
