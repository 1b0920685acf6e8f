"""The command `spaseq-bench`: list, run, compare and report benchmarks; `spaseq-bench NAME` is short for `run NAME`."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spaseq.cli.tables import Cells, columns
from spaseq.errors import InvalidArgument, SpaseqError, did_you_mean

if TYPE_CHECKING:
    from spaseq_bench.declared import Benchmark
    from spaseq_bench.results import Result

PROFILES = ("tiny", "quick", "full")
RESULTS = Path("bench.json")
FAILED = 1
WRONG = 2


def folder_of_benchmarks() -> Path:
    """The declared benchmarks: `benchmarks` here or above, else the folder that this package lies in."""
    here = Path.cwd()
    places = [*(place / "benchmarks" for place in (here, *here.parents)), Path(__file__).parents[1]]
    return next((place for place in places if any(place.glob("*.bench"))), here / "benchmarks")


class Bench(click.Group):
    """A group in which the name of a benchmark, or of several, is a command that runs them."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what is wrong with a file or a name is said in a sentence."""
        try:
            return super().invoke(ctx)
        except SpaseqError as error:
            click.echo(f"error: {error}", err=True)
            raise SystemExit(WRONG) from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A verb, or `run` of the benchmark with that name."""
        return super().get_command(ctx, cmd_name) or (run if self._names(cmd_name) else None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Hand the name on to `run` if it is a benchmark's."""
        if args and super().get_command(ctx, args[0]) is None and self._names(args[0]):
            return "run", run, args
        return super().resolve_command(ctx, args)

    @staticmethod
    def _names(name: str) -> bool:
        return bool(chosen(name, folder_of_benchmarks()))


