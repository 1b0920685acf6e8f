"""Random EP-SPARQL queries under a policy, of nested sequences, with streams of few triples, so that answers consume what others need."""

from __future__ import annotations

from random import Random

from pyoxigraph import Literal, NamedNode, Triple

from spaseq.algebra.intervals import Policy
from spaseq.model.events import GraphEvent
from support.interval_scenarios import IntervalScenario

EX = "http://ex.org/"
HEAD = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
FILTERS = (
    "?x > 1",
    "?x < 2 || ?y > 0",
    'getDURATION() < "PT6S"^^xsd:duration',
    "?x != ?y",
    "BOUND(?z)",
)


def policy_scenario(chance: Random) -> IntervalScenario:
    """A sequence of two to four parts, and up to thirty events at instants or with intervals."""
    parts = " SEQ ".join(
        _group(chance, chance.choice((0, 0, 1, 2))) for _ in range(chance.choice((2, 2, 3, 3, 4)))
    )
    outside = chance.choice(("", "", "FILTER(?x > 0)", 'FILTER(getDURATION() < "PT5S"^^xsd:duration)'))
    policy = chance.choice((Policy.CHRONOLOGICAL, Policy.RECENT))
    return IntervalScenario(f"{HEAD}SELECT * WHERE {{ {parts} {outside} }}", _events(chance), {}, policy)


def _group(chance: Random, depth: int) -> str:
    kind = chance.choice(("SEQ",) * 4 + ("", "UNION", "EQUALS", "FILTER", "SELECT", "path", "triple"))
    if depth == 0 or kind == "triple":
        subject, value = chance.choice(("?s", "?s", "?s", "?t")), chance.choice(("?x", "?y", "?z", "?w"))
        ends = (subject, value) if chance.random() < 0.8 else ("?o", subject)
        return f"{{ {ends[0]} :{chance.choice('abc')} {ends[1]} }}"
    inner = _group(chance, depth - 1)
    match kind:
        case "FILTER":
            return f"{{ {inner} FILTER({chance.choice(FILTERS)}) }}"
        case "SELECT":
            return f"{{ SELECT ?s ?x ?y WHERE {inner} }}"
        case "path":
            return "{ ?s :a/:b ?x }"
        case _:
            return f"{{ {inner} {kind} {_group(chance, depth - 1)} }}"


def _events(chance: Random) -> tuple[GraphEvent, ...]:
    lasting, second, found = chance.random() < 0.4, 0, []
    for _ in range(chance.choice((5, 10, 20, 30))):
        second += chance.choice((0, 1, 1, 1, 2))
        triples = frozenset(_triple(chance) for _ in range(chance.choice((1, 1, 2))))
        start = second - chance.randrange(4) if lasting and chance.random() < 0.5 else second
        begun = start * 1_000_000 if lasting else None
        found.append(GraphEvent(f"{EX}s", second * 1_000_000, triples, start=begun))
    return tuple(found)


def _triple(chance: Random) -> Triple:
    value = chance.choice((Literal(chance.randrange(3)), NamedNode(f"{EX}s1")))
    return Triple(NamedNode(f"{EX}s{chance.randrange(2)}"), NamedNode(EX + chance.choice("abc")), value)
