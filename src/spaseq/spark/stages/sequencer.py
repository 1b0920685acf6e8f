"""The sequence stage of one query in one bucket: blocks in, answers out, in time order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spaseq.model.budget import Budget
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.operators.answers import Answers
from spaseq.operators.automaton import AutomatonOperator
from spaseq.operators.machine import Machine, MachineOptions, Tiers
from spaseq.operators.protocol import CountingOperator, Situated
from spaseq.operators.term_texts import encode_terms
from spaseq.planner.distribution import RouteUnit
from spaseq.settings import settings
from spaseq.spark.job import Job, Task
from spaseq.spark.shuffle.arrow_terms import KeyHashes, without_place
from spaseq.spark.shuffle.blocks import Block, concat_blocks
from spaseq.spark.shuffle.routing import combined
from spaseq.spark.stages.parts import ALL, DEEPEST, Part, divided, hashes_of
from spaseq.temporal.instants import FOREVER


@dataclass(frozen=True, slots=True)
class Encoded:
    """A block, and the ids of its terms."""

    block: Block
    ids: npt.NDArray[np.int32]


class Sequencer:
    """Holds blocks until time has passed their events, and runs the operator of the query over them.

    Instants are handled whole: a step takes only events before the time it is given. Keys may go apart into parts, each with
    a machine of its own; they share a dictionary.
    """

    def __init__(self, job: Job, task: Task, bucket: int) -> None:
        self.job, self.task, self.bucket = job, task, bucket
        self.dictionary = TermDictionary()
        # Buckets of other cores work at the same time.
        self._budget = Budget(job.max_memory, share=os.cpu_count() or 1)
        self._budget.count("terms", lambda: self.dictionary.nbytes)
        self.dictionary.watch = self._budget.check
        self._tiers = Tiers()
        self.machines: dict[Part, Machine] = {}
        self.held: list[Block] = []
        self.waiting = 0
        """Events that wait for time to pass them."""
        self._budget.count("events", lambda: sum(block.nbytes for block in self.held))
        self.hashes = KeyHashes(self.dictionary)
        self._stalled = 0
        self._compacted = 0
        self._counted: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
        routing = task.routing
        # An automaton only asks whether an instant lies between two events; windows are evaluated at every one.
        self._separates = task.program.operator == "automaton"
        # Only rows on the border of two windows are in two places, so only then is there a question who reports.
        self._report = self._owned if routing.size else None

    @property
    def machine(self) -> Machine:
        """The machine of all keys, where they do not go apart."""
        return self.machines.get(ALL) or self.add_machine(ALL)

    def add_machine(self, part: Part) -> Machine:
        """A new machine for the keys of a part."""
        job = self.job
        options = MachineOptions(
            job.max_runs,
            self._tiers,
            with_events=job.provenance,
            with_identity=job.provenance,
            shown=without_place,
            budget=self._budget.part(),
            at_home=self._at_home if self.task.routing.by_key_alone else None,
        )
        made = Machine(self.task.program, self.dictionary, job.knowledge, now=job.now, options=options)
        self.machines[part] = made
        return made

    def remove_machine(self, part: Part) -> None:
        """Forget the machine of a part."""
        self._budget.drop(self.machines.pop(part).budget)

    def divide(self, part: Part, now: int) -> tuple[Part, ...]:
        """Let the two halves of a part have machines of their own if it has many runs; nothing if it stays whole."""
        machine, most = self.machines[part], settings().part_runs
        operator = machine.operator
        if machine.runs <= most or part.bits == DEEPEST or machine.held:
            return ()
        assert isinstance(operator, AutomatonOperator)
        keys = operator.live_keys(self.task.routing.variables, now)
        if keys is None or len(keys) <= most:
            return ()
        hashes = hashes_of(keys, self.hashes)
        if (hashes == hashes[0]).all():
            return ()
        state = machine.dump(now=now)  # without the others
        assert state is not None
        upper = (hashes >> np.uint64(part.bits)) & np.uint64(1) == 1
        for half, kept in zip(part.halves, (~upper, upper), strict=True):
            made = self.add_machine(half)
            made.load([state])
            assert isinstance(made.operator, AutomatonOperator)
            made.operator.keep_runs(kept, now)
        return part.halves

    def hold(self, blocks: list[Block]) -> None:
        """Let these blocks wait, and no others."""
        self.held, self.waiting = blocks, sum(map(len, blocks))

    def add(self, block: Block) -> None:
        """Take in more events."""
        if len(block) or block.ticks:
            self.held.append(block)
            self.waiting += len(block)

    @property
    def worthwhile(self) -> bool:
        """True if enough has come since the last step that could not take it all."""
        return self.waiting >= max(settings().stepped_rows, 2 * self._stalled)

    def advance(self, now: int) -> Iterator[Answers]:
        """Handle every event before ``now``; events at that time may still come, earlier ones may not.

        The ids of answers are good until the next call, which may compact the dictionary.
        """
        found = self.ready(now, (ALL,))
        return self.step(ALL, found.get(ALL), now)

    def ready(self, now: int, parts: Sequence[Part]) -> dict[Part, Encoded]:
        """What the events before a time bring to each of these parts; it waits no more.

        Ids are good until the next call.
        """
        self._compact()
        block, left = self._before(now)
        self.hold(left)
        self._stalled = self.waiting
        if block is None:
            return {}
        ids = encode_terms(self.dictionary, block.terms)
        return {part: Encoded(own, ids) for part, own in divided(self.task, block, ids, parts, self.hashes)}

    def step(self, part: Part, given: Encoded | None, now: int) -> Iterator[Answers]:
        """Let time pass in one part."""
        machine = self.machines.get(part) or self.add_machine(part)
        yield from self._step(machine, given, now)
        # Instants are handled whole, so nothing of the last one can still be joined.
        machine.operator.end_instant()
        if self.job.adds_up(self.task) and isinstance(machine.operator, CountingOperator):
            self._counted.append(machine.operator.counted)

    def take_counted(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
        """The instants that are over since the last call, and what was counted at each; None if nothing was."""
        found, self._counted = [each for each in self._counted if len(each[0])], []
        if not found:
            return None
        return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])

    def finish(self) -> Iterator[Answers]:
        """No event will come any more."""
        return self.advance(FOREVER)

    def _before(self, now: int) -> tuple[Block | None, list[Block]]:
        """The events before a time, in order, and the blocks that are left."""
        cuts = [block.cut(now) for block in self.held]
        due = [early for early, _ in cuts if early is not None]
        rest = [late for _, late in cuts if late is not None]
        if not due:
            return None, rest
        return concat_blocks(due).with_ticks(separating=self._separates).in_order(), rest

    def _step(self, machine: Machine, given: Encoded | None, now: int) -> Iterator[Answers]:
        program = self.task.program
        if given is None:
            nothing = np.zeros(0, np.int64)
            tables = {gpm.name: MappingTable(nothing, {}) for gpm in program.gpms}
            return machine.step_tables(tables, nothing, nothing, self._no_pairs(), now, self._report)
        block, ids = given.block, given.ids
        # Most queries never ask which events a match is made of.
        serials = np.zeros(len(block), np.int64)
        if self.job.provenance or program.tells_events:
            digests = [row.tobytes() for row in block.digests] if self.job.provenance else None
            names = ids[block.names] if self.job.keeps_names else np.zeros(len(block), np.int32)
            serials = machine.events.append_known(block.times, block.streams, names, digests)
        tables = {
            gpm.name: MappingTable(
                rows.event.astype(np.int64),
                {name: ids[rows.terms[:, column]] for column, name in enumerate(columns)},
                block.starts[rows.event] if len(block.starts) else None,
            )
            for gpm, columns, rows in zip(program.gpms, self.task.columns, block.gpms, strict=True)
        }
        partition = None
        if self.task.routing.unit is RouteUnit.PARTITION:
            partition = (
                block.pairs.event.astype(np.int64),
                machine.operator.number_keys(ids[block.pairs.terms]),
            )
        return machine.step_tables(tables, block.times, serials, partition, now, self._report)

    def _no_pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]] | None:
        if self.task.routing.unit is not RouteUnit.PARTITION:
            return None
        return np.zeros(0, np.int64), np.zeros(0, np.int32)

    def _owned(self, found: Situated) -> npt.NDArray[np.bool_]:
        """Which matches this bucket reports: those whose key and window are at home here."""
        routing, owned = self.task.routing, np.ones(len(found), np.bool_)
        border = np.flatnonzero(routing.at_border(found.start))
        if len(border):
            columns = [self.hashes.of(found.column(name)[border]) for name in routing.variables]
            owned[border] = routing.home(combined(columns, len(border)), found.start[border]) == self.bucket
        return owned

    def _at_home(self, keys: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which values of the key this bucket has the rows of."""
        hashes = combined([self.hashes.of(keys)], len(keys))
        here: npt.NDArray[np.bool_] = (
            self.task.routing.home(hashes, np.zeros(len(keys), np.int64)) == self.bucket
        )
        return here

    def _compact(self) -> None:
        """Keep the dictionary from growing without bound."""
        if len(self.dictionary) < max(settings().compacted_bucket_terms, 2 * self._compacted):
            return
        machines = list(self.machines.values())
        live = np.concatenate([np.zeros(0, np.int64), *(machine.live_ids() for machine in machines)])
        mapping = self.dictionary.compact(live)
        for machine in machines:
            machine.remap(mapping)
        self._compacted = len(self.dictionary)
