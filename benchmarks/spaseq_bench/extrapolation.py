"""From a run on one machine to fifty machines and ten terabytes: measured bytes, rows and CPU time per stage, and nothing but proportion.

What a cluster adds is not measured here: machines that fail or lag behind, keys of unequal weight, the start of executors.
"""

from __future__ import annotations

from typing import Final

from spaseq_bench.results import Cell, Result

NODES: Final = 50
CORES: Final = 16
"""Of one machine."""
INPUT: Final = 10e12
"""Bytes."""
DISK: Final = 500e6
NETWORK: Final = 1.25e9
"""Bytes per second of one machine: a disk or an object store, and 10 Gbit/s."""
PART: Final = 1 << 27
"""Bytes of input per task."""


def extrapolated(result: Result) -> list[str]:
    """Sentences with the arithmetic for every cell that knows its stages; none if no cell does."""
    cells = [cell for cell in result.cells if cell.counts and "pattern cpu" in cell.figures]
    return [text for cell in cells for text in _section(cell)]


def _section(cell: Cell) -> list[str]:
    def figure(name: str) -> float:
        found = cell.measure(name)
        assert found is not None
        return found

    scale = INPUT / cell.size
    pattern, sequence, other = (figure(f"{stage} cpu") for stage in ("pattern", "sequence", "other"))
    shuffle, blocks = figure("shuffle bytes"), figure("shuffle blocks")
    answers = figure("answer bytes")
    cores = NODES * CORES
    read, moved = INPUT / NODES / DISK, scale * shuffle / NODES / NETWORK
    cpu = [scale * seconds / cores for seconds in (pattern, sequence, other)]
    longest = max(sum(cpu), read, moved)
    return [
        f"## {NODES} machines and {INPUT / 1e12:.0f} TB, from `{cell.variant}`",
        (
            f"Measured: {cell.size / 1e6:,.1f} MB with {cell.events:,} events became {blocks:,.0f} blocks of {shuffle / 1e6:,.1f} MB in the shuffle "
            f"and {cell.matches:,} matches of {answers / 1e6:,.1f} MB, in {pattern:.2f} s of CPU time before the shuffle, {sequence:.2f} s behind it "
            f"and {other:.2f} s elsewhere. Assumed: {NODES} machines with {CORES} cores like the one measured, {DISK / 1e6:,.0f} MB/s from disk and "
            f"{NETWORK / 1e9:.2f} GB/s of network each, keys of equal weight, all cores busy."
        ),
        "\n".join(
            [
                f"- The input is {INPUT / 1e12:.0f} TB / {cell.size / 1e6:,.1f} MB = {scale:,.0f} × as large: {scale * cell.events / 1e9:,.1f} billion events.",
                (
                    f"- Graph patterns: {scale:,.0f} × {pattern:.2f} s / {cores} cores = {cpu[0] / 60:,.1f} minutes, in "
                    f"{INPUT / PART:,.0f} tasks of {PART / 2**20:.0f} MiB."
                ),
                f"- Sequences: {scale:,.0f} × {sequence:.2f} s / {cores} cores = {cpu[1] / 60:,.1f} minutes.",
                (
                    f"- Everything else: {scale:,.0f} × {other:.2f} s / {cores} cores = {cpu[2] / 60:,.1f} minutes, if it can be spread as well; "
                    f"what the driver does alone cannot."
                ),
                f"- Reading: {INPUT / 1e12:.0f} TB / {NODES} machines / {DISK / 1e6:,.0f} MB/s = {read / 60:,.1f} minutes, beside the patterns.",
                f"- Shuffle: {scale:,.0f} × {shuffle / 1e6:,.1f} MB = {scale * shuffle / 1e12:.2f} TB; / {NODES} machines / {NETWORK / 1e9:.2f} GB/s = {moved / 60:,.1f} minutes.",
                (
                    f"- Output: {scale:,.0f} × {answers / 1e6:,.1f} MB = {scale * answers / 1e12:.2f} TB of lines, which should then be written as a directory by the "
                    "workers, since one ordered file is merged by the driver."
                ),
                f"- Together not less than {longest / 60:,.0f} minutes.",
            ]
        ),
    ]
