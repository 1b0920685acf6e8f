"""Expressions over bare columns: what the automaton asks for stateful parts (its `Evaluator`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.expressions import Aggregate, Expression, Term, Var
from spaseq.algebra.patterns import Distinct, Graph, OrderBy, Pattern, Project, Slice
from spaseq.columnar.aggregation import solve_group
from spaseq.columnar.expressions import holds, ids
from spaseq.columnar.frame import Frame
from spaseq.columnar.kernels.cache import cache_of
from spaseq.columnar.kernels.numbers import (
    Numbers,
    encode_averages,
    encode_integers,
    encode_numbers,
    numbers_of,
    summable,
)
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.order import sliced, sorted_rows, total_ranks
from spaseq.columnar.solve import solve
from spaseq.columnar.table import Ids, Mask, Table, distinct
from spaseq.columnar.views import Views
from spaseq.model.batch import EMPTY
from spaseq.model.dictionary import TermDictionary
from spaseq.model.values import Kind, ValueColumns
from spaseq.temporal.durations import canonical_duration
from spaseq.temporal.instants import XSD, format_instant

_DATE_TIME = NamedNode(XSD + "dateTime")
_DURATION = NamedNode(XSD + "duration")

_NO_NUMBER = np.zeros(256, np.bool_)
_NO_NUMBER[
    [Kind.IRI, Kind.BLANK, Kind.STRING, Kind.LANG, Kind.BOOLEAN, Kind.DATETIME, Kind.DATE, Kind.TIME]
] = True


@dataclass(frozen=True, slots=True)
class Summands:
    """Terms as what can be added up."""

    bound: Mask
    spoils: Mask
    """Which are certainly no numbers: a sum with one of them is an error."""
    numbers: Numbers
    terms: Ids
    values: ValueColumns

    @property
    def places(self) -> int:
        """The most decimal places that integers and decimals among them have."""
        return int(self.numbers.scale.max(initial=0))

    @property
    def decimal(self) -> Mask:
        """Which are decimals."""
        return np.equal(self.numbers.kind, Kind.DECIMAL)

    @property
    def double(self) -> Mask:
        """Which are finite doubles."""
        return np.equal(self.numbers.kind, Kind.DOUBLE)

    @property
    def numeric(self) -> Mask:
        """Which are any of these, or integers."""
        return self.numbers.known

    @property
    def number(self) -> npt.NDArray[np.float64]:
        """The nearest doubles, where there are numbers; of integers and decimals, too, which ``numbers`` has no doubles of."""
        return self.values.extend(self.terms).number[self.terms]

    def scaled(self, places: int) -> tuple[npt.NDArray[np.int64], Mask]:
        """Integers and decimals without the decimal point, with so many places, and which are so small that millions can be added."""
        return summable(self.numbers, places)


class RowEvaluator:
    """Evaluates expressions over columns of ids, with no event in sight."""

    def __init__(
        self, dictionary: TermDictionary, *, now: Literal | None = None, base: str | None = None
    ) -> None:
        self._dictionary = dictionary
        self._now = now
        self._base = base

    def _frame(self) -> Frame:
        views = Views(EMPTY)
        cache = cache_of(self._dictionary)
        return Frame(views, self._dictionary, cache, Knowledge(), solve, self._now, self._base)

    def holds(self, expression: Expression, columns: Mapping[str, Ids], count: int) -> Mask:
        """Where a condition is true; an error is false."""
        return holds(expression, Table(None, dict(columns), count), self._frame())

    def values(self, expression: Expression, columns: Mapping[str, Ids], count: int) -> Ids:
        """The ids of an expression's values; an error is 0."""
        return ids(expression, Table(None, dict(columns), count), self._frame())

    def aggregate(self, name: str, separator: str | None, terms: list[int]) -> int:
        """A SPARQL aggregate over terms in order; an error is 0."""
        bag = Table(None, {"v": np.array(terms, np.int32)}, len(terms))
        item = Aggregate(name, Var("v"), separator=separator)
        found = solve_group(bag, (), ((Var("result"), item),), self._frame(), in_order=True)
        return int(found.columns["result"][0])

    def groups(
        self,
        columns: Mapping[str, Ids],
        owners: Ids,
        count: int,
        keys: Sequence[str],
        aggregates: tuple[tuple[Var, Expression], ...],
    ) -> tuple[Ids, dict[str, Ids]]:
        """The groups of the rows of several owners: whose each is, its keys and its aggregates."""
        frame = replace(self._frame(), origin=np.zeros(count, np.int32))
        named = tuple((Var(name), Var(name)) for name in keys)
        found = solve_group(Table(owners, dict(columns), len(owners)), named, aggregates, frame)
        assert found.events is not None
        return found.events, found.columns

    def summands(self, terms: Ids) -> Summands:
        """What terms contribute to a sum."""
        cache = cache_of(self._dictionary)
        numbers = numbers_of(terms, cache)
        spoils = ~numbers.known
        if spoils.any():
            spoils[spoils] = _NO_NUMBER[cache.values.extend(terms[spoils]).kind[terms[spoils]]]
        return Summands(terms != 0, spoils, numbers, terms, cache.values)

    def ranks(self, terms: Ids) -> npt.NDArray[np.int64]:
        """A number per term in the order of SPARQL 1.1, section 15.1, from 0 on; no two terms have the same."""
        return total_ranks(terms, self._frame())

    def doubles(self, numbers: npt.NDArray[np.float64]) -> Ids:
        """The ids of doubles."""
        nothing = np.zeros(len(numbers), np.int64)
        kind = np.full(len(numbers), np.uint8(Kind.DOUBLE))
        every = np.ones(len(numbers), np.bool_)
        return encode_numbers(Numbers(kind, nothing, nothing, numbers), every, cache_of(self._dictionary))

    def integers(self, numbers: npt.NDArray[np.int64]) -> Ids:
        """The ids of integers."""
        return encode_integers(numbers, cache_of(self._dictionary))

    def sums(
        self,
        mantissa: npt.NDArray[np.int64],
        scale: int,
        decimal: Mask,
        many: npt.NDArray[np.int64] | None,
    ) -> Ids:
        """The ids of sums, or of averages of so many numbers."""
        cache = cache_of(self._dictionary)
        kind = np.where(decimal, np.uint8(Kind.DECIMAL), np.uint8(Kind.INTEGER))
        whole = np.where(decimal, mantissa, mantissa // 10**scale)
        sums = Numbers(kind, whole, np.where(decimal, scale, 0).astype(np.int64), np.zeros(len(mantissa)))
        return encode_numbers(sums, sums.known, cache) if many is None else encode_averages(sums, many, cache)

    def over_knowledge(self, pattern: Graph, knowledge: Knowledge) -> Table:
        """The solutions of a pattern over background graphs."""
        return solve(pattern, replace(self._frame(), knowledge=knowledge))

    def finished(self, table: Table, count: int, operators: Sequence[Pattern]) -> Table:
        """Solutions of several evaluations, sorted, projected and cut as the outer operators of a query say, innermost first."""
        frame = replace(self._frame(), origin=np.zeros(count, np.int32))
        for operator in operators:
            match operator:
                case OrderBy(_, keys):
                    table = sorted_rows(table, keys, frame)
                case Project(_, chosen):
                    unbound = np.zeros(table.size, np.int32)
                    columns = {each.name: table.columns.get(each.name, unbound) for each in chosen}
                    table = Table(table.events, columns, table.size)
                case Distinct():
                    table = distinct(table)
                case Slice(_, offset, limit):
                    table = sliced(table, offset, limit)
        return table

    def constant(self, term: Term) -> int:
        """The id of a term of the query."""
        return cache_of(self._dictionary).constant(term)

    def encode(self, number: int) -> int:
        """The id of an integer."""
        return self._dictionary.encode(Literal(number))

    def encode_instant(self, instant: int) -> int:
        """The id of an ``xsd:dateTime``."""
        return self._dictionary.encode(Literal(format_instant(instant), datatype=_DATE_TIME))

    def encode_duration(self, microseconds: int) -> int:
        """The id of an ``xsd:duration``."""
        return self._dictionary.encode(Literal(canonical_duration(microseconds), datatype=_DURATION))
