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
from spaseq.automaton.program import EXTENDS
from spaseq.automaton.tables import FIRST, LAST, PREV, Rows, Store, Tables, ValueArrays

from .codes import ERROR, NO, UNSURE, YES
from .index import rebinds
from .portable import Array, portable

# Kinds of values on a condition's stack.
_BOOLEAN, _EXACT, _DOUBLE, _IRI, _FAILED, _OTHER = 0, 1, 2, 3, 4, 5
# Kinds of terms, as in spaseq.model.values.Kind; a test compares them.
_KIND_IRI, _KIND_INTEGER, _KIND_DECIMAL, _KIND_DOUBLE = 1, 6, 7, 9
_ROUNDING = 2.3e-16
_LARGEST = 9.0e18


@portable
def decide(
    tables: Tables,
    store: Store,
    rows: Rows,
    row: int,
    run: int,
    target: int,
    values: ValueArrays,
    kinds: Array,
    numbers: Array,
    errors: Array,
    ids: Array,
) -> int:
    """The verdict of a choice's conditions on one candidate."""
    choice = rows.choice[row]
    at, end = tables.choice_code_at[choice], tables.choice_code_at[choice + 1]
    loops = 0
    partial = -1
    if run >= 0:
        partial = store.run_partial[run]
        if tables.sub_kind[target] == EXTENDS:
            loops = tables.transition_loops[store.run_transition[run]]
    unsure = False
    while at < end:
        length, after_first = tables.choice_code[at], tables.choice_code[at + 1]
        if after_first == 0 or loops == 1:
            verdict = compare_slots(tables, store, rows, row, partial, loops, at + 2, length, values)
            if verdict == UNSURE:
                verdict = evaluate(
                    tables, store, rows, row, partial, loops, at + 2, at + 2 + length, values, kinds,
                    numbers, errors, ids,
                )  # fmt: skip
            if verdict == NO or verdict == ERROR:
                return NO
            if verdict == UNSURE:
                unsure = True
        at += 2 + length
    return UNSURE if unsure else YES


@portable
def compare_slots(
    tables: Tables,
    store: Store,
    rows: Rows,
    row: int,
    partial: int,
    loops: int,
    at: int,
    length: int,
    values: ValueArrays,
) -> int:
    """The commonest condition, ``?a < ?b`` of two exact numbers, without a stack; UNSURE for all others."""
    code = tables.choice_code
    if length != 6 or code[at] != LOAD_SLOT or code[at + 2] != LOAD_SLOT:
        return UNSURE
    choice = rows.choice[row]
    left = merged(tables, store, rows, row, partial, loops, choice, code[at + 1])
    right = merged(tables, store, rows, row, partial, loops, choice, code[at + 3])
    kind, other = values.kind[left], values.kind[right]
    if kind != _KIND_INTEGER and kind != _KIND_DECIMAL or other != _KIND_INTEGER and other != _KIND_DECIMAL:
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
    store: Store,
    rows: Rows,
    row: int,
    partial: int,
    loops: int,
    at: int,
    end: int,
    values: ValueArrays,
    kinds: Array,
    numbers: Array,
    errors: Array,
    ids: Array,
) -> int:
    """Runs one stack program; the arrays are its stack: kind, number, error bound, id."""
    code = tables.choice_code
    choice = rows.choice[row]
    top = -1
    while at < end:
        operation, argument = code[at], code[at + 1]
        at += 2
        if operation <= LOAD_CONSTANT or operation == BOUND:
            if operation == LOAD_CONSTANT:
                known = values.constants[argument]
            elif operation == LOAD_TRACK:
                known = tracked(tables, store, rows, row, partial, loops, argument)
            else:
                known = merged(tables, store, rows, row, partial, loops, choice, argument)
            top += 1
            if operation == BOUND:
                kinds[top], numbers[top] = _BOOLEAN, 1.0 if known != 0 else 0.0
            else:
                load(values, known, top, kinds, numbers, errors, ids)
        elif operation == LOAD_COUNT:
            top += 1
            count = store.counters[partial, argument] if partial >= 0 else 0
            if tables.step_repeated[tables.choice_step[choice]] == 1:
                count += tables.choice_counts[choice, argument]
            kinds[top], numbers[top], errors[top], ids[top] = _EXACT, float(count), 0.0, 0
        elif operation == NOT:
            truth = truth_of(top, kinds, numbers)
            put_truth(NO if truth == YES else YES if truth == NO else truth, top, kinds, numbers)
        elif operation == NEGATE:
            numbers[top] = -numbers[top]
            if kinds[top] != _EXACT and kinds[top] != _DOUBLE:
                kinds[top] = _FAILED if kinds[top] == _FAILED else _OTHER
        else:
            top -= 1
            if operation == ALL or operation == SOME:
                left, right = truth_of(top, kinds, numbers), truth_of(top + 1, kinds, numbers)
                put_truth(connected(operation, left, right), top, kinds, numbers)
            elif operation >= LESS:
                put_truth(compared(operation, top, kinds, numbers, errors, ids), top, kinds, numbers)
            else:
                calculate(operation, top, kinds, numbers, errors)
    return truth_of(0, kinds, numbers)


