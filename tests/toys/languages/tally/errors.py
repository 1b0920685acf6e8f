"""What can be wrong with a TALLY query that parses."""

from __future__ import annotations

from spaseq.errors import QueryError


class NothingToCountBy(QueryError):
    """The variable is not bound by every solution."""

    code = "TLY001"
    message_template = "the pattern does not always bind `?{name}`"
    label_template = "counted by this"
    cure_template = "use `?{name}` in a triple pattern outside OPTIONAL and UNION"


class EmptyWindow(QueryError):
    """A window of no length."""

    code = "TLY002"
    message_template = "a window of 0 seconds holds nothing"
    label_template = "in this query"
    cure_template = "write EVERY 1 or more"
