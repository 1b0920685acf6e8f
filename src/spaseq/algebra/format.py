"""Algebra -> SPARQL text with the same solutions.

The text of a pattern is the body of a group: ``SELECT * WHERE { body }`` answers what the pattern
answers. Parentheses and braces are written wherever leaving them out could change the meaning, so the
text is exact before it is pretty. Blank nodes of a pattern (`Var.hidden`) are printed as blank nodes.
"""

from __future__ import annotations

from typing import assert_never

from pyoxigraph import Literal

from spaseq.algebra.event_patterns import format_events
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
from spaseq.algebra.patterns import (
    Bgp,
    Distinct,
    EventMatch,
    Extend,
    Filter,
    Graph,
    Group,
    IntervalJoin,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    OrderBy,
    OrderKey,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    Pattern,
    Project,
    Relation,
    Slice,
    TriplePattern,
    Union,
    Values,
)
from spaseq.algebra.scope import lowered

# --- patterns -----------------------------------------------------------------------------------


def format_pattern(pattern: Pattern) -> str:
    """The body of a SPARQL group with the solutions of the pattern.

    >>> from spaseq.algebra.expressions import Var
    >>> format_pattern(Bgp((TriplePattern(Var("s"), Var("p"), Var("o")),)))
    '?s ?p ?o .'
    """
    match pattern:
        case Bgp(triples):
            return " ".join(format_triple(triple) for triple in triples)
        case Join(left, right):
            return f"{_before(left)} {_operand(right)}"
        case LeftJoin(left, right, condition):
            body = _optional_body(right)
            guard = "" if condition is None else f" FILTER({format_expression(condition)})"
            return f"{_before(left)} OPTIONAL {{ {body}{guard} }}".lstrip()
        case Union(left, right):
            return f"{_braced(left)} UNION {_braced(right)}"
        case Minus(left, right):
            return f"{_before(left)} MINUS {_braced(right)}".lstrip()
        case Filter(inner, condition):
            return f"{_before(inner)} FILTER({format_expression(condition)})".lstrip()
        case Extend(inner, variable, expression):
            return f"{_before(inner)} BIND({format_expression(expression)} AS {_name(variable)})".lstrip()
        case Values(variables, rows):
            return _values(variables, rows)
        case Graph(name, inner):
            return f"GRAPH {_node(name)} {_braced(inner)}"
        case Group() | OrderBy() | Project() | Distinct() | Slice():
            return f"{{ {format_select(pattern)} }}"
        case IntervalJoin(left, right, relation, condition):
            guard = "" if condition is None else f" FILTER({format_expression(condition)})"
            first = (
                f"{{ {_optional_body(left)}{guard} }}" if relation is Relation.OPTIONALSEQ else _braced(left)
            )
            equals = relation is Relation.EQUALSOPTIONAL
            second = f"{{ {_optional_body(right)}{guard} }}" if equals else _braced(right)
            return f"{first} {relation.value} {second}"
        case EventMatch(events):
            return f"MATCH {{ {format_events(events)} }}"
        case _:
            assert_never(pattern)


def format_select(pattern: Pattern) -> str:
    """The pattern as a SELECT query (without prologue), keeping its order and slice."""
    limits, modifier, columns, order = "", "", "*", ""
    if isinstance(pattern, Slice):
        limits = f" OFFSET {pattern.offset}" if pattern.offset else ""
        limits += f" LIMIT {pattern.limit}" if pattern.limit is not None else ""
        pattern = pattern.pattern
    if isinstance(pattern, Distinct):
        modifier = "REDUCED " if pattern.reduced else "DISTINCT "
        pattern = pattern.pattern
    if isinstance(pattern, Project):
        columns = " ".join(_name(variable) for variable in pattern.variables)
        pattern = pattern.pattern
        if not columns:  # a projection on nothing keeps the number of solutions
            columns = "(true AS ?__nothing)"
    if isinstance(pattern, OrderBy):
        order = " ORDER BY " + " ".join(_order_key(key) for key in pattern.keys)
        pattern = pattern.pattern
    if isinstance(pattern, Group) and columns == "*" and not order:
        return f"{_group(pattern, modifier)}{limits}"
    return f"SELECT {modifier}{columns} WHERE {{ {format_pattern(pattern)} }}{order}{limits}"


def format_triple(triple: TriplePattern) -> str:
    """One triple pattern with its final dot."""
    match triple.predicate:
        case Var() | Constant():
            predicate = _node(triple.predicate)
        case _:
            predicate = format_path(triple.predicate)
    return f"{_node(triple.subject)} {predicate} {_node(triple.object)} ."


