"""What streaming queries report of themselves, as Prometheus reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from spaseq.spark.metrics import PrometheusFile, prometheus_text


@dataclass(frozen=True, slots=True)
class Progress:
    """A report of Spark's, as far as it is read."""

    json: str


REPORT = Progress(
    json.dumps(
        {
            "observedMetrics": {
                "trades": {"events": 7, "bad": None},
                "trades_late": {"late": 2, "late of http://ex.org/s": 2},
                "trades_state": {"live_runs": 5, "load_ms": 0, "watermark": 1_500_000},
            }
        }
    )
)
TEXT = """# TYPE spaseq_events gauge
spaseq_events{query="trades"} 7
# TYPE spaseq_late gauge
spaseq_late{query="trades"} 2
# TYPE spaseq_late_of_stream gauge
spaseq_late_of_stream{query="trades",stream="http://ex.org/s"} 2
# TYPE spaseq_live_runs gauge
spaseq_live_runs{query="trades"} 5
# TYPE spaseq_load_ms gauge
spaseq_load_ms{query="trades"} 0
# TYPE spaseq_watermark_seconds gauge
spaseq_watermark_seconds{query="trades"} 1.5
"""


def test_a_report_is_told_in_the_text_format_of_prometheus() -> None:
    """Every metric has a stable name, and the name of the query and of the stream as labels."""
    assert prometheus_text(REPORT) == TEXT  # type: ignore[arg-type]


def test_the_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """A collector never reads half of it."""
    file = tmp_path / "spaseq.prom"
    PrometheusFile(file).onQueryProgress(SimpleNamespace(progress=REPORT))  # type: ignore[arg-type]
    assert file.read_text() == TEXT
    assert list(tmp_path.iterdir()) == [file]


def test_the_file_tells_of_all_streaming_queries(tmp_path: Path) -> None:
    """Each by its last report, each metric under one head, and no sample twice, which Prometheus refuses."""
    file = tmp_path / "spaseq.prom"
    listener = PrometheusFile(file)
    for query, name, events in (("1", "a", 1), ("2", "b", 2), ("1", "a", 3), ("3", "b", 4)):
        report = {"id": query, "observedMetrics": {name: {"events": events}}}
        listener.onQueryProgress(SimpleNamespace(progress=Progress(json.dumps(report))))  # type: ignore[arg-type]
    head, *samples = file.read_text().splitlines()
    assert head == "# TYPE spaseq_events gauge"
    assert sorted(samples) == ['spaseq_events{query="a"} 3', 'spaseq_events{query="b"} 4']
