"""The applications of the EP-SPARQL paper on the bundled extracts, against plain checks on the same values."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from itertools import takewhile
from pathlib import Path

import pytest

import spaseq

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "epsparql"
TRADES, BARS = (ROOT / "examples" / "stocks" / name / "stocks.nq.gz" for name in ("trades", "bars"))
NEWS = FOLDER / "news.trig"
Price = tuple[datetime, Decimal]
Row = tuple[datetime, datetime, dict[str, str]]


def lines(path: Path) -> Iterator[str]:
    """The lines of a compressed stream."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from file


def prices(path: Path) -> dict[str, list[Price]]:
    """The prices of each company in order, one of those that are equal and simultaneous."""
    found: dict[str, dict[Price, None]] = {}
    stamp, company = datetime(1, 1, 1, tzinfo=UTC), ""
    for line in lines(path):
        if "generatedAtTime" in line:
            stamp = datetime.fromisoformat(line.split('"')[1])
        elif "schema.org/object" in line:
            company = re.findall(r"company/(\w+)>", line)[0]
        elif "schema.org/price" in line:
            found.setdefault(company, {})[stamp, Decimal(line.split('"')[1])] = None
    return {name: list(series) for name, series in found.items()}


def found(name: str, streams: Mapping[str, Path], **options: object) -> list[Row]:
    """The answers of an example, IRIs by their last part."""
    query = spaseq.compile((FOLDER / f"{name}.epsparql").read_text(encoding="utf-8"), language="epsparql")
    return [
        (m.start, m.time, {name: str(term.value).rpartition("/")[2] for name, term in m.bindings.items()})
        for m in spaseq.run(query, dict(streams), **options)  # type: ignore[arg-type]
    ]


def soon(series: list[Price], at: int, most: timedelta) -> list[Price]:
    """The prices after one, up to a time."""
    first = series[at][0]
    return list(takewhile(lambda later: later[0] - first < most, series[at + 1 :]))


def test_query_1_finds_every_sharp_fall_that_is_made_good_within_a_tenth_of_a_second() -> None:
    """Three prices of one company: the second a thousandth below the first, the third not below it."""
    wanted = [
        (a, c, {"company": name, "price1": str(p), "price2": str(q), "price3": str(r)})
        for name, series in prices(TRADES).items()
        for at, (a, p) in enumerate(series)
        for later in [soon(series, at, timedelta(milliseconds=100))]
        for b, q in later
        if a < b and q < p * Decimal("0.999")
        for c, r in later
        if b < c and r >= p
    ]
    assert sorted(found("fall-and-rise", {"trades": TRADES}), key=str) == sorted(wanted, key=str) != []


def test_query_2_joins_a_fall_with_the_rating_before_it() -> None:
    """Under `recent`, a price and the one right before it."""
    rows = found("fall-and-rating", {"trades": TRADES, "news": NEWS}, policy="recent")
    assert [(f"{time:%H:%M:%S.%f}", row.get("ratingagency")) for _, time, row in rows] == [
        ("14:21:16.966000", None),
        ("14:24:02.296000", "Moody"),
    ]


def test_query_3_finds_no_rise_after_an_acquisition() -> None:
    """SPY acquires at 14:23, before it rises again."""
    series = prices(TRADES)["SPY"]
    rises = [
        (a, b)
        for at, (a, p) in enumerate(series)
        for b, q in soon(series, at, timedelta(milliseconds=200))
        if a < b and q > p * Decimal("1.001")
    ]
    acquired = datetime.fromisoformat("2013-10-07T14:23:00Z")
    assert any(b > acquired for _, b in rises)
    rows = found("rise-without-acquisition", {"trades": TRADES, "news": NEWS})
    assert [(start, time) for start, time, _ in rows] == [pair for pair in rises if pair[1] < acquired] != []


