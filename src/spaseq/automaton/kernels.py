"""The automaton at run time (Algorithms 1 to 9 of the paper, over columns).

These functions are plain Python over arrays and, unchanged, Numba kernels: `spaseq.automaton.tiers` loads
this file a second time, under a name that ends in ``_compiled``, once the input is worth it, so that ten
events never wait for LLVM. Hence their style: no objects, no exceptions, numbers in, numbers out.

One row (an occurrence of a choice) is handled in two steps. `collect` finds what it may do: begin a run,
extend one, end one as a guard, or be remembered for a negation in first place. `apply` does it. Between
the two stand the stateful conditions; what the stack programs cannot decide is left to the caller.

Nothing is removed on the spot. A run notes when it was first extended (``used``) and first guarded
(``blocked``); both count from the next instant on, so the order within one instant does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spaseq.automaton.conditions import (
    ADD,
    ALL,
    BOUND,
    DIVIDE,
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
from spaseq.automaton.program import EXTENDS, GUARDS, NEXT, STRICT, WAIT
from spaseq.automaton.tables import (
    DEAD,
    FIRST,
    LAST,
    MATCHES,
    NEVER,
    PARTIALS,
    PREV,
    RUNS,
    SLIDING,
    SLIDING_EVENTS,
    TUMBLING,
    TUMBLING_EVENTS,
    WAITING,
    Candidates,
    Rows,
    Store,
    Tables,
    ValueArrays,
)

if __name__.endswith("_compiled"):
    from spaseq.model.jit import lean as portable
else:
    from spaseq.automaton.portable import portable

Array = npt.NDArray[Any]

NO, YES, UNSURE, ERROR = 0, 1, 2, 3
"""Verdicts; ERROR exists only inside a condition and counts as NO at its end."""

DONE, NEEDS_VERDICT, NEEDS_ROOM = 0, 1, 2
"""Why `advance` came back: all rows done, the evaluator must decide, or the arrays are full."""

BEGINS, RECALLS = -1, -2
"""Candidates that have no run yet."""

# Kinds of values on a condition's stack.
_BOOLEAN, _EXACT, _DOUBLE, _IRI, _FAILED, _OTHER = 0, 1, 2, 3, 4, 5
# Kinds of terms, as in spaseq.model.values.Kind; a test compares them.
_KIND_IRI, _KIND_BOOLEAN, _KIND_INTEGER, _KIND_DECIMAL, _KIND_DOUBLE = 1, 5, 6, 7, 9
_ROUNDING = 2.3e-16
_LARGEST = 9.0e18


@portable
def bucket_of(tables: Tables, sub: int, key: int, slots: Array, row: int, mask: int) -> int:
    """The bucket of a subscription for the join values in one row of slots."""
    hashed = np.uint64(sub + 1) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(key + 1)
    for at in range(tables.sub_slots_at[sub], tables.sub_slots_at[sub + 1]):
        hashed = (hashed ^ np.uint64(slots[row, tables.sub_slots[at]])) * np.uint64(0xFF51AFD7ED558CCD)
        hashed ^= hashed >> np.uint64(29)
    hashed *= np.uint64(0xC4CEB9FE1A85EC53)
    return int((hashed >> np.uint64(32)) & np.uint64(mask))


@portable
def outdated(tables: Tables, store: Store, run: int, time: int) -> bool:
    """True if no event at this instant or later can concern the run, whatever its partition."""
    if store.run_alive[run] == 0:
        return True
    if store.run_blocked[run] < time:
        return True
    if tables.transition_operator[store.run_transition[run]] == NEXT and store.run_used[run] < time:
        return True
    return bool(store.deadline[store.run_partial[run]] < time)


@portable
def overtaken(tables: Tables, store: Store, run: int, ordinal: int, floor: int) -> bool:
    """True if, within its partition, time has moved past what the run can still take."""
    partial = store.run_partial[run]
    operator = tables.transition_operator[store.run_transition[run]]
    if operator == STRICT and ordinal > store.ordinal[partial] + 1:
        return True
    kind = tables.window[0]
    if kind == SLIDING_EVENTS:
        return bool(floor - store.low[partial] >= tables.window[1])
    if kind == TUMBLING_EVENTS:
        return bool(floor // tables.window[1] > store.low[partial] // tables.window[1])
    return False


@portable
def agrees(tables: Tables, store: Store, partial: int, rows: Rows, row: int, choice: int, loops: int) -> bool:
    """True if the mapping of a row is compatible with that of a partial."""
    for at in range(tables.choice_slots_at[choice], tables.choice_slots_at[choice + 1]):
        slot = tables.choice_slots[at]
        known, new = store.slots[partial, slot], rows.slots[row, slot]
        if known != 0 and new != 0 and known != new:
            if loops == 0 or not rebinds(tables, choice, slot):
                return False
    return True


@portable
def rebinds(tables: Tables, choice: int, slot: int) -> bool:
    """True if every iteration of the choice's step binds the slot afresh."""
    for at in range(tables.choice_rebinds_at[choice], tables.choice_rebinds_at[choice + 1]):
        if tables.choice_rebinds[at] == slot:
            return True
    return False


