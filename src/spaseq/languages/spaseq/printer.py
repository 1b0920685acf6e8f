"""SPAseq queries as text: ``parse(format_query(query)) == query`` for every query."""

from __future__ import annotations

from typing import assert_never

from spaseq.languages.spaseq.tree import (
    Ask,
    Conjunction,
    Construct,
    Disjunction,
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
    WindowClause,
)
from spaseq.syntax.ast import (
    SelectClause,
)
from spaseq.syntax.printing.queries import INDENT, Printer


def format_query(query: SpaseqQuery) -> str:
    """The text of a whole query."""
    printer = Printer(query.prologue)
    return "\n".join((*printer.prologue(query.prologue), _spaseq(query, printer))) + "\n"


def format_step(step: Step) -> str:
    """The text of one step, as error messages show it."""
    return _step(step)


def format_sequence(sequence: SequenceExpression) -> str:
    """The text of a sequence expression, without ``SEQ ( )``.

    >>> format_sequence(SequenceExpression((Quantified(Name("A"), "+"), Name("B")), (";",)))
    'A+; B'
    """
    steps = [_step(step) for step in sequence.steps]
    return "".join(f"{step}{op} " for step, op in zip(steps, sequence.operators, strict=False)) + steps[-1]


def _spaseq(query: SpaseqQuery, printer: Printer) -> str:
    lines = [_form(query.form, printer)]
    if query.window is not None:
        lines.append(_window(query.window, printer))
    lines += [f"FROM STREAM {stream.alias} {printer.names.constant(stream.iri)}" for stream in query.streams]
    if query.partition:
        lines.append("PARTITION BY " + " ".join(f"?{variable.name}" for variable in query.partition))
    clauses = [INDENT + _clause(clause, printer) for clause in query.where]
    return "\n".join((*lines, "WHERE {", "\n\n".join(clauses), "}"))


def _form(form: SelectClause | Construct | Ask, printer: Printer) -> str:
    match form:
        case SelectClause():
            return printer.select_clause(form)
        case Construct(template):
            return f"CONSTRUCT {printer.template(template)}"
        case Ask():
            return "ASK"
        case _:
            assert_never(form)


def _window(window: WindowClause, printer: Printer) -> str:
    text = f"WITHIN {window.size} {window.unit}{'' if window.size == 1 else 'S'}"
    if window.sliding:
        text += " SLIDING"
    if window.starting_at is not None:
        text += f" STARTING AT {printer.names.constant(window.starting_at)}"
    return text


def _clause(clause: SequenceExpression | GpmDefinition, printer: Printer) -> str:
    if isinstance(clause, SequenceExpression):
        return f"SEQ ({format_sequence(clause)}){' AFTER MATCH SKIP PAST LAST EVENT' if clause.skip_past else ''}"
    return f"DEFINE GPM {clause.name} ON {clause.stream} {printer.group(clause.pattern, INDENT)}"


def _step(step: Step, level: int = 1) -> str:
    """A step; ``|`` is level 1, ``&`` 2, a quantified step 3, and a name stands anywhere."""
    match step:
        case Name(name):
            return name
        case Quantified(body, mark):
            return _wrapped(_step(body, 3) + _mark(step, mark), level > 3)
        case Conjunction(parts):
            return _wrapped(" & ".join(_step(part, 3) for part in parts), level > 2)
        case Disjunction(parts):
            return _wrapped(" | ".join(_step(part, 2) for part in parts), level > 1)
        case StepGroup(sequence):
            return f"({format_sequence(sequence)})"
        case Permute(sequence):
            return f"PERMUTE({format_sequence(sequence)})"
        case Gapped(body, gap):
            return f"{_step(body)} {_gap(gap)}"
        case _:
            assert_never(step)


def _gap(gap: Gap) -> str:
    parts = (("AFTER", gap.after), ("WITHIN", gap.within))
    return " ".join(
        f"{word} {time.size} {time.unit}{'' if time.size == 1 else 'S'}"
        for word, time in parts
        if time is not None
    )


def _mark(step: Quantified, mark: str) -> str:
    if mark == "{":
        most = "" if step.maximum is None else str(step.maximum)
        mark = f"{{{step.minimum}}}" if step.maximum == step.minimum else f"{{{step.minimum},{most}}}"
    if step.between:
        mark += f"[{step.between}{' ' + _gap(step.gap) if step.gap is not None else ''}]"
    return f"{mark} LONGEST" if step.longest else mark


def _wrapped(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
