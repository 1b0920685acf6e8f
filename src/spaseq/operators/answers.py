"""Answers as columns: the table that every operator gives, and what DISTINCT, ASK, CONSTRUCT and skipping make of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
from pyoxigraph import BlankNode, Triple

from spaseq.algebra.expressions import Constant, Term, Var
from spaseq.model.dictionary import TermDictionary
from spaseq.model.matches import Match, MatchedEvent, Numbering, match_identity, match_key
from spaseq.planner.program import Program

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

Matched = tuple[tuple[str, int, int, int, bytes], ...]
"""The events of a match: GPM, stream, instant, id of the graph's name, digest."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Of every answer: its partition, the instant of its last event, and the serial numbers of its events, ascending."""

    keys: Ints
    last: Longs
    events: list[tuple[int, ...]]

    def take(self, rows: npt.NDArray[np.integer]) -> Ranks:
        return Ranks(self.keys[rows], self.last[rows], [self.events[row] for row in rows])


@dataclass(frozen=True, slots=True)
class Answers:
    """A table of timed mappings: columns of ids, the instants at which each starts and ends, and a sign where asked for.

    Columns are in the order of SELECT (those of all variables for CONSTRUCT).

    Before decoding, check with the dictionary that ``generation`` is still its own.
    """

    time: Longs
    start: Longs
    columns: dict[str, Ints]
    events: list[Matched]
    """Empty if events are not kept."""
    generation: int
    """The generation of the dictionary that the ids belong to."""
    ranks: Ranks | None = None
    """What AFTER MATCH SKIP chooses by, if the query has it."""
    sign: npt.NDArray[np.int8] | None = None
    """Of every answer whether it appears (1) or vanishes (-1), where an operator says so; None if all appear. Of an ASK: true or false."""
    evaluation: Longs | None = None
    """Of every answer of a continuous query its evaluation's number among those of its instant; they have one graph of CONSTRUCT."""

    def __len__(self) -> int:
        return len(self.time)

    @property
    def nbytes(self) -> int:
        """About how much memory they take; an event of a match is a tuple of five."""
        columns = self.time.nbytes + self.start.nbytes + sum(ids.nbytes for ids in self.columns.values())
        ranked = 0 if self.ranks is None or not self.ranks.events else 100 + 40 * len(self.ranks.events[0])
        named = 80 + 250 * len(self.events[0]) if self.events else 0
        return columns + len(self) * (ranked + named)

    def by_evaluation(self) -> list[npt.NDArray[np.intp]]:
        """The rows of each evaluation of a continuous query, or else of each interval, which come one after the other."""
        of = self.start if self.evaluation is None else self.evaluation
        changes = (self.time[1:] != self.time[:-1]) | (of[1:] != of[:-1])
        return np.split(np.arange(len(self)), np.flatnonzero(changes) + 1) if len(self) else []

    @property
    def truths(self) -> list[bool]:
        """What the answers of an ASK are."""
        return [True] * len(self) if self.sign is None else (self.sign > 0).tolist()

    def take(self, rows: Mask | npt.NDArray[np.integer]) -> Answers:
        numbers: npt.NDArray[np.integer] = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows  # type: ignore[assignment]
        return Answers(
            self.time[rows],
            self.start[rows],
            {name: ids[rows] for name, ids in self.columns.items()},
            [self.events[number] for number in numbers] if self.events else [],
            self.generation,
            None if self.ranks is None else self.ranks.take(numbers),
            None if self.sign is None else self.sign[rows],
            None if self.evaluation is None else self.evaluation[rows],
        )

    def remapped(self, mapping: Ints, generation: int) -> Answers:
        """The same answers after a compaction of the dictionary (old id to new id)."""
        columns = {name: mapping[ids] for name, ids in self.columns.items()}
        events = [tuple((g, s, t, int(mapping[n]), d) for g, s, t, n, d in row) for row in self.events]
        return Answers(
            self.time, self.start, columns, events, generation, self.ranks, self.sign, self.evaluation
        )


