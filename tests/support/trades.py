"""A small workload for tests of the command: trades, queries for prices that rise or fall, and processes that run them."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from pyoxigraph import Literal, NamedNode, Triple

from spaseq.model.events import GraphEvent
from support.event_files import nquads
from support.processes import SPASEQ, environment

EX: Final = "http://ex.org/"
HEAD: Final = "PREFIX : <http://ex.org/>\n"
STREAM: Final = "FROM STREAM S1 <http://ex.org/trades>"
BODY: Final = "WHERE { SEQ (A ; B) DEFINE GPM A ON S1 { ?c :price ?p } DEFINE GPM B ON S1 { ?c :price ?q FILTER (?q > ?p) } }"
RISE: Final = f"{HEAD}SELECT ?c ?p ?q WITHIN 1 MINUTE SLIDING {STREAM} {BODY}"
QUERIES: Final = {
    "rise": RISE,
    "ask": f"{HEAD}ASK WITHIN 1 MINUTE SLIDING {STREAM} {BODY}",
    "build": f"{HEAD}CONSTRUCT {{ ?c :rose ?q }} WITHIN 1 MINUTE SLIDING {STREAM} {BODY}",
    "fall": RISE.replace("?q > ?p", "?q < ?p"),
}


def trade(second: int, company: str, price: int) -> GraphEvent:
    """A trade, named by its time."""
    triple = Triple(NamedNode(EX + company), NamedNode(EX + "price"), Literal(price))
    name = NamedNode(f"{EX}t{second}{company}")
    return GraphEvent(EX + "trades", second * 1_000_000, frozenset({triple}), name)


def trades(count: int, seed: int = 1, first: int = 0) -> list[GraphEvent]:
    """Random prices of five companies, one trade per second."""
    chance = random.Random(seed)
    return [trade(at, f"c{chance.randrange(5)}", chance.randrange(100)) for at in range(first, first + count)]


def write(name: str, events: Iterable[GraphEvent]) -> None:
    """An event file in the working folder."""
    Path(name).write_text(nquads(events), encoding="utf-8")


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start `spaseq run` on the in-process engine, in a process of its own."""
    return subprocess.Popen(
        [*SPASEQ, "run", "--engine", "local", *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Look often whether something is so."""
    looks = 0
    while not condition():
        assert looks * 0.02 < seconds, "it never came to that"
        looks += 1
        time.sleep(0.02)


def lines_in(path: str) -> int:
    """How many lines a file has; none if it is not there."""
    return Path(path).read_bytes().count(b"\n") if Path(path).exists() else 0
