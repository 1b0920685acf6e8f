"""The use cases on Spark: the same matches as in this process, over the same files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spaseq
from spaseq import spark as sps
from spaseq.spark.output.answer_files import match_of
from spaseq.testing.comparison import comparable

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUERIES = [
    ("smart-grid/use-the-storage.spaseq", "smart-grid"),
    ("vessels/crossing.spaseq", "vessels"),
    ("vessels/fishing-stop.spaseq", "vessels"),
    ("cards/rise-then-drop.spaseq", "cards"),
    ("stocks/v-shape.spaseq", "stocks/bars"),
    ("stocks/head-and-shoulders.spaseq", "stocks/bars"),
    ("stocks/v-shape-trades.spaseq", "stocks/trades"),
    ("traffic/spreading-congestion.spaseq", "traffic"),
]


@pytest.mark.parametrize(("query", "folder"), QUERIES, ids=[name for name, _ in QUERIES])
def test_a_use_case_finds_the_same_on_spark(spark: SparkSession, query: str, folder: str) -> None:
    """Matches, their events and their identity; the answers are not empty."""
    place = EXAMPLES / folder
    compiled = spaseq.compile((EXAMPLES / query).read_text(encoding="utf-8"), name=query)
    files = {stream.alias: next(place.glob(f"{stream.alias}.nq*")) for stream in compiled.rewritten.streams}
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    graphs = {graph["iri"]: place / graph["file"] for graph in manifest["background"]}
    frames = {alias: sps.read_events(spark, path) for alias, path in files.items()}
    answers = sps.match_all({"query": compiled}, frames, graphs, provenance=True).toArrow()
    here = comparable(compiled, spaseq.run(compiled, files, graphs))
    assert here
    assert comparable(compiled, map(match_of, answers.to_pylist())) == here


def test_a_post_then_a_popular_follower_is_the_same_on_spark(spark: SparkSession) -> None:
    """An event pattern with mentions from a window and followers from the background."""
    place = EXAMPLES / "social"
    text = (place / "popular-follower.rsepql").read_text(encoding="utf-8")
    files = {"network": place / "network.trig"}
    frames = {"network": sps.read_events(spark, files["network"])}
    graphs = {"http://example.org/social#profiles": place / "profiles.ttl"}
    compiled = spaseq.compile(text, language="rsepql")
    answers = sps.match_all({"query": compiled}, frames, graphs, provenance=True).toArrow()
    found = Counter(json.dumps(match_of(row).to_dict()) for row in answers.to_pylist())
    here = Counter(json.dumps(match.to_dict()) for match in spaseq.run(compiled, files, graphs))
    assert here
    assert found == here
