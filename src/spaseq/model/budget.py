"""The memory budget of a run: everything that may grow without bound says how much it holds, and asks before it grows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from spaseq.errors import LimitReached

_UNKNOWN: Final = 8 << 30
"""The memory of a machine that does not tell."""
_CGROUPS: Final = Path("/sys/fs/cgroup")


class TooMuchMemory(LimitReached):
    """What a run holds would exceed its budget; says what holds it, and what to do."""


@lru_cache
def available_memory() -> int:
    """The memory that this process may use: the machine's, or less where a control group or `ulimit -v` says so."""
    return min([_physical(), *_limits()])


def default_budget(share: int = 1) -> int:
    """Half of the memory that this process may use, divided among so many that work at the same time."""
    return max(1, available_memory() // (2 * share))


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def _limits() -> Iterator[int]:
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            yield soft
    for file in _limit_files():
        with suppress(OSError, ValueError):  # `max` is not a number: no limit
            yield int(file.read_text(encoding="ascii"))


def _limit_files() -> Iterator[Path]:
    """The files with the memory limits of the control groups of this process, version 1 and 2."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            root, name = (
                (_CGROUPS / controllers, "memory.limit_in_bytes") if controllers else (_CGROUPS, "memory.max")
            )
            group = root / path.lstrip("/")
            yield from (folder / name for folder in (group, *group.parents) if folder.is_relative_to(root))


@lru_cache(maxsize=1)
def _statm(process: int) -> tuple[int, int]:
    """The open file that tells the memory of a process, and the size of a page."""
    return os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC), os.sysconf("SC_PAGE_SIZE")


def resident_memory() -> int:
    """The memory that this process takes now, without what it shares with files; 0 where nobody tells."""
    with suppress(OSError, ValueError, AttributeError):
        file, page = _statm(os.getpid())
        _, resident, shared, *_ = map(int, os.pread(file, 200, 0).split())
        return (resident - shared) * page
    return 0


def shown_bytes(count: int) -> str:
    """A number of bytes as people read it.

    >>> [shown_bytes(count) for count in (999, 12_345, 3_400_000_000)]
    ['999 bytes', '12.3 kB', '3.4 GB']
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


class Budget:
    """How many bytes a run may hold, and who holds them.

    Without a number it is `default_budget`, divided by ``share``. With ``whole_process`` the process is the run's own:
    all memory that it takes counts, as the system measures it.
    """

    def __init__(self, most: int | None = None, *, share: int = 1, whole_process: bool = False) -> None:
        self.most = default_budget(share) if most is None else most
        self._whole = whole_process
        self._program = resident_memory() if whole_process else 0
        self._holders: list[tuple[str, Callable[[], int], Callable[[], str]]] = []
        self._cures: dict[str, None] = {}
        self._parts: list[Budget] = []
        self._whole_of: Budget | None = None
        self.count("the program itself", lambda: self._program)

    def count(self, what: str, size: Callable[[], int], told: Callable[[], str] = str) -> None:
        """Something that holds memory under a name; ``told`` says more about it in an error."""
        self._holders.append((what, size, told))

    def advise(self, cure: str) -> None:
        """What lets a query need less, in the words of its language; begins with a verb."""
        self._cures[cure] = None

    def part(self) -> Budget:
        """A share of this budget without a limit of its own: what it counts counts here, until it is dropped."""
        part = Budget(self.most)
        part._whole_of = self
        part._holders.clear()
        self._parts.append(part)
        return part

    def drop(self, part: Budget) -> None:
        """Count a part no more."""
        self._parts.remove(part)

    def _all_holders(self) -> Iterator[tuple[str, Callable[[], int], Callable[[], str]]]:
        yield from self._holders
        for part in self._parts:
            yield from part._holders

    @property
    def held(self) -> int:
        """All bytes that are held now: as counted, which is ahead of arrays not yet filled, or as measured."""
        if self._whole_of is not None:
            return self._whole_of.held
        counted = sum(size() for _, size, _ in self._all_holders())
        return max(counted, resident_memory()) if self._whole else counted

    def fits(self, more: int) -> bool:
        """True if so many bytes more may be held."""
        if self._whole_of is not None:
            return self._whole_of.fits(more)
        # What is counted and not yet measured is at most as much again: arrays double.
        measured = resident_memory() if self._whole else 0
        if measured and 2 * (measured + more) <= self.most:
            return True
        return self.held + more <= self.most

    def check(self, more: int = 0) -> None:
        """Refuse to hold more than was allowed."""
        if not self.fits(more):
            raise self.exceeded()

    def exceeded(self) -> TooMuchMemory:
        """The error that says what holds the memory, largest first."""
        if self._whole_of is not None:
            return self._whole_of.exceeded()
        sizes: dict[str, int] = {}
        details: dict[str, str] = {}
        for what, size, told in self._all_holders():
            sizes[what] = sizes.get(what, 0) + size()
            details[what] = details.get(what) or told()
        sizes["compiled code and work in progress"] = self.held - sum(sizes.values())
        largest = sorted((what for what in sizes if sizes[what] > 0), key=lambda what: -sizes[what])
        parts = [
            f"{what} {shown_bytes(sizes[what])}" + (f" ({details[what]})" if details.get(what) else "")
            for what in largest
        ]
        cure = ", ".join((*self._all_cures(), "or allow more with `max_memory=`")).removeprefix("or ")
        return TooMuchMemory(
            f"the run needs more memory than max_memory={self.most:,} bytes. It holds {', '.join(parts) or 'nothing'}. "
            f"{cure[0].upper()}{cure[1:]}"
        )

    def exhausted(self) -> TooMuchMemory:
        """The error for a run that the system gives no more memory."""
        cure = ", ".join(self._all_cures())
        return TooMuchMemory(
            "the run needs more memory than there is" + (f"; to need less, {cure}" if cure else "")
        )

    def _all_cures(self) -> tuple[str, ...]:
        return tuple({cure: None for budget in (self, *self._parts) for cure in budget._cures})
