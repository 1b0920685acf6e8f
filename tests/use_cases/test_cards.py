"""Use case 3: amounts that rise step by step and then drop, against a plain check on the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import groupby

import pytest

Payment = tuple[str, datetime, Decimal]
Row = tuple[str, datetime, datetime, int, Decimal, Decimal, Decimal]
SAMPLE_BEGINS = datetime(2024, 1, 1, tzinfo=UTC)


def plain(payments: list[Payment], least: int, within: timedelta) -> list[Row]:
    """Card, start, end, steps, first, last and small amount: every rising path through a card's instants."""
    found = []

    def follow(card: str, instants: list[list[Payment]], at: int, path: list[Payment]) -> None:
        for payment in instants[at] if at < len(instants) else ():
            if payment[1] - path[0][1] > within:
                continue
            if len(path) >= least and payment[2] * 10 <= path[-1][2]:
                found.append((card, path[0][1], payment[1], len(path), path[0][2], path[-1][2], payment[2]))
            if payment[2] > path[-1][2]:
                follow(card, instants, at + 1, [*path, payment])

    for card, group in groupby(sorted(payments, key=lambda p: (p[0], p[1])), key=lambda p: p[0]):
        instants = [list(same) for _, same in groupby(group, key=lambda p: p[1])]
        for at, same in enumerate(instants):
            for payment in same:
                follow(card, instants, at + 1, [payment])
    return sorted(found)


def as_rows(matches: list, card: str) -> list[Row]:
    """Matches in the same shape."""
    return sorted(
        (
            match.bindings[card].value.rpartition("/")[2],
            match.start,
            match.time,
            int(match.bindings["steps"].value),
            *(Decimal(match.bindings[name].value) for name in ("from", "to", "small")),
        )
        for match in matches
    )


def withdrawals(rows: list[dict[str, str]]) -> Iterator[Payment]:
    """What holders of Berka accounts drew in cash or by card, without the bank's own purposes."""
    for row in rows:
        if row["operation"] in ("VYBER", "VYBER KARTOU") and not row["k_symbol"].strip():
            day = datetime.fromisoformat(row["date"]).replace(tzinfo=UTC)
            yield row["account_id"], day, Decimal(row["amount"])


def test_the_extract_has_amounts_that_rise_and_drop(found: Callable) -> None:
    """Eight of the 25 accounts; a longer rise is reported for each of its beginnings."""
    matches = found("cards/rise-then-drop.spaseq")
    assert len(matches) == 14
    assert len({match.bindings["account"].value for match in matches}) == 8


def test_all_accounts_agree_with_a_plain_check(found: Callable, converted: Callable, table: Callable) -> None:
    """All 27 matches of 14,140 withdrawals, days with several withdrawals included."""
    folder, written = converted("berka")
    rows = as_rows(found("cards/rise-then-drop.spaseq", folder), "account")
    payments = list(withdrawals(table("bank_berka_transactions_1993_1994.csv.gz")))
    assert rows == plain(payments, 4, timedelta(days=90))
    assert len(rows) == 27
    assert written["streams"][0]["events"] == len(payments) == 14_140


def test_simulated_cards_agree_with_a_plain_check(
    found: Callable, converted: Callable, table: Callable
) -> None:
    """Sparkov: 72 matches within a day."""
    folder, _ = converted("sparkov")
    rows = as_rows(found("cards/rise-then-drop-in-a-day.spaseq", folder), "card")
    payments = [
        (
            row["cc_num"],
            datetime.fromisoformat(row["trans_date_trans_time"]).replace(tzinfo=UTC),
            Decimal(row["amt"]),
        )
        for row in table("card_sparkov_SIMULATED.csv.gz")
    ]
    assert rows == plain(payments, 3, timedelta(days=1))
    assert len(rows) == 72


def test_the_sample_of_the_original_engine_agrees_with_a_plain_check(
    found: Callable, converted: Callable, table: Callable
) -> None:
    """Order alone counts there: 314 matches."""
    folder, _ = converted("card_sample")
    rows = as_rows(found("cards/rise-then-drop-in-a-day.spaseq", folder), "card")
    payments = [
        (row["card_id"], SAMPLE_BEGINS + timedelta(seconds=int(row["seq"])), Decimal(row["amount"]))
        for row in table("card_spaseq_sample.csv.gz")
    ]
    assert rows == plain(payments, 3, timedelta(days=1))
    assert len(rows) == 314


@pytest.mark.parametrize("fee", [Decimal("14.60")])
def test_the_statement_fee_is_not_among_the_withdrawals(table: Callable, fee: Decimal) -> None:
    """Taken with the fee, most drops would be the bank's own."""
    rows = table("bank_berka_transactions_1993_1994.csv.gz")
    assert fee not in {amount for _, _, amount in withdrawals(rows)}
    assert sum(Decimal(row["amount"]) == fee for row in rows) > 1000
