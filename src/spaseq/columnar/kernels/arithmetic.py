"""Arithmetic term by term (SPARQL 1.1, section 17.3), for what columns of numbers cannot hold.

Floats, long decimals, large integers, dates and durations are computed once per distinct pair, as pyoxigraph
climbs the numeric tower, and exactly where its numbers end.
"""

from __future__ import annotations

from collections.abc import Sequence

from spaseq.algebra.expressions import Term
from spaseq.columnar.kernels.cache import FunctionCache, RowFunction
from spaseq.columnar.kernels.exact import ask_numbers
from spaseq.columnar.kernels.oracle import ask
from spaseq.columnar.table import Ids


def arithmetic(op: str, left: Ids, right: Ids, cache: FunctionCache) -> Ids:
    """``left op right`` for every row; op is one of ``+ - * /``."""
    return cache.apply(("op", op), _binary(op), [left, right], len(left))


def signed(op: str, operand: Ids, cache: FunctionCache) -> Ids:
    """Unary ``+`` and ``-``."""
    return cache.apply(
        ("sign", op), lambda rows: ask_numbers(op, f"({op} ?a0)", rows), [operand], len(operand)
    )


def _binary(op: str) -> RowFunction:
    return _sum if op == "+" else lambda rows: ask_numbers(op, f"(?a0 {op} ?a1)", rows)


def _sum(rows: Sequence[tuple[Term, ...]]) -> list[Term | None]:
    """Addition in whichever order it works.

    pyoxigraph adds a duration to a date-time but not the reverse, and swaps the operands of ``+`` as the
    names of variables happen to hash; so both orders are asked.
    """
    answers = ask_numbers("+", "(?a0 + ?a1)", rows)
    failed = [place for place, answer in enumerate(answers) if answer is None]
    if failed:
        for place, answer in zip(failed, ask("(?a0 + ?a1)", [rows[p][::-1] for p in failed]), strict=True):
            answers[place] = answer
    return answers
