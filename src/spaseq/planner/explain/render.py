"""`explain`: a compiled query in one of six formats. JSON is the fields of `Explanation`; the others are imported when asked for."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from spaseq.errors import InvalidArgument, described
from spaseq.planner.explain.facts import explanation

if TYPE_CHECKING:
    from spaseq.planner.compiled import CompiledQuery

FORMATS = ("text", "json", "mermaid", "dot", "svg", "html")


def explain(query: CompiledQuery, format: str = "text") -> str:  # noqa: A002 - the public name
    """The plan of a query: rewritten text, automaton, steps, variables, distribution and warnings."""
    asked: object = format
    if not isinstance(asked, str) or asked not in FORMATS:
        raise InvalidArgument(
            f"{described(asked)} is not a format of explain; use one of {', '.join(FORMATS)}"
        )
    if query.plan is None:
        from spaseq.planner.explain.operator_plan import explain_operator

        return explain_operator(query, format)
    facts = explanation(query)
    match format:
        case "json":
            return json.dumps(asdict(facts), ensure_ascii=False, indent=2) + "\n"
        case "mermaid":
            from spaseq.planner.explain.diagrams import to_mermaid

            return to_mermaid(facts)
        case "dot":
            from spaseq.planner.explain.diagrams import to_dot

            return to_dot(facts)
        case "svg":
            from spaseq.planner.explain.svg import to_svg

            return to_svg(facts)
        case "html":
            from spaseq.planner.explain.html import to_html

            return to_html(facts)
        case _:
            from spaseq.planner.explain.text import to_text

            return to_text(facts)
