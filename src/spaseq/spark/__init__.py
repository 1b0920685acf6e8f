"""The Spark host: DataFrames of events in, DataFrames of answers out (docs/how-to/use-spark.md).

What is heavy is loaded when it is first used: Spark starts processes that only ask a data source or an operator what
it is, and they are waited for.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from spaseq.errors import MissingPackage

if any(find_spec(name) is None for name in ("pyspark", "pandas")):
    raise MissingPackage(
        "spaseq.spark needs pyspark and pandas: pip install 'spaseq[spark]'; spaseq.run and spaseq.Engine work without"
    )

if TYPE_CHECKING:
    from spaseq.spark.matching import match, match_all, with_promises
    from spaseq.spark.metrics import PrometheusFile, prometheus_text
    from spaseq.spark.sources.bad_events import bad_records
    from spaseq.spark.sources.data_source import register
    from spaseq.spark.sources.event_files import read_events
    from spaseq.spark.sql_function import register_function

__all__ = [
    "PrometheusFile",
    "bad_records",
    "match",
    "match_all",
    "prometheus_text",
    "read_events",
    "register",
    "register_function",
    "with_promises",
]

_LAZY = {
    "PrometheusFile": "spaseq.spark.metrics",
    "bad_records": "spaseq.spark.sources.bad_events",
    "match": "spaseq.spark.matching",
    "match_all": "spaseq.spark.matching",
    "prometheus_text": "spaseq.spark.metrics",
    "read_events": "spaseq.spark.sources.event_files",
    "register": "spaseq.spark.sources.data_source",
    "register_function": "spaseq.spark.sql_function",
    "with_promises": "spaseq.spark.matching",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module `spaseq.spark` has no attribute `{name}`")
    globals()[name] = found = getattr(import_module(_LAZY[name]), name)
    return found


def __dir__() -> list[str]:
    return list(__all__)
