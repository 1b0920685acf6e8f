"""`ticks`, `ticks_week`, `bars`: real trades and minute bars in one vocabulary (use case 4).

Times are New York's in the source and UTC here. Many trades of a symbol share a millisecond; the source's order is
kept by adding a microsecond for each trade of that symbol that came before in the same millisecond.
A bar's price is its close, so that queries over trades run over bars as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spaseq.workloads.converters.source_tables import new_york_offset, rows, source, utc_ms
from spaseq.workloads.production import BackgroundGraph, ProducedStream, Production
from spaseq.workloads.selection import Selection
from spaseq.workloads.terms import NAME, OBJECT, PRICE, TRADE, A, decimal, integer, name, own, string
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

FILES: Final = {
    "ticks": "stock_ticks_20131007.csv.gz",
    "ticks_week": "stock_ticks_week_3sym.csv.gz",
    "bars": "stock_minute_bars_lean.csv.gz",
}
ABOUT: Final = {
    "ticks": "trades of AIG, BAC, IBM and SPY on 2013-10-07, pre and post market included",
    "ticks_week": "trades of AIG, BAC and IBM 2013-10-07..11, 09:30 to 16:00 New York",
    "bars": "minute bars of ten symbols, each on some days of 2008 to 2023",
}
STREAM: Final = ProducedStream(
    "stocks", "http://example.org/streams/stocks", "trades or minute bars, one event each"
)
KNOWLEDGE: Final = "http://example.org/stocks/companies"
COMPANIES: Final = {
    "AAPL": "Apple", "AIG": "American International Group", "BAC": "Bank of America", "FOXA": "21st Century Fox",
    "GOOG": "Alphabet", "IBM": "IBM", "NWSA": "News Corp", "SHY": "iShares 1-3 Year Treasury Bond ETF",
    "SPY": "SPDR S&P 500 ETF", "TWX": "Time Warner",
}  # fmt: skip


def produce(dataset: str, data: Path, selection: Selection) -> Production:
    """The stream of trades or bars and the names behind the symbols."""
    return Production(
        name=dataset,
        about=ABOUT[dataset],
        streams=(STREAM,),
        events=_bars(data, selection) if dataset == "bars" else _ticks(dataset, data, selection),
        background=(
            BackgroundGraph("companies", KNOWLEDGE, "the names behind the symbols", _companies(selection)),
        ),
        sources=source("QL", FILES[dataset]),
        settings=selection.settings(),
    )


def _company(symbol: str) -> str:
    return f"<http://example.org/company/{symbol}>"


def _ticks(dataset: str, data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock, utc = Clock(), _Utc()
    latest: dict[str, tuple[int, int]] = {}
    exchange, condition, volume = own("exchange"), own("saleCondition"), own("volume")
    for number, row in enumerate(rows(data, FILES[dataset]), 1):
        symbol, instant = row["symbol"], utc.instant(row["timestamp"])
        before, came = latest.get(symbol, (-1, 0))
        came = came + 1 if instant == before else 0
        latest[symbol] = (instant, came)
        if not selection.takes(instant, symbol):
            continue
        said = [
            (A, TRADE),
            (OBJECT, _company(symbol)),
            (PRICE, decimal(row["price"])),
            (volume, integer(row["volume"])),
        ]
        if dataset == "ticks":
            said += [(exchange, string(row["exchange"])), (condition, string(row["sale_condition"]))]
        stamp = clock.stamp(instant)
        if came:
            stamp = f"{stamp[:19]}.{instant % 1000:03d}{came:03d}Z"
        yield StreamEvent("stocks", event_text(f"<http://example.org/trade/{number}>", stamp, said))


def _bars(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock, utc = Clock(), _Utc()
    columns = [(column, own(column)) for column in ("open", "high", "low")]
    for number, row in enumerate(rows(data, FILES["bars"]), 1):
        instant = utc.instant(row["timestamp"])
        if selection.takes(instant, row["symbol"]):
            said = [
                (A, own("MinuteBar")),
                (OBJECT, _company(row["symbol"])),
                (PRICE, decimal(row["close"])),
                (own("volume"), integer(row["volume"])),
                *((term, decimal(row[column])) for column, term in columns),
            ]
            text = event_text(f"<http://example.org/bar/{number}>", clock.stamp(instant), said)
            yield StreamEvent("stocks", text)


class _Utc:
    """Turns New York times into UTC, asking for the offset once a day."""

    def __init__(self) -> None:
        self._day = ""
        self._offset = 0

    def instant(self, text: str) -> int:
        if text[:10] != self._day:
            self._day, self._offset = text[:10], new_york_offset(text)
        return utc_ms(text) + self._offset


def _companies(selection: Selection) -> Iterator[Subject]:
    for symbol, company in COMPANIES.items():
        if selection.names(symbol):
            said = [(A, name("schema:Corporation")), (NAME, string(company)), (own("symbol"), string(symbol))]
            yield _company(symbol), said
