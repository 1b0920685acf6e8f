"""The tree of a TALLY query."""

from __future__ import annotations

from dataclasses import dataclass, field

from spaseq.algebra.expressions import Constant, Var
from spaseq.errors import NOWHERE, Span
from spaseq.syntax.ast import GroupPattern, Prologue


@dataclass(frozen=True, slots=True)
class TallyQuery:
    """``TALLY ?variable EVERY seconds ON <stream> { … }``."""

    variable: Var
    seconds: int
    stream: Constant
    pattern: GroupPattern
    prologue: Prologue = field(default_factory=Prologue)
    span: Span = field(default=NOWHERE, compare=False, repr=False)
