"""EP-SPARQL: patterns over triples that hold for an interval, as values that belong to no spelling of them (semantics 2).

A pattern evaluates to a set of solutions with an interval. `IntervalJoin` is what SPARQL's algebra lacks; all other nodes keep
their names and get the meaning of semantics 2.3. The functions of time are calls without arguments, named in ``TIME_FUNCTIONS``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from spaseq.algebra.events import Form
from spaseq.algebra.patterns import OrderBy, OrderKey, Pattern, TriplePattern
from spaseq.errors import NOWHERE, Span

GET_DURATION: Final = "GETDURATION"
GET_START_TIME: Final = "GETSTARTTIME"
GET_END_TIME: Final = "GETENDTIME"
TIME_FUNCTIONS: Final = (GET_DURATION, GET_START_TIME, GET_END_TIME)


class Policy(Enum):
    """Which partners a sequence takes, and whether answers consume what they are made of (semantics 2.9)."""

    UNRESTRICTED = "unrestricted"
    CHRONOLOGICAL = "chronological"
    RECENT = "recent"


@dataclass(frozen=True, slots=True)
class Rule:
    """CONSTRUCT: for every solution that binds all variables of the template, its triples with the solution's interval.

    A blank node of the template is a `Var` whose name begins with ``_:``. ``name`` is what messages call it in a run of several
    files; without one its number will do.
    """

    template: tuple[TriplePattern, ...]
    pattern: Pattern
    name: str = field(default="", compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """SELECT or ASK: the solutions of a pattern that are not timeless, and what the modifiers take of them (semantics 2.6).

    ``pattern`` is the WHERE clause with its groups, HAVING and the expressions of the SELECT clause, before projection: the
    projection is the form's, so that rows which differ in dropped variables stay. ``distinct`` keeps one of equal time and
    projected values. ``order`` orders the answers of one instant.
    """

    form: Form
    pattern: Pattern
    distinct: bool = False
    order: tuple[OrderKey, ...] = ()
    offset: int = 0
    limit: int | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def read(self) -> Pattern:
        """All that it reads: the pattern, and what EXISTS looks for in ORDER BY."""
        return OrderBy(self.pattern, self.order) if self.order else self.pattern


@dataclass(frozen=True, slots=True)
class IntervalQuery:
    """One query over the closure of the stream under some rules; without ``asked`` its answers are what the rules produce."""

    asked: Asked | None
    rules: tuple[Rule, ...] = ()
    rule_limit: int = 100_000
    """The most occurrences that the rules may produce at one instant."""
    policy: Policy = Policy.UNRESTRICTED

    @property
    def rule_names(self) -> tuple[str, ...]:
        """What messages call the rules."""
        return tuple(rule.name or str(number) for number, rule in enumerate(self.rules, 1))
