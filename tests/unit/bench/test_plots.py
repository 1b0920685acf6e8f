"""Facts about the plots and the pages: well-formed, complete, and true to the numbers."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spaseq.errors import InvalidArgument
from spaseq_bench.compare import compared
from spaseq_bench.figures import plots_of, split_rows, told_rows
from spaseq_bench.plots import Bar, Series, bar_chart, line_chart
from spaseq_bench.report import pages_of, write_report
from spaseq_bench.results import Book, Cell, Result, Verdict, load_book, merged

BOOK = Path(__file__).resolve().parents[3] / "docs" / "benchmarks"


def cell(variant: str, at: str, cpu: float, **more: object) -> Cell:
    """A cell with one round."""
    x = float(at) if at else None
    return Cell(variant, "run", at, x, 100, 500, 9000, cpu=[cpu], wall=[cpu], **more)  # type: ignore[arg-type]


def result(*cells: Cell, name: str = "small", axis: str = "window") -> Result:
    """A result with these cells."""
    verdict = Verdict("it is fast", 2.0, "≥ 1", True, True, "The paper's claim that it is fast holds here.")
    plots = ["cpu", "rate", "split"]
    return Result(
        name,
        "Small & fine",
        "How?",
        "a paper",
        "stocks",
        axis,
        "minutes",
        False,
        plots,
        "SELECT",
        1.0,
        0.5,
        [*cells],
        [verdict],
    )


def book(*results: Result, profile: str = "quick", processor: str = "fast") -> Book:
    """A book of these results."""
    return Book(profile, "today", 60.0, {"processor": processor}, {"python": "3"}, "abc", [*results])


def labels(svg: str) -> list[str]:
    """What is written in a plot."""
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_plots_write_names_and_values_as_text() -> None:
    """A variant may be called anything; a plot can be searched."""
    lines = [Series("a < b & c", ((1, 2), (2, 3))), Series("d", ((1, 0.1), (2, 0.2)))]
    bars = [Bar("x & y", (("lexing", 1.0), ("GPM", 0.5))), Bar("z", (("lexing", 0.2),))]
    for svg in (
        line_chart("t", lines, x_label="x", y_label="y"),
        line_chart("t", lines, x_label="x", y_label="y", log_x=True, log_y=True),
    ):
        assert {"t", "a < b & c", "d", "x", "y"} <= set(labels(svg))
    assert {"x & y", "z", "1.5", "0.2", "lexing", "GPM", "s"} <= set(labels(bar_chart("t", bars, unit="s")))


def test_the_same_numbers_give_the_same_plot() -> None:
    """No date and no random name, so that a plot only changes with its numbers."""
    bars = [Bar("a", (("lexing", 1.0),))]
    assert bar_chart("t", bars, unit="s") == bar_chart("t", bars, unit="s")


def test_the_table_leaves_out_columns_that_nobody_fills() -> None:
    """Latency is no column of a throughput benchmark."""
    rows = told_rows(result(cell("a", "10", 0.5), cell("a", "20", 0.7)))
    assert "p99 ms" not in rows[0]
    assert "CPU s" in rows[0]


def test_the_split_is_a_table_of_the_stages_that_took_time() -> None:
    """Of the middle round, in the order of the path; nothing where nobody kept a stopwatch."""
    stages = [{"lexing": 0.2, "GPM": 0.1, "survey": 0.0}, {"lexing": 0.3, "GPM": 0.1, "survey": 0.0}]
    rows = split_rows(result(cell("a", "10", 0.3, stages=stages), cell("b", "10", 0.5)))
    assert rows == [("window", "CPU s of", "lexing", "GPM"), ("10", "a", "0.200", "0.100")]
    assert split_rows(result(cell("b", "10", 0.5))) == []


def test_a_void_cell_is_told_in_the_table() -> None:
    """The reader sees why there is no number."""
    rows = told_rows(result(cell("a", "10", 0.5, void="wrong answer: 3 lines")))
    assert any("void: wrong answer" in text for text in rows[1])


def test_the_report_links_every_benchmark_and_every_plot(tmp_path: Path) -> None:
    """What is linked exists."""
    stages = [{"lexing": 0.2, "GPM": 0.1}]
    written = write_report(book(result(cell("a", "10", 0.5, stages=stages), cell("a", "20", 0.7))), tmp_path)
    page = (tmp_path / "small.md").read_text(encoding="utf-8")
    assert "[Small & fine](small.md)" in (tmp_path / "README.md").read_text(encoding="utf-8")
    for kind in ("cpu", "rate", "split"):
        assert f"images/small-{kind}.svg" in page
        assert tmp_path / "images" / f"small-{kind}.svg" in written
    assert "holds here" in page
    assert "<svg" in (tmp_path / "book.html").read_text(encoding="utf-8")


def test_a_book_survives_its_file(tmp_path: Path) -> None:
    """What is saved is what is loaded."""
    whole = book(result(cell("a", "10", 0.5, latency={"p99": 1.0})))
    whole.save(tmp_path / "b.json")
    assert load_book(tmp_path / "b.json") == whole


def test_the_file_tells_rates_as_well(tmp_path: Path) -> None:
    """Whoever reads the JSON need not divide; a void time has no rate."""
    whole = book(result(cell("a", "10", 0.5), cell("a", "20", 0.5, void="wrong answer")))
    right, wrong = json.loads(whole.to_json())["results"][0]["cells"]
    assert right["events_per_second"] == 200
    assert right["triples_per_second"] == 1000
    assert wrong["triples_per_second"] is None


def test_the_committed_pages_are_what_their_results_give() -> None:
    """No sentence on the pages is written by hand, and every plot is there."""
    whole = load_book(BOOK / "results.json")
    for name, text in pages_of(whole).items():
        assert (BOOK / name).read_text(encoding="utf-8") == text, name
    named = {name for result in whole.results for name, _ in plots_of(result)}
    assert {path.stem for path in (BOOK / "images").glob("*.svg")} == named


@pytest.mark.parametrize("name", ["limit", "skip-till-any"])
def test_the_committed_plots_are_what_their_results_give(name: str) -> None:
    """Bars of parts and lines, one of each; places depend on the machine's fonts, what is written does not."""
    found = next(result for result in load_book(BOOK / "results.json").results if result.name == name)
    plot, draw = next(plots_of(found))
    assert labels((BOOK / "images" / f"{plot}.svg").read_text(encoding="utf-8")) == labels(draw())


