"""From query text to a compiled query, and the explanation of every stage on the way."""

from spaseq.planner.compiled import CompiledQuery, compile_query
from spaseq.planner.explain import explain

__all__ = ["CompiledQuery", "compile_query", "explain"]
