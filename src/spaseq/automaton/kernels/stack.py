"""Stateful conditions: runs the stack programs of `spaseq.automaton.conditions` on one candidate."""

from __future__ import annotations

import numpy as np

from spaseq.automaton.conditions import (
    ADD,
    ALL,
    BOUND,
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    LOAD_CONSTANT,
    LOAD_COUNT,
    LOAD_SLOT,
    LOAD_TRACK,
    MULTIPLY,
    NEGATE,
    NOT,
    NOT_EQUAL,
    SOME,
    SUBTRACT,
)
from spaseq.automaton.tables import (
    CHOICE_CODE,
    CHOICE_COUNTS,
    CHOICE_REPETITION,
    FIRST,
    N_COUNTERS,
    N_SLOTS,
    N_TRACKS,
    OF,
    PREV,
    ROW_CHOICE,
    SITUATION_AGAIN,
    SUB_COUNTS,
    SUB_SITUATION,
    TRACK_FUNCTION,
    TRACK_SLOT,
    TRANSITION_COUNTS,
    TRANSITION_SITUATION,
    Rows,
    RunStore,
    Tables,
    ValueArrays,
)

from .codes import ERROR, NO, UNSURE, YES
from .index import begins, previous, unbinds
from .portable import Array, inlined, portable

# A place on a condition's stack: what it is, its number, by how much that may be off, and its term.
KIND, NUMBER, BOUND_OF_ERROR, TERM = 0, 1, 2, 3
# Kinds of values on a condition's stack.
_BOOLEAN, _EXACT, _DOUBLE, _IRI, _FAILED, _OTHER, _STRING = 0, 1, 2, 3, 4, 5, 6
# Kinds of terms, as in spaseq.model.values.Kind; a test compares them.
_KIND_IRI, _KIND_STRING, _KIND_INTEGER, _KIND_DECIMAL, _KIND_DOUBLE = 1, 3, 6, 7, 9
_ROUNDING = 2.3e-16
_LARGEST = 9.0e18


@inlined
def decide(
    tables: Tables,
    store: RunStore,
    rows: Rows,
    row: int,
    run: int,
    target: int,
    values: ValueArrays,
    stack: Array,
) -> int:
    """The verdict of a choice's conditions on one candidate."""
    choice = rows.ids[row, ROW_CHOICE]
    at, end = tables.choices[choice, CHOICE_CODE], tables.choices[choice, CHOICE_CODE + 1]
    partial = -1
    if run >= 0:
        partial = store.runs[run, OF]
        situation = tables.subs[target, SUB_SITUATION]
        counts = tables.subs[target, SUB_COUNTS]
    else:
        situation = tables.transitions[target, TRANSITION_SITUATION]
        counts = tables.transitions[target, TRANSITION_COUNTS]
    unsure = False
    while at < end:
        length, after_first = tables.flat[at], tables.flat[at + 1]
        if after_first == 0 or not is_first(tables, store, partial, choice, situation, tables.flat[at + 2]):
            verdict = compare_slots(tables, store, rows, row, partial, situation, at + 3, length, values)
            if verdict == UNSURE:
                verdict = evaluate(
                    tables, store, rows, row, partial, situation, counts, at + 3, at + 3 + length, values, stack,
                )  # fmt: skip
            if verdict == NO or verdict == ERROR:
                return NO
            if verdict == UNSURE:
                unsure = True
        at += 3 + length
    return UNSURE if unsure else YES


@inlined
def is_first(
    tables: Tables, store: RunStore, partial: int, choice: int, situation: int, counter: int
) -> bool:
    """True in the first iteration of the innermost repetition around a choice."""
    repetition = tables.choices[choice, CHOICE_REPETITION]
    if partial < 0 or begins(tables, situation, repetition):
        return True
    if tables.situations[situation, SITUATION_AGAIN] == repetition or counter < 0:
        return False
    loops = tables.sizes[N_SLOTS] + tables.sizes[N_TRACKS] + tables.sizes[N_COUNTERS]
    return bool(store.slots[partial, loops + counter] == 1)


@inlined
def compare_slots(
    tables: Tables,
    store: RunStore,
    rows: Rows,
    row: int,
    partial: int,
    situation: int,
    at: int,
    length: int,
    values: ValueArrays,
) -> int:
    """The commonest condition, ``?a < ?b`` of two exact numbers, without a stack; UNSURE for all others."""
    code = tables.flat
    if length != 6 or code[at] != LOAD_SLOT or code[at + 2] != LOAD_SLOT:
        return UNSURE
    left = merged(tables, store, rows, row, partial, situation, code[at + 1])
    right = merged(tables, store, rows, row, partial, situation, code[at + 3])
    kind, other = values.kind[left], values.kind[right]
    if (kind != _KIND_INTEGER and kind != _KIND_DECIMAL) or (
        other != _KIND_INTEGER and other != _KIND_DECIMAL
    ):
        return UNSURE
    a, b, operation = values.number[left], values.number[right], code[at + 4]
    if a == b and not (values.exact[left] and values.exact[right]):
        return UNSURE
    if operation == LESS:
        return YES if a < b else NO
    if operation == GREATER:
        return YES if a > b else NO
    if operation == LESS_EQUAL:
        return YES if a <= b else NO
    if operation == GREATER_EQUAL:
        return YES if a >= b else NO
    if operation == EQUAL:
        return YES if a == b else NO
    return YES if a != b else NO


