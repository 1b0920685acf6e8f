"""Answers of an instant that is not over, and what of them can be saved: DISTINCT, ASK and skipping choose among them later."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from spaseq.model.packing import INSTANT, SHORT, Damaged, Field, check_arrays
from spaseq.operators.answers import Answers, Ranks, stacked
from spaseq.operators.state import State
from spaseq.planner.program import Program

Ints = npt.NDArray[np.int32]
_Item = TypeVar("_Item")
_FIELDS: Final[dict[str, Field]] = {
    "time": Field(np.int64, ("answers",), INSTANT),
    "start": Field(np.int64, ("answers",), INSTANT),
    "columns": Field(np.int32, ("answers", "answer columns"), (0, "ids")),
    "counts": Field(np.int64, ("answers or none",), (1, SHORT.max)),
    "events": Field(np.int64, ("matched", 3), columns={0: (0, "gpms"), 1: (0, "streams"), 2: INSTANT}),
    "names": Field(np.int32, ("matched",), (0, "ids")),
    "digests": Field(np.uint8, ("matched", 32)),
    "ranks.keys": Field(np.int32, ("ranked",), (0, "keys")),
    "ranks.last": Field(np.int64, ("ranked",), INSTANT),
    "ranks.counts": Field(np.int64, ("ranked",), (1, SHORT.max)),
    "ranks.events": Field(np.int64, ("rank events",), (0, "serials")),
}
"""Of every answer how many events it has, and of each its GPM, its stream and its time, and its name."""


class HeldAnswers:
    """Answers in order of time that wait for their instant to be over."""

    def __init__(self) -> None:
        self._parts: list[Answers] = []
        self.chosen = 0
        """How many were left when it was last chosen among them."""

    @property
    def answers(self) -> Answers | None:
        """All of them; None if there are none."""
        if len(self._parts) > 1:
            self._parts = [stacked(self._parts)]
        return self._parts[0] if self._parts else None

    @answers.setter
    def answers(self, answers: Answers | None) -> None:
        self._parts = [] if answers is None or not len(answers) else [answers]
        self.chosen = 0 if answers is None else len(answers)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return sum(part.nbytes for part in self._parts)

    def add(self, answers: Answers) -> None:
        """Some more, not before those that wait."""
        if len(answers):
            self._parts.append(answers)

    def before(self, until: int) -> Answers | None:
        """Take the answers whose instant lies before a time; None if there are none."""
        # They come in order of time, so the first one is over before all others.
        if not self._parts or self._parts[0].time[0] >= until:
            return None
        known = stacked(self._parts)
        over = known.time < until
        self.answers = known.take(~over)
        return known.take(over)

    def ids(self) -> list[Ints]:
        """Every term id that they mention."""
        known = self.answers
        if known is None:
            return []
        names = [event[3] for events in known.events for event in events]
        return [*known.columns.values(), np.array(names, np.int32)]

    def remap(self, mapping: Ints, generation: int) -> None:
        """Follow a compaction of the dictionary."""
        self._parts = [part.remapped(mapping, generation) for part in self._parts]

    def dump(self, names: tuple[str, ...]) -> State:
        """They as arrays; ``names`` are those of all GPMs."""
        known = self.answers
        if known is None:
            return State({"any": False})
        place = {name: index for index, name in enumerate(names)}
        rows = [event for events in known.events for event in events]
        ranks = known.ranks or Ranks(np.zeros(0, np.int32), np.zeros(0, np.int64), [])
        digests = b"".join(digest for *_, digest in rows)
        columns = list(known.columns.values())
        return State(
            {"any": True},
            {
                "time": known.time,
                "start": known.start,
                "counts": np.array([len(events) for events in known.events], np.int64),
                "events": np.array([[place[g], s, t] for g, s, t, _, _ in rows], np.int64).reshape(-1, 3),
                "digests": np.frombuffer(digests, np.uint8).reshape(-1, 32),
                "ranks.keys": ranks.keys.astype(np.int32),
                "ranks.last": ranks.last,
                "ranks.counts": np.array([len(events) for events in ranks.events], np.int64),
                "ranks.events": np.array([serial for events in ranks.events for serial in events], np.int64),
            },
            {
                "columns": np.stack(columns, axis=1) if columns else np.zeros((len(known), 0), np.int32),
                "names": np.array([name for *_, name, _ in rows], np.int32),
            },
        )

    def load(
        self, state: State, program: Program, sizes: dict[str, int], generation: int, *, ranked: bool
    ) -> None:
        """Take up what `dump` gave; ``sizes`` has at least those of "ids", "serials" and "keys"."""
        if not state.facts.get("any"):
            self.answers = None
            return
        arrays, answers = {**state.arrays, **state.ids}, program.answer_variables
        count = len(arrays["time"])
        sizes = {
            **sizes,
            "answers": count,
            "answers or none": count if len(arrays["counts"]) else 0,
            "answer columns": len(answers),
            "gpms": len(program.names),
            "streams": len(program.streams),
        }
        check_arrays(arrays, _FIELDS, sizes)
        if int(arrays["counts"].sum()) != sizes["matched"]:
            raise Damaged("an answer has too many events or too few")
        wanted = count if ranked else 0
        if sizes["ranked"] != wanted or int(arrays["ranks.counts"].sum()) != sizes["rank events"]:
            raise Damaged("an answer has no rank")
        if (np.diff(arrays["time"]) < 0).any():
            raise Damaged("answers are not in order")
        rows = [
            (program.names[gpm], stream, time, name, digest.tobytes())
            for (gpm, stream, time), name, digest in zip(
                arrays["events"].tolist(), arrays["names"].tolist(), arrays["digests"], strict=True
            )
        ]
        serials = _split(arrays["ranks.events"].tolist(), arrays["ranks.counts"])
        self.answers = Answers(
            arrays["time"],
            arrays["start"],
            {name: arrays["columns"][:, number] for number, name in enumerate(answers)},
            _split(rows, arrays["counts"]),
            generation,
            Ranks(arrays["ranks.keys"], arrays["ranks.last"], serials) if ranked else None,
        )


def _split(items: Sequence[_Item], counts: npt.NDArray[np.int64]) -> list[tuple[_Item, ...]]:
    """Items in groups of these sizes."""
    ends = list(accumulate(counts.tolist()))
    return [tuple(items[end - count : end]) for end, count in zip(ends, counts.tolist(), strict=True)]
