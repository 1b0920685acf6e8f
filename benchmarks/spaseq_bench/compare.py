"""Two result files side by side: what became faster, what slower."""

from __future__ import annotations

from spaseq_bench.results import Book, Cell


def compared(old: Book, new: Book, tolerance: float) -> tuple[list[tuple[str, ...]], list[str], list[str]]:
    """Rows of a table, the cells that became slower than the tolerance allows, and notes on what differs."""
    rows: list[tuple[str, ...]] = [("benchmark", "at", "variant", "before", "after", "ratio", "")]
    slower: list[str] = []
    others: list[str] = []
    before = {(r.name, c.at, c.variant): c for r in old.results for c in r.cells}
    for result in new.results:
        for cell in result.cells:
            other = before.get((result.name, cell.at, cell.variant))
            if other is None or not other.counts or not cell.counts:
                continue
            if (cell.events, cell.quads, cell.matches) != (other.events, other.quads, other.matches):
                others.append(f"{result.name} {cell.at} {cell.variant}".replace("  ", " "))
                continue
            ratio = cell.seconds / other.seconds
            verdict = _verdict(ratio, tolerance)
            if verdict == "slower":
                slower.append(f"{result.name} {cell.at} {cell.variant}")
            rows.append(
                (
                    result.name,
                    cell.at,
                    cell.variant,
                    _seconds(other),
                    _seconds(cell),
                    f"{ratio:.2f}",
                    verdict,
                )
            )
    apart = [f"not compared, for input or answer differ: {', '.join(others)}"] if others else []
    return rows, slower, _notes(old, new) + apart


def _verdict(ratio: float, tolerance: float) -> str:
    if ratio > 1 + tolerance:
        return "slower"
    return "faster" if ratio < 1 / (1 + tolerance) else ""


def _seconds(cell: Cell) -> str:
    return f"{cell.seconds:.3f} s"


def _notes(old: Book, new: Book) -> list[str]:
    """Why the two may not be comparable at all."""
    notes = [
        f"the {key} differs: {old.machine.get(key)} and {new.machine.get(key)}"
        for key in ("processor", "cores")
        if old.machine.get(key) != new.machine.get(key)
    ]
    if old.profile != new.profile:
        notes.append(f"the profiles differ: {old.profile} and {new.profile}")
    notes += [
        f"{name} differs: {version} and {new.versions.get(name)}"
        for name, version in old.versions.items()
        if new.versions.get(name) != version
    ]
    return notes
