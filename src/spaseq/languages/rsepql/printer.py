"""A query over windows as text that parses to the same tree; its normal form, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from spaseq.algebra.windows import Everything, Interval, Landmark, Range, ReportPolicy, Unit, WindowBody
from spaseq.languages.rsepql.lengths import format_length, format_moment
from spaseq.languages.rsepql.tree import EventClause, Registration, RsepqlQuery, StreamClause
from spaseq.syntax.ast import DatasetClause
from spaseq.syntax.printing.queries import Printer


def format_rsepql(query: RsepqlQuery) -> str:
    """The text of a query."""
    printer = _Printer(query.prologue)
    lines = printer.prologue(query.prologue)
    if query.registration is not None:
        lines.append(_registered(query.registration, printer))
    lines.append(printer.query(query.query))
    if query.consume is not None:
        lines.append(f"CONSUME {query.consume.policy.value}")
    if query.report is not None:
        lines.append(_reported(query.report.policy))
    return "\n".join(lines) + "\n"


class _Printer(Printer):
    def datasets(self, clauses: tuple[DatasetClause, ...]) -> list[str]:
        return [line for clause in clauses for line in self._dataset(clause)]

    def _dataset(self, clause: DatasetClause) -> list[str]:
        if isinstance(clause, EventClause):
            window = self.names.constant(clause.iri)
            return [f"EVENT ON {window} {self.group(clause.pattern)} AS {clause.name}"]
        if not isinstance(clause, StreamClause):
            return super().datasets((clause,))
        stream = self.names.constant(clause.iri)
        window = f" {format_window(bracket.body for bracket in clause.window)}" if clause.window else ""
        if clause.name is not None:
            return [f"FROM NAMED WINDOW {self.names.constant(clause.name)} ON {stream}{window}"]
        return [f"FROM {'NAMED ' if clause.named else ''}STREAM {stream}{window}"]


def _registered(registration: Registration, printer: Printer) -> str:
    name = registration.name
    text = name if isinstance(name, str) else printer.names.constant(name)
    emission = f" {registration.emission.value}" if registration.emission is not None else ""
    return f"REGISTER{emission} QUERY {text} AS"


def format_window(bodies: Iterable[WindowBody]) -> str:
    """The brackets of a window.

    >>> format_window((Range(10_000_000, step=5_000_000),))
    '[RANGE 10s STEP 5s]'
    """
    return " OF ".join(f"[{_body(body)}]" for body in bodies)


def _body(body: WindowBody) -> str:
    match body:
        case Range(size, step, unit, start):
            text = f"RANGE {_size(size, unit)}"
            if step is not None:
                text += " TUMBLING" if step == size else f" STEP {_size(step, unit)}"
            return text if start is None else f"{text} STARTING AT {format_moment(start)}"
        case Landmark(start):
            return f"LND {format_moment(start)}"
        case Interval(first, last):
            return f"FROM {format_moment(first)} TO {format_moment(last)}"
        case Everything():
            return ""
        case _:
            assert_never(body)


def _size(size: int, unit: Unit) -> str:
    return format_length(size) if unit is Unit.TIME else f"{size} {unit.value.upper()}"


def _reported(policy: ReportPolicy) -> str:
    text = f"REPORT ON {policy.trigger.value}"
    if policy.every is not None:
        text = f"REPORT EVERY {format_length(policy.every)}"
        text += "" if policy.start is None else f" STARTING AT {format_moment(policy.start)}"
    return f"{text} AND NON-EMPTY CONTENT" if policy.non_empty else text
