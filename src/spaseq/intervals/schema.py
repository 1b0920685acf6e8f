"""RDFS over occurrences: what each entails with the background's schema (semantics 2.8).

The schema is that of the registered graphs, so it is known before the first event: a test for a class becomes a test for any of its
subclasses, a predicate any of its subproperties, and nothing is derived that no pattern asks for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.algebra.by_place import EVERYTHING, PLACES, by_place
from spaseq.algebra.expressions import Call, Constant, Term, Unary, Var
from spaseq.algebra.patterns import Bgp, Node, TriplePattern
from spaseq.algebra.scope import in_scope
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rdfs import DOMAIN, RANGE, SUB_CLASS, SUB_PROPERTY, TYPE, schema_relations
from spaseq.intervals.interval_rows import Ids, IntervalRows, Mask, Rows, distinct_rows, stacked
from spaseq.intervals.timed_expressions import TimedEvaluator
from spaseq.model.dictionary import TermDictionary
from spaseq.model.ordered import numbers_from

Read = Callable[[IntervalRows], IntervalRows]
Source = tuple[TriplePattern, Read]
"""A triple pattern, by place, and what its occurrences say of another one."""
Relation = dict[Term, frozenset[Term]]

_ANY: Final = Var("any")
BACKGROUND: Final = "urn:spaseq:background"


def as_it_is(triple: TriplePattern) -> Source:
    """A triple pattern by place, under its own names again."""
    place = by_place(triple)
    places = dict(zip(_variables(triple), _variables(place), strict=True))
    return place, lambda rows: rows.with_columns({name: rows.columns[places[name]] for name in places})


def whole_background(knowledge: Knowledge) -> Knowledge:
    """The triples of all registered graphs together: with RDFS, what they entail together, too."""
    if not knowledge.rdfs or len(knowledge.names) < 2:
        return knowledge

    def made() -> Knowledge:
        every = frozenset[Triple]().union(*(knowledge.triples(name) for name in knowledge.names))
        return Knowledge({BACKGROUND: every}, rdfs=True)

    return knowledge.derived("whole background", made)


class Schema:
    """Subclasses, subproperties, domains and ranges, each with all that follows, of triples with all that they entail."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        known = schema_relations(triples)
        self.classes: Relation = _frozen(known[SUB_CLASS])
        self.properties: Relation = {
            low: frozenset(each for each in high if isinstance(each, NamedNode))
            for low, high in known[SUB_PROPERTY].items()
        }
        self.domains = self._types(known[DOMAIN])
        self.ranges = self._types(known[RANGE])
        self._below_class, self._below_property = _inverse(self.classes), _inverse(self.properties)
        of_type = {TYPE} & {*self.properties, *self._below_property, *self.domains, *self.ranges}
        self._plain = not of_type
        """False if the schema says something of ``rdf:type`` itself: then what follows must be looked at again."""

    @classmethod
    def of(cls, knowledge: Knowledge) -> Schema | None:
        """The schema of registered graphs, if RDFS is asked for."""
        if not knowledge.rdfs:
            return None

        def made() -> Schema:
            whole = whole_background(knowledge)
            return cls(triple for name in whole.names for triple in whole.triples(name))

        return knowledge.derived("schema", made)

    def _types(self, given: Mapping[Any, Iterable[Any]]) -> Relation:
        """The classes that a predicate gives, by itself and by its superproperties, with their superclasses."""
        found: dict[Term, set[Term]] = defaultdict(set)
        for predicate in {*given, *self.properties}:
            for each in (predicate, *self.properties.get(predicate, ())):
                for kind in given.get(each, ()):
                    found[predicate] |= {kind, *self.classes.get(kind, ())}
        return _frozen({predicate: kinds for predicate, kinds in found.items() if kinds})

    # --- patterns -------------------------------------------------------------------------------

    def entailed_templates(self, triple: TriplePattern) -> Iterator[TriplePattern]:
        """What RDFS may make of a triple of a template, as patterns: for the dependencies of rules."""
        found, waiting = {triple}, [triple]
        while waiting:
            new = {*self._entailed(waiting.pop())} - found
            found |= new
            waiting += new
        yield from found

    def _entailed(self, triple: TriplePattern) -> Iterator[TriplePattern]:
        """One step of it; a variable as predicate may be any that the schema speaks of."""
        subject, predicate, value = triple.subject, triple.predicate, triple.object
        fixed = predicate.term if isinstance(predicate, Constant) else None
        known = {*self.properties, *self.domains, *self.ranges} if fixed is None else (fixed,)
        literal = isinstance(value, Constant) and isinstance(value.term, Literal)
        for each in known:
            if isinstance(each, NamedNode):
                for wider in self.properties.get(each, ()):
                    yield TriplePattern(subject, Constant(wider), value)
                for kind in self.domains.get(each, ()):
                    yield TriplePattern(subject, Constant(TYPE), Constant(kind))
                for kind in () if literal else self.ranges.get(each, ()):
                    yield TriplePattern(value, Constant(TYPE), Constant(kind))
        if fixed in (None, TYPE) and isinstance(value, Constant):  # a variable is all classes already
            for wider in self.classes.get(value.term, ()):
                yield TriplePattern(subject, Constant(TYPE), Constant(wider))

    def sources(
        self, triple: TriplePattern, dictionary: TermDictionary, evaluator: TimedEvaluator
    ) -> list[Source]:
        """Triple patterns, by place, over what is given or produced, that say what matches a pattern with all entailed."""
        entailment = Entailment(self, dictionary, evaluator)
        predicate = triple.predicate
        if not self._plain or not isinstance(predicate, Constant):
            return [(EVERYTHING, lambda rows: selected(entailment.all_of(rows), triple, evaluator))]
        if predicate.term != TYPE:
            narrower = (predicate.term, *sorted(self._below_property.get(predicate.term, ()), key=str))
            return [as_it_is(TriplePattern(triple.subject, Constant(p), triple.object)) for p in narrower]
        return list(self._type_sources(triple.subject, triple.object, entailment, evaluator))

    def _type_sources(
        self, subject: Node, kind: Node, entailment: Entailment, evaluator: TimedEvaluator
    ) -> Iterator[Source]:
        wanted = None if isinstance(kind, Var) else {kind.term, *self._below_class.get(kind.term, ())}
        asked = TriplePattern(subject, Constant(TYPE), kind)
        read = by_place(TriplePattern(subject, Constant(TYPE), _ANY))

        def read_types(rows: IntervalRows) -> IntervalRows:
            rows = by_places(rows, read, evaluator)
            if wanted is None:
                return selected(entailment.with_superclasses(rows), asked, evaluator)
            found = rows.take(entailment.among(rows.columns["o"], kind, wanted))
            own = {subject.name: found.columns["s"]} if isinstance(subject, Var) else {}
            return found.with_columns(own)

        yield read, read_types
        for kinds, forward in ((self.domains, True), (self.ranges, False)):
            for predicate in sorted(kinds, key=str):
                given = kinds[predicate] if wanted is None else kinds[predicate] & {kind.term}  # type: ignore[union-attr]
                if not given or not isinstance(predicate, NamedNode):
                    continue
                ends = (subject, _ANY) if forward else (_ANY, subject)
                yield (
                    by_place(TriplePattern(ends[0], Constant(predicate), ends[1])),
                    _typed_end(subject, asked, given, entailment, evaluator, forward=forward),
                )


