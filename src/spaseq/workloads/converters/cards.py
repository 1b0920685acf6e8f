"""`berka`, `sparkov`, `card_sample`: payments of accounts and cards in one vocabulary (use case 3).

Berka is real and has days only, so that payments of one day are simultaneous. Withdrawals by the holder go to the
stream of cards; what the bank books itself (credits, transfers, fees, standing orders) has a stream of its own, so that
a query over withdrawals need not see it. Sparkov is SIMULATED and says which
payments are fraud. The sample of the original SPAseq engine has no times: its order is played at one payment a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spaseq.workloads.converters.source_tables import rows, source, utc_ms
from spaseq.workloads.production import BackgroundGraph, ProducedStream, Production
from spaseq.workloads.selection import Selection
from spaseq.workloads.terms import (
    AMOUNT,
    INSTRUMENT,
    LATITUDE,
    LONGITUDE,
    RECIPIENT,
    TRANSFER,
    A,
    boolean,
    date,
    decimal,
    integer,
    iri,
    name,
    own,
    string,
)
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text, instant_ms
from spaseq.workloads.turtle import Subject

BERKA, ACCOUNTS = "bank_berka_transactions_1993_1994.csv.gz", "bank_berka_accounts_kb.csv"
SPARKOV, HOLDERS = "card_sparkov_SIMULATED.csv.gz", "card_sparkov_SIMULATED_holders_kb.csv"
SAMPLE: Final = "card_spaseq_sample.csv.gz"
STREAM: Final = ProducedStream("cards", "http://example.org/streams/cards", "payments, one event each")
BANK: Final = ProducedStream(
    "bank", "http://example.org/streams/bank", "credits, transfers, fees and standing orders"
)
KNOWLEDGE: Final = "http://example.org/cards/holders"
SAMPLE_BEGINS: Final = instant_ms("2024-01-01T00:00:00Z")
"""Where the sample's order is put on the time axis; its source has no times."""

ABOUT: Final = {
    "berka": "transactions of a Czech bank 1993-01..1994-03 (PKDD'99), by day",
    "sparkov": "SIMULATED card payments 2019-01-01..04 with fraud labels (Sparkov)",
    "card_sample": "card payments of the original SPAseq engine; the source has no times, played at one a second",
}
SOURCES: Final = {
    "berka": source("BK", BERKA, ACCOUNTS),
    "sparkov": source("SP", SPARKOV, HOLDERS),
    "card_sample": source("SQ", SAMPLE),
}

DIRECTIONS: Final = {"PRIJEM": "credit", "VYDAJ": "debit", "VYBER": "debit"}
OPERATIONS: Final = {
    "VYBER": "cash withdrawal", "VYBER KARTOU": "card withdrawal", "VKLAD": "cash deposit",
    "PREVOD NA UCET": "transfer to another bank", "PREVOD Z UCTU": "transfer from another bank",
}  # fmt: skip
PURPOSES: Final = {
    "UROK": "interest", "SLUZBY": "statement fee", "SIPO": "household", "DUCHOD": "pension",
    "POJISTNE": "insurance", "UVER": "loan", "SANKC. UROK": "penalty interest",
}  # fmt: skip
"""The bank's Czech codes in words, after the PKDD'99 description."""


def produce(dataset: str, data: Path, selection: Selection) -> Production:
    """The stream of payments and what is known of accounts or holders."""
    match dataset:
        case "berka":
            events, known = _berka(data, selection), _accounts(data, selection)
        case "sparkov":
            events, known = _sparkov(data, selection), _holders(data, selection)
        case _:
            events, known = _sample(data, selection), iter(())
    background = BackgroundGraph("holders", KNOWLEDGE, "accounts and card holders", known)
    return Production(
        name=dataset,
        about=ABOUT[dataset],
        streams=(STREAM, BANK) if dataset == "berka" else (STREAM,),
        events=events,
        background=() if dataset == "card_sample" else (background,),
        sources=SOURCES[dataset],
        settings=selection.settings(),
    )


def _card(number: str) -> str:
    return f"<http://example.org/card/{number}>"


def _payment(number: str, stamp: str, card: str, amount: str, more: list[tuple[str, str]]) -> StreamEvent:
    said = [(A, TRANSFER), (INSTRUMENT, _card(card)), (AMOUNT, decimal(amount)), *more]
    return StreamEvent("cards", event_text(f"<http://example.org/payment/{number}>", stamp, said))


def _berka(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock = Clock()
    for row in rows(data, BERKA):
        instant, account = utc_ms(row["date"]), row["account_id"]
        if selection.takes(instant, account):
            more = [
                (own("direction"), string(DIRECTIONS[row["type"]])),
                (own("balance"), decimal(row["balance"])),
            ]
            if row["operation"]:
                more.append((own("operation"), string(OPERATIONS[row["operation"]])))
            purpose = row["k_symbol"].strip()
            if purpose:
                more.append((own("purpose"), string(PURPOSES[purpose])))
            withdrawn = row["operation"] in ("VYBER", "VYBER KARTOU") and not purpose
            payment = _payment(row["trans_id"], clock.stamp(instant), account, row["amount"], more)
            yield payment if withdrawn else StreamEvent("bank", payment.text)


def _accounts(data: Path, selection: Selection) -> Iterator[Subject]:
    for row in rows(data, ACCOUNTS):
        if selection.names(row["account_id"]):
            said = [
                (A, name("schema:BankAccount")),
                (own("district"), string(row["district_name"])),
                (own("region"), string(row["region"])),
                (own("opened"), date(row["opened"])),
            ]
            if row["card_type"]:
                said.append((own("cardType"), string(row["card_type"])))
            yield _card(row["account_id"]), said


def _sparkov(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock = Clock()
    for row in rows(data, SPARKOV):
        instant, card = utc_ms(row["trans_date_trans_time"]), row["cc_num"]
        if selection.takes(instant, card):
            more = [
                (own("direction"), string("debit")),
                (RECIPIENT, iri(f"http://example.org/merchant/{row['merchant']}")),
                (own("category"), string(row["category"])),
                (LATITUDE, decimal(row["merch_lat"])),
                (LONGITUDE, decimal(row["merch_long"])),
                (own("isFraud"), boolean(row["is_fraud"] == "1")),
            ]
            yield _payment(row["trans_num"], clock.stamp(instant), card, row["amt"], more)


def _holders(data: Path, selection: Selection) -> Iterator[Subject]:
    for row in rows(data, HOLDERS):
        if selection.names(row["cc_num"]):
            yield (
                _card(row["cc_num"]),
                [
                    (A, name("schema:PaymentCard")),
                    (own("holderCity"), string(row["city"])),
                    (own("holderState"), string(row["state"])),
                    (own("cityPopulation"), integer(row["city_pop"])),
                    (own("holderJob"), string(row["job"])),
                ],
            )


def _sample(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock = Clock()
    for row in rows(data, SAMPLE):
        instant = SAMPLE_BEGINS + 1000 * int(row["seq"])
        if selection.takes(instant, row["card_id"]):
            more = [(own("direction"), string("debit"))]
            yield _payment(row["seq"], clock.stamp(instant), row["card_id"], row["amount"], more)
