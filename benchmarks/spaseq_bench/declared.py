"""Benchmarks as they are declared: a `.bench` file is TOML with workload, query, variants and expected answer.

    title    = "The speed limit"
    question = "Is the whole path from bytes to matches as fast as parsing alone?"

    [workload]
    name = "stocks"
    companies = 100

    [profile.quick]
    events = 40_000
    repeats = 3

    [query]
    within = "${window} MINUTES"
    streams = { S = "http://ex.org/stocks" }
    seq = "A; B; C"
    [query.gpm]
    A = "ON S { ?c :price ?p1 }"

    [axis]
    name = "window"
    points = [10, 20, 30]

    [[variant]]
    name = "spaseq"
    task = "run"

    [[claim]]
    says = "spaseq is at least as fast as a parser"
    measure = "cpu"
    of = "pyoxigraph"
    over = "spaseq"
    at_least = 1.0

    [expected]
    "quick 10 spaseq" = "1234 0f3c…"

A text may use `${name}` for a parameter. Parameters come, the later over the earlier, from the workload, the
profile, the point of the axis and the variant. A point is a value of the axis or a table with ``at``. A claim whose ``at``
is a list is one for each of these points.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from spaseq.errors import InvalidArgument, did_you_mean, listed

Value: TypeAlias = str | int | float | bool
Params: TypeAlias = dict[str, Value]
Task: TypeAlias = Literal[
    "run", "parse", "push", "start", "compile", "spark", "held runs", "peer",
    "windows", "oxigraph", "rolling", "oxigraph rolling", "spark sql", "watched", "refused",
]  # fmt: skip

Kind: TypeAlias = Literal["ratio", "growth", "exponent", "value", "lead"]
"""How a claim's number is made: one variant over another, one point over another, the slope over the axis, the
plain value, or a stage over the dearest other stage."""

TASKS: Final[tuple[Task, ...]] = get_args(Task)
KEYS: Final = (
    "title", "question", "source", "groups", "plots", "fresh", "paper",
    "workload", "query", "axis", "variant", "profile", "claim", "expected",
)  # fmt: skip
"""What a file may say."""
PROFILES: Final = ("tiny", "quick", "full")
"""Sizes: one that a test can afford, one for all benchmarks in minutes, one for numbers to publish."""
MEASURES: Final = (
    "cpu", "wall", "shuffle", "rate", "memory", "runs", "events", "p50", "p99", "cpu_p99", "cpu_mean", "evaluation", "triples",
    "pace", "loading", "per_event", "steady", "flat", "per triple", "after_reading",
)  # fmt: skip

EXPECTED_MARK: Final = (
    "# --- expected: matches and the digest of the sorted lines; `spaseq-bench pin` writes this ---"
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the things that are compared."""

    name: str
    task: Task
    params: Params = field(default_factory=dict)
    answer: str = ""
    """The variant whose expected answer this one must give; itself if it does not say."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """What is varied: its parameter, and the parameters of every point."""

    name: str
    points: tuple[Params, ...]
    unit: str = ""
    log: bool = False
    label: str = ""
    """What readers see instead of the parameter's name."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that the numbers decide; ``paper`` is true if a paper says so, else the project demands it."""

    says: str
    measure: str
    kind: Kind
    of: str
    over: str = ""
    at: str = ""
    start: str = ""
    at_least: float | None = None
    at_most: float | None = None
    paper: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """How large a run is."""

    params: Params
    repeats: int
    points: tuple[str, ...] | None = None
    """The points of the axis that are measured; None for all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What must come out: how many lines, and the digest of all of them sorted."""

    count: int
    digest: str

    def __str__(self) -> str:
        return f"{self.count} {self.digest}"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A declared benchmark."""

    name: str
    path: Path
    title: str
    question: str
    source: str
    workload: str
    params: Params
    query: Mapping[str, object]
    axis: Axis | None
    variants: tuple[Variant, ...]
    profiles: dict[str, Profile]
    claims: tuple[Claim, ...]
    expected: dict[str, Answer]
    plots: tuple[str, ...]
    groups: tuple[str, ...]
    """Names under which several benchmarks are run together."""
    fresh: bool
    """True if every cell has a process of its own, because memory is compared: that of its first run."""
    paper: tuple[tuple[str, ...], ...] = ()
    """Numbers of the paper to stand below those measured here: a name, and a number for every point."""

    def points(self, profile: str) -> tuple[Params, ...]:
        """The points that a profile measures; one without parameters if nothing is varied."""
        if self.axis is None:
            return ({},)
        wanted = self.profiles[profile].points
        return tuple(point for point in self.axis.points if wanted is None or label(point["at"]) in wanted)

    def values(self, profile: str, point: Params, variant: Variant) -> Params:
        """All parameters of one cell."""
        own = {} if self.axis is None else {self.axis.name: point["at"], **point}
        found = {**self.params, **self.profiles[profile].params, **own, **variant.params}
        # A variant may name a size that every profile has a value for.
        return {name: _named(value, found) for name, value in found.items()}

    def answer_key(self, profile: str, point: Params, variant: Variant) -> str:
        """Under which key the expected answer of a cell is declared."""
        return " ".join(
            part for part in (profile, point_label(point), variant.answer or variant.name) if part
        )


def _named(value: Value, params: Params) -> Value:
    found = re.fullmatch(r"\$\{(\w+)\}", value) if isinstance(value, str) else None
    return params.get(found[1], value) if found else value


def label(value: Value) -> str:
    """A value as keys and plots write it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def point_label(point: Params) -> str:
    """The label of a point; nothing if nothing is varied."""
    return label(point["at"]) if point else ""


