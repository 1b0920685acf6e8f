"""Where the matches of a run go: one output, a writer for each form of query, columns where speed counts."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

import numpy as np

from spaseq.engine.inputs import NamedQuery
from spaseq.engine.notices import Tell, silent
from spaseq.engine.query_group import QueryGroup, QueryRun, Round, matches_of
from spaseq.errors import InvalidArgument, SpaseqError
from spaseq.io.options import ReadOptions
from spaseq.io.result_json import ColumnLines
from spaseq.io.results import (
    OutputFormat,
    ResultWriter,
    compression_of,
    default_format,
    format_by_name,
    result_writer,
)
from spaseq.io.written import Digest, Written, cut_to_written
from spaseq.model.forms import Form
from spaseq.model.matches import Match
from spaseq.operators.answers import Answers
from spaseq.planner.compiled import CompiledQuery

if TYPE_CHECKING:
    from spaseq.engine.request import RunRequest


class Output(io.RawIOBase):
    """A file or standard output that counts its bytes; a file whose name ends in ``.gz`` or ``.zst`` is compressed.

    A run that is ``kept`` in checkpoints keeps a digest of what it writes. A resumed one goes on where its checkpoint
    says, ``resumed``; whatever was written after that is dropped, since it will be written again.
    """

    def __init__(self, path: Path | None, *, kept: bool = False, resumed: Written | None = None) -> None:
        self._muted = resumed is not None
        self.length = resumed.size if resumed is not None else 0
        """How many bytes were written."""
        self._digest: Digest | None = None
        self._owned = path is not None
        self._packer: BinaryIO | None = None
        if path is None and sys.stdout is None:
            raise SpaseqError("standard output is closed, so matches cannot be written; give --output PATH")
        if path is None:
            self._file = cast("BinaryIO", sys.stdout.buffer)
        elif resumed is not None and resumed.size and resumed.digest:
            self._digest = cut_to_written(path, "output", resumed)
            self._file = path.open("ab")
        else:
            self._file = path.open("wb")
            self._packer = _packer(self._file, compression_of(path))
            self._digest = Digest() if kept and path.is_file() else None

    def writable(self) -> bool:
        """Always: this is a sink."""
        return True

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        """Write some bytes; while a resumed run makes its writers, nothing: their heads are there already."""
        if not self._muted:
            left = memoryview(data)
            if self._digest is not None:
                self._digest.update(left)
            while left:  # unbuffered standard output may take only a part
                left = left[(self._packer or self._file).write(left) :]
            self.length += len(data)
        return len(data)

    @property
    def written(self) -> Written:
        """What was written, as a checkpoint keeps it."""
        return Written(self.length, "") if self._digest is None else self._digest.written

    def tell(self) -> int:
        """How many bytes were written, as writers of Parquet ask."""
        return self.length

    def unmute(self) -> None:
        """From here on bytes are written."""
        self._muted = False

    def flush(self) -> None:
        """Hand everything to the operating system."""
        if not self._file.closed:
            if self._packer is not None:
                self._packer.flush()
            self._file.flush()

    def sync(self) -> None:
        """Hand everything to the disk, where there is one."""
        self.flush()
        if self._digest is not None:  # else it is no file
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close a file; standard output stays open."""
        if self._owned and not self._file.closed:
            if self._packer is not None:
                self._packer.close()
            self._file.close()
        super().close()


def _packer(file: BinaryIO, compression: str | None) -> BinaryIO | None:
    """What compresses on the way to a file; None if nothing does."""
    match compression:
        case ".gz":
            import gzip

            return cast("BinaryIO", gzip.GzipFile(fileobj=file, mode="wb", mtime=0))
        case ".zst":
            from zstandard import ZstdCompressor

            return cast("BinaryIO", ZstdCompressor().stream_writer(file, closefd=False))
        case _:
            return None


def chosen_format(request: RunRequest) -> OutputFormat:
    """The output format: as asked, else by the name of the output, else by the forms of the queries."""
    forms = {query.query.form.kind for query in request.queries}
    by_name = None if request.output is None else format_by_name(request.output)
    asked = request.output_format or by_name
    _check_kept(request, asked)
    if asked is None:
        return default_format(request.output, forms)
    if len(forms) > 1 and asked != "jsonl":
        raise InvalidArgument(
            f"the queries have different forms ({', '.join(sorted(forms))}), which the output format "
            f"`{asked}` cannot hold together; use jsonl, or run them one by one"
        )
    for form in forms:  # what a writer cannot hold it refuses now, before the output is opened and emptied
        result_writer(asked, io.BytesIO(), form=form, several=len(request.queries) > 1)
    return asked


