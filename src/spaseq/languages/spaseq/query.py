"""A whole SPAseq query: structure, GPMs, sequence, window and form, checked and lowered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from pyoxigraph import Literal

from spaseq.algebra.events import (
    AskForm,
    ConstructForm,
    EventQuery,
    EventWindow,
    Form,
    Gpm,
    ProjectionItem,
    SelectForm,
    Sequence,
    Step,
    TimeWindow,
    Window,
    inner_steps,
)
from spaseq.algebra.expressions import Expression, Var
from spaseq.algebra.patterns import Bgp
from spaseq.algebra.structure import bounded_by_gaps
from spaseq.algebra.visibility import Visibility, result_variables
from spaseq.errors import QueryError, did_you_mean, listed, place
from spaseq.languages.registry import Lowered
from spaseq.languages.report import Report
from spaseq.languages.sparql import lower_expression
from spaseq.languages.spaseq import tree
from spaseq.languages.spaseq.dialect import parse
from spaseq.languages.spaseq.errors import (
    BadStart,
    EmptyWindow,
    MissingSequence,
    NoWindow,
    NumberOutOfRange,
    PatternDefinedTwice,
    PatternUsedTwice,
    PrefixDeclaredTwice,
    SecondSequence,
    StartNeedsTumbling,
    StreamAliasTwice,
    StreamIriTwice,
    UndefinedPattern,
    UndefinedStream,
    UnusedPattern,
    UnusedPrefix,
    UnusedStream,
)
from spaseq.languages.spaseq.gpm import TopLevelBind, lower_whole, separate_binds
from spaseq.languages.spaseq.iterations import Rough, over_iterations
from spaseq.languages.spaseq.places import Places
from spaseq.languages.spaseq.printer import format_query, format_step
from spaseq.languages.spaseq.sequence import lower_sequence, names
from spaseq.languages.spaseq.variables import Variables
from spaseq.model.forms import Stream
from spaseq.syntax import ast
from spaseq.temporal.durations import MAX_DURATION, microseconds
from spaseq.temporal.instants import parse_instant

MAX_EVENTS = 2**31 - 1


def compile_text(text: str, name: str) -> Lowered:
    """Parse, check and lower a SPAseq query; `QueryError` says what is wrong and where."""
    written = parse(text, name=name)
    try:
        return lower(written, text)
    except QueryError as error:
        for each in (error, *error.also):
            each.located(text, name)
        raise


def lower(written: tree.SpaseqQuery, text: str = "") -> Lowered:
    """Check a query and lower it; raises the first `QueryError`, the others in its ``also``."""
    report = Report()
    streams = _streams(written, report)
    definitions = _definitions(written, text, report)
    expression = _sequence_clause(written, definitions, report)
    _check_names(expression, definitions, report)
    _check_prefixes(written.prologue, report)
    window = _window(written.window, report)

    whole = {
        name: lower_whole(definition, _stream_iri(definition, written.streams, report), report)
        for name, definition in definitions.items()
    }
    rough = lower_sequence(expression, lambda name: whole.get(name.name) or _unknown(name), Report())
    partition = tuple(variable.name for variable in written.partition)
    parts: dict[str, Gpm] = {}
    binds: dict[str, tuple[TopLevelBind, ...]] = {}
    visibility = Visibility(rough, partition)
    for name, definition in definitions.items():
        parts[name], binds[name] = separate_binds(whole[name], definition, visibility, report)
    sequence = lower_sequence(expression, lambda name: parts.get(name.name) or _unknown(name), report)

    Places(sequence, window, _shown(expression, sequence), report).check()
    variables = Variables(sequence, report, Rough.of(sequence, partition))
    for gpm in variables.all_gpms:
        if gpm.name in binds:
            variables.check_gpm(gpm, binds[gpm.name])
    variables.check_partition(written.partition)
    form = _form(written.form, sequence, variables, report)
    _warn(written, sequence, definitions, report)
    report.raise_errors()
    query = EventQuery(
        form=form,
        sequence=sequence,
        streams=streams,
        names=tuple(name.name for name in names(expression)),
        window=window,
        partition=partition,
        skip_past=expression.skip_past,
    )
    declared = (each for each in written.prologue.declarations if isinstance(each, ast.PrefixDeclaration))
    return Lowered(
        query,
        report.warnings,
        format_query(replace(written, prologue=ast.Prologue())),
        tuple({each.name: each.iri for each in declared}.items()),
        expression.span,
    )


# --- structure ----------------------------------------------------------------------------------


def _streams(written: tree.SpaseqQuery, report: Report) -> tuple[Stream, ...]:
    aliases: dict[str, str] = {}
    by_iri: dict[str, str] = {}
    for declaration in written.streams:
        iri = declaration.iri.term.value
        if declaration.alias in aliases:
            report.error(StreamAliasTwice(span=declaration.span, name=declaration.alias))
        elif iri in by_iri:
            report.error(
                StreamIriTwice(span=declaration.span, iri=iri, first=by_iri[iri], name=declaration.alias)
            )
        aliases.setdefault(declaration.alias, iri)
        by_iri.setdefault(iri, declaration.alias)
    return tuple(Stream(alias, iri) for alias, iri in aliases.items())


def _stream_iri(
    definition: tree.GpmDefinition, streams: tuple[tree.StreamDeclaration, ...], report: Report
) -> str:
    for declaration in streams:
        if declaration.alias == definition.stream:
            return str(declaration.iri.term.value)
    known = [declaration.alias for declaration in streams]
    report.error(
        UndefinedStream(
            span=definition.stream_span,
            name=definition.stream,
            known=listed(known),
            hint=did_you_mean(definition.stream, known),
        )
    )
    return ""


def _definitions(written: tree.SpaseqQuery, text: str, report: Report) -> dict[str, tree.GpmDefinition]:
    found: dict[str, tree.GpmDefinition] = {}
    for clause in written.where:
        if not isinstance(clause, tree.GpmDefinition):
            continue
        first = found.setdefault(clause.name, clause)
        if first is not clause:
            line = place(text, first.span.start).line
            report.error(PatternDefinedTwice(span=clause.name_span, name=clause.name, first=line))
    return found


def _sequence_clause(
    written: tree.SpaseqQuery, definitions: dict[str, tree.GpmDefinition], report: Report
) -> tree.SequenceExpression:
    clauses = [clause for clause in written.where if isinstance(clause, tree.SequenceExpression)]
    if not clauses:
        report.error(MissingSequence(span=written.span, names=" ; ".join(definitions) or "A"))
        report.raise_errors()
    for clause in clauses[1:]:
        report.error(SecondSequence(span=clause.span))
    return clauses[0]


def _check_names(
    expression: tree.SequenceExpression, definitions: dict[str, tree.GpmDefinition], report: Report
) -> None:
    used: set[str] = set()
    for name in names(expression):
        if name.name not in definitions:
            report.error(
                UndefinedPattern(
                    span=name.span,
                    name=name.name,
                    known=listed(definitions),
                    hint=did_you_mean(name.name, definitions),
                )
            )
        elif name.name in used:
            report.error(PatternUsedTwice(span=name.span, name=name.name))
        used.add(name.name)
    for name_, definition in definitions.items():
        if name_ not in used:
            hint = did_you_mean(name_, used - set(definitions))
            report.error(UnusedPattern(span=definition.name_span, name=name_, hint=hint))


def _check_prefixes(prologue: ast.Prologue, report: Report) -> None:
    declared: dict[str, str] = {}
    for declaration in prologue.declarations:
        if not isinstance(declaration, ast.PrefixDeclaration):
            continue
        if declaration.name in declared:
            first = declared[declaration.name]
            report.error(PrefixDeclaredTwice(span=declaration.span, name=declaration.name, first=first))
        declared.setdefault(declaration.name, declaration.iri)


def _unknown(name: tree.Name) -> Gpm:
    """Stands in for an undefined GPM, which is reported, so that the other checks can go on."""
    return Gpm(name.name, "", Bgp(()), span=name.span)


def _shown(written: tree.SequenceExpression, sequence: Sequence) -> dict[int, str]:
    """How every step is spelled, by its number."""
    found: dict[int, str] = {}

    def note(steps: Iterable[Step], spelled: tuple[tree.Step, ...]) -> None:
        for step, text in zip(steps, spelled, strict=True):
            found[step.number] = format_step(text)
            inner = _inside(text)
            if inner is not None and step.is_group:
                note(inner_steps(step.body), inner.steps)

    note(sequence.steps, written.steps)
    return found


def _inside(step: tree.Step) -> tree.SequenceExpression | None:
    match step:
        case tree.Gapped(body) | tree.Quantified(body):
            return _inside(body)
        case tree.StepGroup(sequence) | tree.Permute(sequence):
            return sequence
        case _:
            return None


# --- window and form ----------------------------------------------------------------------------


def _window(clause: tree.WindowClause | None, report: Report) -> Window | None:
    if clause is None:
        return None
    counted = clause.unit == "EVENT"
    size = clause.size if counted else microseconds(clause.size, clause.unit)
    limit = MAX_EVENTS if counted else MAX_DURATION
    if clause.size < 1:
        report.error(EmptyWindow(span=clause.span, unit=f"{clause.unit}S"))
    elif size > limit:
        most = f"{limit // (size // clause.size):,} {clause.unit}S"
        report.error(NumberOutOfRange(span=clause.span, number=clause.size, what="a window", limit=most))
    start = _starting_at(clause, counted, report)
    return EventWindow(size, clause.sliding) if counted else TimeWindow(size, clause.sliding, start)


def _starting_at(clause: tree.WindowClause, counted: bool, report: Report) -> int | None:
    if clause.starting_at is None:
        return None
    if counted or clause.sliding:
        report.error(StartNeedsTumbling(span=clause.starting_at.span))
        return None
    term = clause.starting_at.term
    try:
        if not isinstance(term, Literal):
            raise ValueError("it is not a literal")
        datatype = term.datatype.value
        if datatype.endswith("#string"):
            datatype = "http://www.w3.org/2001/XMLSchema#dateTime"
        return parse_instant(term.value, datatype)
    except ValueError as error:
        report.error(BadStart(span=clause.starting_at.span, reason=str(error)))
        return None


def _form(
    form: ast.SelectClause | tree.Construct | tree.Ask,
    sequence: Sequence,
    variables: Variables,
    report: Report,
) -> Form:
    match form:
        case ast.SelectClause():
            expressions: dict[str, Expression] = {
                item.variable.name: lower_expression(over_iterations(item.expression, report))
                for item in form.items or ()
                if item.expression is not None
            }
            variables.check_select(form, expressions)
            if form.items is None:
                items = tuple(ProjectionItem(Var(name)) for name in result_variables(sequence))
            else:
                items = tuple(
                    ProjectionItem(
                        item.variable,
                        expressions[item.variable.name] if item.expression is not None else None,
                    )
                    for item in form.items
                )
            return SelectForm(items, distinct=form.modifier == "DISTINCT")
        case tree.Construct(template):
            variables.check_template(form)
            return ConstructForm(template)
        case tree.Ask():
            return AskForm()
        case _:
            assert_never(form)


# --- warnings -----------------------------------------------------------------------------------


def _warn(
    written: tree.SpaseqQuery, sequence: Sequence, definitions: dict[str, tree.GpmDefinition], report: Report
) -> None:
    if written.window is None and not bounded_by_gaps(sequence):
        report.warn(NoWindow(span=written.form.span))
    read = {definition.stream for definition in definitions.values()}
    for stream in written.streams:
        if stream.alias not in read:
            report.warn(UnusedStream(span=stream.span, name=stream.alias))
    for declaration in written.prologue.declarations:
        if not isinstance(declaration, ast.PrefixDeclaration):
            continue
        if declaration.name not in written.prologue.used_prefixes:
            report.warn(UnusedPrefix(span=declaration.span, name=declaration.name))


__all__ = ["Lowered", "lower"]
