"""The automaton at run time (Algorithms 1 to 9 of the paper, over columns).

These functions are plain Python over arrays and, unchanged, Numba kernels: `spaseq.automaton.tiers` loads
this package a second time, under a name that ends in ``_compiled``, once the input is worth it, so that ten
events never wait for LLVM; that is why its modules import each other relatively. Hence their style: no objects, no exceptions, numbers in, numbers out.

One row (an occurrence of a choice) is handled in two steps. `collect` finds what it may do: begin a run,
extend one, end one as a guard, or be kept for a negation in first place. `apply` does it. Between
the two stand the stateful conditions; what the stack programs cannot decide is left to the caller.

`advance` returns after a bounded amount of work, if need be in the middle of a row: `Candidates.cursor` says where
to go on. Entries of a bucket are in descending order, and a run that a row creates never concerns the same row, so
the rest of the row finds what it would have found at once.

Nothing is removed on the spot. A run notes when it was first extended (``used``) and first guarded
(``blocked``); both count from the next instant on, so the order within one instant does not matter.
"""

from .advance import advance, mark, reenter
from .apply import apply, takes_part
from .codes import DONE, NEEDS_ROOM, NEEDS_VERDICT, NO, SLICED, YES

__all__ = [
    "DONE",
    "NEEDS_ROOM",
    "NEEDS_VERDICT",
    "NO",
    "SLICED",
    "YES",
    "advance",
    "apply",
    "mark",
    "reenter",
    "takes_part",
]