@pytest.fixture(scope="module")
def some_bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first bars of AIG."""
    whole: dict[str, list[str]] = {}
    for line in lines(BARS):
        if not line.startswith("#"):
            whole.setdefault(line.split(" ", 1)[0], []).append(line)
    own = [text for each in whole.values() if "company/AIG>" in (text := "".join(each))]
    path = tmp_path_factory.mktemp("bars") / "bars.nq"
    path.write_text("".join(own[:90]), encoding="utf-8")
    return path


def test_the_sliding_average_by_rules_is_the_one_by_grouping(some_bars: Path) -> None:
    """Both are the mean of the closes of less than ten minutes; the rules wait for a price before them."""
    series = prices(BARS)["AIG"][:90]
    wanted: dict[datetime, Decimal] = {}
    for at, _ in series:
        held = [price for time, price in series if timedelta() <= at - time < timedelta(minutes=10)]
        mean = sum(held, Decimal()) / len(held)
        wanted[at] = mean.quantize(Decimal("1e-18"), rounding=ROUND_DOWN).normalize()
    grouped = found("average-by-grouping", {"bars": some_bars})
    assert {time: Decimal(row["average"]).normalize() for _, time, row in grouped} == wanted
    ruled = found("average-by-rules", {"bars": some_bars})
    assert len(ruled) == len({time for _, time, _ in ruled}) > 60
    for start, time, row in ruled:
        assert Decimal(row["average"]).normalize() == wanted[time]
        assert timedelta(minutes=10) <= time - start < timedelta(minutes=20)


def test_goods_are_delivered_on_roads_that_are_not_blocked() -> None:
    """By a search over the same roads for each of the four requests."""
    roads = re.findall(
        r'segment:(\d+) ns:startNode "(\d+)" ; ns:endNode "(\d+)"', (FOLDER / "aarhus-roads.ttl").read_text()
    )
    first, second = "158324", "158386"
    asked = [
        ("anna", "4322", set[str]()),
        ("bo", "4322", {first}),
        ("anna", "4364", {first, second}),
        ("anna", "4364", {second}),
    ]
    wanted = []
    for agent, goal, blocked in asked:
        reached = ["4320"]
        for node in reached:
            reached += [b for s, a, b in roads if a == node and s not in blocked and b not in reached]
        direct = not any(s in blocked and (a, b) == ("4320", goal) for s, a, b in roads)
        if goal in reached:
            wanted.append((agent, goal, str(direct).lower()))
    knowledge = {"http://example.org/roads": FOLDER / "aarhus-roads.ttl"}
    rows = found("delivery", {"deliveries": FOLDER / "deliveries.trig"}, knowledge=knowledge)
    assert [(row["agent"], row["to"], row["direct"]) for _, _, row in rows] == wanted
    assert len(wanted) == 3


def test_a_tsunami_is_a_reading_more_than_30_mm_from_the_prediction() -> None:
    """The formula with its four coefficients, over the means of the 41 readings before."""
    weights = [
        Decimal(text)
        for text in ("1.16818457031250", "-0.28197558593750", "0.14689746093750", "-0.03310644531250")
    ]
    text = list(lines(FOLDER / "water-column.nq.gz"))
    heights = [Decimal(line.split('"')[1]) for line in text if "waterColumn" in line]
    times = [datetime.fromisoformat(line.split('"')[1]) for line in text if "generatedAtTime" in line]

    def mean(at: int) -> Decimal:
        return (sum(heights[at - 41 : at], Decimal()) / 41).quantize(Decimal("1e-18"), rounding=ROUND_DOWN)

    wanted = {}
    for at in range(3 * 240 + 41, len(heights)):
        predicted = sum((w * mean(at - 240 * hour) for hour, w in enumerate(weights)), Decimal())
        if abs(heights[at] - predicted) > Decimal("0.03"):
            wanted[times[at]] = round(predicted, 3)
    rows = found("tsunami", {"gauge": FOLDER / "water-column.nq.gz"})
    assert {time: Decimal(row["predicted"]) for _, time, row in rows} == wanted
    assert len(rows) == 83


V_SHAPE = """
PREFIX schema: <http://schema.org/>
SELECT ?company ?price1 ?price2 ?price3
WITHIN 3 SECONDS SLIDING
FROM STREAM stocks <http://example.org/streams/stocks>
WHERE {
  SEQ (A : B : C)
  DEFINE GPM A ON stocks { ?trade1 schema:object ?company ; schema:price ?price1 }
  DEFINE GPM B ON stocks { ?trade2 schema:object ?company ; schema:price ?price2 . FILTER(?price2 < ?price1 * 0.999) }
  DEFINE GPM C ON stocks { ?trade3 schema:object ?company ; schema:price ?price3 . FILTER(?price3 >= ?price1) }
}"""
QUERY_1 = """
PREFIX schema: <http://schema.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ?company ?price1 ?price2 ?price3 WHERE
  { ?trade1 schema:object ?company ; schema:price ?price1 }
  SEQ { ?trade2 schema:object ?company ; schema:price ?price2 }
  SEQ { ?trade3 schema:object ?company ; schema:price ?price3 }
FILTER ( ?price2 < ?price1 * 0.999 && ?price3 >= ?price1 && getDURATION() <= "PT3S"^^xsd:duration )"""


def test_the_v_shape_is_the_same_in_spaseq_and_in_epsparql() -> None:
    """On trades of which no two of one company are simultaneous, `:` with a sliding window and SEQ with a bound agree."""
    for series in prices(TRADES).values():
        assert len({time for time, _ in series}) == len(series)
    sought = spaseq.compile(V_SHAPE), spaseq.compile(QUERY_1, language="epsparql")
    in_spaseq, in_epsparql = (
        Counter(
            (match.start, match.time, *map(str, match.bindings.values()))
            for match in spaseq.run(query, {"stocks": TRADES}, with_events=False)
        )
        for query in sought
    )
    assert in_spaseq == in_epsparql
    assert in_spaseq.total() > 1000
