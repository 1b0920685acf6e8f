"""Group graph patterns and SPARQL queries as indented text."""

from __future__ import annotations

from typing import assert_never

from spaseq.algebra.event_patterns import format_events
from spaseq.algebra.expressions import Call, Expression, FunctionCall, Var
from spaseq.algebra.patterns import TriplePattern
from spaseq.syntax.ast import (
    AskQuery,
    BaseDeclaration,
    BindClause,
    ConstructQuery,
    DatasetClause,
    DescribeQuery,
    FilterClause,
    GraphClause,
    GroupElement,
    GroupKey,
    GroupPattern,
    MatchClause,
    MinusClause,
    Modifiers,
    OptionalClause,
    OrderCondition,
    Prologue,
    SelectClause,
    SelectItem,
    SelectQuery,
    ServiceClause,
    SparqlQuery,
    SubSelect,
    Triples,
    UnionClause,
    ValuesClause,
)
from spaseq.syntax.printing.expressions import Expressions
from spaseq.syntax.printing.terms import Names

INDENT = "  "


class Printer:
    """Prints the parts of one query, with the prefixes of its prologue.

    ``pad`` is always the indentation of the line that a text begins on; only that line is without it.
    """

    def __init__(self, prologue: Prologue) -> None:
        self.names = Names.of(prologue)
        self.expressions = Expressions(self.names, self.group)

    # --- groups ---

    def group(self, pattern: GroupPattern, pad: str = "") -> str:
        """``{ … }`` over several lines."""
        inner = pad + INDENT
        if isinstance(pattern, SubSelect):
            return f"{{\n{inner}{self.select(pattern.query, inner)}\n{pad}}}"
        lines = [line for element in pattern.elements for line in self._element(element, inner)]
        return "\n".join(("{", *lines, f"{pad}}}")) if lines else "{}"

    def _element(self, element: GroupElement, pad: str) -> list[str]:
        match element:
            case Triples(triples):
                return self.names.triples(triples, pad)
            case FilterClause(condition):
                return [f"{pad}FILTER {self.expressions.constraint(condition, pad)}"]
            case BindClause(expression, variable):
                return [f"{pad}BIND ({self.expressions.text(expression, pad)} AS ?{variable.name})"]
            case OptionalClause(group):
                return [f"{pad}OPTIONAL {self.group(group, pad)}"]
            case MinusClause(group):
                return [f"{pad}MINUS {self.group(group, pad)}"]
            case UnionClause(groups):
                words = [relation.value if relation else "UNION" for relation in element.relations]
                first, *rest = (self.group(group, pad) for group in groups)
                words = words or ["UNION"] * len(rest)
                return [
                    pad + first + "".join(f" {word} {group}" for word, group in zip(words, rest, strict=True))
                ]
            case GraphClause(name, group):
                word = "WINDOW" if element.window else "GRAPH"
                return [f"{pad}{word} {self.names.node(name)} {self.group(group, pad)}"]
            case MatchClause(events):
                return [f"{pad}MATCH {{ {format_events(events)} }}"]
            case ServiceClause(name, group, silent):
                word = "SILENT " if silent else ""
                return [f"{pad}SERVICE {word}{self.names.node(name)} {self.group(group, pad)}"]
            case ValuesClause():
                return [pad + self.values(element, pad)]
            case _:
                assert_never(element)

    def values(self, clause: ValuesClause, pad: str) -> str:
        """Inline data, one row to a line unless there is a single variable."""
        rows = [["UNDEF" if cell is None else self.names.term(cell) for cell in row] for row in clause.rows]
        if len(clause.variables) == 1:
            return f"VALUES ?{clause.variables[0].name} {{ {' '.join(row[0] for row in rows)} }}"
        head = " ".join(f"?{variable.name}" for variable in clause.variables)
        lines = (f"{pad}{INDENT}({' '.join(row)})" for row in rows)
        return "\n".join((f"VALUES ({head}) {{", *lines, f"{pad}}}"))

    def template(self, triples: tuple[TriplePattern, ...], pad: str = "") -> str:
        """The template of a CONSTRUCT, or any triples in braces."""
        lines = self.names.triples(triples, pad + INDENT)
        return "\n".join(("{", *lines, f"{pad}}}")) if lines else "{}"

    # --- queries ---

    def prologue(self, prologue: Prologue) -> list[str]:
        """One line for each declaration."""
        return [
            f"BASE <{item.iri}>" if isinstance(item, BaseDeclaration) else f"PREFIX {item.name}: <{item.iri}>"
            for item in prologue.declarations
        ]

    def query(self, query: SparqlQuery) -> str:
        """A query without its prologue."""
        match query:
            case SelectQuery():
                return self.select(query)
            case AskQuery():
                lines = ["ASK", *self.datasets(query.datasets), f"WHERE {self.group(query.where)}"]
            case ConstructQuery(template, where):
                lines = ["CONSTRUCT" if template is None else f"CONSTRUCT {self.template(template)}"]
                lines += [*self.datasets(query.datasets), f"WHERE {self.group(where)}"]
            case DescribeQuery(resources, pattern):
                targets = "*" if resources is None else " ".join(map(self.names.node, resources))
                lines = [f"DESCRIBE {targets}", *self.datasets(query.datasets)]
                lines += [] if pattern is None else [f"WHERE {self.group(pattern)}"]
            case _:
                assert_never(query)
        return "\n".join((*lines, *self._modifiers(query.modifiers, "")))

    def select(self, query: SelectQuery, pad: str = "") -> str:
        """A SELECT query, or a sub-SELECT at an indentation."""
        lines = [self.select_clause(query.select, pad), *self.datasets(query.datasets)]
        lines += [f"WHERE {self.group(query.where, pad)}", *self._modifiers(query.modifiers, pad)]
        return f"\n{pad}".join(lines)

    def select_clause(self, clause: SelectClause, pad: str = "") -> str:
        """``SELECT`` and what follows it, in one line."""
        items = "*" if clause.items is None else " ".join(self._item(item, pad) for item in clause.items)
        return " ".join(word for word in ("SELECT", clause.modifier, items) if word)

    def _item(self, item: SelectItem, pad: str) -> str:
        if item.expression is None:
            return f"?{item.variable.name}"
        return f"({self.expressions.text(item.expression, pad)} AS ?{item.variable.name})"

    def datasets(self, clauses: tuple[DatasetClause, ...]) -> list[str]:
        """One line for each clause that says where data comes from."""
        return [
            f"FROM {'NAMED ' if clause.named else ''}{self.names.constant(clause.iri)}" for clause in clauses
        ]

    # --- solution modifiers ---

    def _modifiers(self, modifiers: Modifiers, pad: str) -> list[str]:
        lines: list[str] = []
        if modifiers.group_by:
            lines.append("GROUP BY " + " ".join(self._group_key(key, pad) for key in modifiers.group_by))
        if modifiers.having:
            conditions = (self.expressions.constraint(condition, pad) for condition in modifiers.having)
            lines.append("HAVING " + " ".join(conditions))
        if modifiers.order_by:
            lines.append("ORDER BY " + " ".join(self._ordered(order, pad) for order in modifiers.order_by))
        if modifiers.limit is not None:
            lines.append(f"LIMIT {modifiers.limit}")
        if modifiers.offset is not None:
            lines.append(f"OFFSET {modifiers.offset}")
        if modifiers.values is not None:
            lines.append(self.values(modifiers.values, pad))
        return lines

    def _group_key(self, key: GroupKey, pad: str) -> str:
        text = self.expressions.text(key.expression, pad)
        if key.variable is not None:
            return f"({text} AS ?{key.variable.name})"
        return self._bare(key.expression, text)

    def _ordered(self, order: OrderCondition, pad: str) -> str:
        text = self.expressions.text(order.expression, pad)
        return f"DESC({text})" if order.descending else self._bare(order.expression, text)

    def _bare(self, node: Expression, text: str) -> str:
        return text if isinstance(node, (Var, Call, FunctionCall)) else f"({text})"
