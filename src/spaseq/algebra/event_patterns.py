"""Event patterns of RSEP-QL, as values that belong to no spelling of them (semantics 4.1 to 4.3).

An event pattern evaluates to a set of solutions, each with the time from the first to the last of its events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, assert_never

from spaseq.algebra.expressions import PatternNode, Var


class Selected(Enum):
    """Which pairs a SEQ takes (semantics 4.3); a plain SEQ takes ANY."""

    ANY = "ANY"
    NAIVE = "NAIVE"
    CHRONOLOGICAL = "CHRONOLOGICAL"
    RECENT = "RECENT"
    NEXT = "NEXT"
    STRICT = "STRICT"
    PARTITION = "PARTITION"


class Consumption(Enum):
    """Whether what a MATCH used is gone for its later evaluations (semantics 4.5); the two policies remove alike."""

    NONE = "NONE"
    CHRONOLOGICAL = "CHRONOLOGICAL"
    RECENT = "RECENT"


@dataclass(frozen=True, slots=True)
class DeclaredEvent:
    """``EVENT ON window { pattern } AS name``, at a place where MATCH names it; the pattern reads one event's graph."""

    name: str
    window: str
    pattern: PatternNode


@dataclass(frozen=True, slots=True)
class FirstOf:
    """``FIRST E``."""

    operand: EventPattern


@dataclass(frozen=True, slots=True)
class LastOf:
    """``LAST E``."""

    operand: EventPattern


@dataclass(frozen=True, slots=True)
class EventSeq:
    """``left SEQ right``, or ``left SEQ NOT absent SEQ right``; ``key`` is that of PARTITION."""

    left: EventPattern
    right: EventPattern
    selected: Selected = Selected.ANY
    key: Var | None = None
    absent: EventPattern | None = None


@dataclass(frozen=True, slots=True)
class EventDuring:
    """``left DURING right``."""

    left: EventPattern
    right: EventPattern


EventPattern: TypeAlias = DeclaredEvent | FirstOf | LastOf | EventSeq | EventDuring


def operands(pattern: EventPattern, *, absent: bool = True) -> tuple[EventPattern, ...]:
    """The event patterns that one is made of, in the order written; without ``absent``, not what stands under NOT."""
    match pattern:
        case DeclaredEvent():
            return ()
        case FirstOf(operand) | LastOf(operand):
            return (operand,)
        case EventSeq(left, right, absent=None) | EventDuring(left, right):
            return (left, right)
        case EventSeq(left, right, absent=never):
            assert never is not None
            return (left, never, right) if absent else (left, right)
        case _:
            assert_never(pattern)


def rebuilt(pattern: EventPattern, change: Callable[[EventPattern], EventPattern]) -> EventPattern:
    """The pattern with every part changed, what it is made of first."""
    match pattern:
        case DeclaredEvent():
            return change(pattern)
        case FirstOf(operand) | LastOf(operand):
            return change(replace(pattern, operand=rebuilt(operand, change)))
        case EventDuring(left, right):
            return change(EventDuring(rebuilt(left, change), rebuilt(right, change)))
        case EventSeq(left, right, absent=absent):
            never = None if absent is None else rebuilt(absent, change)
            first, second = rebuilt(left, change), rebuilt(right, change)
            return change(replace(pattern, left=first, right=second, absent=never))
        case _:
            assert_never(pattern)


def declared_events(pattern: EventPattern, *, absent: bool = True) -> Iterator[DeclaredEvent]:
    """The places of an event pattern where events are named, in the order written."""
    if isinstance(pattern, DeclaredEvent):
        yield pattern
    for operand in operands(pattern, absent=absent):
        yield from declared_events(operand, absent=absent)


def seqs(pattern: EventPattern) -> Iterator[EventSeq]:
    """Every SEQ of an event pattern, from the outside in."""
    if isinstance(pattern, EventSeq):
        yield pattern
    for operand in operands(pattern):
        yield from seqs(operand)


def format_events(pattern: EventPattern) -> str:
    """An event pattern as MATCH has it, its events by name."""
    match pattern:
        case DeclaredEvent(name):
            return name
        case FirstOf(operand):
            return f"FIRST {_unit(operand)}"
        case LastOf(operand):
            return f"LAST {_unit(operand)}"
        case EventDuring(left, right):
            return f"{format_events(left)} DURING {_unit(right)}"
        case EventSeq(left, right, selected, key, absent):
            word = "" if selected is Selected.ANY else f" {selected.value}"
            by = "" if key is None else f" ?{key.name}"
            between = "" if absent is None else f" SEQ NOT {_unit(absent)}"
            return f"{format_events(left)}{between} SEQ{word}{by} {_unit(right)}"
        case _:
            assert_never(pattern)


def _unit(pattern: EventPattern) -> str:
    text = format_events(pattern)
    return f"({text})" if isinstance(pattern, (EventSeq, EventDuring)) else text
