"""Expressions over columns of ids, with SPARQL 1.1's error semantics.

An expression has two readings: the column of ids it evaluates to (0 is an error or unbound), and the
column of its effective boolean values (false, true, error). Logic and comparison are computed as truth and
become terms only where terms are asked for.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from typing import assert_never

import numpy as np
from pyoxigraph import BlankNode, Literal, NamedNode

from spaseq.algebra.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    FunctionCall,
    GpmFunction,
    In,
    Iterated,
    Or,
    Term,
    Unary,
    Var,
)
from spaseq.algebra.functions import has_exists, is_volatile, reads_times
from spaseq.algebra.scope import expression_variables, lowered, mentioned
from spaseq.columnar.frame import Frame
from spaseq.columnar.joins import equal_rows, key_pair
from spaseq.columnar.kernels.cache import NumberColumns
from spaseq.columnar.kernels.compare import ERROR, FALSE, TRUE, Truth, by_sign, compare, negated, truth_of
from spaseq.columnar.kernels.exact import arithmetic, signed
from spaseq.columnar.kernels.function_table import kernel
from spaseq.columnar.kernels.numbers import (
    Numbers,
    combine,
    constant_number,
    difference,
    encode_numbers,
    negative,
    numbers_of,
)
from spaseq.columnar.table import Ids, Mask, Table, codes
from spaseq.columnar.views import NEVER
from spaseq.model.values import Kind
from spaseq.temporal.instants import XSD, format_instant

_KIND_TESTS: dict[str, tuple[Kind, Kind]] = {
    "ISIRI": (Kind.IRI, Kind.IRI),
    "ISURI": (Kind.IRI, Kind.IRI),
    "ISBLANK": (Kind.BLANK, Kind.BLANK),
    "ISLITERAL": (Kind.STRING, Kind.INVALID),
    "ISNUMERIC": (Kind.INTEGER, Kind.DOUBLE),
}


_DATE_TIME = NamedNode(XSD + "dateTime")
_MIRROR = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def needs_events(expression: Expression, table: Table, frame: Frame) -> bool:
    """True if a table without events must be spread first: the expression differs from event to event."""
    if not table.static:
        return False
    if has_exists(expression) or is_volatile(expression) or reads_times(expression):
        return True
    return any(name in frame.outer and name not in table.columns for name in expression_variables(expression))


def holds(expression: Expression, table: Table, frame: Frame) -> Mask:
    """The rows on which a filter lets its solution pass: true, and no error."""
    result: Mask = truth(expression, table, frame) == TRUE
    return result


# --- truth --------------------------------------------------------------------------------------


def truth(expression: Expression, table: Table, frame: Frame) -> Truth:
    """The effective boolean value of an expression on every row."""
    match expression:
        case And(left, right):
            return _logical(left, right, FALSE, table, frame)
        case Or(left, right):
            return _logical(left, right, TRUE, table, frame)
        case Unary("!", operand):
            return negated(truth(operand, table, frame))
        case Compare(op, left, right):
            return _compared(op, left, right, table, frame)
        case In(operand, options, is_negated):
            found = _among(operand, options, table, frame)
            return negated(found) if is_negated else found
        case Exists(_, is_negated):
            found = _exists(expression, table, frame).astype(np.int8)
            return negated(found) if is_negated else found
        case Call("BOUND", (Var() as variable,)):
            return np.not_equal(_variable(variable.name, table, frame), 0).astype(np.int8)
        case Call("SAMETERM", (left, right)):
            one, other = ids(left, table, frame), ids(right, table, frame)
            return np.where((one == 0) | (other == 0), ERROR, (one == other).astype(np.int8))
        case Call(name, (operand,)) if name in _KIND_TESTS:
            return _kind_test(name, ids(operand, table, frame), frame)
        case _:
            return truth_of(ids(expression, table, frame), frame.functions)


def _logical(left: Expression, right: Expression, decisive: np.int8, table: Table, frame: Frame) -> Truth:
    """And, decided by false, and Or, decided by true: an error gives way to the decisive value only."""
    result = truth(left, table, frame)
    rows = np.flatnonzero(result != decisive)
    if not len(rows):
        return result
    if 2 * len(rows) > table.size:
        other = truth(right, table, frame)[rows]
    else:
        other = truth(right, table.take(rows), frame)
    mine = result[rows]
    neutral = np.int8(1) - decisive
    result[rows] = np.where((other == decisive) | (mine == neutral), other, ERROR)
    return result


def _compared(op: str, left: Expression, right: Expression, table: Table, frame: Frame) -> Truth:
    """A comparison; one with a constant is a test, one of computed numbers makes no terms of them."""
    if isinstance(left, Constant) and isinstance(right, Var):
        return _compared(_MIRROR[op], right, left, table, frame)
    if isinstance(left, Var) and isinstance(right, Constant):
        constant = frame.constant(right.term)

        def decide(terms: Ids) -> Truth:
            return compare(op, terms, np.full(len(terms), constant, dtype=np.int32), frame.functions)

        return frame.functions.truth((op, constant), decide, _variable(left.name, table, frame))
    if not (isinstance(left, (Arithmetic, Unary)) or isinstance(right, (Arithmetic, Unary))):
        return compare(op, ids(left, table, frame), ids(right, table, frame), frame.functions)
    sign, sure = difference(numbers(left, table, frame), numbers(right, table, frame))
    result = by_sign(op, sign)
    if not sure.all():
        rows = np.flatnonzero(~sure)
        rest = table.take(rows)
        result[rows] = compare(op, ids(left, rest, frame), ids(right, rest, frame), frame.functions)
    return result


def _among(operand: Expression, options: tuple[Expression, ...], table: Table, frame: Frame) -> Truth:
    """IN: like a chain of ``=`` joined by ``||``."""
    value = ids(operand, table, frame)
    result = np.where(value == 0, ERROR, FALSE)
    for option in options:
        found = compare("=", value, ids(option, table, frame), frame.functions)
        result = np.where(
            (result == TRUE) | (found == TRUE), TRUE, np.maximum(result, found)
        )  # an error is greater than false
    return result


def _kind_test(name: str, operand: Ids, frame: Frame) -> Truth:
    low, high = _KIND_TESTS[name]
    kinds = frame.functions.values.extend().kind[operand]
    return np.where(operand == 0, ERROR, ((kinds >= low) & (kinds <= high)).astype(np.int8))


def _exists(expression: Exists, table: Table, frame: Frame) -> Mask:
    """For each row, whether the pattern has a solution that continues it."""
    assert table.events is not None, "EXISTS is evaluated per event"
    pattern = lowered(expression.pattern)
    columns = {name: table.columns[name] for name in table.columns if name in mentioned(pattern)}
    keys = codes([table.events, *columns.values()], table.size)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    outer = {name: column[first] for name, column in columns.items()}
    inner = frame.nested(table.events[first], outer)
    found = inner.solve(pattern, inner)
    hit = np.zeros(len(first), dtype=np.bool_)
    if found.events is None:
        hit[:] = found.size > 0
    else:
        hit[found.events] = True
    return hit[inverse.reshape(-1)]


# --- terms --------------------------------------------------------------------------------------


def ids(expression: Expression, table: Table, frame: Frame) -> Ids:
    """The term an expression evaluates to on every row, as ids; 0 is an error."""
    match expression:
        case Var(name):
            return _variable(name, table, frame)
        case Constant(term):
            return np.full(table.size, frame.constant(term), dtype=np.int32)
        case Arithmetic() | Unary("+" | "-"):
            return _computed(expression, table, frame)
        case And() | Or() | Unary() | Compare() | In() | Exists():
            return _from_truth(truth(expression, table, frame), frame)
        case Call(name):
            return _call(expression, name, table, frame)
        case FunctionCall(function, arguments):
            assert isinstance(function.term, NamedNode)
            return _apply(function.term.value, arguments, table, frame)
        case Aggregate() | Iterated() | GpmFunction():
            raise AssertionError(f"{type(expression).__name__} has no value on a single solution")
        case _:
            assert_never(expression)


def _computed(expression: Arithmetic | Unary, table: Table, frame: Frame) -> Ids:
    """An arithmetic expression: columns of numbers where they hold its operands, else term by term."""
    result = numbers(expression, table, frame)
    known = result.known
    terms = encode_numbers(result, known, frame.functions)
    if known.all():
        return terms
    rows = np.flatnonzero(~known)
    rest = table.take(rows)
    match expression:
        case Arithmetic(op, left, right):
            terms[rows] = arithmetic(op, ids(left, rest, frame), ids(right, rest, frame), frame.functions)
        case Unary(op, operand):
            terms[rows] = signed(op, ids(operand, rest, frame), frame.functions)
    return terms


def numbers(expression: Expression, table: Table, frame: Frame) -> Numbers:
    """An expression as a column of numbers; what is no number there is left unknown."""
    if isinstance(expression, (Arithmetic, Unary)) and (name := _only_variable(expression)) is not None:
        # The rows of a join repeat the terms of either side.
        def settle(terms: Ids) -> NumberColumns:
            return _numbers(expression, Table(None, {name: terms}, len(terms)), frame).columns

        column = _variable(name, table, frame)
        return Numbers(*frame.functions.numbers(expression, column, settle))
    return _numbers(expression, table, frame)


def _only_variable(expression: Expression) -> str | None:
    """The variable of an expression of numbers that has no other; None for all other expressions."""
    match expression:
        case (
            Arithmetic(_, Constant(), operand)
            | Arithmetic(_, operand, Constant())
            | Unary("-" | "+", operand)
        ):
            return operand.name if isinstance(operand, Var) else _only_variable(operand)
        case _:
            return None


def _numbers(expression: Expression, table: Table, frame: Frame) -> Numbers:
    match expression:
        case Constant(term):
            return constant_number(frame.constant(term), table.size, frame.functions)
        case Arithmetic(op, left, right):
            return combine(op, numbers(left, table, frame), numbers(right, table, frame))
        case Unary("-", operand):
            return negative(numbers(operand, table, frame))
        case Unary("+", operand):
            return numbers(operand, table, frame)
        case _:
            return numbers_of(ids(expression, table, frame), frame.functions)


def _variable(name: str, table: Table, frame: Frame) -> Ids:
    column = table.columns.get(name)
    outer = frame.outer.get(name)
    if outer is not None and column is None and table.events is not None:
        return outer[table.events]
    return np.zeros(table.size, dtype=np.int32) if column is None else column


def _from_truth(values: Truth, frame: Frame) -> Ids:
    functions = frame.functions
    return np.array([functions.false, functions.true, 0], dtype=np.int32)[values]


def _call(call: Call, name: str, table: Table, frame: Frame) -> Ids:
    match call:
        case Call("BOUND" | "SAMETERM" | "ISIRI" | "ISURI" | "ISBLANK" | "ISLITERAL" | "ISNUMERIC"):
            return _from_truth(truth(call, table, frame), frame)
        case Call("IF", (condition, yes, no)):
            chosen = truth(condition, table, frame)
            values = np.where(chosen == TRUE, ids(yes, table, frame), ids(no, table, frame))
            return np.where(chosen == ERROR, np.int32(0), values)
        case Call("COALESCE", options):
            result = np.zeros(table.size, dtype=np.int32)
            for option in options:
                result = np.where(result != 0, result, ids(option, table, frame))
            return result
        case Call("NOW"):
            now = 0 if frame.now is None else frame.dictionary.encode(frame.now)
            return np.full(table.size, now, dtype=np.int32)
        case Call("TIMESTAMP", arguments):
            return _latest_times([ids(part, table, frame) for part in arguments], table, frame)
        case Call("RAND"):
            return _fresh(lambda: Literal(random.random()), table, frame)
        case Call("UUID"):
            return _fresh(lambda: NamedNode(f"urn:uuid:{uuid.uuid4()}"), table, frame)
        case Call("STRUUID"):
            return _fresh(lambda: Literal(str(uuid.uuid4())), table, frame)
        case Call("BNODE", ()):
            return _fresh(lambda: BlankNode(uuid.uuid4().hex), table, frame)
        case Call("BNODE", (label,)):
            return _labelled_blanks(ids(label, table, frame), table, frame)
        case _:
            return _apply("IRI" if name == "URI" else name, call.arguments, table, frame)


def _fresh(make: Callable[[], Term], table: Table, frame: Frame) -> Ids:
    return np.array([frame.dictionary.encode(make()) for _ in range(table.size)], dtype=np.int32)


def _latest_times(parts: Sequence[Ids], table: Table, frame: Frame) -> Ids:
    """When the triple of each row came last, among the events that the active graph was made of; 0 if it is not there."""
    views, found = frame.views, np.zeros(table.size, dtype=np.int32)
    if views.latest is None:
        return found
    assert table.events is not None
    events = table.events if frame.origin is None else frame.origin[table.events]
    asked = Table(events, dict(zip("spo", parts, strict=True)), table.size)
    batch = views.batch
    columns = {"s": batch.subjects, "p": batch.predicates, "o": batch.objects}
    rows, triples = equal_rows(*key_pair(asked, Table(views.events(), columns, len(batch.subjects)), "spo"))
    came = views.latest[triples] != NEVER
    rows, triples = rows[came], triples[came]
    instants, inverse = np.unique(views.latest[triples], return_inverse=True)
    known = [
        frame.dictionary.encode(Literal(format_instant(instant), datatype=_DATE_TIME))
        for instant in instants.tolist()
    ]
    found[rows] = np.array(known, dtype=np.int32)[inverse]
    return found


def _labelled_blanks(labels: Ids, table: Table, frame: Frame) -> Ids:
    """BNODE(label): one blank node per label and solution (section 17.4.2.9)."""
    kinds = frame.functions.values.extend().kind[labels]
    blanks = np.zeros(table.size, dtype=np.int32)
    # Expressions bound one after the other keep the column of events, so it tells whose rows these are.
    _, made = frame.blanks.setdefault(id(table.events), (table.events, {}))
    for row in np.flatnonzero(kinds == Kind.STRING).tolist():
        key = (row, int(labels[row]))
        if key not in made:
            made[key] = frame.dictionary.encode(BlankNode(uuid.uuid4().hex))
        blanks[row] = made[key]
    return blanks


def _apply(name: str, arguments: tuple[Expression, ...], table: Table, frame: Frame) -> Ids:
    """A function of terms: constants are folded into the kernel, columns go through its memory."""
    constants = tuple(part.term if isinstance(part, Constant) else None for part in arguments)
    columns = [ids(part, table, frame) for part in arguments if not isinstance(part, Constant)]
    base = frame.base if name == "IRI" else None
    function = kernel(name, constants, base)
    return frame.functions.apply((name, constants, base), function, columns, table.size)
