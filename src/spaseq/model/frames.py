"""Matches as a pandas DataFrame; pandas is an optional extra."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spaseq.errors import InvalidArgument, MissingPackage
from spaseq.model.matches import Match

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(matches: Iterable[Match]) -> pd.DataFrame:
    """A row per match: ``time`` and ``start`` in UTC, and a column of plain values per variable, None where unbound.

    A CONSTRUCT gives its graph in ``triples``, ASK its answer in ``boolean``; matches of several queries have their
    names in ``query``. A variable with the name of such a column keeps its question mark: ``?time``.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingPackage("to_pandas() needs pandas: pip install 'spaseq[pandas]'") from None
    if isinstance(matches, Match) or not isinstance(matches, Iterable):
        raise InvalidArgument(f"to_pandas() takes a list of matches, not {matches!r}")
    found = list(matches)
    for each in found:
        if not isinstance(each, Match):
            raise InvalidArgument(f"to_pandas() takes a list of matches; {each!r} is not a match")
    columns: dict[str, Any] = {}
    if len({match.query for match in found}) > 1:
        columns["query"] = [match.query for match in found]
    columns["time"] = pd.Series([match.time for match in found], dtype="datetime64[us, UTC]")
    columns["start"] = pd.Series([match.start for match in found], dtype="datetime64[us, UTC]")
    for name in ("triples", "boolean"):
        if any(getattr(match, name) is not None for match in found):
            columns[name] = [getattr(match, name) for match in found]
    values = [match.values for match in found]
    for name in dict.fromkeys(name for row in values for name in row):
        cells = [row.get(name) for row in values]
        # With a missing value pandas would turn integers into floats.
        kind = object if None in cells else None
        columns[f"?{name}" if name in columns else name] = pd.Series(cells, dtype=kind)
    return pd.DataFrame(columns)