def test_a_page_tells_what_was_read_and_how_busy_the_machine_was(tmp_path: Path) -> None:
    """A number without its circumstances cannot be judged."""
    write_report(book(result(cell("a", "10", 0.5))), tmp_path)
    page = (tmp_path / "small.md").read_text(encoding="utf-8")
    assert "`stocks`: 100 events, 500 triples" in page
    assert "load was 0.5" in page


def test_a_file_without_results_is_refused(tmp_path: Path) -> None:
    """With a sentence that names it."""
    path = tmp_path / "b.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidArgument, match="not a result of"):
        load_book(path)


def test_merging_keeps_what_was_not_run_again() -> None:
    """One benchmark is repeated, the others stay."""
    old = book(result(cell("a", "10", 9.0)), result(cell("a", "10", 2.0), name="other"))
    new = book(result(cell("a", "10", 1.0)))
    both = merged(old, new)
    assert [(each.name, each.cells[0].cpu) for each in both.results] == [("other", [2.0]), ("small", [1.0])]


def test_other_inputs_and_other_answers_are_not_compared() -> None:
    """Half the work in half the time is not faster."""
    old, new = book(result(cell("a", "10", 1.0, matches=7))), book(result(cell("a", "10", 0.5, matches=3)))
    rows, slower, notes = compared(old, new, 0.15)
    assert len(rows) == 1
    assert not slower
    assert "small 10 a" in notes[-1]


def test_comparing_finds_what_became_slower_and_what_makes_it_doubtful() -> None:
    """Noise within the tolerance is no verdict; another machine is a note."""
    old = book(result(cell("a", "10", 1.0), cell("b", "10", 1.0), cell("c", "10", 1.0)))
    new = book(result(cell("a", "10", 1.1), cell("b", "10", 1.5), cell("c", "10", 0.5)), processor="slow")
    rows, slower, notes = compared(old, new, 0.15)
    assert [row[-1] for row in rows[1:]] == ["", "slower", "faster"]
    assert slower == ["small 10 b"]
    assert "processor" in notes[0]
