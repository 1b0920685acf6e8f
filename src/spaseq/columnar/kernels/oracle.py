"""pyoxigraph as the scalar kernel: exact by construction, asked once per distinct combination.

What numpy cannot express and Python need not, because a term's *value* decides and not its spelling, is
put to pyoxigraph, many rows in one question. Terms come back normalised, so functions that hand a term
through, or that read its spelling, are not asked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pyoxigraph import BlankNode, Literal, Store

from spaseq.algebra.expressions import Term
from spaseq.settings import settings


@cache
def _store() -> Store:
    """An empty graph to ask in."""
    return Store()


def ask(expression: str, rows: Sequence[tuple[Term, ...]], base: str | None = None) -> list[Term | None]:
    """The values of an expression over ``?a0``, ``?a1`` … for each row of arguments; None is an error.

    A blank node is an error here: no function of values takes one.

    >>> from pyoxigraph import Literal
    >>> str(ask("(?a0 + ?a1)", [(Literal(1), Literal(2))])[0])
    '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    answers: list[Term | None] = [None] * len(rows)
    # Long enough to spread the cost of a call, short enough to parse in cache.
    size = settings().oracle_rows
    for start in range(0, len(rows), size):
        _ask(expression, rows, range(start, min(start + size, len(rows))), base, answers)
    return answers


def _ask(
    expression: str,
    rows: Sequence[tuple[Term, ...]],
    chosen: range,
    base: str | None,
    answers: list[Term | None],
) -> None:
    names = " ".join(f"?a{position}" for position in range(len(rows[0])))
    values = " ".join(
        f"({row} {' '.join(map(str, rows[row]))})"
        for row in chosen
        if not any(isinstance(term, BlankNode) for term in rows[row])
    )
    query = f"SELECT ?row ({expression} AS ?answer) WHERE {{ VALUES (?row {names}) {{ {values} }} }}"
    for solution in _store().query(query, base_iri=base):  # type: ignore[union-attr]
        row, answer = solution[0], solution[1]
        answers[int(row.value)] = answer


def order(terms: Sequence[Term]) -> list[int]:
    """The positions of the terms in SPARQL's order (section 15.1), completed as pyoxigraph completes it.

    Blank nodes come first, then IRIs, then literals.
    """
    blank = [position for position, term in enumerate(terms) if isinstance(term, BlankNode)]
    values = " ".join(
        f"({position} {term})" for position, term in enumerate(terms) if not isinstance(term, BlankNode)
    )
    query = f"SELECT ?row WHERE {{ VALUES (?row ?term) {{ {values} }} }} ORDER BY ?term"
    return blank + [int(solution[0].value) for solution in _store().query(query)]  # type: ignore[union-attr]


def aggregate(expression: str, groups: Sequence[Sequence[Term]]) -> list[Term | None]:
    """SUM or AVG of ``?a0`` for each group of terms: 0 for no terms, an error with a blank node among them."""
    answers: list[Term | None] = [None if terms else Literal(0) for terms in groups]
    rows = " ".join(
        f"({group} {term})"
        for group, terms in enumerate(groups)
        if not any(isinstance(term, BlankNode) for term in terms)
        for term in terms
    )
    values = f"VALUES (?group ?a0) {{ {rows} }}"
    query = f"SELECT ?group ({expression} AS ?answer) WHERE {{ {values} }} GROUP BY ?group"
    for solution in _store().query(query):  # type: ignore[union-attr]
        answers[int(solution[0].value)] = solution[1]
    return answers
