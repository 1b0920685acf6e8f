"""Rows that say when answers over a stream are certain: what may be done to a DataFrame that has such (docs/how-to/use-spark.md)."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Final

from spaseq.errors import InvalidArgument
from spaseq.spark.sources.frame_columns import FrameColumns
from spaseq.spark.spark_session import plan_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GRAPHS: Final = "spaseq_graphs_"
"""How the names begin under which plans of Spark show graphs of CONSTRUCT, whatever is done with them."""

PROMISED: Final = "_promised"
"""How they end where the graphs have a column ``promise``."""

_NAMED: Final = re.compile(rf"SubqueryAlias {GRAPHS}\w+")
_PROMISED: Final = re.compile(rf"SubqueryAlias ({GRAPHS}\w+{PROMISED})")
_STREAM: Final = re.compile(r"\bStreamingRelation")
"""How Spark shows a stream."""
_FINITE: Final = re.compile(r"StreamingRelation.*\bfinite=true\b")
"""How Spark shows a stream of files that ends."""
_UNION: Final = re.compile(r"^\W*Union\b", re.MULTILINE)
_FILTER: Final = re.compile(r"^\W*Filter (?!.*\bpromise\b)", re.MULTILINE)


def check_promises(stream: DataFrame, *, named: bool) -> None:
    """Refuse or warn of rows that may have lost the promises that say when answers over them are certain.

    Where rows are ``named`` each says which stream it belongs to, and a promise is one of that.
    """
    if not stream.isStreaming:
        return
    plan, kept = done_to_graphs(plan_text(stream)), "promise" in FrameColumns(stream)
    finite = len(_FINITE.findall(plan))
    if not kept and _NAMED.search(plan):
        raise InvalidArgument(
            "the streaming DataFrame comes from graphs of CONSTRUCT, but it has lost the watermark that tells when answers over them are "
            "certain; begin with sps.with_promises(graphs) in place of the graphs, keep its column `promise`, and let rows pass in which that "
            "is true; a column `promise` that is false goes by the times of the graphs alone"
        )
    if not kept and finite:
        raise InvalidArgument(
            "the streaming DataFrame comes from read_events(finite=True), but it has lost the column `promise`, whose last row says that the "
            "stream has ended, without which the last answers do not come: keep that column"
        )
    if not named:
        _check_union(plan, len(set(_PROMISED.findall(plan))), finite)
    if (finite or _PROMISED.search(plan)) and _FILTER.search(plan):
        source = "read_events(finite=True)" if finite else "with_promises"
        warnings.warn(
            f"the rows of {source} were filtered: one in which `promise` is true has no `triples`, and without it the last answers do not come; "
            'let it pass with `.where("promise OR …")`',
            stacklevel=6,
        )


def _check_union(plan: str, graphs: int, finite: int) -> None:
    """Refuse a stream that is made of several, where a promise of one would count for all."""
    if graphs + finite > 1 and not graphs:
        raise InvalidArgument(
            "the streaming DataFrame is made of several of read_events(finite=True), and the end of one would be that of all, so that what "
            "the others still bring is late: give read_events a list of paths"
        )
    others = len(_STREAM.findall(plan)) > finite or len(set(_NAMED.findall(plan))) > graphs
    if graphs + finite > 1 or (graphs + finite and others and _UNION.search(plan)):
        raise InvalidArgument(
            "the streaming DataFrame is made of several streams, and a promise of one, that nothing before a time will come, would be that of "
            "all, so that what the slower ones still bring is late: declare a stream for each in the query, or give match one DataFrame with a "
            "column `stream` that tells them apart"
        )


def done_to_graphs(plan: str) -> str:
    """A plan without what lies below graphs of CONSTRUCT: what these are made of has promises of its own."""
    kept, above = list[str](), -1
    for line in plan.splitlines():
        depth = len(line) - len(line.lstrip(" :+-"))
        if above >= 0 and depth > above:
            continue
        above = depth if _NAMED.search(line) else -1
        kept.append(line)
    return "\n".join(kept)