@portable
def merged(
    tables: Tables, store: Store, rows: Rows, row: int, partial: int, loops: int, choice: int, slot: int
) -> int:
    """The id of a variable in ``μ₁ ∪ μ₂``."""
    new = rows.slots[row, slot]
    if new != 0 or partial < 0:
        return int(new)
    if loops == 1 and rebinds(tables, choice, slot):
        return 0
    return int(store.slots[partial, slot])


@portable
def tracked(tables: Tables, store: Store, rows: Rows, row: int, partial: int, loops: int, track: int) -> int:
    """FIRST, LAST or PREV of a slot, the current iteration included if the row is one."""
    function, slot = tables.track_function[track], tables.track_slot[track]
    choice = rows.choice[row]
    carried = store.tracks[partial, track] if partial >= 0 else 0
    if tables.step_repeated[tables.choice_step[choice]] == 0:
        return int(carried)
    if function == PREV:
        return int(store.slots[partial, slot]) if loops == 1 else 0
    new = rows.slots[row, slot]
    if function == FIRST:
        return int(carried if carried != 0 else new)
    return int(new if new != 0 else carried)


@portable
def load(
    values: ValueArrays,
    known: int,
    top: int,
    kinds: Array,
    numbers: Array,
    errors: Array,
    ids: Array,
) -> None:
    """Push a term."""
    kind = values.kind[known]
    ids[top] = known
    numbers[top] = 0.0
    errors[top] = 0.0
    if known == 0:
        kinds[top] = _FAILED
    elif kind == _KIND_INTEGER or kind == _KIND_DECIMAL:
        kinds[top] = _EXACT
        numbers[top] = values.number[known]
        if not values.exact[known]:
            errors[top] = abs(numbers[top]) * _ROUNDING + 1e-18
    elif kind == _KIND_DOUBLE:
        kinds[top] = _DOUBLE
        numbers[top] = values.number[known]
    elif kind == _KIND_IRI:
        kinds[top] = _IRI
    else:
        kinds[top] = _OTHER


@portable
def truth_of(top: int, kinds: Array, numbers: Array) -> int:
    """The effective boolean value of a stack place."""
    kind = kinds[top]
    if kind == _BOOLEAN:
        return int(numbers[top])
    if kind == _FAILED or kind == _IRI:
        return ERROR
    return UNSURE


@portable
def put_truth(truth: int, top: int, kinds: Array, numbers: Array) -> None:
    if truth == ERROR:
        kinds[top] = _FAILED
    elif truth == UNSURE:
        kinds[top] = _OTHER
    else:
        kinds[top] = _BOOLEAN
        numbers[top] = float(truth)


@portable
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


@portable
def compared(operation: int, top: int, kinds: Array, numbers: Array, errors: Array, ids: Array) -> int:
    """A comparison; in doubt where rounding could change the answer."""
    left, right = kinds[top], kinds[top + 1]
    if left == _FAILED or right == _FAILED:
        return ERROR
    if left == _IRI and right == _IRI and (operation == EQUAL or operation == NOT_EQUAL):
        return YES if (ids[top] == ids[top + 1]) == (operation == EQUAL) else NO
    if (left != _EXACT and left != _DOUBLE) or (right != _EXACT and right != _DOUBLE):
        return UNSURE
    a, b = numbers[top], numbers[top + 1]
    doubt = errors[top] + errors[top + 1]
    difference = a - b
    if not (-1e300 < a < 1e300 and -1e300 < b < 1e300):
        return UNSURE
    if doubt > 0.0 and abs(difference) <= doubt:
        if ids[top] == 0 or ids[top] != ids[top + 1]:
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


@portable
def calculate(operation: int, top: int, kinds: Array, numbers: Array, errors: Array) -> None:
    """An arithmetic operation on the two topmost places; exact numbers carry a bound of their error."""
    left, right = kinds[top], kinds[top + 1]
    if left == _FAILED or right == _FAILED:
        kinds[top] = _FAILED
        return
    if (left != _EXACT and left != _DOUBLE) or (right != _EXACT and right != _DOUBLE):
        kinds[top] = _OTHER
        return
    a, b, error_a, error_b = numbers[top], numbers[top + 1], errors[top], errors[top + 1]
    if operation == ADD:
        result, error = a + b, error_a + error_b
    elif operation == SUBTRACT:
        result, error = a - b, error_a + error_b
    elif operation == MULTIPLY:
        result, error = a * b, abs(a) * error_b + abs(b) * error_a + error_a * error_b
    elif b == 0.0 or abs(b) <= 2.0 * error_b:
        kinds[top] = _OTHER
        return
    else:
        result = a / b
        error = (error_a + abs(result) * error_b) / (abs(b) - error_b) + 1e-18
    kinds[top] = _DOUBLE if left == _DOUBLE or right == _DOUBLE else _EXACT
    whole = error == 0.0 and result == np.floor(result) and abs(result) < 9.0e15
    if not whole and kinds[top] == _EXACT:
        error += abs(result) * _ROUNDING + 1e-18
    if not abs(result) < _LARGEST:
        kinds[top] = _OTHER
    numbers[top], errors[top] = result, error