def stacked(parts: list[Answers]) -> Answers:
    """One after the other."""
    (generation,) = {part.generation for part in parts}
    return Answers(
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.start for part in parts]),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns},
        [events for part in parts for events in part.events],
        generation,
        _stacked_ranks([part.ranks for part in parts if part.ranks is not None]),
        None
        if parts[0].sign is None
        else np.concatenate([part.sign for part in parts if part.sign is not None]),
        None
        if parts[0].evaluation is None
        else np.concatenate([part.evaluation for part in parts if part.evaluation is not None]),
    )


def _stacked_ranks(parts: list[Ranks]) -> Ranks | None:
    if not parts:
        return None
    return Ranks(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.last for part in parts]),
        [events for part in parts for events in part.events],
    )


def skipping(answers: Answers, kept: Longs) -> Answers:
    """AFTER MATCH SKIP PAST LAST EVENT: the answers that start behind the last event of every one kept before.

    Answers are ranked by instant, start and events (semantics 1.11). ``kept`` holds the latest event of the answers kept in
    each partition, and is brought up to date.
    """
    ranks = answers.ranks
    assert ranks is not None

    def rank(row: int) -> tuple[int, int, tuple[int, ...], int]:
        return int(answers.time[row]), int(answers.start[row]), ranks.events[row], int(ranks.keys[row])

    order = sorted(range(len(answers)), key=rank)
    keep = np.zeros(len(answers), np.bool_)
    for _, equal in groupby(order, key=rank):
        rows = list(equal)
        key = int(ranks.keys[rows[0]])
        if int(answers.start[rows[0]]) > int(kept[key]):
            keep[rows] = True
            kept[key] = max(int(ranks.last[row]) for row in rows)
    return answers.take(np.flatnonzero(keep))


def distinct(answers: Answers, identities: list[str] | None = None) -> Answers:
    """One of equal ``(t₂, μ)``, the one with the earliest start, in order of time.

    Where starts are equal too, the least identity decides, so that every host keeps the same match.
    """
    rank = np.zeros(len(answers), np.int64)
    if identities is not None:
        rank[sorted(range(len(identities)), key=identities.__getitem__)] = np.arange(len(identities))
    order = np.lexsort((rank, answers.start, answers.time))
    ordered = answers.take(order)
    seen: set[tuple[int, ...]] = set()
    keep = np.zeros(len(ordered), np.bool_)
    for row in range(len(ordered)):
        key = (int(ordered.time[row]), *(int(ids[row]) for ids in ordered.columns.values()))
        keep[row] = key not in seen
        seen.add(key)
    return ordered.take(keep)


def first_only(answers: Answers) -> Answers:
    """The first answer, if there is one."""
    return answers.take(np.arange(len(answers)) < 1)


# --- at the edge --------------------------------------------------------------------------------


def answer_keys(
    program: Program, answers: Answers, normal_text: str, text_of: Callable[[int], str]
) -> Iterator[bytes]:
    """The keys of answers, by their events, which have digests, or else by their interval; ``text_of`` gives a term by its id."""
    form = program.query.form
    shown = [name for name in form.variables if name in answers.columns]
    if form.continuous and form.kind == "construct":
        shown = []  # its graph is made of all solutions of an evaluation
    columns = [(name, answers.columns[name].tolist()) for name in shown]
    for row in range(len(answers)):
        if answers.evaluation is not None:
            made_of = [("evaluation", f"{answers.time[row]} {answers.evaluation[row]}".encode())]
        elif answers.events:
            made_of = [(event[0], event[4]) for event in answers.events[row]]
        else:
            made_of = [("interval", f"{answers.start[row]} {answers.time[row]}".encode())]
        yield match_key(
            normal_text,
            made_of,
            ((name, text_of(ids[row])) for name, ids in columns if ids[row]),
        )


