"""The parser's loop: an LALR(1) automaton over tokens that calls the builder at each reduction.

Nodes are built from the leaves up with an explicit stack, so no nesting of the input can exhaust Python's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spaseq.errors import Span
from spaseq.syntax.lexer import BETWEEN, END, Lexer, Token
from spaseq.syntax.parse_tables import DROP, SPLICE, LalrTable, Rule


class Rejected(Exception):
    """No rule has a place for this token; ``expected`` are the token types that had one."""

    def __init__(self, token: Token, expected: frozenset[str], previous: Token | None) -> None:
        super().__init__(token.text)
        self.token = token
        self.expected = expected
        self.previous = previous


def run(table: LalrTable, lexer: Lexer, actions: object) -> Any:
    """Parse the text of a lexer; the result is what the action of the start rule returns."""
    calls = [_action(rule, actions) for rule in table.rules]
    rows, rules = table.rows, table.rules
    states = [table.start]
    values: list[Any] = []
    starts: list[int] = []
    ends: list[int] = []
    previous: Token | None = None
    for token in lexer:
        while True:
            move = rows[states[-1]].get(token.type)
            if move is None and token.type == "IRIREF" and _accepts(table, states, "<"):
                token = lexer.read_again_as_less_than()
                continue
            soft = lexer.soft_type(token) if move is None and token.type == "NAME" else None
            if soft is not None and _accepts(table, states, soft):
                token = token._replace(type=soft)
                continue
            if move is None:
                raise Rejected(token, _expected(table, states), previous)
            if move >= 0:
                states.append(move)
                values.append(token)
                starts.append(token.start)
                ends.append(token.end)
                previous = token
                break
            rule, call = rules[-1 - move], calls[-1 - move]
            size = rule.size
            if size:
                start, end = starts[-size], ends[-1]
                parts = _parts(rule, values[-size:])
                del states[-size:], values[-size:], starts[-size:], ends[-size:]
            else:
                start = end = ends[-1] if ends else token.start
                parts = []
            if call is None:
                value: Any = parts
            elif rule.expand and len(parts) == 1:
                value = parts[0]
            else:
                value = call(Span(start, end), *parts)
            states.append(rows[states[-1]][rule.origin])
            values.append(value)
            starts.append(start)
            ends.append(end)
            if token.type == END and states[-1] == table.accept:
                return value
    raise AssertionError("the token stream has no $END")


def _action(rule: Rule, actions: object) -> Callable[..., Any] | None:
    if not rule.action:
        return None
    if rule.expand:
        return getattr(actions, rule.action, _only_part)
    found: Callable[..., Any] = getattr(actions, rule.action)
    return found


def _only_part(_span: Span, *parts: Any) -> Any:
    raise AssertionError(f"a rule with {len(parts)} parts needs an action")


def _parts(rule: Rule, values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for treatment, value in zip(rule.parts, values, strict=True):
        if treatment == SPLICE:
            kept.extend(value)
        elif treatment != DROP:
            kept.append(value)
    return kept


def _expected(table: LalrTable, states: list[int]) -> frozenset[str]:
    """The token types that could follow: those that lead to a shift, however many reductions come first."""
    nonterminals = {rule.origin for rule in table.rules}
    found = {
        symbol
        for symbol in table.rows[states[-1]]
        if symbol not in nonterminals and _accepts(table, states, symbol)
    }
    if BETWEEN in found:
        found.remove(BETWEEN)
        found |= _expected(table, _shifted(table, states, BETWEEN))
    return frozenset(found)


def _accepts(table: LalrTable, states: list[int], symbol: str) -> bool:
    return bool(_shifted(table, states, symbol))


def _shifted(table: LalrTable, states: list[int], symbol: str) -> list[int]:
    """The states once a symbol is shifted; none if it is not accepted."""
    stack = list(states)
    while True:
        move = table.rows[stack[-1]].get(symbol)
        if move is None:
            return []
        if move >= 0:
            return [*stack, move]
        rule = table.rules[-1 - move]
        if rule.size:
            del stack[-rule.size :]
        stack.append(table.rows[stack[-1]][rule.origin])
        if symbol == END and stack[-1] == table.accept:
            return stack
