"""The state of a continuous query as named arrays: for snapshots, and to follow a compaction of the dictionary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from spaseq.model.packing import LONG, Arrays, Damaged

Array = npt.NDArray[Any]


class Keeper:
    """Something that keeps rows: arrays of ids, other arrays that go along with them, and numbers."""

    IDS: ClassVar[tuple[str, ...]] = ()
    ARRAYS: ClassVar[tuple[str, ...]] = ()
    NUMBERS: ClassVar[tuple[str, ...]] = ()
    INDEXES: ClassVar[tuple[str, ...]] = ()
    """What follows from the arrays and takes memory."""
    TOGETHER: ClassVar[bool] = True
    """Whether all its arrays have as many rows."""

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """What it keeps its rows in, by name."""
        yield from ()

    def trim(self) -> None:
        """Bring the arrays to the size of what they hold, before they are saved or changed as a whole."""

    def rebuild(self) -> None:
        """Make anew what follows from the arrays, after they were changed as a whole."""

    # --- all of it ------------------------------------------------------------------------------

    def everything(self, name: str = "") -> Iterator[tuple[str, Keeper]]:
        """This one and all that it keeps rows in, by name."""
        yield name, self
        for own, keeper in self.keepers():
            yield from keeper.everything(f"{name}.{own}" if name else own)

    def live_ids(self) -> npt.NDArray[np.int64]:
        """Every term id that is kept."""
        parts = []
        for _, keeper in self.everything():
            keeper.trim()
            parts += [getattr(keeper, each) for each in keeper.IDS]
        # Ids are small and rows repeat them: a mark for each is cheaper than sorting all of them.
        marks = np.zeros(1 + max((int(part.max(initial=0)) for part in parts), default=0), np.bool_)
        for part in parts:
            marks[part] = True
        return np.flatnonzero(marks)

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""
        for _, keeper in self.everything():
            keeper.trim()
            for each in keeper.IDS:
                setattr(keeper, each, mapping[getattr(keeper, each)])
            keeper.rebuild()

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return sum(
            getattr(keeper, each).nbytes
            for _, keeper in self.everything()
            for each in (*keeper.IDS, *keeper.ARRAYS, *keeper.INDEXES)
        )

    def dump(self) -> tuple[dict[str, int], Arrays, Arrays]:
        """The numbers, the arrays and the arrays of ids, by name."""
        numbers: dict[str, int] = {}
        arrays: Arrays = {}
        ids: Arrays = {}
        for name, keeper in self.everything():
            keeper.trim()
            numbers |= {f"{name}:{each}": int(getattr(keeper, each)) for each in keeper.NUMBERS}
            arrays |= {f"{name}:{each}": getattr(keeper, each) for each in keeper.ARRAYS}
            ids |= {f"{name}:{each}": getattr(keeper, each) for each in keeper.IDS}
        return numbers, arrays, ids

    def load(self, numbers: Mapping[str, object], arrays: Arrays, ids: Arrays) -> None:
        """Take up what `dump` gave; `Damaged` if it cannot be that."""
        for name, keeper in self.everything():
            rows: set[int] = set()
            for known, wanted in ((ids, keeper.IDS), (arrays, keeper.ARRAYS)):
                for each in wanted:
                    found, like = known.get(f"{name}:{each}"), getattr(keeper, each)
                    if found is None or found.dtype != like.dtype or found.shape[1:] != like.shape[1:]:
                        raise Damaged(f"the array `{name}:{each}` is missing or of the wrong kind")
                    rows.add(len(found))
                    setattr(keeper, each, found)
            if keeper.TOGETHER and len(rows) > 1:
                raise Damaged(f"the arrays of `{name}` have different numbers of rows")
            for each in keeper.NUMBERS:
                number = numbers.get(f"{name}:{each}")
                if type(number) is not int or abs(number) > LONG.max:
                    raise Damaged(f"`{name}:{each}` is {number!r}")
                setattr(keeper, each, number)
            keeper.check()
            keeper.rebuild()

    def check(self) -> None:
        """Raise `Damaged` if what was loaded cannot be: references that lead nowhere."""


Step = TypeVar("Step")
Found = TypeVar("Found")


class Followed(Keeper, ABC, Generic[Step, Found]):
    """A part of a query that is followed step by step: what it gives at a step is computed once, whoever asks."""

    _stepped: Step | None = None
    _at_step: Found

    def step(self, current: Step) -> Found:
        """What is new at a step."""
        if self._stepped is not current:
            self._at_step = self._step(current)
            self._stepped = current
        return self._at_step

    @abstractmethod
    def _step(self, current: Step) -> Found: ...

    @abstractmethod
    def parts(self) -> tuple[Followed[Step, Found], ...]:
        """What it reads."""

    def all_views(self) -> Iterator[Any]:
        """This one and all that it reads, each once; they are of the same family."""
        seen: dict[int, Followed[Step, Found]] = {}

        def visit(view: Followed[Step, Found]) -> None:
            if id(view) not in seen:
                seen[id(view)] = view
                for part in view.parts():
                    visit(part)

        visit(self)
        yield from seen.values()
