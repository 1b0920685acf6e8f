"""Where caches are."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaseq.caches import cache_directory


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", ".cache/spaseq"), ("darwin", "Library/Caches/spaseq"), ("win32", "AppData/Local/spaseq")],
)
def test_each_system_has_a_place_of_its_own(
    platform: str, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Unless somebody names one."""
    for name in ("SPASEQ_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", platform)
    assert cache_directory() == tmp_path / expected
    monkeypatch.setenv("SPASEQ_CACHE_DIR", "/elsewhere")
    assert cache_directory() == Path("/elsewhere")