def matches(
    program: Program,
    answers: Answers,
    dictionary: TermDictionary,
    normal_text: str,
    numbering: Numbering | None = None,
    first: int = 0,
) -> Iterator[Match]:
    """The answers as the objects users see; with a numbering, each has its identity.

    ``first`` is how many answers there were before; it keeps the blank nodes of CONSTRUCT apart without identities.
    """
    form, streams, truths = program.query.form.kind, program.streams, answers.truths
    if form == "construct" and program.query.form.continuous:
        yield from _graphs(program, answers, dictionary, normal_text, numbering)
        return
    keys = answer_keys(program, answers, normal_text, dictionary.ntriples)
    for row in range(len(answers)):
        dictionary.require(answers.generation)
        bindings = {
            name: dictionary.decode(int(ids[row])) for name, ids in answers.columns.items() if ids[row]
        }
        events = answers.events[row] if answers.events else ()
        identity = ""
        if numbering is not None:
            key = next(keys)
            identity = match_identity(key, numbering.next(int(answers.time[row]), key))
        triples = None
        if form == "construct":
            label = identity.rsplit(":", 1)[-1][:16] or f"{answers.time[row]}-{first + row}"
            triples, bindings = constructed(program, bindings, label), {}
        yield Match(
            int(answers.time[row]),
            int(answers.start[row]),
            bindings,
            tuple(
                MatchedEvent(name, streams[stream], time, dictionary.decode(graph) if graph else None)
                for name, stream, time, graph, _ in events
            ),
            triples,
            identity,
            program.query.name,
            truths[row] if form == "ask" else None,
        )


def _graphs(
    program: Program,
    answers: Answers,
    dictionary: TermDictionary,
    normal_text: str,
    numbering: Numbering | None,
) -> Iterator[Match]:
    """One graph per evaluation of a continuous query: the template over all its solutions."""
    dictionary.require(answers.generation)
    for rows in answers.by_evaluation():
        time, start = int(answers.time[rows[0]]), int(answers.start[rows[0]])
        identity, label = "", f"{time}-{rows[0]}"
        if numbering is not None:
            key = next(answer_keys(program, answers.take(rows[:1]), normal_text, dictionary.ntriples))
            identity = match_identity(key, numbering.next(time, key))
            label = identity.rsplit(":", 1)[-1][:16]
        triples: set[Triple] = set()
        for row, own in zip(rows.tolist(), solution_labels(answers, rows, dictionary.ntriples), strict=True):
            mapping = {
                name: dictionary.decode(int(ids[row])) for name, ids in answers.columns.items() if ids[row]
            }
            triples |= constructed(program, mapping, f"{label}-{own}")
        if triples:
            yield Match(time, start, {}, (), frozenset(triples), identity, program.query.name)


def solution_labels(
    answers: Answers, rows: npt.NDArray[np.intp], text_of: Callable[[int], str]
) -> Iterator[str]:
    """A label for every solution of an evaluation, whatever their order: of what it binds, and its number among equal ones."""
    seen: dict[str, int] = {}
    for row in rows.tolist():
        bound = [f"{name} {text_of(int(ids[row]))}" for name, ids in answers.columns.items() if ids[row]]
        digest = hashlib.sha256("\n".join(sorted(bound)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        seen[digest] = seen.get(digest, 0) + 1
        yield f"{digest}-{seen[digest]}"


def constructed(program: Program, mapping: dict[str, Term], label: str) -> frozenset[Triple]:
    """The template of CONSTRUCT under a mapping; triples that are unbound or ill-formed are left out."""
    triples = set()
    for pattern in program.template:
        terms = [_node(node, mapping, label) for node in (pattern.subject, pattern.predicate, pattern.object)]
        try:
            triples.add(Triple(*terms))  # type: ignore[arg-type]
        except TypeError:
            continue
    return frozenset(triples)


def _node(node: object, mapping: dict[str, Term], label: str) -> Term | None:
    match node:
        case Constant(term):
            return term
        case Var(name) if name.startswith("_:"):
            return BlankNode(f"{name[2:]}-m{label}")
        case Var(name):
            return mapping.get(name)
        case _:
            return None
