"""Check module sizes: aim at 300 lines, justify 500, refuse more than 800 (CONTRIBUTING.md).

Run it alone for the whole tree. It names modules over 500 lines and fails on those over 800.
"""

from __future__ import annotations

import sys
from pathlib import Path

JUSTIFY = 500
REFUSE = 800
ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "scripts", "benchmarks", "examples")


def sizes(root: Path) -> list[tuple[int, Path]]:
    """Every Python module below the project's folders with its number of lines, largest first."""
    found = [
        (len(path.read_text(encoding="utf-8").splitlines()), path.relative_to(root))
        for folder in FOLDERS
        for path in (root / folder).rglob("*.py")
    ]
    return sorted(found, key=lambda row: (-row[0], row[1]))


def main() -> int:
    """Print what is large; the exit status says whether something is too large."""
    rows = sizes(ROOT)
    for lines, path in rows:
        if lines > REFUSE:
            print(f"{path}: {lines} lines, more than {REFUSE}: split it along a seam")
        elif lines > JUSTIFY:
            print(f"{path}: {lines} lines, more than {JUSTIFY}: is there a seam?")
    return 1 if rows and rows[0][0] > REFUSE else 0


if __name__ == "__main__":
    sys.exit(main())