@click.group(cls=Bench, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def bench() -> None:
    """Run benchmarks: declared workloads, checked answers, interleaved variants.

    `spaseq-bench limit` is short for `spaseq-bench run limit`; see `spaseq-bench list` for the names.
    """


@bench.command("list")
def list_() -> None:
    """List the benchmarks."""
    rows: list[Cells] = [("name", "asks", "source")]
    rows += [(each.name, each.question, each.source) for each in _load(())]
    click.echo(columns(rows))


@bench.command
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--profile", type=click.Choice(PROFILES), default="quick", show_default=True, help="How large.")
@click.option("--repeats", type=click.IntRange(1), help="Rounds that count; default as declared.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=RESULTS, show_default=True)
@click.option("--keep/--no-keep", default=False, help="Keep other benchmarks that are in the output already.")
@click.option(
    "--against", "other", metavar="COMMIT", help="Measure another commit as well, in the same rounds."
)
@click.option(
    "--tolerance", type=float, default=0.05, show_default=True, help="How much slower than it is allowed."
)
def run(
    names: tuple[str, ...],
    profile: str,
    repeats: int | None,
    out: Path,
    keep: bool,
    other: str | None,
    tolerance: float,
) -> None:
    """Run benchmarks, all of them if none is named, and write the results as JSON.

    Exit status 1 if an answer was wrong, or with `--against` if something is slower than the tolerance allows.
    """
    from spaseq_bench import surroundings
    from spaseq_bench.against import against
    from spaseq_bench.measure import measure
    from spaseq_bench.pool import Pool
    from spaseq_bench.results import Book, load_book, merged

    benchmarks = _load(names)
    if other is not None:
        twice = [against(each, other, profile, tolerance) for each in benchmarks]
        benchmarks = [each for each in twice if each.variants]
    began, started, machine = time.perf_counter(), surroundings.now(), surroundings.machine()
    versions, commit = surroundings.versions(), surroundings.commit()
    results: list[Result] = []
    with Pool() as pool:
        for benchmark in benchmarks:
            result = measure(benchmark, profile, pool=pool, repeats=repeats, say=_say)
            _say("")
            results.append(replace(result, commit=commit))
            click.echo(_told(result))
            seconds = time.perf_counter() - began
            book = Book(profile, started, seconds, machine, versions, commit, results)
            if keep and out.exists():
                book = merged(load_book(out), book)
            book.save(out)  # after every benchmark: an interrupted run keeps its results
    click.echo(f"{len(results)} benchmarks in {time.perf_counter() - began:.0f} s; results in {out}")
    failed = any(cell.void for result in results for cell in result.cells)
    if failed or (
        other is not None and any(claim.holds is False for each in results for claim in each.claims)
    ):
        raise SystemExit(FAILED)


@bench.command
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
@click.option("--tolerance", type=float, default=0.15, show_default=True, help="What is still noise.")
def compare(before: Path, after: Path, tolerance: float) -> None:
    """Compare two results; exit status 1 if something became slower than the tolerance allows."""
    from spaseq_bench.compare import compared
    from spaseq_bench.results import load_book

    old, new = load_book(before), load_book(after)
    rows, slower, notes = compared(old, new, tolerance)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    click.echo(columns(rows))
    if slower:
        raise SystemExit(FAILED)


@bench.command
@click.argument("results", type=click.Path(exists=True, path_type=Path), default=RESULTS)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("docs/benchmarks"))
def report(results: Path, out: Path) -> None:
    """Write the report: a page per benchmark with plots, as Markdown and as one HTML page."""
    from spaseq_bench.report import write_report
    from spaseq_bench.results import load_book

    for path in write_report(load_book(results), out):
        click.echo(path)


@bench.command
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--profile", "profiles", type=click.Choice(PROFILES), multiple=True, default=PROFILES)
def pin(names: tuple[str, ...], profiles: tuple[str, ...]) -> None:
    """Write the answers that come out now into the benchmarks; review the diff as behaviour.

    The tiny profile is judged by the reference in the test suite; larger ones rest on that.
    """
    from spaseq_bench.declared import pinned
    from spaseq_bench.measure import answers_of

    for benchmark in _load(names):
        kept = {k: a for k, a in benchmark.expected.items() if k.split()[0] not in profiles}
        for profile in profiles:
            kept |= answers_of(benchmark, profile, _say)
        _say("")
        text = benchmark.path.read_text(encoding="utf-8")
        benchmark.path.write_text(pinned(text, dict(sorted(kept.items(), key=_by_profile))), encoding="utf-8")
        click.echo(f"{benchmark.name}: {len(kept)} answers")


def _by_profile(item: tuple[str, object]) -> int:
    return PROFILES.index(item[0].split()[0])


@bench.command
@click.argument("verb", type=click.Choice(["list", "install"]), default="list")
@click.argument("name", required=False)
def peers(verb: str, name: str | None) -> None:
    """List the peers, or install one into an environment of its own."""
    from spaseq_bench.environments import PEERS, install, peer, peer_python

    if verb == "install":
        for each in [peer(name)] if name else list(PEERS.values()):
            install(each.name)
            click.echo(f"{each.name}: installed")
        return
    rows: list[Cells] = [("peer", "ready", "what it does")]
    rows += [(each.name, "yes" if peer_python(each.name) else "no", each.about) for each in PEERS.values()]
    click.echo(columns(rows))


# --- showing ------------------------------------------------------------------------------------


def _load(names: tuple[str, ...]) -> list[Benchmark]:
    """The benchmarks of these names, all of them if none is given."""
    from spaseq_bench.declared import load_all, load_benchmark

    folder = folder_of_benchmarks()
    paths: list[Path] = []
    for name in names:
        found = chosen(name, folder)
        if not found:
            near = did_you_mean(name, [path.stem for path in folder.glob("*.bench")])
            raise InvalidArgument(f"there is no benchmark `{name}` in {folder}{near}")
        paths += [path for path in found if path not in paths]
    return [load_benchmark(path) for path in paths] if names else load_all(folder)


def chosen(name: str, folder: Path) -> list[Path]:
    """The files that a name stands for: its own, else its group's, else all whose names begin with it."""
    from spaseq_bench.declared import load_benchmark

    own = folder / f"{name}.bench"
    if own.exists():
        return [own]
    paths = sorted(folder.glob("*.bench"))
    grouped = [
        path for path in paths if path.stem.startswith(f"{name}-") or name in load_benchmark(path).groups
    ]
    return grouped or [path for path in paths if path.stem.startswith(name)]


def _say(text: str) -> None:
    """One line on standard error that the next one overwrites; only on a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{text}", nl=False, err=True)


def _told(result: Result) -> str:
    """A result as a table with its verdicts."""
    from spaseq_bench.figures import split_rows, told_rows

    lines = [click.style(f"{result.name}: {result.title}", bold=True), columns(told_rows(result))]
    if split := split_rows(result):
        lines.append(columns(split))
    for verdict in result.claims:
        mark = {
            True: click.style("✓", fg="green"),
            False: click.style("✗", fg="red"),
            None: click.style("?", fg="yellow"),
        }
        lines.append(f"{mark[verdict.holds]} {verdict.sentence}")
    return "\n".join([*lines, ""])


def main() -> None:
    """What the installed command calls."""
    bench(prog_name="spaseq-bench")
