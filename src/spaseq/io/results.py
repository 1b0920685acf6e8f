"""Writers of matches: JSON lines, CSV, SPARQL results JSON, Parquet, N-Quads and TriG (docs/reference/cli.md)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from typing import BinaryIO, Final, Literal, Protocol, TypeAlias, assert_never, get_args

from pyoxigraph import BlankNode, NamedNode
from pyoxigraph import Literal as LiteralTerm

from spaseq.errors import InvalidArgument, did_you_mean
from spaseq.io.options import TIMESTAMP_PREDICATE
from spaseq.io.result_json import events_json, match_line, no_match_line, term_json, text_json
from spaseq.io.sources import EVENT_FORMATS
from spaseq.model.forms import Form
from spaseq.model.matches import Match
from spaseq.model.terms import Term
from spaseq.stores import Place
from spaseq.temporal.instants import XSD, format_instant

OutputFormat: TypeAlias = Literal["jsonl", "csv", "sparql-json", "parquet", "nquads", "trig"]

OUTPUT_FORMATS: Final[tuple[OutputFormat, ...]] = get_args(OutputFormat)
COMPRESSIONS: Final = (".gz", ".zst")
_EXTENSIONS: Final[dict[str, OutputFormat]] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".srj": "sparql-json",
    ".parquet": "parquet",
    ".nq": "nquads",
    ".nquads": "nquads",
    ".trig": "trig",
}
_NOT_WRITTEN: Final = {
    # A name in .json says little.
    **{ending: known for ending, known in EVENT_FORMATS.items() if ending not in (*_EXTENSIONS, ".json")},
    ".ttl": "turtle",
    ".n3": "n3",
    ".rdf": "rdf-xml",
    ".srx": "sparql-xml",
    ".tsv": "tsv",
}
"""What a file may claim by its name, and is not."""


ONLY_ENDS: Final = (
    "some graphs hold for an interval, and the output has its end only: name both ends with --start-predicate and "
    "--end-predicate, or write jsonl"
)


class ResultWriter(Protocol):
    """What takes the matches of one or more queries; ``query`` is a name, given where there are several."""

    def write(self, match: Match, query: str | None = None) -> None:
        """Write one match."""

    def no_match(self, query: str | None = None) -> None:
        """Say that an ASK query found nothing in a finite input."""

    def close(self) -> None:
        """Write what comes after the last match; the output itself stays open."""


def result_writer(
    name: str,
    out: BinaryIO,
    *,
    variables: Sequence[str] = (),
    form: Form = "select",
    provenance: bool = False,
    several: bool = False,
    timestamp_predicate: str = TIMESTAMP_PREDICATE,
    ends: tuple[str, str] | None = None,
    lasting: bool = False,
    warn: Callable[[str], None] = lambda _: None,
    written: int = 0,
) -> ResultWriter:
    """The writer of an output format; ``variables`` are those of all SELECT clauses.

    ``lasting`` graphs hold for an interval; ``ends`` are the predicates of its start and end, without which ``warn`` is
    told that starts are lost. ``written`` is how many matches an earlier part of the same run has put into the same output.
    """
    if name not in OUTPUT_FORMATS:
        known = ", ".join(OUTPUT_FORMATS)
        raise InvalidArgument(
            f"`{name}` is not an output format; use one of {known}{did_you_mean(name, OUTPUT_FORMATS)}"
        )
    match name:
        case "jsonl":
            return JsonLines(out, form, provenance)
        case "csv":
            return Csv(out, variables, form, provenance, several)
        case "sparql-json":
            return SparqlJson(out, variables, form, provenance, several, written)
        case "parquet":
            from spaseq.io.result_parquet import Parquet

            return Parquet(out, variables, form, provenance, several)
        case "nquads" | "trig":
            if form != "construct":
                raise InvalidArgument(
                    f"the output format `{name}` needs a CONSTRUCT query; use jsonl, csv or sparql-json"
                )
            stamps = Stamps(timestamp_predicate, ends, lasting, warn)
            return Graphs(out, name, stamps, written)
        case _:
            assert_never(name)


def compression_of(path: Place | None) -> str | None:
    """``.gz`` or ``.zst`` if the name of a file ends so."""
    suffix = "" if path is None else path.suffix.lower()
    return suffix if suffix in COMPRESSIONS else None


def format_by_name(path: Place) -> OutputFormat | None:
    """The format by the name of a file, compression aside.

    >>> from pathlib import Path
    >>> format_by_name(Path("rises.csv.gz"))
    'csv'
    """
    return _EXTENSIONS.get(_extension(path))


def _extension(path: Place) -> str:
    """The end of a file's name that says what is in it."""
    plain = path.with_suffix("") if compression_of(path) else path
    return plain.suffix.lower()