@portable
def evaluate(
    tables: Tables,
    store: RunStore,
    rows: Rows,
    row: int,
    partial: int,
    situation: int,
    counts: int,
    at: int,
    end: int,
    values: ValueArrays,
    stack: Array,
) -> int:
    """Runs one stack program; the stack is scratch space."""
    code = tables.flat
    choice = rows.ids[row, ROW_CHOICE]
    top = -1
    while at < end:
        operation, argument = code[at], code[at + 1]
        at += 2
        if operation <= LOAD_CONSTANT or operation == BOUND:
            if operation == LOAD_CONSTANT:
                known = values.constants[argument]
            elif operation == LOAD_TRACK:
                known = tracked(tables, store, rows, row, partial, situation, counts, argument)
            else:
                known = merged(tables, store, rows, row, partial, situation, argument)
            top += 1
            if operation == BOUND:
                stack[top, KIND], stack[top, NUMBER] = _BOOLEAN, 1.0 if known != 0 else 0.0
            else:
                load(values, known, top, stack)
        elif operation == LOAD_COUNT:
            top += 1
            count = (
                store.slots[partial, tables.sizes[N_SLOTS] + tables.sizes[N_TRACKS] + argument]
                if partial >= 0
                else 0
            )
            if counts == 1:
                count += tables.flat[tables.choices[choice, CHOICE_COUNTS] + argument]
            stack[top, KIND], stack[top, NUMBER], stack[top, BOUND_OF_ERROR], stack[top, TERM] = (
                _EXACT,
                float(count),
                0.0,
                0,
            )
        elif operation == NOT:
            truth = truth_of(top, stack)
            put_truth(NO if truth == YES else YES if truth == NO else truth, top, stack)
        elif operation == NEGATE:
            stack[top, NUMBER] = -stack[top, NUMBER]
            if stack[top, KIND] != _EXACT and stack[top, KIND] != _DOUBLE:
                stack[top, KIND] = _FAILED if stack[top, KIND] == _FAILED else _OTHER
        else:
            top -= 1
            if operation == ALL or operation == SOME:
                left, right = truth_of(top, stack), truth_of(top + 1, stack)
                put_truth(connected(operation, left, right), top, stack)
            elif operation >= LESS:
                put_truth(compared(operation, top, stack), top, stack)
            else:
                calculate(operation, top, stack)
    return truth_of(0, stack)


@inlined
def merged(
    tables: Tables, store: RunStore, rows: Rows, row: int, partial: int, situation: int, slot: int
) -> int:
    """The id of a variable in ``μ₁ ∪ μ₂``."""
    new = rows.slots[row, slot]
    if new != 0 or partial < 0:
        return int(new)
    if unbinds(tables, situation, slot):
        return 0
    return int(store.slots[partial, slot])


@inlined
def tracked(
    tables: Tables,
    store: RunStore,
    rows: Rows,
    row: int,
    partial: int,
    situation: int,
    counts: int,
    track: int,
) -> int:
    """FIRST, LAST or PREV of a slot, the current iteration included if the row is one."""
    function, slot = tables.tracks[track, TRACK_FUNCTION], tables.tracks[track, TRACK_SLOT]
    choice = rows.ids[row, ROW_CHOICE]
    if function == PREV:
        return previous(tables, store, partial, situation, track)
    carried = store.slots[partial, tables.sizes[N_SLOTS] + track] if partial >= 0 else 0
    if tables.choices[choice, CHOICE_REPETITION] < 0 or counts == 0:
        return int(carried)
    new = rows.slots[row, slot]
    if function == FIRST:
        return int(carried if carried != 0 else new)
    return int(new if new != 0 else carried)


@inlined
def load(
    values: ValueArrays,
    known: int,
    top: int,
    stack: Array,
) -> None:
    """Push a term."""
    kind = values.kind[known]
    stack[top, TERM] = known
    stack[top, NUMBER] = 0.0
    stack[top, BOUND_OF_ERROR] = 0.0
    if known == 0:
        stack[top, KIND] = _FAILED
    elif kind == _KIND_INTEGER or kind == _KIND_DECIMAL:
        stack[top, KIND] = _EXACT
        stack[top, NUMBER] = values.number[known]
        if not values.exact[known]:
            stack[top, BOUND_OF_ERROR] = abs(stack[top, NUMBER]) * _ROUNDING + 1e-18
    elif kind == _KIND_DOUBLE:
        stack[top, KIND] = _DOUBLE
        stack[top, NUMBER] = values.number[known]
    elif kind == _KIND_IRI:
        stack[top, KIND] = _IRI
    elif kind == _KIND_STRING:
        stack[top, KIND] = _STRING
    else:
        stack[top, KIND] = _OTHER


