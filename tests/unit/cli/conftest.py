"""What tests of the command share."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.trades import QUERIES, trade, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with queries and two trades that rise from 1 to 5."""
    monkeypatch.chdir(tmp_path)
    for name, text in QUERIES.items():
        Path(f"{name}.spaseq").write_text(text, encoding="utf-8")
    write("two.nq", [trade(10, "H1", 1), trade(20, "H1", 5)])
    return tmp_path
