"""`Engine`: a session of one query, whose state can be saved (docs/reference/python.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spaseq.columnar.knowledge import Knowledge
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.session import Session, as_query
from spaseq.errors import InvalidArgument, described
from spaseq.operators.snapshot import restore_machine, snapshot_machine
from spaseq.planner.compiled import CompiledQuery
from spaseq.planner.in_run import RULE_LIMIT, UNRESTRICTED

if TYPE_CHECKING:
    from spaseq.columnar.knowledge import Source


class Engine(Session):
    """Runs one query in this process: a `Session` that begins with it."""

    def __init__(
        self,
        query: CompiledQuery | str,
        *,
        knowledge: Knowledge | Mapping[str, Source] | None = None,
        lateness: str | int = 0,
        max_lead: str | int | None = None,
        rdfs: bool = False,
        policy: str = UNRESTRICTED,
        rule_limit: int = RULE_LIMIT,
        max_runs: int | None = 10_000_000,
        max_memory: int | None = None,
        compile_kernels: bool | None = None,
        with_events: bool = True,
    ) -> None:
        compiled = as_query(query)
        super().__init__(
            knowledge=knowledge,
            lateness=lateness,
            max_lead=max_lead,
            rdfs=rdfs,
            policy=policy,
            rule_limit=rule_limit,
            max_runs=max_runs,
            max_memory=max_memory,
            compile_kernels=compile_kernels,
            with_events=with_events,
        )
        run = self._add(NamedQuery(compiled.name, compiled))
        self.query, self.program, self.machine = compiled, run.program, run.machine

    def snapshot(self) -> bytes:
        """The engine's state as bytes: terms, not ids; plain arrays, no pickle."""
        return snapshot_machine(self.machine, self.buffer)

    @classmethod
    def restore(cls, query: CompiledQuery | str, blob: bytes, **options: Any) -> Engine:
        """An engine that goes on where a snapshot was taken; options as for a new one."""
        if not isinstance(blob, bytes):
            raise InvalidArgument(f"a snapshot is bytes, as `snapshot()` gives them, not {described(blob)}")
        engine = cls(query, **options)
        restore_machine(engine.machine, blob, engine.buffer)
        return engine