def default_format(path: Place | None, forms: Collection[Form]) -> OutputFormat:
    """The format where none is asked for; a file whose name claims another one is refused."""
    found: OutputFormat = "nquads" if set(forms) == {"construct"} else "jsonl"
    claimed = None if path is None else _NOT_WRITTEN.get(_extension(path))
    if claimed is not None:
        usual = ".jsonl, .csv or .srj" if len(set(forms)) == 1 else ".jsonl"
        names = ".nq or .trig, in which graphs have names" if found == "nquads" else usual
        raise InvalidArgument(f"`{path}` is {claimed} by its name, which is not written: use {names}")
    return found


class JsonLines:
    """One JSON object per line."""

    def __init__(self, out: BinaryIO, form: Form, provenance: bool) -> None:
        self._out = out
        self._ask = form == "ask"
        self._provenance = provenance

    def write(self, match: Match, query: str | None = None) -> None:
        """Write one match."""
        line = match_line(match, query=query, provenance=self._provenance, ask=self._ask)
        self._out.write(line.encode())

    def write_lines(self, lines: bytes) -> None:
        """Write lines that `spaseq.io.result_json.ColumnLines` has made."""
        self._out.write(lines)

    def no_match(self, query: str | None = None) -> None:
        """Write that there is none."""
        self._out.write(no_match_line(query).encode())

    def close(self) -> None:
        """Nothing follows the last line."""