def _typed_end(
    subject: Node,
    asked: TriplePattern,
    kinds: frozenset[Term],
    entailment: Entailment,
    evaluator: TimedEvaluator,
    *,
    forward: bool,
) -> Read:
    """One end of a triple as an instance of some classes."""

    def read(rows: IntervalRows) -> IntervalRows:
        place = "s" if forward else "o"
        ends = rows.columns.get(place)
        if ends is None:
            assert isinstance(subject, Constant)
            ends = np.full(len(rows), evaluator.rows.constant(subject.term), np.int32)
        if not forward:
            kept = evaluator.rows.holds(_NO_LITERAL, {"o": ends}, len(ends))
            rows, ends = rows.take(kept), ends[kept]
        return selected(entailment.instances(rows, ends, kinds), asked, evaluator)

    return read


_NO_LITERAL: Final = Unary("!", Call("ISLITERAL", (Var("o"),)))


class Entailment:
    """The schema as ids of a dictionary."""

    def __init__(self, schema: Schema, dictionary: TermDictionary, evaluator: TimedEvaluator) -> None:
        self._schema, self._dictionary, self._evaluator = schema, dictionary, evaluator
        self._generation = -1
        self._members: dict[Term, Mask] = {}
        self._texts: dict[Term, list[str]] = {}
        """Of each class that is asked for, those that are looked for, as texts: every compaction encodes them anew."""
        self._pairs: dict[str, tuple[Ids, Ids]] = {}

    def _refresh(self) -> None:
        if self._generation != self._dictionary.generation:
            self._generation = self._dictionary.generation
            self._members, self._pairs = {}, {}

    def among(self, ids: Ids, kind: Node, wanted: Iterable[Term]) -> Mask:
        """Which ids are among some terms."""
        self._refresh()
        assert isinstance(kind, Constant)
        members = self._members.get(kind.term)
        if members is None:
            texts = self._texts.setdefault(kind.term, [])
            if not texts:
                texts += map(str, wanted)
            known = np.array(self._dictionary.encode_texts(texts), np.int64)
            members = np.zeros(int(known.max()) + 1, np.bool_)
            members[known] = True
            self._members[kind.term] = members
        found: Mask = members[np.minimum(ids, len(members) - 1)] & (ids < len(members))
        return found

    def _relation(self, name: str, relation: Relation) -> tuple[Ids, Ids]:
        """A relation as two columns, in order of the first."""
        self._refresh()
        if name not in self._pairs:
            terms = list(dict.fromkeys(term for low, highs in relation.items() for term in (low, *highs)))
            ids = dict(zip(terms, self._dictionary.encode_texts(list(map(str, terms))), strict=True))
            pairs = [(ids[low], ids[high]) for low, highs in relation.items() for high in highs]
            table = np.array(sorted(pairs), np.int32).reshape(-1, 2)
            self._pairs[name] = table[:, 0], table[:, 1]
        return self._pairs[name]

    def _related(self, ids: Ids, name: str, relation: Relation) -> tuple[Rows, Ids]:
        """The pairs of (place among the ids, related id)."""
        low, high = self._relation(name, relation)
        first = np.searchsorted(low, ids)
        many = np.searchsorted(low, ids, side="right") - first
        places = numbers_from(first, many)
        return np.repeat(np.arange(len(ids)), many), high[places]

    def _is_type(self) -> int:
        return self._evaluator.rows.constant(TYPE)

    def with_superclasses(self, rows: IntervalRows) -> IntervalRows:
        """Triples of ``rdf:type``, and those with wider classes."""
        of, wider = self._related(rows.columns["o"], "classes", self._schema.classes)
        more = rows.take(of)
        return stacked([rows, more.with_columns({**more.columns, "o": wider})], PLACES)

    def instances(self, rows: IntervalRows, ends: Ids, kinds: Iterable[Term]) -> IntervalRows:
        """Every end as an instance of every class."""
        parts = []
        kind_of = np.full(len(rows), self._is_type(), np.int32)
        for kind in kinds:
            classes = np.full(len(rows), self._dictionary.encode(kind), np.int32)
            parts.append(rows.with_columns({"s": ends, "p": kind_of, "o": classes}))
        return stacked(parts, PLACES)

    def all_of(self, rows: IntervalRows) -> IntervalRows:
        """Triples with everything that they entail."""
        found = rows.take(distinct_rows(rows.matrix(PLACES), rows.start, rows.end))
        while True:
            grown = stacked([found, *self._entailed(found)], PLACES)
            grown = grown.take(distinct_rows(grown.matrix(PLACES), grown.start, grown.end))
            if len(grown) == len(found):
                return found
            found = grown

    def _entailed(self, rows: IntervalRows) -> Iterator[IntervalRows]:
        schema = self._schema
        of, wider = self._related(rows.columns["p"], "properties", schema.properties)
        more = rows.take(of)
        yield more.with_columns({**more.columns, "p": wider})
        literal = ~self._evaluator.rows.holds(_NO_LITERAL, {"o": rows.columns["o"]}, len(rows))
        for name, kinds, place in (("domains", schema.domains, "s"), ("ranges", schema.ranges, "o")):
            of, kind = self._related(rows.columns["p"], name, kinds)
            if place == "o":
                kept = ~literal[of]
                of, kind = of[kept], kind[kept]
            more = rows.take(of)
            types = np.full(len(more), self._is_type(), np.int32)
            yield more.with_columns({"s": more.columns[place], "p": types, "o": kind})
        yield self.with_superclasses(rows.take(rows.columns["p"] == self._is_type()))


