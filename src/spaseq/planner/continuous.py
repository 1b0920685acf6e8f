"""What hosts must know of a continuous query: what it asks of single events, and how it is distributed."""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.event_patterns import declared_events
from spaseq.algebra.events import ConstructForm, SelectForm
from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.format import format_pattern
from spaseq.algebra.operator_query import OperatorQuery, StreamPattern
from spaseq.algebra.patterns import Graph
from spaseq.algebra.scope import lowered, visible
from spaseq.algebra.visibility import every_pattern
from spaseq.algebra.windows import Range, Unit, WindowQuery
from spaseq.model.forms import ResultForm
from spaseq.planner.window_distribution import window_distribution
from spaseq.windowed.inputs import EventInput, Input, counted_inputs, matches, window_inputs


def continuous_query(query: WindowQuery) -> OperatorQuery:
    """A query over windows as one that an operator answers."""
    spread = window_distribution(query)
    query = replace(query, key=spread.key)
    aliases = {stream.iri: stream.alias for stream in query.streams}
    counted = counted_inputs(query)
    return OperatorQuery(
        operator="windows",
        form=_form(query),
        streams=query.streams,
        patterns=tuple(
            StreamPattern(_name(each, aliases), each.stream, each.pattern, only_counted=each in counted)
            for each in window_inputs(query)
        ),
        details=query,
        key=() if spread.key is None else (spread.key,),
        stretches=spread.stretches,
        reason=spread.reason,
        cure=spread.cure,
        hears_instants=True,
        instants_everywhere=True,
        counts_events=any(
            isinstance(body, Range) and body.unit is not Unit.TIME
            for window in query.windows
            for body in window.bodies
        ),
        reads_background=graphs_of(query) != ((), False),
        template=query.form.template if isinstance(query.form, ConstructForm) else (),
    )


def _name(each: Input | EventInput, aliases: dict[str, str]) -> str:
    """What summaries call an input."""
    if isinstance(each, EventInput):
        return f"EVENT {{ {format_pattern(each.pattern)} }} of {aliases[each.stream]}"
    what = "events" if each.triple is None else format_pattern(each.pattern).removesuffix(" .")
    return f"{what} of {aliases[each.stream]}"


def _form(query: WindowQuery) -> ResultForm:
    match query.form:
        case SelectForm():
            return ResultForm("select", query.form.variables, continuous=True)
        case ConstructForm():
            names = tuple(variable.name for variable in visible(query.pattern))
            return ResultForm("construct", names, continuous=True)
        case _:
            return ResultForm("ask", continuous=True)


def graphs_of(query: WindowQuery) -> tuple[tuple[str, ...], bool]:
    """The background graphs that a query names, and whether it reads all of them."""
    windows = {window.name for window in query.windows}
    events = (event for match in matches(query) for event in declared_events(match.events))
    patterns = (query.pattern, *(lowered(event.pattern) for event in events))
    graphs = [part.name for each in patterns for part in every_pattern(each) if isinstance(part, Graph)]
    named = [name.term.value for name in graphs if isinstance(name, Constant)]
    every = any(isinstance(name, Var) for name in graphs)
    found = (*query.default_graphs, *(query.named_graphs or ()), *(n for n in named if n not in windows))
    return tuple(dict.fromkeys(found)), every and query.named_graphs is None
