"""The abstract syntax of EP-SPARQL (semantics 2.1): the statements of a file, each as SPARQL's tree has it.

A chain of groups is a `UnionClause` whose ``relations`` name the joins over time; a rule is a `ConstructQuery`; the time functions are
calls without arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from spaseq.errors import NOWHERE, Span
from spaseq.syntax.ast import AskQuery, ConstructQuery, DescribeQuery, Prologue, SelectQuery

Statement: TypeAlias = SelectQuery | AskQuery | ConstructQuery | DescribeQuery


@dataclass(frozen=True, slots=True)
class EpsparqlFile:
    """The statements in the order written; ``prologue`` has all declarations, wherever they stand."""

    statements: tuple[Statement, ...]
    prologue: Prologue = field(default=Prologue())
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def rules(self) -> tuple[ConstructQuery, ...]:
        return tuple(each for each in self.statements if isinstance(each, ConstructQuery))
