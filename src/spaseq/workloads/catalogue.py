"""The workloads that can be generated and the data sets that can be converted, by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from spaseq.errors import InvalidArgument, did_you_mean, listed
from spaseq.workloads.generation_plan import Plan

if TYPE_CHECKING:
    from spaseq.workloads.production import Production
    from spaseq.workloads.selection import Selection

WORKLOADS: Final = {
    "smartgrid": "power, weather and storage of houses, with a background graph",
    "stocks": "trades of companies whose prices walk at random",
    "cards": "payments by card, some of which rise and then drop",
    "traffic": "readings of road segments; congestion spreads upstream",
    "vessels": "positions of vessels that berth, cross and berth again",
    "warehouse": "orders that pass six stations, and goods picked in any order",
    "lubm": "the Lehigh University Benchmark, one entity per event",
}
"""What `spaseq generate` can make."""

DATASETS: Final = {
    "smart_home": "power, weather and storage of a house (UMass Smart* Home C)",
    "vessels": "AIS positions of US waters and the vessels' register",
    "berka": "transactions of a Czech bank (PKDD'99), with accounts",
    "sparkov": "SIMULATED card payments with fraud labels, with holders",
    "card_sample": "the card payments of the original SPAseq engine, without times",
    "ticks": "trades of one day, four symbols",
    "ticks_week": "trades of a week, three symbols",
    "bars": "minute bars, ten symbols",
    "traffic": "a week of Aarhus road traffic, with the segments' graph",
    "citybench": "streams of CityBench over Aarhus, in its own vocabulary",
}
"""What `spaseq convert` can read."""

START: Final = "2024-01-01T00:00:00Z"
"""When generated streams begin by default."""


class Generator(Protocol):
    """What a module in `spaseq.workloads.generators` offers."""

    KEYS_ARE: str
    KEYS: int
    INTERVAL: int

    def produce(self, plan: Plan) -> Production: ...


class Converter(Protocol):
    """What a module in `spaseq.workloads.converters` offers."""

    def produce(self, dataset: str, data: Path, selection: Selection) -> Production: ...


CONVERTERS: Final = {
    "berka": "cards", "sparkov": "cards", "card_sample": "cards",
    "ticks": "stocks", "ticks_week": "stocks", "bars": "stocks",
}  # fmt: skip
"""The module of a data set where it has another name."""


def generate(
    workload: str,
    *,
    events: int,
    seed: int,
    start: int,
    keys: int | None = None,
    interval: int | None = None,
    background_triples: int = 0,
    jitter: int = 0,
) -> Production:
    """A synthetic workload; what is not given is the workload's own choice."""
    module = cast("Generator", _module("generators", workload, workload, list(WORKLOADS), "workload"))
    plan = Plan(
        events,
        seed,
        module.KEYS if keys is None else keys,
        start,
        module.INTERVAL if interval is None else interval,
        background_triples,
        jitter,
    )
    return module.produce(plan)


def convert(dataset: str, data: Path, selection: Selection) -> Production:
    """A real data set as streams and background graphs; ``data`` is the folder with its files."""
    where = CONVERTERS.get(dataset, dataset)
    module = cast("Converter", _module("converters", dataset, where, list(DATASETS), "data set"))
    return module.produce(dataset, data, selection)


def _module(package: str, asked: str, module: str, known: list[str], what: str) -> object:
    if asked not in known:
        raise InvalidArgument(
            f"there is no {what} `{asked}`, only {listed(known)}{did_you_mean(asked, known)}"
        )
    return import_module(f"spaseq.workloads.{package}.{module}")
