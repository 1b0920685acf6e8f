"""Use case 4: V shapes and head and shoulders on real bars and trades, against a plain check on the rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

Quote = tuple[datetime, Decimal]
RARE = ("20100200", "20100000", "4800")
QUARTER, MINUTE, HOURS = timedelta(minutes=15), timedelta(minutes=1), timedelta(hours=3)


def quotes(rows: list[dict[str, str]], column: str) -> dict[str, list[Quote]]:
    """Prices of each symbol in order, at New York time."""
    found: dict[str, list[Quote]] = {}
    for row in rows:
        found.setdefault(row["symbol"], []).append(
            (datetime.fromisoformat(row["timestamp"]), Decimal(row[column]))
        )
    return found


def utc(time: datetime) -> datetime:
    """New York time as UTC, by the offset that held on the days of the tables."""
    summer = (time.month, time.day) < (11, 1) and (time.month, time.day) > (3, 14)
    return (time + timedelta(hours=4 if summer else 5)).replace(tzinfo=UTC)


def v_shapes(series: list[Quote]) -> list[tuple[datetime, datetime]]:
    """Nine closes: four steps down, at least a thousandth in all, then four steps up."""
    found = []
    for at in range(len(series) - 8):
        nine = series[at : at + 9]
        prices = [price for _, price in nine]
        falls = all(b < a for a, b in pairwise(prices[:5]))
        rises = all(b > a for a, b in pairwise(prices[4:]))
        if (
            falls
            and rises
            and (prices[0] - prices[4]) * 1000 >= prices[0]
            and nine[8][0] - nine[0][0] <= QUARTER
        ):
            found.append((utc(nine[0][0]), utc(nine[8][0])))
    return found


def heads(series: list[Quote], every: int = 1) -> set[tuple[datetime, tuple[Decimal, ...]]]:
    """The instant and the six later prices of each formation, by taking the first swing that is far enough.

    With ``every`` only some beginnings are tried.
    """
    rules: list[Callable[[list[Decimal], Decimal], bool]] = [
        lambda p, x: x > p[0] * Decimal("1.003"),
        lambda p, x: p[0] < x < p[1] * Decimal("0.9985"),
        lambda p, x: x > p[1] * Decimal("1.0015"),
        lambda p, x: p[2] < x < p[3] * Decimal("0.997"),
        lambda p, x: p[4] * Decimal("1.0015") < x < p[3],
        lambda p, x: x < p[4],
    ]
    found = set()
    for at in range(0, len(series), every):
        begin, low = series[at]
        prices = [low]
        for time, price in series[at + 1 :]:
            if time - begin > HOURS:
                break
            if rules[len(prices) - 1](prices, price):
                prices.append(price)
                if len(prices) == 7:
                    found.add((utc(time), tuple(prices[1:])))
                    break
    return found


def symbol(match) -> str:  # type: ignore[no-untyped-def]
    """The symbol a match speaks of."""
    return match.bindings["company"].value.rpartition("/")[2]


def test_the_extract_has_two_v_shapes(found: Callable) -> None:
    """SPY and AIG on 8 October 2013."""
    matches = found("stocks/v-shape.spaseq", "stocks/bars")
    assert [symbol(match) for match in matches] == ["SPY", "AIG"]


def test_the_extract_has_three_heads_with_shoulders(found: Callable) -> None:
    """IBM, seen with two left shoulders, and AIG on 7 October 2013."""
    matches = found("stocks/head-and-shoulders.spaseq", "stocks/bars")
    assert sorted(symbol(match) for match in matches) == ["AIG", "IBM", "IBM"]


def test_the_extract_has_trades_that_were_reported_from_elsewhere(found: Callable) -> None:
    """Two sharp Vs of SPY, both from exchange D, the off-exchange reports."""
    matches = found("stocks/v-shape-trades.spaseq", "stocks/trades")
    assert [(symbol(match), match.bindings["exchange"].value) for match in matches] == [("SPY", "D")] * 2


@pytest.mark.slow
def test_all_bars_agree_with_a_plain_check(found: Callable, converted: Callable, table: Callable) -> None:
    """14 V shapes and 34 heads with shoulders of ten symbols."""
    folder, _ = converted("bars")
    series = quotes(table("stock_minute_bars_lean.csv.gz"), "close")
    vs = found("stocks/v-shape.spaseq", folder)
    expected = [(name, *v) for name, closes in series.items() for v in v_shapes(closes)]
    assert sorted((symbol(match), match.start, match.time) for match in vs) == sorted(expected)
    assert len(vs) == 14
    seen = {
        (
            symbol(m),
            m.time,
            tuple(Decimal(term.value) for name, term in m.bindings.items() if name != "company"),
        )
        for m in found("stocks/head-and-shoulders.spaseq", folder)
    }
    assert seen == {(name, *head) for name, closes in series.items() for head in heads(closes)}
    assert len(seen) == 34


@pytest.mark.slow
def test_all_trades_of_a_day_agree_with_a_plain_check(
    found: Callable, converted: Callable, table: Callable
) -> None:
    """16 sharp Vs among 388,417 trades, 14 of them off-exchange reports, which are a quarter of all trades."""
    folder, _ = converted("ticks")
    rows = table("stock_ticks_20131007.csv.gz")
    by_symbol: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_symbol.setdefault(row["symbol"], []).append(row)
    expected = []
    for name, trades in by_symbol.items():
        for a, b, c in zip(trades, trades[1:], trades[2:], strict=False):
            p1, p2, p3 = (Decimal(row["price"]) for row in (a, b, c))
            short = datetime.fromisoformat(c["timestamp"]) - datetime.fromisoformat(a["timestamp"]) <= MINUTE
            if short and p2 <= p1 * Decimal("0.999") and p3 >= p2 * Decimal("1.001"):
                expected.append((name, p1, p2, p3, b["exchange"], b["sale_condition"]))
    seen = [
        (symbol(m), *(Decimal(m.bindings[p].value) for p in ("p1", "p2", "p3")),
         m.bindings["exchange"].value, m.bindings["condition"].value)
        for m in found("stocks/v-shape-trades.spaseq", folder)
    ]  # fmt: skip
    assert sorted(seen) == sorted(expected)
    assert len(seen) == 16
    assert sum(row[4] == "D" for row in seen) == 14
    assert sum(row[5] in RARE for row in seen) == 11
    assert sum(row["sale_condition"] in RARE for row in rows) == 471
    assert 0.2 < sum(row["exchange"] == "D" for row in rows) / len(rows) < 0.25


@pytest.mark.slow
def test_heads_in_the_trades_of_ibm_agree_with_a_plain_check(
    found: Callable, converted: Callable, table: Callable
) -> None:
    """35 formations among 24,293 trades; those that a fiftieth of all beginnings leads to are looked up."""
    folder, _ = converted("ticks", "IBM")
    matches = found("stocks/head-and-shoulders.spaseq", folder)
    seen = {
        (
            # The converter adds microseconds to trades that share a millisecond.
            match.time.replace(microsecond=match.time.microsecond // 1000 * 1000),
            tuple(Decimal(term.value) for name, term in match.bindings.items() if name != "company"),
        )
        for match in matches
    }
    trades = quotes(table("stock_ticks_20131007.csv.gz"), "price")["IBM"]
    expected = heads(trades, every=50)
    assert len(matches) == 35
    assert expected
    assert expected <= seen
