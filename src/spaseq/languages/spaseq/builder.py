"""SPAseq queries: windows, streams, GPM definitions and sequence expressions (semantics 1.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from spaseq.algebra.expressions import Constant, GpmFunction, Iterated, Var
from spaseq.errors import Span
from spaseq.languages.spaseq.tree import (
    Ask,
    Conjunction,
    Construct,
    Disjunction,
    Duration,
    Gap,
    Gapped,
    GpmDefinition,
    Name,
    Permute,
    Quantified,
    SequenceExpression,
    SpaseqQuery,
    Step,
    StepGroup,
    StreamDeclaration,
    WindowClause,
)
from spaseq.syntax.ast import GroupPattern, Prologue, SelectClause
from spaseq.syntax.builder.queries import SparqlActions
from spaseq.syntax.builder.triples import TripleList
from spaseq.syntax.lexer import Token

Clause: TypeAlias = WindowClause | StreamDeclaration | tuple[Var, ...] | SequenceExpression | GpmDefinition


Between: TypeAlias = tuple[str, Gap | None]
"""The operator between iterations, and its gap."""


def _options(parts: tuple[Between | Token, ...]) -> tuple[str, Gap | None, bool]:
    """What stands behind a quantifier: the operator between iterations, its gap, and whether it is LONGEST."""
    operator, gap = next((part for part in parts if not isinstance(part, Token)), ("", None))
    return operator, gap, any(isinstance(part, Token) for part in parts)


class SpaseqActions(SparqlActions):
    """Builds SPAseq queries."""

    def spaseq_query(
        self, span: Span, prologue: Prologue, form: SelectClause | Construct | Ask, *clauses: Clause
    ) -> SpaseqQuery:
        return SpaseqQuery(
            form,
            tuple(clause for clause in clauses if isinstance(clause, StreamDeclaration)),
            tuple(clause for clause in clauses if isinstance(clause, (SequenceExpression, GpmDefinition))),
            next((clause for clause in clauses if isinstance(clause, WindowClause)), None),
            next((clause for clause in clauses if isinstance(clause, tuple)), ()),
            replace(prologue, used_prefixes=frozenset(self.used_prefixes)),
            span,
        )

    def construct_form(self, span: Span, template: TripleList) -> Construct:
        return Construct(tuple(template.triples), span)

    def ask_form(self, span: Span) -> Ask:
        return Ask(span)

    # --- clauses ---

    def window(self, span: Span, size: Token, unit: Token, *rest: str | Constant) -> WindowClause:
        start = next((part for part in rest if isinstance(part, Constant)), None)
        return WindowClause(
            self.integer(size), unit.text.upper().removesuffix("S"), "SLIDING" in rest, start, span
        )

    def window_kind(self, _span: Span, token: Token) -> str:
        return token.text.upper()

    def starting_at(self, _span: Span, literal: Constant) -> Constant:
        return literal

    def stream(self, span: Span, name: Token, iri: Constant) -> StreamDeclaration:
        return StreamDeclaration(name.text, iri, span)

    def partition(self, _span: Span, *variables: Var) -> tuple[Var, ...]:
        return variables

    def definition(self, span: Span, name: Token, stream: Token, pattern: GroupPattern) -> GpmDefinition:
        return GpmDefinition(name.text, stream.text, pattern, name.span, stream.span, span)

    # --- sequence expressions ---

    def seq_clause(
        self, span: Span, sequence: SequenceExpression, skip_past: bool = False
    ) -> SequenceExpression:
        return replace(sequence, skip_past=skip_past, span=span)

    def skip_past(self, _span: Span, *_words: Token) -> bool:
        return True

    def sequence(self, span: Span, *parts: Step | str) -> SequenceExpression:
        steps = tuple(part for part in parts if not isinstance(part, str))
        operators = tuple(part for part in parts if isinstance(part, str))
        return SequenceExpression(steps, operators, span=span)

    def sequence_operator(self, _span: Span, token: Token) -> str:
        return token.text

    def step_name(self, span: Span, token: Token) -> Name:
        return Name(token.text, span)

    def any_of(self, span: Span, *parts: Step) -> Disjunction:
        return Disjunction(parts, span)

    def all_of(self, span: Span, *parts: Step) -> Conjunction:
        return Conjunction(parts, span)

    def step_group(self, span: Span, sequence: SequenceExpression) -> Step:
        """A parenthesis around a mere choice is the choice."""
        if len(sequence.steps) == 1 and isinstance(sequence.steps[0], (Name, Conjunction, Disjunction)):
            return sequence.steps[0]
        return StepGroup(sequence, span)

    def permute(self, span: Span, sequence: SequenceExpression) -> Permute:
        return Permute(sequence, span)

    def gapped(self, span: Span, body: Step, gap: Gap) -> Gapped:
        return Gapped(body, gap, span)

    def within(self, span: Span, within: Duration) -> Gap:
        return Gap(None, within, span)

    def after(self, span: Span, after: Duration) -> Gap:
        return Gap(after, None, span)

    def after_within(self, span: Span, after: Duration, within: Duration) -> Gap:
        return Gap(after, within, span)

    def duration(self, span: Span, size: Token, unit: Token) -> Duration:
        return Duration(self.integer(size), unit.text.upper().removesuffix("S"), span)

    def optional_step(self, span: Span, body: Step) -> Quantified:
        return Quantified(body, "?", span=span)

    def negated(self, span: Span, body: Step) -> Quantified:
        return Quantified(body, "!", span=span)

    def kleene_plus(self, span: Span, body: Step, *options: Between | Token) -> Quantified:
        return Quantified(body, "+", 1, None, *_options(options), span)

    def kleene_star(self, span: Span, body: Step, *options: Between | Token) -> Quantified:
        return Quantified(body, "*", 0, None, *_options(options), span)

    def bounded(
        self, span: Span, body: Step, bounds: tuple[int, int | None], *options: Between | Token
    ) -> Quantified:
        return Quantified(body, "{", bounds[0], bounds[1], *_options(options), span)

    def between(self, _span: Span, operator: str, gap: Gap | None = None) -> Between:
        return operator, gap

    def longest(self, _span: Span, word: Token) -> Token:
        return word

    def exactly(self, _span: Span, count: Token) -> tuple[int, int | None]:
        return self.integer(count), self.integer(count)

    def at_least(self, _span: Span, least: Token) -> tuple[int, int | None]:
        return self.integer(least), None

    def from_to(self, _span: Span, least: Token, most: Token) -> tuple[int, int | None]:
        return self.integer(least), self.integer(most)

    # --- functions over iterations (semantics 1.5) ---

    def iterated(self, span: Span, token: Token, variable: Var) -> Iterated:
        return Iterated(token.text.upper(), variable, None, span)

    def iteration_count(self, span: Span, name: Token) -> GpmFunction:
        return GpmFunction("COUNT", name.text, span)

    def step_time(self, span: Span, name: Token) -> GpmFunction:
        return GpmFunction("TIME", name.text, span)

    def step_event(self, span: Span, name: Token) -> GpmFunction:
        return GpmFunction("EVENT", name.text, span)
