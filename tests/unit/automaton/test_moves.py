"""The automaton without its ε edges: which moves a run has, and what must be absent on the way (semantics 1.6, 1.11)."""

from __future__ import annotations

import pytest

from spaseq.automaton import Automaton
from spaseq.automaton.graph import element_text
from spaseq.automaton.moves import START, Move, moves
from spaseq.planner import compile_query


def automaton(sequence: str, window: str = "WITHIN 1 MINUTE") -> Automaton:
    """The automaton of a sequence over GPMs A to H."""
    used = [name for name in "ABCDEFGH" if name in sequence.replace("PERMUTE", "").replace("LONGEST", "")]
    definitions = " ".join(f"DEFINE GPM {name} ON S {{ ?{name.lower()} <urn:p{name}> ?k }}" for name in used)
    return compile_query(
        f"SELECT * {window} FROM STREAM S <urn:s> WHERE {{ SEQ ({sequence}) {definitions} }}"
    ).automaton


def told(found: tuple[Move, ...]) -> list[str]:
    """Moves as ``A -;-> C without B``: from what was taken last to what is taken next; ``↺`` for one more iteration."""
    taken: dict[int, str] = {START: "start"}
    for move in found:
        if move.step is not None:
            name = element_text(move.step)
            taken[move.target] = (
                name if taken.get(move.target, name) == name else f"{taken[move.target]}/{name}"
            )
    lines = []
    for move in found:
        target = "end" if move.step is None else element_text(move.step)
        operator = "" if move.operator is None else move.operator.value
        again = "↺" if move.context.again is not None else ""
        absent = ",".join(element_text(absence.step) for absence in move.absences)
        lines.append(
            f"{taken[move.source]} -{operator}{again}-> {target}{f' without {absent}' if absent else ''}"
        )
    return lines


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ("A", ["start --> A", "A --> end"]),
        ("A , B : C", ["start --> A", "A -,-> B", "B -:-> C", "C --> end"]),
        ("A+ ; B", ["start --> A", "A -;↺-> A", "A -;-> B", "B --> end"]),
        ("A ; B+", ["start --> A", "A -;-> B", "B -,↺-> B", "B --> end"]),
        ("A{1} ; B", ["start --> A", "A -;-> B", "B --> end"]),
        # negation in the middle, first and last
        ("A ; B! ; C", ["start --> A", "A -;-> C without B", "C --> end"]),
        ("A! ; B", ["start --> B without A", "B --> end"]),
        ("A ; B!", ["start --> A", "A --> end without B"]),
        ("A ; B! ; C! : D", ["start --> A", "A -:-> D without B,C", "D --> end"]),
        # optional in the middle, first and last
        ("A ; B? ; C", ["start --> A", "A -;-> B", "A -;-> C without B", "B -;-> C", "C --> end"]),
        ("A? ; B", ["start --> A", "start --> B without A", "A -;-> B", "B --> end"]),
        ("A ; B?", ["start --> A", "A -;-> B", "A --> end", "B --> end"]),
        # a step left out with no positive step behind it is not missed
        ("A ; B? ; C!", ["start --> A", "A -;-> B", "A --> end without C", "B --> end without C"]),
        (
            "A ; B* ; C",
            ["start --> A", "A -;-> B", "A -;-> C without B", "B -,↺-> B", "B -;-> C", "C --> end"],
        ),
        # groups: one that is left out leaves nothing behind
        ("A ; (B ; C)? ; D", ["start --> A", "A -;-> B", "A -;-> D", "B -;-> C", "C -;-> D", "D --> end"]),
        ("(A ; B)+ ; C", ["start --> A", "A -;-> B", "B -;↺-> A", "B -;-> C", "C --> end"]),
        ("(A! ; B)+", ["start --> B without A", "B -;↺-> B without A", "B --> end"]),
        ("A+ LONGEST ; B", ["start --> A", "A -;↺-> A", "A -;-> B without A", "B --> end"]),
    ],
)
def test_moves_pass_what_may_be_missing_and_remember_it(sequence: str, expected: list[str]) -> None:
    """Each step that a move passes and that must be absent becomes a guard of the gap."""
    assert told(moves(automaton(sequence))) == expected


def test_a_repetition_that_may_be_first_or_not_is_there_twice() -> None:
    """Between its iterations stands `;` at the start and `,` behind another step (semantics 1.5)."""
    found = told(moves(automaton("A? ; B+")))
    assert "B -;↺-> B" in found
    assert "B -,↺-> B" in found


def test_bounds_make_no_states() -> None:
    """A thousand iterations are counted, not written out."""
    assert automaton("A{2,3} ; B").size == automaton("A{2,1000} ; B").size


@pytest.mark.parametrize("items", [2, 5, 8])
def test_a_permutation_has_a_state_for_every_set_of_items(items: int) -> None:
    """2ⁿ states, not n! paths."""
    assert automaton(f"PERMUTE({' ; '.join('ABCDEFGH'[:items])})").size == 2**items
