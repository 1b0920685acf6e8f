"""Event algebra to NFAscep, and NFAscep at run time."""

from spaseq.automaton.compiler import compile_automaton
from spaseq.automaton.graph import Automaton, Edge, EdgeKind

__all__ = ["Automaton", "Edge", "EdgeKind", "compile_automaton"]