class Csv:
    """A header, then a row per match: terms as in SPARQL 1.1 CSV, unbound variables empty.

    A variable called like a column of ours, ``?time`` for example, keeps its question mark.
    """

    def __init__(
        self, out: BinaryIO, variables: Sequence[str], form: Form, provenance: bool, several: bool
    ) -> None:
        self._out = out
        self._form = form
        self._several = several
        self._provenance = provenance
        self._variables = list(variables)
        front, back = (
            ["query"] * several + ["match"] * provenance + ["time", "start"],
            ["events"] * provenance,
        )
        named = column_names(variables, (*front, *back))
        body = {"select": named, "ask": ["boolean"], "construct": ["graph"]}[form]
        head = [*front, *body, *back]
        self._columns = len(head)
        self._row(head)

    def write(self, match: Match, query: str | None = None) -> None:
        """Write one match."""
        row = [query or ""] * self._several + [match.identity] * self._provenance
        row += [format_instant(match.instant), format_instant(match.begin)]
        match self._form:
            case "select":
                row += [_csv_term(match.bindings.get(name)) for name in self._variables]
            case "ask":
                row.append("false" if match.boolean is False else "true")
            case "construct":
                row.append("".join(sorted(f"{triple} .\n" for triple in match.triples or ())))
            case _:
                assert_never(self._form)
        self._row(row + [events_json(match.events)] * self._provenance)

    def no_match(self, query: str | None = None) -> None:
        """Write that there is none."""
        row = [query or ""] * self._several + [""] * (self._columns - self._several)
        row[self._several + self._provenance + 2] = "false"
        self._row(row)

    def _row(self, row: list[str]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n").writerow(row)
        self._out.write(text.getvalue().encode())

    def close(self) -> None:
        """Nothing follows the last row."""


def column_names(variables: Sequence[str], taken: Sequence[str]) -> list[str]:
    """The columns of variables beside others; one with a name that is taken keeps its question mark."""
    return [f"?{name}" if name in taken else name for name in variables]


def _csv_term(term: Term | None) -> str:
    if term is None:
        return ""
    return str(term) if isinstance(term, BlankNode) else term.value


class SparqlJson:
    """One document in SPARQL 1.1 Query Results JSON; the instants of a match are two more variables.

    They are called ``time`` and ``start``, or ``matchTime`` and ``matchStart`` if the query has those.
    """

    def __init__(
        self,
        out: BinaryIO,
        variables: Sequence[str],
        form: Form,
        provenance: bool,
        several: bool,
        written: int = 0,
    ) -> None:
        if form == "construct":
            raise InvalidArgument("the output format `sparql-json` has no graphs; use nquads, trig or jsonl")
        self._out = out
        self._ask = form == "ask"
        self._provenance = provenance
        self._several = several
        self._count = written
        taken = {"time", "start", "query", "match", "events"} & set(variables)
        self._names = {
            name: f"match{name.capitalize()}" if taken else name
            for name in ("query", "match", "time", "start", "events")
        }
        if self._ask:
            if several:
                raise InvalidArgument(
                    "the output format `sparql-json` holds the answer of one ASK query only"
                )
            return
        own = ["query"] * several + ["match"] * provenance + ["time", "start"]
        names = [self._names[name] for name in own] + list(variables)
        names += [self._names["events"]] * provenance
        self._out.write(
            f'{{"head":{{"vars":[{",".join(map(text_json, names))}]}},"results":{{"bindings":['.encode()
        )

    def write(self, match: Match, query: str | None = None) -> None:
        """Write one match."""
        if self._ask:
            self._truth(match.boolean is not False)
            return
        cells: list[tuple[str, Term]] = []
        if self._several:
            cells.append((self._names["query"], LiteralTerm(query or "")))
        if self._provenance:
            cells.append((self._names["match"], NamedNode(match.identity)))
        cells.append((self._names["time"], _date_time(match.instant)))
        cells.append((self._names["start"], _date_time(match.begin)))
        cells.extend(match.bindings.items())
        if self._provenance:
            cells.append((self._names["events"], LiteralTerm(events_json(match.events))))
        row = ",".join(f"{text_json(name)}:{term_json(term)}" for name, term in cells)
        self._out.write(f"{',' if self._count else ''}\n{{{row}}}".encode())
        self._count += 1

    def no_match(self, query: str | None = None) -> None:  # noqa: ARG002 - one query only
        """Write that there is none."""
        self._truth(False)

    def _truth(self, truth: bool) -> None:
        """Write the answer of an ASK, a document by itself: a query over windows has many."""
        self._out.write(f'{{"head":{{}},"boolean":{str(truth).lower()}}}\n'.encode())

    def close(self) -> None:
        """End the document."""
        if not self._ask:
            self._out.write(b"\n]}}\n")


def _date_time(instant: int) -> LiteralTerm:
    return LiteralTerm(format_instant(instant), datatype=NamedNode(XSD + "dateTime"))


class Stamps:
    """The triples that say when a graph holds: its timestamp, or both ends of its interval."""

    def __init__(
        self,
        timestamp_predicate: str,
        ends: tuple[str, str] | None = None,
        lasting: bool = False,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._predicate, self._ends, self._lasting = timestamp_predicate, ends, lasting
        self._warn = warn
        self._warned = False

    def of(self, match: Match, name: str) -> str:
        """The triples of one graph, as lines."""
        if self._lasting and match.begin != match.instant:
            if self._ends is not None:
                instants = zip(self._ends, (match.begin, match.instant), strict=True)
                return "".join(_stamp(name, predicate, instant) for predicate, instant in instants)
            if not self._warned:
                self._warned = True
                self._warn(ONLY_ENDS)
        return _stamp(name, self._predicate, match.instant)


def _stamp(name: str, predicate: str, instant: int) -> str:
    return f'{name} <{predicate}> "{format_instant(instant)}"^^<{XSD}dateTime> .\n'


class Graphs:
    """The graphs of a CONSTRUCT query as an event file that another query can read.

    A graph is named by its match's identity; when it holds is directly after it. A match whose graph is empty is no event,
    so nothing is written for it.
    """

    def __init__(
        self, out: BinaryIO, name: Literal["nquads", "trig"], stamps: Stamps, written: int = 0
    ) -> None:
        self._out = out
        self._trig = name == "trig"
        self._stamps = stamps
        self._count = written

    def write(self, match: Match, query: str | None = None) -> None:  # noqa: ARG002 - the graph says it all
        """Write one match."""
        if not match.triples:
            return
        self._count += 1
        name = f"<{match.identity}>" if match.identity else f"_:match{self._count}"
        stamp = self._stamps.of(match, name)
        if self._trig:
            body = "".join(sorted(f"  {triple} .\n" for triple in match.triples))
            text = f"{name} {{\n{body}}}\n{stamp}"
        else:
            text = "".join(sorted(f"{triple} {name} .\n" for triple in match.triples)) + stamp
        self._out.write(text.encode())

    def no_match(self, query: str | None = None) -> None:
        """A CONSTRUCT query without match writes nothing."""

    def close(self) -> None:
        """Nothing follows the last graph."""


__all__ = [
    "OUTPUT_FORMATS",
    "Csv",
    "Form",
    "Graphs",
    "JsonLines",
    "OutputFormat",
    "ResultWriter",
    "SparqlJson",
    "default_format",
    "result_writer",
]
