"""Where a task stands."""

from __future__ import annotations

from pathlib import Path

import pytest

import spaseq
from spaseq.errors import InvalidArgument
from spaseq.spark.sources.task_place import check_unpacked


def test_a_package_inside_a_zip_is_refused_with_advice(tmp_path: Path) -> None:
    """Its kernels could not be compiled; the sentence says how to send it."""
    check_unpacked(Path(spaseq.__file__))
    with pytest.raises(InvalidArgument, match="send it with `--archives`"):
        check_unpacked(tmp_path / "spaseq.zip" / "spaseq" / "__init__.py")