def load_all(folder: Path) -> list[Benchmark]:
    """The benchmarks of a folder, by name."""
    return [load_benchmark(path) for path in sorted(folder.glob("*.bench"))]


def load_benchmark(path: Path) -> Benchmark:
    """Read and check one file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(f"{path}: not TOML: {error}") from None
    return _Reader(path).benchmark(table)


class _Reader:
    """Turns the table of a file into a checked `Benchmark`; every complaint names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _bad(self, reason: str) -> InvalidArgument:
        return InvalidArgument(f"{self._path}: {reason}")

    def benchmark(self, table: dict[str, object]) -> Benchmark:
        self._check_keys("the file", table, KEYS)
        workload = self._table(table, "workload")
        variants = tuple(self._variant(entry) for entry in self._tables(table, "variant"))
        if not variants:
            raise self._bad("it has no [[variant]], so it measures nothing")
        axis = self._axis(self._table(table, "axis")) if "axis" in table else None
        profiles = {name: self._profile(name, entry) for name, entry in self._table(table, "profile").items()}
        if sorted(profiles) != sorted(PROFILES):
            raise self._bad(f"it needs the profiles {listed(PROFILES)}, not {listed(profiles)}")
        names = {variant.name for variant in variants}
        return Benchmark(
            name=self._path.stem,
            path=self._path,
            title=self._text(table, "title"),
            question=self._text(table, "question"),
            source=self._text(table, "source", ""),
            workload=self._text(workload, "name"),
            params={key: self._value(key, value) for key, value in workload.items() if key != "name"},
            query=self._table(table, "query"),
            axis=axis,
            variants=variants,
            profiles=profiles,
            claims=tuple(
                self._claim(each, names)
                for entry in self._tables(table, "claim")
                for each in _at_points(entry)
            ),
            expected={key: self._answer(key, value) for key, value in self._table(table, "expected").items()},
            plots=tuple(str(plot) for plot in self._list(table, "plots")) or ("cpu",),
            groups=tuple(str(group) for group in self._list(table, "groups")),
            paper=tuple(self._paper_row(row) for row in self._list(table, "paper")),
            fresh=table.get("fresh", False) is True,
        )

    # --- parts ----------------------------------------------------------------------------------

    def _variant(self, entry: dict[str, object]) -> Variant:
        self._check_keys("a variant", entry, ["name", "task", "params", "answer", "note"])
        task = self._text(entry, "task")
        if task not in TASKS:
            raise self._bad(f"`{task}` is not a task{did_you_mean(task, TASKS)}; there are {listed(TASKS)}")
        params = {key: self._value(key, value) for key, value in self._table(entry, "params").items()}
        return Variant(
            self._text(entry, "name"),
            task,
            params,
            self._text(entry, "answer", ""),
            self._text(entry, "note", ""),
        )

    def _paper_row(self, row: object) -> tuple[str, ...]:
        if not isinstance(row, list):
            raise self._bad(f"a row of `paper` must be a list, not {row!r}")
        return tuple(map(str, row))

    def _axis(self, entry: dict[str, object]) -> Axis:
        self._check_keys("the axis", entry, ["name", "points", "unit", "log", "label"])
        points: list[Params] = []
        for point in self._list(entry, "points"):
            table = point if isinstance(point, dict) else {"at": point}
            if "at" not in table:
                raise self._bad("a point of the axis needs `at`")
            points.append({str(key): self._value(str(key), value) for key, value in table.items()})
        if len(points) < 2:
            raise self._bad("an axis needs at least two points")
        return Axis(
            self._text(entry, "name"),
            tuple(points),
            self._text(entry, "unit", ""),
            entry.get("log", False) is True,
            self._text(entry, "label", self._text(entry, "name")),
        )

    def _profile(self, name: str, entry: object) -> Profile:
        if not isinstance(entry, dict):
            raise self._bad(f"the profile `{name}` must be a table")
        points = [label(self._value("points", point)) for point in self._list(entry, "points")]
        repeats = entry.get("repeats", 3)
        if not isinstance(repeats, int) or repeats < 1:
            raise self._bad(f"`repeats` must be a whole number from 1 on, not {repeats!r}")
        params = {
            key: self._value(key, value) for key, value in entry.items() if key not in ("repeats", "points")
        }
        return Profile(params, repeats, tuple(points) or None)

    def _claim(self, entry: dict[str, object], variants: set[str]) -> Claim:
        known = ["says", "measure", "of", "over", "at", "from", "kind", "at_least", "at_most", "paper"]
        self._check_keys("a claim", entry, known)
        of, over = self._text(entry, "of"), self._text(entry, "over", "")
        for name in filter(None, (of, over)):
            if name not in variants:
                raise self._bad(f"a claim names `{name}`, which is not a variant: {listed(sorted(variants))}")
        measure = self._text(entry, "measure", "cpu")
        start = label(self._value("from", entry["from"])) if "from" in entry else ""
        at = label(self._value("at", entry["at"])) if "at" in entry else ""
        kind = self._text(entry, "kind", "ratio" if over else ("growth" if start else "value"))
        if measure not in MEASURES and not measure.startswith("stage:"):
            raise self._bad(f"`{measure}` is not a measure; there are {listed(MEASURES)} and stage:NAME")
        if kind not in get_args(Kind):
            raise self._bad(f"`{kind}` is not a kind of claim; there are {listed(get_args(Kind))}")
        least, most = self._number(entry, "at_least"), self._number(entry, "at_most")
        if (least is None) == (most is None):
            raise self._bad(f"the claim `{entry.get('says')}` needs either `at_least` or `at_most`")
        return Claim(
            says=self._text(entry, "says"),
            measure=measure,
            kind=kind,  # type: ignore[arg-type]  # checked above
            of=of,
            over=over,
            at=at,
            start=start,
            at_least=least,
            at_most=most,
            paper=entry.get("paper", False) is True,
        )

    def _answer(self, key: str, value: object) -> Answer:
        found = re.fullmatch(r"(\d+) ([0-9a-f]*)", value) if isinstance(value, str) else None
        if found is None:
            raise self._bad(f"the expected answer of `{key}` is not `COUNT DIGEST` but {value!r}")
        return Answer(int(found[1]), found[2])

    # --- values ---------------------------------------------------------------------------------

    def _check_keys(self, what: str, table: Mapping[str, object], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                raise self._bad(f"{what} has `{key}`{did_you_mean(key, known)}; known are {listed(known)}")

    def _table(self, table: Mapping[str, object], key: str) -> dict[str, object]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self._bad(f"`{key}` must be a table, not {value!r}")
        return value

    def _list(self, table: Mapping[str, object], key: str) -> list[object]:
        value = table.get(key, [])
        if not isinstance(value, list):
            raise self._bad(f"`{key}` must be a list, not {value!r}")
        return value

    def _tables(self, table: Mapping[str, object], key: str) -> list[dict[str, object]]:
        entries = self._list(table, key)
        found = [entry for entry in entries if isinstance(entry, dict)]
        if len(found) < len(entries):
            raise self._bad(f"every [[{key}]] must be a table")
        return found

    def _text(self, table: Mapping[str, object], key: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self._bad(f"`{key}` must be a text, not {value!r}")
        return value

    def _number(self, table: Mapping[str, object], key: str) -> float | None:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._bad(f"`{key}` must be a number, not {value!r}")
        return float(value)

    def _value(self, key: str, value: object) -> Value:
        if not isinstance(value, (str, int, float, bool)):
            raise self._bad(f"the parameter `{key}` must be a text, a number or true or false, not {value!r}")
        return value


def _at_points(entry: dict[str, object]) -> Iterator[dict[str, object]]:
    """A claim for each of several points: ``at`` may be a list."""
    at = entry.get("at")
    yield from [{**entry, "at": point} for point in at] if isinstance(at, list) else [entry]


def pinned(text: str, expected: Mapping[str, Answer]) -> str:
    """The text of a file with these expected answers instead of its own."""
    head = text.split(EXPECTED_MARK)[0].rstrip()
    lines = [f'"{key}" = "{answer}"' for key, answer in expected.items()]
    return "\n".join([head, "", EXPECTED_MARK, "[expected]", *lines, ""])