def format_path(path: Path) -> str:
    """A property path, parenthesised throughout."""
    match path:
        case Link(iri):
            return str(iri.term)
        case Inverse(inner):
            return f"^({format_path(inner)})"
        case PathSequence(parts):
            return "(" + "/".join(format_path(part) for part in parts) + ")"
        case PathAlternative(parts):
            return "(" + "|".join(format_path(part) for part in parts) + ")"
        case PathRepeat(inner, op):
            return f"({format_path(inner)}){op}"
        case NegatedSet(forward, backward):
            names = [str(iri.term) for iri in forward] + [f"^{iri.term}" for iri in backward]
            return f"!({'|'.join(names)})"
        case _:
            assert_never(path)


def _braced(pattern: Pattern) -> str:
    body = format_pattern(pattern)
    # A sub-SELECT brings its own braces.
    return body if isinstance(pattern, (Group, OrderBy, Project, Distinct, Slice)) else f"{{ {body} }}"


def _before(pattern: Pattern) -> str:
    """A left operand: what ends in a filter needs braces, for a filter rules its whole group."""
    if isinstance(pattern, (Filter, Values)):
        return _braced(pattern)
    return format_pattern(pattern)


def _operand(pattern: Pattern) -> str:
    """A right operand of Join: triples and braces stand alone, anything else could take in its left side."""
    if isinstance(pattern, (Bgp, Union, Graph, Values, IntervalJoin, EventMatch)):
        return format_pattern(pattern)
    return _braced(pattern)


def _optional_body(pattern: Pattern) -> str:
    """The inside of OPTIONAL: a filter at its top would become the condition of the left join."""
    return _braced(pattern) if isinstance(pattern, Filter) else format_pattern(pattern)


def _group(pattern: Group, modifier: str) -> str:
    keys = [_name(variable) for variable, _ in pattern.keys]
    aggregates = [
        f"({format_expression(item)} AS {_name(variable)})" for variable, item in pattern.aggregates
    ]
    columns = " ".join(keys + aggregates) or "(true AS ?__group)"
    by = " ".join(_group_key(variable, key) for variable, key in pattern.keys)
    clause = f" GROUP BY {by}" if by else ""
    return f"SELECT {modifier}{columns} WHERE {{ {format_pattern(pattern.pattern)} }}{clause}"


def _group_key(variable: Var, key: Expression) -> str:
    return _name(variable) if key == variable else f"({format_expression(key)} AS {_name(variable)})"


def _order_key(key: OrderKey) -> str:
    return f"{'DESC' if key.descending else 'ASC'}({format_expression(key.expression)})"


def _values(variables: tuple[Var, ...], rows: tuple[tuple[Term | None, ...], ...]) -> str:
    names = " ".join(_name(variable) for variable in variables)
    lines = " ".join(
        "(" + " ".join("UNDEF" if term is None else str(term) for term in row) + ")" for row in rows
    )
    return f"VALUES ({names}) {{ {lines} }}"


def _node(node: Var | Constant) -> str:
    match node:
        case Var(name):
            return name if node.hidden else f"?{name}"
        case Constant(term):
            return str(term)
        case _:
            assert_never(node)


def _name(variable: Var) -> str:
    """A variable outside triples; one made by lowering (``_:aggregate#1``) needs a name that SPARQL can write."""
    if variable.hidden:
        return "?__" + variable.name[2:].replace("#", "_")
    return f"?{variable.name}"


# --- expressions --------------------------------------------------------------------------------


def format_expression(expression: Expression) -> str:
    """An expression as SPARQL text, parenthesised wherever it has operands."""
    match expression:
        case Var():
            return _name(expression)
        case Constant(term):
            return str(term)
        case Or(left, right):
            return f"({format_expression(left)} || {format_expression(right)})"
        case And(left, right):
            return f"({format_expression(left)} && {format_expression(right)})"
        case Compare(op, left, right) | Arithmetic(op, left, right):
            return f"({format_expression(left)} {op} {format_expression(right)})"
        case In(operand, options, negated):
            word = "NOT IN" if negated else "IN"
            return f"({format_expression(operand)} {word} ({_listed(options)}))"
        case Unary(op, operand):
            return f"({op} {format_expression(operand)})"
        case Call(name, arguments):
            return f"{name}({_listed(arguments)})"
        case FunctionCall(function, arguments, distinct):
            return f"{function.term}({'DISTINCT ' if distinct else ''}{_listed(arguments)})"
        case Exists(pattern, negated):
            return f"{'NOT ' if negated else ''}EXISTS {{ {format_pattern(lowered(pattern))} }}"
        case Aggregate(name, operand, distinct, separator):
            inner = "*" if operand is None else format_expression(operand)
            return f"{name}({'DISTINCT ' if distinct else ''}{inner}{_separator(separator)})"
        case Iterated(name, variable, separator):
            return f"{name}({_name(variable)}{_separator(separator)})"
        case GpmFunction(name, gpm):
            return f"{name}({gpm})"
        case _:
            assert_never(expression)


def _listed(parts: tuple[Expression, ...]) -> str:
    return ", ".join(format_expression(part) for part in parts)


def _separator(separator: str | None) -> str:
    return "" if separator is None else f"; SEPARATOR={Literal(separator)}"
