"""The explanation of a query that names an operator of its own: what it reads, what runs it, and how it is distributed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spaseq.algebra.format import format_pattern
from spaseq.algebra.intervals import IntervalQuery
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.windows import Emission, Everything, WindowQuery
from spaseq.errors import InvalidArgument
from spaseq.languages.rsepql.lengths import format_length, format_moment
from spaseq.languages.rsepql.printer import format_window
from spaseq.planner.explain.written import as_written
from spaseq.settings import settings

if TYPE_CHECKING:
    from spaseq.planner.compiled import CompiledQuery
    from spaseq.planner.distribution import Distribution


def _window_facts(query: WindowQuery, *, incremental: bool) -> Iterator[tuple[str, list[str]]]:
    """What is particular to a continuous query: its windows, when it is evaluated, what is reported, what is evaluated anew."""
    yield (
        "window",
        [
            f"{'default graph' if each.name in query.default_windows else f'<{each.name}>'} over <{each.stream}> "
            f"{'so far' if each.bodies == (Everything(),) else format_window(each.bodies)}"
            for each in query.windows
        ],
    )
    report = query.report
    every = "" if report.every is None else f" {format_length(report.every)}"
    every += "" if report.start is None else f" STARTING AT {format_moment(report.start)}"
    content = " where some window has content" if report.non_empty else ""
    reported = {
        Emission.RSTREAM: "all solutions",
        Emission.ISTREAM: "what is new since the evaluation before",
        Emission.DSTREAM: "what is gone since the evaluation before",
    }
    yield "evaluated", [f"{report.trigger.value}{every}{content}"]
    yield "reported", [f"{query.emission.value}: {reported[query.emission]}"]
    from spaseq.windowed.build import parts_anew  # loads columns
    from spaseq.windowed.event_plan import match_facts

    if followed := list(match_facts(query)):
        yield "match", followed

    anew = parts_anew(query, incremental=incremental)
    found = [
        f"{each.part if isinstance(each.part, str) else as_written(each.part)}: {each.reason}"
        for each in anew
    ]
    yield "anew", found or ["nothing: every part is followed incrementally"]


def _unit(distribution: Distribution) -> str:
    """By what the work goes apart, in words."""
    key = " ".join(f"?{name}" for name in distribution.variables)
    if distribution.stretches is None:
        return key or "one worker"
    apart = "slice of time" if distribution.stretches.reach else "window"
    if not key:
        return f"{apart}, where the input is finite"
    return f"{key}; {apart} instead, where a finite input goes to more than {settings().tick_groups} workers"


def explain_operator(query: CompiledQuery, format: str) -> str:  # noqa: A002 - the public name
    """The plan as text or JSON; the other formats draw an automaton."""
    assert isinstance(query.source, OperatorQuery)
    results = [f"?{name}" for name in query.form.variables]
    streams = [f"{stream.alias} <{stream.iri}>" for stream in query.streams]
    patterns = [f"{each.name} on <{each.stream}>: {format_pattern(each.pattern)}" for each in query.patterns]
    details = query.source.details
    windows: dict[str, list[str]] = {}
    if isinstance(details, WindowQuery):
        windows = dict(_window_facts(details, incremental=query.optimisations.incremental))
    unit, keys = _unit(query.distribution), [f"?{name}" for name in query.distribution.variables]
    if isinstance(details, IntervalQuery):
        from spaseq.planner.explain.interval_plan import interval_facts  # loads columns
        from spaseq.planner.over_intervals import CommonKey, common_key

        windows = dict(interval_facts(details))
        if keys and isinstance(found := common_key(details), CommonKey):
            unit, keys = f"?{found.name}", [f"?{found.name}"]
    if windows:
        patterns = [each.name for each in query.patterns]
    warnings = [warning.message for warning in query.warnings]
    if format == "json":
        facts = {
            "language": query.language,
            "form": query.form.kind,
            "results": results,
            "streams": streams,
            "patterns": patterns,
            "operator": query.source.operator,
            **windows,
            "distribution": {
                "unit": query.distribution.unit.value,
                "by": keys,
                "reason": query.distribution.reason,
            },
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
        *(f"{name:<9} {line}" for name, lines in windows.items() for line in lines),
        f"by        {unit}: {query.distribution.reason}",
        *(f"warning   {warning}" for warning in warnings),
    ]
    return "\n".join(lines) + "\n"
