"""From the parts of the grammar's rules to the tree: windows, stream clauses, reports, `timestamp` (semantics 3.1), events (4.1)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

from pyoxigraph import Literal

from spaseq.algebra.event_patterns import (
    Consumption,
    DeclaredEvent,
    EventDuring,
    EventPattern,
    EventSeq,
    FirstOf,
    LastOf,
    Selected,
    rebuilt,
)
from spaseq.algebra.expressions import Call, Constant, Expression, FunctionCall, Var
from spaseq.algebra.windows import Emission, Interval, Landmark, Range, ReportPolicy, Trigger, Unit
from spaseq.errors import Span, did_you_mean, listed
from spaseq.languages.rsepql.errors import (
    BadCount,
    BadInstant,
    BadLength,
    EventDeclaredTwice,
    LengthNotPositive,
    StepOfAnotherKind,
    UndeclaredEvent,
    UnknownSelection,
)
from spaseq.languages.rsepql.lengths import read_duration, read_instant, read_length
from spaseq.languages.rsepql.profiles import profile_errors, with_profile
from spaseq.languages.rsepql.tree import (
    Answering,
    Bracket,
    ConsumeClause,
    EventClause,
    Registration,
    ReportClause,
    RsepqlQuery,
    StreamClause,
    with_matches,
)
from spaseq.model.terms import iri_of
from spaseq.syntax.ast import (
    DatasetClause,
    GraphClause,
    Group,
    GroupPattern,
    MatchClause,
    Prologue,
    ValuesClause,
)
from spaseq.syntax.builder import SparqlActions
from spaseq.syntax.builder.base import KeywordMark
from spaseq.syntax.builder.terms import number_constant
from spaseq.syntax.errors import RelativeIri
from spaseq.syntax.iris import is_absolute
from spaseq.syntax.lexer import Token

TIMESTAMP = "TIMESTAMP"
_GOES_BY_TIME = "REPORT EVERY goes by time"
_LETTERS: Final = {"N": Selected.NAIVE, "C": Selected.CHRONOLOGICAL, "R": Selected.RECENT}
"""The paper's spelling of the policies: SEQ^n."""


class Size(NamedTuple):
    """A size as written; ``unit`` is None for a number alone. ``length`` is that of a time with a unit, in microseconds."""

    text: str
    unit: Unit | None
    length: int
    span: Span