@portable
def fits(tables: Tables, low: int, high: int) -> bool:
    """True if positions lie in one window of EVENTS."""
    if tables.window[0] == SLIDING_EVENTS:
        return bool(high - low < tables.window[1])
    if tables.window[0] == TUMBLING_EVENTS:
        return bool(high // tables.window[1] == low // tables.window[1])
    return True


@portable
def window_end(tables: Tables, time: int) -> int:
    """The last instant of the window of a run that starts at this time."""
    kind, size, origin = tables.window[0], tables.window[1], tables.window[2]
    if kind == SLIDING:
        return int(time + size)
    if kind == TUMBLING:
        return int(origin + ((time - origin) // size + 1) * size)
    return int(NEVER)


@portable
def window_start(tables: Tables, time: int) -> int:
    """The first instant at which a negated first step matters to a run that starts at this time."""
    kind, size, origin = tables.window[0], tables.window[1], tables.window[2]
    if kind == SLIDING:
        return int(time - size)
    if kind == TUMBLING:
        return int(origin + ((time - origin) // size) * size)
    return int(-NEVER)


# --- collecting ---------------------------------------------------------------------------------


@portable
def held_back(tables: Tables, store: Store, rows: Rows, row: int, transition: int) -> bool:
    """True if a negated first step occurred since the window began, compatible with this row."""
    choice, time, key = rows.choice[row], rows.time[row], rows.key[row]
    since = window_start(tables, time)
    mask = len(store.buckets) - 1
    width = tables.sizes[4]
    for at in range(tables.choice_backs_at[choice], tables.choice_backs_at[choice + 1]):
        sub = tables.choice_backs[at]
        if tables.transition_begins[tables.sub_transition[sub]] != transition:
            continue
        entry = store.buckets[bucket_of(tables, sub, key, rows.slots, row, mask)]
        while entry >= 0:
            run = entry // width
            partial = store.run_partial[run]
            if (
                tables.transition_subs[tables.transition_subs_at[store.run_transition[run]] + entry % width]
                == sub
                and store.run_alive[run] == 1
                and store.key[partial] == key
                and since <= store.time[partial] < time
                and same_window(tables, store.low[partial], rows.low[row])
                and agrees(tables, store, partial, rows, row, choice, 0)
            ):
                return True
            entry = store.entry_next[entry]
    return False


@portable
def same_window(tables: Tables, earlier: int, later: int) -> bool:
    """For tumbling windows of EVENTS: whether two positions share one; otherwise true."""
    if tables.window[0] == TUMBLING_EVENTS:
        return bool(earlier // tables.window[1] == later // tables.window[1])
    return True


@portable
def collect(tables: Tables, store: Store, rows: Rows, row: int, found: Candidates) -> int:
    """All candidates of a row; -1 if they do not fit. Forgets runs that time has passed."""
    choice, time, key = rows.choice[row], rows.time[row], rows.key[row]
    room = len(found.run)
    count = 0
    if not fits(tables, rows.low[row], rows.high[row]):
        return 0
    if tables.window[3] == 1 and time < tables.window[2]:
        return 0
    for at in range(tables.choice_begins_at[choice], tables.choice_begins_at[choice + 1]):
        transition = tables.choice_begins[at]
        if not held_back(tables, store, rows, row, transition):
            if count >= room:
                return -1
            found.run[count], found.target[count] = BEGINS, transition
            count += 1
    for at in range(tables.choice_recalls_at[choice], tables.choice_recalls_at[choice + 1]):
        if count >= room:
            return -1
        found.run[count], found.target[count] = RECALLS, tables.choice_recalls[at]
        count += 1
    mask = len(store.buckets) - 1
    width = tables.sizes[4]
    for at in range(tables.choice_subs_at[choice], tables.choice_subs_at[choice + 1]):
        sub = tables.choice_subs[at]
        bucket = bucket_of(tables, sub, key, rows.slots, row, mask)
        before = -1
        entry = store.buckets[bucket]
        while entry >= 0:
            following = store.entry_next[entry]
            run = entry // width
            transition = store.run_transition[run]
            partial = store.run_partial[run]
            forget = outdated(tables, store, run, time)
            if not forget:
                own = tables.transition_subs[tables.transition_subs_at[transition] + entry % width]
                if own == sub and store.key[partial] == key:
                    forget = overtaken(tables, store, run, rows.ordinal[row], rows.floor[row])
                    if not forget and concerns(tables, store, rows, row, run, sub):
                        if count >= room:
                            return -1
                        found.run[count], found.target[count] = run, sub
                        count += 1
            if forget:
                if store.run_alive[run] == 1 and tables.transition_operator[transition] != WAIT:
                    store.run_alive[run] = 0
                    store.counts[DEAD] += 1
                if before < 0:
                    store.buckets[bucket] = following
                else:
                    store.entry_next[before] = following
            else:
                before = entry
            entry = following
    return count


@portable
def concerns(tables: Tables, store: Store, rows: Rows, row: int, run: int, sub: int) -> bool:
    """True if a row may extend or guard a run: later, contiguous, in the window, compatible."""
    partial = store.run_partial[run]
    transition = store.run_transition[run]
    if rows.time[row] <= store.time[partial]:
        return False
    loops = tables.transition_loops[transition]
    if tables.sub_kind[sub] == EXTENDS:
        if (
            tables.transition_operator[transition] == STRICT
            and rows.ordinal[row] != store.ordinal[partial] + 1
        ):
            return False
        low = min(store.low[partial], rows.low[row])
        if not fits(tables, low, max(store.high[partial], rows.high[row])):
            return False
    return agrees(tables, store, partial, rows, row, rows.choice[row], loops)


# --- conditions ---------------------------------------------------------------------------------


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
            verdict = evaluate(
                tables, store, rows, row, partial, loops, at + 2, at + 2 + length, values, kinds, numbers,
                errors, ids,
            )  # fmt: skip
            if verdict == NO or verdict == ERROR:
                return NO
            if verdict == UNSURE:
                unsure = True
        at += 2 + length
    return UNSURE if unsure else YES


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
def tracked(
    tables: Tables, store: Store, rows: Rows, row: int, partial: int, loops: int, track: int
) -> int:
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
def compared(
    operation: int, top: int, kinds: Array, numbers: Array, errors: Array, ids: Array
) -> int:
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
def calculate(
    operation: int, top: int, kinds: Array, numbers: Array, errors: Array
) -> None:
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


# --- applying -----------------------------------------------------------------------------------


@portable
def has_room(tables: Tables, store: Store, count: int) -> bool:
    """True if the outcome of this many candidates fits in the arrays."""
    most = 1
    for step in range(len(tables.leaving_at) - 1):
        most = max(most, tables.leaving_at[step + 1] - tables.leaving_at[step])
    return bool(
        store.counts[PARTIALS] + count <= len(store.parent)
        and store.counts[RUNS] + count * most <= len(store.run_partial)
        and store.counts[MATCHES] + count * most <= len(store.match_partial)
        and store.counts[WAITING] + count * most <= len(store.waiting)
    )


@portable
def apply(tables: Tables, store: Store, rows: Rows, row: int, found: Candidates, count: int) -> None:
    """Do what the candidates with a positive verdict ask for."""
    time = rows.time[row]
    for number in range(count):
        if found.verdict[number] != YES:
            continue
        run, target = found.run[number], found.target[number]
        if run >= 0 and tables.sub_kind[target] == GUARDS:
            store.run_blocked[run] = min(store.run_blocked[run], time)
            continue
        partial = extend(tables, store, rows, row, run, found, number)
        if run == RECALLS:
            wait(tables, store, partial, target)
        else:
            if run >= 0:
                store.run_used[run] = min(store.run_used[run], time)
            move_on(tables, store, partial, tables.choice_step[rows.choice[row]])


@portable
def extend(
    tables: Tables, store: Store, rows: Rows, row: int, run: int, found: Candidates, number: int
) -> int:
    """A new partial: the run's, if there is one, with the row joined to it."""
    new = store.counts[PARTIALS]
    store.counts[PARTIALS] += 1
    choice, time = rows.choice[row], rows.time[row]
    step = tables.choice_step[choice]
    repeated = tables.step_repeated[step]
    parent = store.run_partial[run] if run >= 0 else -1
    loops = tables.transition_loops[store.run_transition[run]] if run >= 0 else 0
    store.parent[new], store.choice[new], store.key[new] = parent, choice, rows.key[row]
    store.time[new], store.ordinal[new] = time, rows.ordinal[row]
    for width in range(rows.events.shape[1]):
        store.events[new, width] = rows.events[row, width]
    if parent >= 0:
        store.start[new], store.deadline[new] = store.start[parent], store.deadline[parent]
        store.low[new] = min(store.low[parent], rows.low[row])
        store.high[new] = max(store.high[parent], rows.high[row])
        store.rooted[new] = store.rooted[parent] if loops == 1 else 0
        store.iteration[new] = store.iteration[parent] + 1 if loops == 1 else repeated
        copy_row(store.slots, parent, new)
        copy_row(store.tracks, parent, new)
        copy_row(store.counters, parent, new)
    else:
        store.start[new], store.deadline[new] = time, window_end(tables, time)
        store.low[new], store.high[new] = rows.low[row], rows.high[row]
        store.rooted[new], store.iteration[new] = 1, repeated
        clear_row(store.slots, new)
        clear_row(store.tracks, new)
        clear_row(store.counters, new)
    fill(tables, store, rows, row, new, parent, loops, found, number)
    return int(new)


@portable
def copy_row(table: Array, source: int, target: int) -> None:
    for column in range(table.shape[1]):
        table[target, column] = table[source, column]


@portable
def clear_row(table: Array, target: int) -> None:
    for column in range(table.shape[1]):
        table[target, column] = 0


@portable
def fill(
    tables: Tables,
    store: Store,
    rows: Rows,
    row: int,
    new: int,
    parent: int,
    loops: int,
    found: Candidates,
    number: int,
) -> None:
    """Bind the slots of a new partial, and bring its functions over iterations up to date."""
    choice = rows.choice[row]
    if loops == 1:
        for at in range(tables.choice_rebinds_at[choice], tables.choice_rebinds_at[choice + 1]):
            store.slots[new, tables.choice_rebinds[at]] = 0
    for slot in range(tables.sizes[0]):
        if rows.slots[row, slot] != 0:
            store.slots[new, slot] = rows.slots[row, slot]
    first = tables.choice_assigns_at[choice]
    for at in range(first, tables.choice_assigns_at[choice + 1]):
        if found.assigned[number, at - first] != 0:
            store.slots[new, tables.choice_assigns[at]] = found.assigned[number, at - first]
    if tables.step_repeated[tables.choice_step[choice]] == 0:
        return
    for track in range(tables.sizes[1]):
        function, slot = tables.track_function[track], tables.track_slot[track]
        value = store.slots[new, slot] if takes_part(tables, choice, slot) else 0
        if function == PREV:
            store.tracks[new, track] = store.slots[parent, slot] if loops == 1 else 0
        elif value != 0 and (function == LAST or store.tracks[new, track] == 0):
            store.tracks[new, track] = value
    for counter in range(tables.sizes[2]):
        store.counters[new, counter] += tables.choice_counts[choice, counter]


@portable
def takes_part(tables: Tables, choice: int, slot: int) -> bool:
    """True if occurrences of the choice may bind the slot."""
    for at in range(tables.choice_slots_at[choice], tables.choice_slots_at[choice + 1]):
        if tables.choice_slots[at] == slot:
            return True
    for at in range(tables.choice_assigns_at[choice], tables.choice_assigns_at[choice + 1]):
        if tables.choice_assigns[at] == slot:
            return True
    return False


@portable
def move_on(tables: Tables, store: Store, partial: int, step: int) -> None:
    """A run for every transition that leaves the completed step, or a match where none is needed."""
    for at in range(tables.leaving_at[step], tables.leaving_at[step + 1]):
        transition = tables.leaving[at]
        iteration = store.iteration[partial]
        if tables.transition_loops[transition] == 1:
            if tables.transition_rooted[transition] != store.rooted[partial]:
                continue
            if iteration >= tables.transition_high[transition]:
                continue
        elif iteration < tables.transition_low[transition]:
            continue
        if tables.transition_operator[transition] == WAIT and tables.transition_guarded[transition] == 0:
            match = store.counts[MATCHES]
            store.match_partial[match], store.match_time[match] = partial, store.time[partial]
            store.counts[MATCHES] += 1
        else:
            wait(tables, store, partial, transition)


@portable
def wait(tables: Tables, store: Store, partial: int, transition: int) -> None:
    """A new run, entered under all its subscriptions."""
    run = store.counts[RUNS]
    store.counts[RUNS] += 1
    store.run_partial[run], store.run_transition[run] = partial, transition
    store.run_used[run] = store.run_blocked[run] = NEVER
    store.run_alive[run] = 1
    if tables.transition_operator[transition] == WAIT:
        store.waiting[store.counts[WAITING]] = run
        store.counts[WAITING] += 1
    enter(tables, store, run)


@portable
def enter(tables: Tables, store: Store, run: int) -> None:
    """Put a run into the bucket of each of its subscriptions."""
    mask = len(store.buckets) - 1
    partial, transition = store.run_partial[run], store.run_transition[run]
    first = tables.transition_subs_at[transition]
    for at in range(first, tables.transition_subs_at[transition + 1]):
        sub = tables.transition_subs[at]
        bucket = bucket_of(tables, sub, store.key[partial], store.slots, partial, mask)
        entry = run * tables.sizes[4] + (at - first)
        store.entry_next[entry] = store.buckets[bucket]
        store.buckets[bucket] = entry


# --- the loop -----------------------------------------------------------------------------------


@portable
def advance(
    tables: Tables, store: Store, rows: Rows, first: int, found: Candidates, values: ValueArrays
) -> tuple[int, int, int]:
    """Handle rows from ``first`` on; returns why it stopped, at which row, and the candidates there."""
    kinds, numbers, errors, ids = found.kinds, found.numbers, found.errors, found.ids
    for row in range(first, len(rows.choice)):
        count = collect(tables, store, rows, row, found)
        if count < 0 or not has_room(tables, store, count):
            return NEEDS_ROOM, row, count
        choice = rows.choice[row]
        assigns = tables.choice_assigns_at[choice + 1] > tables.choice_assigns_at[choice]
        doubtful = False
        kept = 0
        for number in range(count):
            verdict = UNSURE
            if not assigns:
                verdict = decide(
                    tables, store, rows, row, found.run[number], found.target[number], values, kinds,
                    numbers, errors, ids,
                )  # fmt: skip
                if verdict == YES and tables.choice_slow[choice] == 1:
                    verdict = UNSURE
            if verdict != NO:
                found.run[kept], found.target[kept] = found.run[number], found.target[number]
                found.verdict[kept] = verdict
                doubtful = doubtful or verdict == UNSURE
                kept += 1
        if doubtful:
            return NEEDS_VERDICT, row, kept
        apply(tables, store, rows, row, found, kept)
    return DONE, len(rows.choice), 0


# --- forgetting ---------------------------------------------------------------------------------


@portable
def mark(store: Store, keep: Array) -> None:
    """Mark every partial that a marked one extends; a parent always has the smaller number."""
    for partial in range(store.counts[PARTIALS] - 1, -1, -1):
        if keep[partial] and store.parent[partial] >= 0:
            keep[store.parent[partial]] = True


@portable
def reenter(tables: Tables, store: Store) -> None:
    """Build all buckets anew."""
    for bucket in range(len(store.buckets)):
        store.buckets[bucket] = -1
    for run in range(store.counts[RUNS]):
        enter(tables, store, run)
