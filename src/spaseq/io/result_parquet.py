"""Matches as a Parquet file: instants as timestamps, terms in N-Triples syntax, as `spaseq.spark.match` gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from spaseq.io.results import column_names
from spaseq.model.forms import Form
from spaseq.model.matches import Match
from spaseq.settings import settings

_INSTANT: Final = pa.timestamp("us", tz="UTC")
_TRIPLES: Final = pa.list_(pa.struct([("s", pa.string()), ("p", pa.string()), ("o", pa.string())]))
_EVENTS: Final = pa.list_(
    pa.struct([("step", pa.string()), ("stream", pa.string()), ("time", _INSTANT), ("graph", pa.string())])
)


class Parquet:
    """Columns ``time``, ``start`` and one per variable; for CONSTRUCT ``triples``, for ASK ``boolean``.

    Before them ``query`` if there are several and ``match`` with provenance, behind them ``events``. A variable called
    like another column keeps its question mark.
    """

    def __init__(
        self, out: BinaryIO, variables: Sequence[str], form: Form, provenance: bool, several: bool
    ) -> None:
        front = [("query", pa.string())] * several + [("match", pa.string())] * provenance
        front += [("time", _INSTANT), ("start", _INSTANT)]
        back = [("events", _EVENTS)] * provenance
        names = column_names(variables, [name for name, _ in (*front, *back)])
        body = {
            "select": [(name, pa.string()) for name in names],
            "ask": [("boolean", pa.bool_())],
            "construct": [("triples", _TRIPLES)],
        }[form]
        self._form = form
        self._provenance, self._several = provenance, several
        self._columns = dict(zip(variables, names, strict=True)) if form == "select" else {}
        self._schema = pa.schema([*front, *body, *back])
        self._writer = pq.ParquetWriter(out, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def write(self, match: Match, query: str | None = None) -> None:
        """Write one match."""
        row: dict[str, Any] = {"time": match.instant, "start": match.begin}
        if self._several:
            row["query"] = query or ""
        if self._provenance:
            row["match"] = match.identity
            row["events"] = [
                {
                    "step": event.step,
                    "stream": event.stream,
                    "time": event.instant,
                    "graph": None if event.graph is None else str(event.graph),
                }
                for event in match.events
            ]
        if self._form == "ask":
            row["boolean"] = match.boolean is not False
        elif self._form == "construct":
            texts = sorted((str(t.subject), str(t.predicate), str(t.object)) for t in match.triples or ())
            row["triples"] = [{"s": s, "p": p, "o": o} for s, p, o in texts]
        else:
            row |= {self._columns[name]: str(term) for name, term in match.bindings.items()}
        self._add(row)

    def no_match(self, query: str | None = None) -> None:
        """Write that there is none."""
        self._add({"query": query or "", "boolean": False})

    def _add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= settings().parquet_rows:
            self._write()

    def _write(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, self._schema))
        self._rows = []

    def close(self) -> None:
        """Write what is left, and the description of the file."""
        if self._rows:
            self._write()
        self._writer.close()
