"""The paper's optimisations (section 7), each with a switch. Leaving any out changes the speed, no answer."""

from __future__ import annotations

from dataclasses import dataclass, fields

from spaseq.errors import InvalidArgument, did_you_mean, listed


@dataclass(frozen=True, slots=True)
class Optimisations:
    """What is switched on; everything by default."""

    stream_index: bool = True
    """Runs indexed by what they wait for, and so by stream (7.2.2); without it every row visits every run."""
    join_index: bool = True
    """Runs indexed by the values they join on."""
    push_window: bool = True
    """Runs dropped when their window ends (7.2.1); without it the window is checked when they are extended."""
    push_stateful: bool = True
    """Conditions of one event decided with its pattern (7.2.1); without it when it meets a run."""
    lazy_conjunction: bool = True
    """A conjunction's other patterns looked for only at instants where the first one occurs (7.3)."""
    order_edges: bool = True
    """Cheap patterns of a conjunction first, by estimate at first and by what was seen later on (7.3)."""
    recycle_memory: bool = True
    """Arrays reused after a sweep (7.2.3)."""

    @staticmethod
    def names() -> tuple[str, ...]:
        """The switches."""
        return tuple(field.name for field in fields(Optimisations))

    @staticmethod
    def without(*names: str) -> Optimisations:
        """All but these."""
        for name in names:
            if name not in Optimisations.names():
                known = Optimisations.names()
                raise InvalidArgument(
                    f"`{name}` is not an optimisation{did_you_mean(name, known)}; there are {listed(known)}"
                )
        return Optimisations(**dict.fromkeys(names, False))


ALL = Optimisations()
