"""What files in stores are called."""

from __future__ import annotations

import pytest

from spaseq.stores import for_spark, place_of


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("s3://bucket/x/y.nq", "s3a://bucket/x/y.nq"),
        ("s3a://bucket/x", "s3a://bucket/x"),
        ("hdfs://host:9000/x", "hdfs://host:9000/x"),
        ("gs://bucket/x", "gs://bucket/x"),
        (
            "abfss://container@account.dfs.core.windows.net/x",
            "abfss://container@account.dfs.core.windows.net/x",
        ),
        ("/x/s3", "/x/s3"),
    ],
)
def test_spark_knows_a_place_by_the_scheme_of_its_own_client(given: str, name: str) -> None:
    """Only that of S3 has another name there."""
    assert for_spark(place_of(given)) == name
