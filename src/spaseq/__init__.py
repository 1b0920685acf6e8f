"""spaseq finds patterns in streams of RDF graphs: SPARQL says what an event looks like, SEQ how events follow.

The public names: everything a user imports, and nothing else. Heavy parts are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spaseq.errors import InvalidArgument, QueryError, QueryWarning, SpaseqError

if TYPE_CHECKING:
    from spaseq.engine.embedded import Engine
    from spaseq.engine.evaluate import evaluate
    from spaseq.engine.run import run
    from spaseq.engine.session import Session
    from spaseq.model.events import Event
    from spaseq.model.frames import to_pandas
    from spaseq.model.matches import Match, MatchedEvent
    from spaseq.planner import CompiledQuery
    from spaseq.planner import compile_query as compile  # noqa: A004 - the public name
    from spaseq.planner.explain import explain

__version__ = "0.1.0"

__all__ = [
    "CompiledQuery", "Engine", "Event", "InvalidArgument", "Match", "MatchedEvent", "QueryError",
    "QueryWarning", "Session", "SpaseqError", "compile", "compile_all", "evaluate", "explain", "run", "to_pandas",
]  # fmt: skip

_LAZY = {
    "CompiledQuery": ("spaseq.planner", "CompiledQuery"),
    "Engine": ("spaseq.engine.embedded", "Engine"),
    "Event": ("spaseq.model.events", "Event"),
    "Match": ("spaseq.model.matches", "Match"),
    "Session": ("spaseq.engine.session", "Session"),
    "MatchedEvent": ("spaseq.model.matches", "MatchedEvent"),
    "compile": ("spaseq.planner", "compile_query"),
    "compile_all": ("spaseq.planner.compiled", "compile_all"),
    "evaluate": ("spaseq.engine.evaluate", "evaluate"),
    "explain": ("spaseq.planner.explain", "explain"),
    "run": ("spaseq.engine.run", "run"),
    "to_pandas": ("spaseq.model.frames", "to_pandas"),
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module `spaseq` has no attribute `{name}`")
    module, attribute = _LAZY[name]
    globals()[name] = found = getattr(import_module(module), attribute)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
