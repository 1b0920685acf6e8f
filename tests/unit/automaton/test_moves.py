"""The automaton without its ε-edges: which moves a run has, and what they must not pass (SEMANTICS 1.6)."""

from __future__ import annotations

import pytest

from spaseq.automaton import Nfa
from spaseq.automaton.moves import START, Move, moves, moves_from
from spaseq.planner import compile_query


def automaton(sequence: str) -> Nfa:
    """The automaton of a sequence over GPMs A to F."""
    used = [name for name in "ABCDEF" if name in sequence]
    definitions = " ".join(f"DEFINE GPM {name} ON S {{ ?{name.lower()} <urn:p{name}> ?k }}" for name in used)
    return compile_query(
        f"SELECT * WITHIN 1 MINUTE FROM STREAM S <urn:s> WHERE {{ SEQ ({sequence}) {definitions} }}"
    ).automaton


def told(move: Move) -> str:
    """A move as ``0 -;-> 2 without 1``; the start is ``start``."""
    source = "start" if move.source == START else str(move.source)
    operator = "" if move.operator is None else move.operator.value
    guards = f" without {','.join(map(str, move.guards))}" if move.guards else ""
    return f"{source} -{operator}-> {move.target}{guards}"


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ("A", ["start --> 0", "0 --> 1"]),
        ("A ; B", ["start --> 0", "0 -;-> 1", "1 --> 2"]),
        ("A , B : C", ["start --> 0", "0 -,-> 1", "1 -:-> 2", "2 --> 3"]),
        ("A+ ; B", ["start --> 0", "0 -;-> 1", "1 --> 2"]),
        # negation in the middle, first and last
        ("A ; B! ; C", ["start --> 0", "0 -;-> 2 without 1", "2 --> 3"]),
        ("A! ; B", ["start --> 1 without 0", "1 --> 2"]),
        ("A ; B!", ["start --> 0", "0 --> 2 without 1"]),
        ("A ; B! ; C! : D", ["start --> 0", "0 -:-> 3 without 1,2", "3 --> 4"]),
        ("A! ; B! ; C", ["start --> 2 without 0,1", "2 --> 3"]),
        ("A ; B! ; C!", ["start --> 0", "0 --> 3 without 1,2"]),
        # optional in the middle, first and last
        ("A ; B? ; C", ["start --> 0", "0 -;-> 1", "0 -;-> 2 without 1", "1 -;-> 2", "2 --> 3"]),
        ("A? ; B", ["start --> 0", "start --> 1 without 0", "0 -;-> 1", "1 --> 2"]),
        ("A ; B?", ["start --> 0", "0 -;-> 1", "0 --> 2", "1 --> 2"]),
        # several in a row: a skipped one guards the gap up to whatever comes next
        (
            "A ; B? ; C? ; D",
            [
                "start --> 0",
                "0 -;-> 1",
                "0 -;-> 2 without 1",
                "0 -;-> 3 without 1,2",
                "1 -;-> 2",
                "1 -;-> 3 without 2",
                "2 -;-> 3",
                "3 --> 4",
            ],
        ),
        (
            "A ; B? ; C?",
            [
                "start --> 0",
                "0 -;-> 1",
                "0 -;-> 2 without 1",
                "0 --> 3",
                "1 -;-> 2",
                "1 --> 3",
                "2 --> 3",
            ],
        ),
        (
            "A? ; B! ; C? ; D",
            [
                "start --> 0",
                "start --> 2 without 0,1",
                "start --> 3 without 0,1,2",
                "0 -;-> 2 without 1",
                "0 -;-> 3 without 1,2",
                "2 -;-> 3",
                "3 --> 4",
            ],
        ),
        # an optional step before a trailing negation must be absent until the end, one behind it may be missing
        (
            "A ; B? ; C! ; D?",
            [
                "start --> 0",
                "0 -;-> 1",
                "0 -;-> 3 without 1,2",
                "0 --> 4 without 1,2",
                "1 -;-> 3 without 2",
                "1 --> 4 without 2",
                "3 --> 4",
            ],
        ),
    ],
)
def test_moves_pass_what_may_be_missing_and_remember_it(sequence: str, expected: list[str]) -> None:
    """Each optional or negated step that a move passes becomes its guard, except one that may just be missing."""
    assert [told(move) for move in moves(automaton(sequence))] == expected


def test_a_negated_step_is_never_a_source() -> None:
    """No run has completed a step that must not occur."""
    assert {move.source for move in moves(automaton("A ; B! ; C"))} == {START, 0, 2}


def test_moves_of_one_source_are_a_part_of_all_moves() -> None:
    """`moves` is `moves_from` every source."""
    nfa = automaton("A? ; B! ; C? ; D+")
    sources = {move.source for move in moves(nfa)}
    assert moves(nfa) == tuple(move for source in sorted(sources) for move in moves_from(nfa, source))


def test_a_run_can_end_only_after_the_last_step_that_must_occur() -> None:
    """The final state is not reached past a positive step."""
    nfa = automaton("A ; B ; C? ; D?")
    assert {move.source for move in moves(nfa) if move.target == nfa.final.index} == {1, 2, 3}
