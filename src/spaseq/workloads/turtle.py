"""Background graphs as readable Turtle: prefixes, one block for each subject."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO, Final, TypeAlias

from spaseq.workloads.terms import PREFIXES, A

Subject: TypeAlias = tuple[str, list[tuple[str, str]]]
"""A subject with what is said of it: predicates with objects, all in N-Quads syntax."""

_LOCAL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUMBER: Final = re.compile(
    r'"([+-]?[0-9]+|[+-]?[0-9]*\.[0-9]+)"\^\^<http://www.w3.org/2001/XMLSchema#(integer|decimal)>'
)


def write_turtle(file: IO[str], subjects: Iterable[Subject]) -> int:
    """Write a graph, subject by subject; gives the number of triples."""
    file.writelines(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in PREFIXES.items())
    triples = 0
    known: dict[str, str] = {}
    for subject, described in subjects:
        file.write(f"\n{short(subject, known)} ")
        file.write(" ;\n    ".join([_said(said, known) for said in described]))
        file.write(" .\n")
        triples += len(described)
    return triples


def _said(said: tuple[str, str], known: dict[str, str]) -> str:
    predicate, obj = said
    return f"{'a' if predicate == A else short(predicate, known)} {short(obj, known)}"


def short(term: str, known: dict[str, str]) -> str:
    """A term as Turtle writes it; ``known`` caches the short forms of vocabulary names.

    >>> short("<http://www.w3.org/ns/sosa/Sensor>", {})
    'sosa:Sensor'
    >>> short('"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>', {})
    '1.5'
    """
    if term in known:
        return known[term]
    if term[0] == "<":
        for prefix, namespace in PREFIXES.items():
            if term.startswith(f"<{namespace}"):
                local = term[len(namespace) + 1 : -1]
                if _LOCAL.fullmatch(local):
                    known[term] = f"{prefix}:{local}"
                    return known[term]
        return term
    if term[0] == '"' and (number := _NUMBER.fullmatch(term)):
        digits = number[1]
        # Turtle reads 5 as an integer and 5.0 as a decimal, so each must keep its own spelling.
        if ("." in digits) == (number[2] == "decimal"):
            return digits
    return term