class RsepqlActions(SparqlActions):
    """Builds queries over windows."""

    def __init__(self, *, base: str | None = None, taken_labels: frozenset[str] = frozenset()) -> None:
        super().__init__(base=base, taken_labels=taken_labels)
        self._relative: dict[Span, str] = {}
        self._events: dict[str, EventClause] = {}
        self._unknown: list[tuple[str, Span]] = []

    # --- the whole query ---

    def rsepql_query(
        self,
        span: Span,
        prologue: Prologue,
        *parts: Registration | Answering | ValuesClause | ConsumeClause | ReportClause,
    ) -> RsepqlQuery:
        registration = next((part for part in parts if isinstance(part, Registration)), None)
        values = next((part for part in parts if isinstance(part, ValuesClause)), None)
        consume = next((part for part in parts if isinstance(part, ConsumeClause)), None)
        report = next((part for part in parts if isinstance(part, ReportClause)), None)
        around = (Registration, ValuesClause, ConsumeClause, ReportClause)
        query = next(part for part in parts if not isinstance(part, around))
        later = registration.prologue.declarations if registration is not None else ()
        declared = Prologue(prologue.declarations + later, frozenset(self.used_prefixes))
        for place, iri in self._relative.items():
            self.report(RelativeIri(iri=iri, span=place))
        modifiers = replace(query.modifiers, values=values)
        query = replace(self._declared(query), prologue=declared, modifiers=modifiers)
        return RsepqlQuery(query, report, registration, consume, span)

    def registration(self, _span: Span, *parts: Emission | Constant | str | Prologue) -> Registration:
        *before, name, prologue = parts
        assert isinstance(name, (Constant, str))
        assert isinstance(prologue, Prologue)
        emission = next((part for part in before if isinstance(part, Emission)), None)
        return Registration(name, emission, prologue)

    def emission(self, _span: Span, token: Token) -> Emission:
        return Emission[token.text.upper()]

    def registered_name(self, _span: Span, name: Constant | Token) -> Constant | str:
        return name.text if isinstance(name, Token) else self._name(name)

    # --- names: a relative IRI without BASE names a window, a stream or a graph, and nothing else ---

    def full_iri(self, span: Span, token: Token) -> Constant:
        written = token.text[1:-1]
        if self.base is not None or is_absolute(written):
            return super().full_iri(span, token)
        self._relative[span] = written
        return Constant(self._named_node(iri_of(written), token.text, span), token.text, span)

    def _name(self, iri: Constant) -> Constant:
        self._relative.pop(iri.span, None)
        return iri

    def graph(self, span: Span, name: Var | Constant, group: GroupPattern) -> GraphClause:
        return GraphClause(name if isinstance(name, Var) else self._name(name), group, span)

    def window_graph(self, span: Span, name: Var | Constant, group: GroupPattern) -> GraphClause:
        return replace(self.graph(span, name, group), window=True)

    # --- FROM ---

    def default_graph(self, _span: Span, iri: Constant) -> DatasetClause:
        return DatasetClause(self._name(iri), named=False)

    def named_graph(self, _span: Span, iri: Constant) -> DatasetClause:
        return DatasetClause(self._name(iri), named=True)

    def named_window(
        self, span: Span, name: Constant, stream: Constant, window: tuple[Bracket, ...]
    ) -> StreamClause:
        return StreamClause(self._name(stream), True, window, self._name(name), span)

    def window_as(
        self, span: Span, stream: Constant, window: tuple[Bracket, ...], name: Constant
    ) -> StreamClause:
        return self.named_window(span, name, stream, window)

    def named_stream(self, span: Span, stream: Constant, window: tuple[Bracket, ...]) -> StreamClause:
        return StreamClause(self._name(stream), True, window, None, span)

    def default_stream(self, span: Span, stream: Constant, window: tuple[Bracket, ...] = ()) -> StreamClause:
        return StreamClause(self._name(stream), False, window, None, span)

    # --- windows ---

    def window(self, _span: Span, *bodies: Bracket) -> tuple[Bracket, ...]:
        return bodies

    def range_body(self, span: Span, size: Size, *rest: Size | str | int) -> Bracket:
        unit = size.unit or Unit.TIME
        whole = self._sized(size, unit)
        step: int | None = None
        for part in rest:
            if isinstance(part, Size):
                step = self._step(part, unit)
            elif part == "TUMBLING":
                step = whole
        start = next((part for part in rest if isinstance(part, int)), None)
        return Bracket(Range(whole, step, unit, start), span)

    def counted_body(self, span: Span, unit: Unit, amount: Token, *step: Size | str) -> Bracket:
        return self.range_body(span, self.counted_size(span, unit, amount), *step)

    def landmark(self, span: Span, start: int) -> Bracket:
        return Bracket(Landmark(start), span)

    def interval(self, span: Span, first: int, last: int) -> Bracket:
        return Bracket(Interval(first, last), span)

    def step(self, _span: Span, size: Size) -> Size:
        return size

    def tumbling(self, _span: Span) -> str:
        return "TUMBLING"

    def starting_at(self, _span: Span, instant: int) -> int:
        return instant

    def _step(self, step: Size, unit: Unit) -> int:
        if step.unit is not None and step.unit is not unit:
            self.report(StepOfAnotherKind(size=unit.value, step=step.unit.value, span=step.span))
            return 1
        return self._sized(step, unit)

    def _sized(self, size: Size, unit: Unit) -> int:
        """How much of a unit a size is; 1 if that is wrong and reported."""
        if unit is Unit.TIME:
            if size.unit is None:
                size = self._length(size.span, size.text, "s")
            if size.length > 0:
                return size.length
            self.report(LengthNotPositive(text=size.text, span=size.span))
            return 1
        if size.text.isdigit() and len(size.text) <= 18 and int(size.text) > 0:
            return int(size.text)
        fields = {"text": size.text, "unit": unit.value, "upper": unit.value.upper()}
        self.report(BadCount(**fields, span=size.span))
        return 1

    # --- sizes and instants ---

    def amount(self, _span: Span, token: Token) -> Token:
        return token

    def counted(self, _span: Span, token: Token) -> Unit:
        """ELEMENTS are events: the elements of a stream are its graphs."""
        return Unit.TRIPLES if token.text.upper() == "TRIPLES" else Unit.EVENTS

    def bare_size(self, span: Span, amount: Token) -> Size:
        return Size(amount.text, None, 0, span)

    def unit_size(self, span: Span, amount: Token, unit: Token) -> Size:
        return self._length(span, amount.text, unit.text)

    def counted_size(self, span: Span, *parts: Unit | Token) -> Size:
        unit = next(part for part in parts if isinstance(part, Unit))
        amount = next(part for part in parts if isinstance(part, Token))
        return Size(amount.text, unit, 0, span)

    def duration_literal(self, span: Span, literal: Constant) -> Size:
        assert isinstance(literal.term, Literal)
        return self._duration(span, literal.term.value)

    def duration_word(self, span: Span, *parts: Token) -> Size:
        """``PT1.5S`` comes as three tokens."""
        return self._duration(span, "".join(part.text for part in parts))

    def _length(self, span: Span, amount: str, unit: str) -> Size:
        try:
            return Size(amount, Unit.TIME, read_length(amount, unit), span)
        except ValueError as problem:
            self.report(BadLength(text=_short(amount + unit), reason=str(problem), span=span))
            return Size(amount, Unit.TIME, 1, span)

    def _duration(self, span: Span, text: str) -> Size:
        try:
            return Size(text, Unit.TIME, read_duration(text), span)
        except ValueError as problem:
            self.report(BadLength(text=_short(text), reason=str(problem), span=span))
            return Size(text, Unit.TIME, 1, span)

    def instant_number(self, span: Span, amount: Token) -> int:
        return self.instant_literal(span, number_constant(amount.text, span))

    def instant_literal(self, span: Span, literal: Constant) -> int:
        assert isinstance(literal.term, Literal)
        text = literal.term.value
        try:
            return read_instant(text, literal.term.datatype.value)
        except ValueError as problem:
            self.report(BadInstant(text=_short(text), reason=str(problem), span=span))
            return 0

    # --- REPORT ---

    def report_clause(self, span: Span, policy: ReportPolicy, *non_empty: ReportPolicy) -> ReportClause:
        return ReportClause(replace(policy, non_empty=policy.non_empty or bool(non_empty)), span)

    def content_change(self, _span: Span) -> ReportPolicy:
        return ReportPolicy(Trigger.CONTENT_CHANGE)

    def window_close(self, _span: Span) -> ReportPolicy:
        return ReportPolicy(Trigger.WINDOW_CLOSE)

    def non_empty(self, _span: Span) -> ReportPolicy:
        """NON-EMPTY CONTENT alone stands for CONTENT CHANGE with it."""
        return ReportPolicy(Trigger.CONTENT_CHANGE, non_empty=True)

    def every(self, _span: Span, size: Size, start: int | None = None) -> ReportPolicy:
        if size.unit in (Unit.EVENTS, Unit.TRIPLES):
            self.report(
                BadLength(text=f"{size.text} {size.unit.value}", reason=_GOES_BY_TIME, span=size.span)
            )
            size = size._replace(unit=Unit.TIME, length=1)
        return ReportPolicy(Trigger.EVERY, self._sized(size, Unit.TIME), start)

    def consume_clause(self, span: Span, policy: Consumption) -> ConsumeClause:
        return ConsumeClause(policy, span)

    def consumption(self, _span: Span, token: Token) -> Consumption:
        return Consumption[token.text.upper()]

    # --- events: those that MATCH names are declared before it ---

    def event_clause(self, _span: Span, window: Constant, pattern: GroupPattern, name: Token) -> EventClause:
        clause = EventClause(self._name(window), True, pattern, name.text, name.span)
        if name.text in self._events:
            self.report(EventDeclaredTwice(name=name.text, span=name.span))
        self._events.setdefault(name.text, clause)
        return clause

    def match_clause(self, span: Span, events: EventPattern) -> MatchClause:
        return MatchClause(events, span)

    def event_name(self, span: Span, token: Token) -> DeclaredEvent:
        clause = self._events.get(token.text)
        if clause is None:
            self._unknown.append((token.text, span))
            return DeclaredEvent(token.text, "", Group(()))
        return clause.event

    def _declared(self, query: Answering) -> Answering:
        """The query with the events that are named before their declaration, in an EXISTS of SELECT."""
        for name, span in self._unknown:
            if name not in self._events:
                known = {"hint": did_you_mean(name, self._events), "known": listed(self._events)}
                self.report(UndeclaredEvent(name=name, **known, span=span))
        if any(name in self._events for name, _ in self._unknown):
            query = with_matches(query, lambda events: rebuilt(events, self._found))
        return query

    def _found(self, part: EventPattern) -> EventPattern:
        known = isinstance(part, DeclaredEvent) and part.name in self._events
        return self._events[part.name].event if known else part  # type: ignore[union-attr]

    def event_first(self, _span: Span, operand: EventPattern) -> FirstOf:
        return FirstOf(operand)

    def event_last(self, _span: Span, operand: EventPattern) -> LastOf:
        return LastOf(operand)

    def event_during(self, _span: Span, left: EventPattern, right: EventPattern) -> EventDuring:
        return EventDuring(left, right)

    def event_seq(self, _span: Span, left: EventPattern, *rest: Selected | Var | EventPattern) -> EventSeq:
        return _sequence(left, None, *rest)

    def event_seq_not(
        self, _span: Span, left: EventPattern, absent: EventPattern, *rest: Selected | Var | EventPattern
    ) -> EventSeq:
        return _sequence(left, absent, *rest)

    def policy_word(self, _span: Span, token: Token) -> Selected:
        return Selected[token.text.upper()]

    def policy_letter(self, _span: Span, token: Token) -> Selected:
        found = _LETTERS.get(token.text.upper())
        if found is None:
            self.report(UnknownSelection(text=token.text, span=token.span))
        return found or Selected.ANY

    def partition(self, _span: Span, key: Var) -> Var:
        return key

    # --- timestamp ---

    def timestamp(self, span: Span, *triple: Expression) -> Call:
        return Call(TIMESTAMP, triple, span)

    def function_call(  # type: ignore[override]
        self, span: Span, function: Constant, *parts: Expression | Token | KeywordMark
    ) -> Call | FunctionCall:
        """C-SPARQL's ``f:timestamp``: a function of three arguments whose local name is so, in any namespace."""
        made = super().function_call(span, function, *parts)
        iri = getattr(function.term, "value", "")
        local = iri[max(iri.rfind(sign) for sign in "#/:") + 1 :]
        if local.lower() == "timestamp" and len(made.arguments) == 3 and not made.distinct:
            return Call(TIMESTAMP, made.arguments, span)
        return made


@cache
def profiled(profile: str) -> type[RsepqlActions]:
    """Actions that build a query as a profile runs it, before its checks (semantics 3.1)."""

    class ProfiledActions(RsepqlActions):
        def rsepql_query(
            self,
            span: Span,
            prologue: Prologue,
            *parts: Registration | Answering | ValuesClause | ConsumeClause | ReportClause,
        ) -> RsepqlQuery:
            written = super().rsepql_query(span, prologue, *parts)
            wrong = list(profile_errors(written, profile))
            self.errors += wrong
            return written if wrong else with_profile(written, profile)

    return ProfiledActions


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _sequence(
    left: EventPattern, absent: EventPattern | None, *rest: Selected | Var | EventPattern
) -> EventSeq:
    *how, right = rest
    assert not isinstance(right, (Selected, Var))
    match how:
        case [Var() as key]:
            return EventSeq(left, right, Selected.PARTITION, key, absent)
        case [Selected() as selected]:
            return EventSeq(left, right, selected, None, absent)
        case _:
            return EventSeq(left, right, absent=absent)
