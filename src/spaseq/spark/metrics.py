"""What a streaming query reports of itself, and the same for Prometheus (docs/how-to/use-spark.md)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.streaming.listener import StreamingQueryListener

from spaseq.spark.state.processor import COUNTS, LATE, WATERMARK

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )

_PREFIX: Final = "spaseq"
_LATE_OF: Final = "late of "
_ENDINGS: Final = ("_late", "_state")


def observed(found: DataFrame, name: str, streams: Sequence[str]) -> DataFrame:
    """The rows of the stateful operator; under names that begin with this one Spark reports what they count."""
    told, none = F.col("told"), F.lit(0).cast("bigint")
    late = [total_of(told[LATE + number]).alias(f"{_LATE_OF}{iri}") for number, iri in enumerate(streams)]
    of_streams = F.slice(told, LATE + 1, len(streams))  # SQL counts from 1
    every = total_of(F.aggregate(of_streams, none, lambda total, more: total + more)).alias("late")
    state = [F.sum(told[number]).alias(count) for number, count in enumerate(COUNTS)]
    state.append(F.min(told[WATERMARK]).alias("watermark"))
    return found.observe(f"{name}_late", every, *late).observe(f"{name}_state", *state)


def total_of(counts: Column) -> Column:
    """The sum of some counts; of no rows, as where a micro-batch read an empty file, 0 instead of NULL."""
    return F.coalesce(F.sum(counts), F.lit(0).cast("bigint"))


def prometheus_text(progress: StreamingQueryProgress) -> str:
    """What a micro-batch reports of our queries, in the text format of Prometheus; the watermark in seconds.

    What is counted is that of the last micro-batch; ``live_runs``, ``state_bytes`` and ``watermark`` are as they stand.
    """
    return _text([json.loads(progress.json)])


def _text(reports: Iterable[Mapping[str, Any]]) -> str:
    """What micro-batches report, each metric once and each sample once: of equal names the last is told."""
    found: dict[str, dict[str, float]] = {}
    for name, metrics in (each for report in reports for each in report.get("observedMetrics", {}).items()):
        query = next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)
        for metric, labels, value in _samples(metrics):
            shown = "".join(f',{label}="{_escaped(text)}"' for label, text in labels.items())
            sample = f'{_PREFIX}_{metric}{{query="{_escaped(query)}"{shown}}}'
            found.setdefault(metric, {})[sample] = value
    return "".join(
        f"# TYPE {_PREFIX}_{metric} gauge\n"
        + "".join(f"{name} {value}\n" for name, value in found[metric].items())
        for metric in sorted(found)
    )


def _samples(metrics: dict[str, Any]) -> Iterator[tuple[str, dict[str, str], float]]:
    for name, value in metrics.items():
        if not isinstance(value, int | float):
            continue
        if name.startswith(_LATE_OF):
            yield "late_of_stream", {"stream": name.removeprefix(_LATE_OF)}, value
        elif name == "watermark":
            yield "watermark_seconds", {}, value / 1_000_000
        elif re.fullmatch(r"[a-z_]+", name):
            yield name, {}, value


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class PrometheusFile(StreamingQueryListener):
    """Writes the last reports of all streaming queries of a session to a file, for the textfile collector of node_exporter:
    ``spark.streams.addListener(PrometheusFile("spaseq.prom"))``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._reports: dict[str, Mapping[str, Any]] = {}
        """The last report of every streaming query."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Replace the file."""
        report: Mapping[str, Any] = json.loads(event.progress.json)
        self._reports.pop(report.get("id", ""), None)
        self._reports[report.get("id", "")] = report
        unfinished = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        unfinished.write_text(_text(self._reports.values()), encoding="utf-8")
        unfinished.replace(self._path)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing has changed."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """The last report stays."""