@inlined
def truth_of(top: int, stack: Array) -> int:
    """The effective boolean value of a stack place."""
    kind = stack[top, KIND]
    if kind == _BOOLEAN:
        return int(stack[top, NUMBER])
    if kind == _FAILED or kind == _IRI:
        return ERROR
    return UNSURE


@inlined
def put_truth(truth: int, top: int, stack: Array) -> None:
    """Put a verdict on the stack."""
    if truth == ERROR:
        stack[top, KIND] = _FAILED
    elif truth == UNSURE:
        stack[top, KIND] = _OTHER
    else:
        stack[top, KIND] = _BOOLEAN
        stack[top, NUMBER] = float(truth)


@inlined
def connected(operation: int, left: int, right: int) -> int:
    """``&&`` and ``||`` with SPARQL's errors, and with doubt."""
    decisive = NO if operation == ALL else YES
    if left == decisive or right == decisive:
        return decisive
    if left == UNSURE or right == UNSURE:
        return UNSURE
    if left == ERROR or right == ERROR:
        return ERROR
    return YES if operation == ALL else NO


@inlined
def compared(operation: int, top: int, stack: Array) -> int:
    """A comparison; in doubt where rounding could change the answer."""
    left, right = stack[top, KIND], stack[top + 1, KIND]
    if left == _FAILED or right == _FAILED:
        return ERROR
    same_sort = (left == _IRI and right == _IRI) or (left == _STRING and right == _STRING)
    if same_sort and (operation == EQUAL or operation == NOT_EQUAL):
        # One IRI, and one plain string, is one term.
        return YES if (stack[top, TERM] == stack[top + 1, TERM]) == (operation == EQUAL) else NO
    if (left != _EXACT and left != _DOUBLE) or (right != _EXACT and right != _DOUBLE):
        return UNSURE
    a, b = stack[top, NUMBER], stack[top + 1, NUMBER]
    doubt = stack[top, BOUND_OF_ERROR] + stack[top + 1, BOUND_OF_ERROR]
    difference = a - b
    if not (-1e300 < a < 1e300 and -1e300 < b < 1e300):
        return UNSURE
    if doubt > 0.0 and abs(difference) <= doubt:
        if stack[top, TERM] == 0 or stack[top, TERM] != stack[top + 1, TERM]:
            return UNSURE
        difference = 0.0
    if operation == LESS:
        answer = difference < 0.0
    elif operation == LESS_EQUAL:
        answer = difference <= 0.0
    elif operation == GREATER:
        answer = difference > 0.0
    elif operation == GREATER_EQUAL:
        answer = difference >= 0.0
    elif operation == EQUAL:
        answer = difference == 0.0
    else:
        answer = difference != 0.0
    return YES if answer else NO


@inlined
def calculate(operation: int, top: int, stack: Array) -> None:
    """An arithmetic operation on the two topmost places; exact numbers carry a bound of their error."""
    left, right = stack[top, KIND], stack[top + 1, KIND]
    if left == _FAILED or right == _FAILED:
        stack[top, KIND] = _FAILED
        return
    if (left != _EXACT and left != _DOUBLE) or (right != _EXACT and right != _DOUBLE):
        stack[top, KIND] = _OTHER
        return
    a, b, error_a, error_b = (
        stack[top, NUMBER],
        stack[top + 1, NUMBER],
        stack[top, BOUND_OF_ERROR],
        stack[top + 1, BOUND_OF_ERROR],
    )
    if operation == ADD:
        result, error = a + b, error_a + error_b
    elif operation == SUBTRACT:
        result, error = a - b, error_a + error_b
    elif operation == MULTIPLY:
        result, error = a * b, abs(a) * error_b + abs(b) * error_a + error_a * error_b
    elif b == 0.0 or abs(b) <= 2.0 * error_b:
        stack[top, KIND] = _OTHER
        return
    else:
        result = a / b
        error = (error_a + abs(result) * error_b) / (abs(b) - error_b) + 1e-18
    stack[top, KIND] = _DOUBLE if left == _DOUBLE or right == _DOUBLE else _EXACT
    whole = error == 0.0 and result == np.floor(result) and abs(result) < 9.0e15
    if not whole and stack[top, KIND] == _EXACT:
        error += abs(result) * _ROUNDING + 1e-18
    if not abs(result) < _LARGEST:
        stack[top, KIND] = _OTHER
    stack[top, NUMBER], stack[top, BOUND_OF_ERROR] = result, error
