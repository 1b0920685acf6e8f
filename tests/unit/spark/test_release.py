"""The driver and its workers have the same code, or the run says so."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import spaseq
from spaseq.spark import release
from spaseq.spark.release import OtherCode, Release, code_digest


def test_a_worker_with_the_same_code_unpickles_what_it_is_sent() -> None:
    """Wherever it is installed."""
    assert isinstance(pickle.loads(pickle.dumps(Release())), Release)


def test_a_worker_with_other_code_says_so_before_it_unpickles_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows may be of classes that it does not have, or that have other fields."""
    sent = pickle.dumps({"release": Release(), "job": Unreadable()})
    (tmp_path / "module.py").write_text("x = 1")
    monkeypatch.setattr(release, "_PACKAGE", tmp_path)
    with pytest.raises(OtherCode, match=r"has another spaseq in .* than the driver: install the same one"):
        pickle.loads(sent)


class Unreadable:
    """Cannot be unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return int, ("no number",)


def test_the_digest_of_code_is_that_of_its_modules_wherever_they_are(tmp_path: Path) -> None:
    """What is compiled, or data beside them, does not count."""
    for folder in ("a", "b"):
        (tmp_path / folder / "inner").mkdir(parents=True)
        (tmp_path / folder / "inner" / "module.py").write_text("x = 1")
    (tmp_path / "b" / "module.pyc").write_text("")
    assert code_digest(tmp_path / "a") == code_digest(tmp_path / "b")
    (tmp_path / "a" / "other.py").write_text("")
    code_digest.cache_clear()
    assert code_digest(tmp_path / "a") != code_digest(tmp_path / "b")
    assert len(list(Path(spaseq.__file__).parent.rglob("*.py"))) > 400
