"""Facts about `spaseq generate` and `spaseq convert` as commands."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from spaseq.cli.main import main


def test_generate_tells_what_it_wrote(tmp_path: Path) -> None:
    """Files, counts and IRIs on standard output, the same in the manifest."""
    done = CliRunner().invoke(
        main,
        ["generate", "stocks", "--events", "20", "--seed", "3", "--companies", "2", "--out", str(tmp_path)],
    )
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert done.exit_code == 0
    assert " 20 events   100 quads  <http://example.org/streams/stocks>" in done.stdout
    assert (manifest["events"], manifest["quads"], manifest["settings"]["companies"]) == (20, 100, 2)


def test_an_unknown_workload_ends_with_status_2(tmp_path: Path) -> None:
    """The command line is wrong, and says what would be right."""
    done = CliRunner().invoke(main, ["generate", "weather", "--events", "1", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "smartgrid" in done.stderr


def test_a_start_that_is_no_time_ends_with_status_2(tmp_path: Path) -> None:
    """In one sentence, without a traceback."""
    done = CliRunner().invoke(
        main, ["generate", "cards", "--events", "1", "--start", "tomorrow", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 2
    assert done.stderr == "error: `tomorrow` is not a date-time; write 2024-01-01T00:00:00Z\n"


def test_convert_without_its_data_ends_with_status_2(tmp_path: Path) -> None:
    """The missing file is named."""
    done = CliRunner().invoke(
        main, ["convert", "bars", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 2
    assert "stock_minute_bars_lean.csv.gz` does not exist" in done.stderr