# --- columns --------------------------------------------------------------------------------------


def _variables(triple: TriplePattern) -> tuple[str, ...]:
    return in_scope(Bgp((triple,)))


def by_places(rows: IntervalRows, triple: TriplePattern, evaluator: TimedEvaluator) -> IntervalRows:
    """What matches a triple pattern by place, as whole triples: a column for each place."""
    columns: dict[str, Ids] = {}
    for place, node in zip(PLACES, (triple.subject, triple.predicate, triple.object), strict=True):
        if isinstance(node, Constant):
            columns[place] = np.full(len(rows), evaluator.rows.constant(node.term), np.int32)
        else:
            assert isinstance(node, Var)
            columns[place] = rows.columns[node.name]
    return rows.with_columns(columns)


def selected(rows: IntervalRows, triple: TriplePattern, evaluator: TimedEvaluator) -> IntervalRows:
    """The solutions of a triple pattern among triples by place."""
    found: dict[str, Ids] = {}
    kept = np.ones(len(rows), np.bool_)
    for place, node in zip(PLACES, (triple.subject, triple.predicate, triple.object), strict=True):
        column = rows.columns[place]
        if isinstance(node, Constant):
            kept &= column == evaluator.rows.constant(node.term)
        else:
            assert isinstance(node, Var)
            kept &= found.setdefault(node.name, column) == column
    return rows.with_columns(found).take(kept)


def _frozen(relation: Mapping[Any, Iterable[Any]]) -> Relation:
    return {low: frozenset(high) for low, high in relation.items()}


def _inverse(relation: Relation) -> Relation:
    found: dict[Term, set[Term]] = defaultdict(set)
    for low, highs in relation.items():
        for high in highs:
            found[high].add(low)
    return _frozen(found)
