"""The explanation of a query that names an operator of its own: what it reads, what runs it, and how it is distributed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spaseq.algebra.format import format_pattern
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.errors import InvalidArgument

if TYPE_CHECKING:
    from spaseq.planner.compiled import CompiledQuery


def explain_operator(query: CompiledQuery, format: str) -> str:  # noqa: A002 - the public name
    """The plan as text or JSON; the other formats draw an automaton."""
    assert isinstance(query.source, OperatorQuery)
    results = [f"?{name}" for name in query.form.variables]
    streams = [f"{stream.alias} <{stream.iri}>" for stream in query.streams]
    patterns = [f"{each.name} on <{each.stream}>: {format_pattern(each.pattern)}" for each in query.patterns]
    keys = [f"?{name}" for name in query.distribution.variables]
    warnings = [warning.message for warning in query.warnings]
    if format == "json":
        facts = {
            "language": query.language,
            "form": query.form.kind,
            "results": results,
            "streams": streams,
            "patterns": patterns,
            "operator": query.source.operator,
            "distribution": {"by": keys, "reason": query.distribution.reason},
            "warnings": warnings,
        }
        return json.dumps(facts, indent=2, ensure_ascii=False)
    if format != "text":
        raise InvalidArgument(
            f"the format {format} draws an automaton, and a query of {query.language} has none; use text or json"
        )
    lines = [
        " ".join([query.form.kind.upper(), *results]),
        *(f"stream    {stream}" for stream in streams),
        *(f"pattern   {pattern}" for pattern in patterns),
        f"operator  {query.source.operator}",
        f"by        {' '.join(keys) or 'one worker'}: {query.distribution.reason}",
        *(f"warning   {warning}" for warning in warnings),
    ]
    return "\n".join(lines) + "\n"
