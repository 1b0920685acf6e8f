"""NFAscep (Definition 17): states, and edges labelled with state-transition predicates.

``A = ⟨X, E, Θ, φ, x₀, x_f⟩``. An edge carries its predicate ``θ = (U, op, P)`` directly (φ), or none: an
ε-edge, which the paper adds for optional and negated steps (appendix C.4).
"""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.events import Step

EMPTY = "∅"


@dataclass(frozen=True, slots=True)
class Predicate:
    """``(U, op, P)``: stream aliases, operator and GPM; ``gpm`` None is the pattern that any event matches.

    ``op`` is "" for the paper's ∅, else made of ``; : & | + { ? !``.
    """

    streams: tuple[str, ...]
    op: str
    gpm: str | None

    def __str__(self) -> str:
        return f"({','.join(self.streams)} {self.op or EMPTY} {self.gpm or EMPTY})"


@dataclass(frozen=True, slots=True)
class Edge:
    """From a state to a state; edges of one ``choice`` must all match at one instant (conjunction)."""

    source: int
    target: int
    predicate: Predicate | None
    choice: int = 0

    @property
    def is_epsilon(self) -> bool:
        return self.predicate is None

    @property
    def skips(self) -> bool:
        """True for the loop of ``;`` and ``:`` that lets any event pass."""
        return self.predicate is not None and self.predicate.gpm is None


@dataclass(frozen=True, slots=True)
class State:
    """A state waits for one step of the sequence; the final state waits for none.

    ``index`` is the step's index, so a run at state ``i`` has completed the steps before ``i``.
    """

    index: int
    step: Step | None
    final: bool = False

    @property
    def name(self) -> str:
        return "xf" if self.final else f"x{self.index}"


@dataclass(frozen=True, slots=True)
class Nfa:
    states: tuple[State, ...]
    edges: tuple[Edge, ...]

    @property
    def initial(self) -> State:
        return self.states[0]

    @property
    def final(self) -> State:
        return self.states[-1]

    def leaving(self, state: int) -> tuple[Edge, ...]:
        """The edges that leave a state."""
        return tuple(edge for edge in self.edges if edge.source == state)

    def __str__(self) -> str:
        """One edge a line, as ``x0 -(S1 ∅ A)-> x1``; the form that golden tests and explain use."""
        return "\n".join(
            f"{self.states[edge.source].name} -{edge.predicate or 'ε'}-> {self.states[edge.target].name}"
            for edge in self.edges
        )
