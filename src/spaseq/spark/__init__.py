"""The Spark host: DataFrames of events in, DataFrames of answers out (CONTRACT section 5)."""

from spaseq.spark.files import read_events
from spaseq.spark.match import match, match_all
from spaseq.spark.source import register

__all__ = ["match", "match_all", "read_events", "register"]
