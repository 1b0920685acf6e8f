"""From grammar rules to nodes."""

from __future__ import annotations

from spaseq.languages.tally.tree import TallyQuery

from spaseq.algebra.expressions import Constant, Var
from spaseq.errors import Span
from spaseq.syntax.ast import GroupPattern, Prologue
from spaseq.syntax.builder.queries import SparqlActions
from spaseq.syntax.lexer import Token


class TallyActions(SparqlActions):
    """Builds TALLY queries."""

    def tally_query(
        self,
        span: Span,
        prologue: Prologue,
        variable: Var,
        seconds: Token,
        stream: Constant,
        pattern: GroupPattern,
    ) -> TallyQuery:
        return TallyQuery(variable, self.integer(seconds), stream, pattern, prologue, span)
