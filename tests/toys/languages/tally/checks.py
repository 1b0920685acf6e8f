"""Static errors of a finished tree."""

from __future__ import annotations

from spaseq.languages.tally.errors import EmptyWindow
from spaseq.languages.tally.tree import TallyQuery

from spaseq.errors import QueryError
from spaseq.syntax.rules import Rules


def check(query: TallyQuery) -> list[QueryError]:
    """SPARQL's rules over the pattern, and the rule of this language."""
    rules = Rules("aggregates stand in sub-SELECTs")
    rules.group(query.pattern)
    return [*rules.errors, *([] if query.seconds else [EmptyWindow(span=query.span)])]
