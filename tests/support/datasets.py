"""Event files as other software writes them: data sets in another order than streams have (docs/reference/event-formats.md)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from typing import Final

from pyoxigraph import DefaultGraph, RdfFormat, Store, parse, serialize

_FORMATS: Final = {"nq": RdfFormat.N_QUADS, "trig": RdfFormat.TRIG, "jsonld": RdfFormat.JSON_LD}


def _by_rdflib(nquads: bytes, *, suffix: str) -> bytes:
    """Read and written by rdflib, as a user of it would."""
    from rdflib import Dataset

    names = {"nq": "nquads", "trig": "trig", "jsonld": "json-ld"}
    text: str = Dataset().parse(data=nquads, format="nquads").serialize(format=names[suffix])
    return text.encode()


def _by_store(nquads: bytes, *, suffix: str) -> bytes:
    """Loaded into a store of pyoxigraph and dumped."""
    store = Store()
    store.bulk_load(nquads, RdfFormat.N_QUADS)
    return store.dump(format=_FORMATS[suffix]) or b""


def _by_pyoxigraph(nquads: bytes, *, suffix: str) -> bytes:
    """Serialised by pyoxigraph, the default graph last."""
    quads = sorted(
        parse(nquads, format=RdfFormat.N_QUADS), key=lambda quad: isinstance(quad.graph_name, DefaultGraph)
    )
    return serialize(quads, format=_FORMATS[suffix]) or b""


def _by_sort(nquads: bytes) -> bytes:
    """Sorted line by line."""
    return subprocess.run(["sort"], input=nquads, check=True, capture_output=True).stdout


WRITERS: Final[dict[str, tuple[str, Callable[[bytes], bytes]]]] = {
    "sort": ("nq", _by_sort),
    **{f"rdflib {suffix}": (suffix, partial(_by_rdflib, suffix=suffix)) for suffix in _FORMATS},
    **{f"store {suffix}": (suffix, partial(_by_store, suffix=suffix)) for suffix in _FORMATS},
    **{f"pyoxigraph {suffix}": (suffix, partial(_by_pyoxigraph, suffix=suffix)) for suffix in _FORMATS},
}
"""Who writes a data set: the extension, and what becomes of N-Quads. rdflib is an optional extra."""
