"""NFAscep: the automaton that a sequence expression is compiled to (section 6 of the SPAseq paper)."""

from spaseq.automaton.compiler import compile_automaton
from spaseq.automaton.nfa import Edge, Nfa, Predicate, State

__all__ = ["Edge", "Nfa", "Predicate", "State", "compile_automaton"]