def _check_kept(request: RunRequest, output_format: OutputFormat | None) -> None:
    """Refuse an output that could not be read, or not be resumed."""
    path, packed = request.output, compression_of(request.output)
    if output_format == "parquet":
        if path is None:
            raise InvalidArgument("a Parquet file needs a name: give --output PATH")
        if packed is not None:
            raise InvalidArgument(
                f"Parquet is compressed by itself: write `{path.with_suffix('')}`, not `{path}`"
            )
        if request.follow:
            raise InvalidArgument(
                f"`{path}` can be read only when it is complete, and --follow has no end; write jsonl or csv"
            )
    if request.checkpoint is not None and (packed is not None or output_format == "parquet"):
        raise InvalidArgument(
            f"`{path}` cannot be resumed: with --checkpoint the output must be cut where the checkpoint was written, which "
            "only jsonl, csv, sparql-json, nquads and trig without compression allow"
        )


class Writers:
    """What writes the matches of some queries to one output: a writer for each form of query."""

    def __init__(
        self,
        queries: Sequence[NamedQuery],
        out: Output,
        output_format: OutputFormat,
        *,
        read: ReadOptions,
        provenance: bool = False,
        written: int = 0,
        tell: Tell = silent,
    ) -> None:
        self._several = len(queries) > 1
        kinds: dict[_Kind, list[NamedQuery]] = {}
        for query in queries:
            kinds.setdefault(_kind(query.query), []).append(query)
        self._writers: dict[_Kind, ResultWriter] = {
            (form, lasting): result_writer(
                output_format,
                cast("BinaryIO", out),
                variables=variables_of(members),
                form=form,
                provenance=provenance,
                several=self._several,
                timestamp_predicate=read.timestamp_predicate,
                ends=read.ends,
                lasting=lasting,
                warn=tell,
                written=written,
            )
            for (form, lasting), members in kinds.items()
        }
        out.unmute()

    def write(self, query: CompiledQuery, name: str, match: Match) -> None:
        """Write one match of a query."""
        self._writers[_kind(query)].write(match, self.shown(name))

    def no_match(self, query: CompiledQuery, name: str) -> None:
        """Say that an ASK query found nothing in a finite input."""
        self._writers[_kind(query)].no_match(self.shown(name))

    def shown(self, name: str) -> str | None:
        """The name of a query, where matches have one."""
        return name if self._several else None

    def close(self) -> None:
        """Write what comes after the last match."""
        for writer in self._writers.values():
            writer.close()


_Kind: TypeAlias = tuple[Form, bool]


def _kind(query: CompiledQuery) -> _Kind:
    """What a writer must know of a query: its form, and whether its graphs hold for an interval."""
    return query.form.kind, query.form.lasting


class Sink:
    """Writes the answers of some queries of a session: those that go to one output."""

    def __init__(
        self,
        session: QueryGroup,
        runs: Sequence[QueryRun],
        queries: Sequence[NamedQuery],
        out: Output,
        output_format: OutputFormat,
        *,
        read: ReadOptions,
        provenance: bool,
        written: int = 0,
        tell: Tell = silent,
    ) -> None:
        self.out, self._runs = out, runs
        self._lines = ColumnLines(session.dictionary)
        self._by_columns = output_format == "jsonl" and not provenance
        self._writers = Writers(
            queries, out, output_format, read=read, provenance=provenance, written=written, tell=tell
        )

    def write(self, answered: Round) -> None:
        """Write the answers of a round, in order of time."""
        answered = [(query, answers) for query, answers in answered if len(answers) and query in self._runs]
        if self._by_columns and all(query.form == "select" for query, _ in answered):
            texts = [self._columns(query, answers) for query, answers in answered]
            if len(texts) > 1:
                lines = [line for text in texts for line in bytes(text).splitlines(keepends=True)]
                times = np.concatenate([answers.time for _, answers in answered])
                texts = [lines[row] for row in np.argsort(times, kind="stable").tolist()]
            self.out.write(b"".join(texts))
            return
        for query, match in matches_of(answered):
            self._writers.write(query.query, query.name, match)

    def _columns(self, query: QueryRun, answers: Answers) -> bytes | memoryview:
        """The lines of one query, straight from its columns."""
        name, columns = self._writers.shown(query.name), list(answers.columns.items())
        text, _ = self._lines.lines(
            answers.time, answers.start, columns, generation=answers.generation, query=name
        )
        return text

    def finish(self) -> None:
        """Write what is known at the end of a finite input: an ASK query without match, and what closes a document."""
        for query in self._runs:
            if query.query.form.once and not query.finished:
                self._writers.no_match(query.query, query.name)
        self.close()

    def close(self) -> None:
        """Write what comes after the last match."""
        self._writers.close()


def variables_of(queries: Sequence[NamedQuery]) -> tuple[str, ...]:
    """The variables of all SELECT clauses, each once."""
    forms = (query.query.form for query in queries if query.query.form.kind == "select")
    return tuple(dict.fromkeys(name for form in forms for name in form.variables))
