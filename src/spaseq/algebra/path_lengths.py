"""Property paths that may have no length, and what they are without that."""

from __future__ import annotations

from spaseq.algebra.patterns import (
    Inverse,
    Link,
    NegatedSet,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
)


def may_be_empty(path: object) -> bool:
    """True if a path may have no length."""
    match path:
        case PathRepeat(inner, op):
            return op in ("*", "?") or may_be_empty(inner)
        case Inverse(inner):
            return may_be_empty(inner)
        case PathSequence(several):
            return all(may_be_empty(part) for part in several)
        case PathAlternative(several):
            return any(may_be_empty(part) for part in several)
        case _:
            return False


def proper_walks(path: object) -> Path | None:
    """The walks of a path that have a length, as a path; None if there are none."""
    match path:
        case PathRepeat(inner, op):
            part = proper_walks(inner)
            return part if part is None or op == "?" else PathRepeat(part, "+")
        case Inverse(inner):
            part = proper_walks(inner)
            return None if part is None else Inverse(part)
        case PathAlternative(several):
            found = [part for part in map(proper_walks, several) if part is not None]
        case PathSequence(several) if may_be_empty(path):
            # The first part that has a length, whatever comes behind it.
            found = [
                PathSequence((part, *several[at + 1 :])) if several[at + 1 :] else part
                for at, part in enumerate(map(proper_walks, several))
                if part is not None
            ]
        case _:
            assert isinstance(path, (Link, PathSequence, NegatedSet))
            return path
    return None if not found else found[0] if len(found) == 1 else PathAlternative(tuple(found))
