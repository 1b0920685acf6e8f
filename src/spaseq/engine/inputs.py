"""What a run reads: names of streams resolved to declared streams, paths to files, all checked before the run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from spaseq.errors import InvalidArgument, described, did_you_mean
from spaseq.io.sources import PathLike
from spaseq.model.events import Events
from spaseq.model.forms import EVERY_STREAM, Stream
from spaseq.planner.compiled import CompiledQuery
from spaseq.temporal.instants import as_duration

Given = TypeVar("Given")

StreamInput: TypeAlias = PathLike | Sequence[PathLike] | Events
"""A file, a directory, a glob, several of them, or events."""


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query of a run and the name that its results carry if there are several."""

    name: str
    query: CompiledQuery


def declared_streams(queries: Sequence[NamedQuery]) -> tuple[Stream, ...]:
    """The streams that the queries declare together, in order of declaration; one per IRI."""
    found: dict[str, Stream] = {}
    for item in queries:
        for stream in item.query.streams:
            found.setdefault(stream.iri, stream)
    return tuple(found.values())


def resolve_streams(
    queries: Sequence[NamedQuery], given: Sequence[tuple[str, Given]]
) -> dict[str, list[Given]]:
    """Inputs by the IRI of their stream, in order of declaration.

    A name is the alias or the IRI of a declared stream, or another of its names. A name that no query declares and a declared stream
    without input are errors.
    """
    inputs: dict[str, list[Given]] = {stream.iri: [] for stream in declared_streams(queries)}
    for name, value in given:
        inputs[stream_iri(name, queries)].append(value)
    for stream in declared_streams(queries):
        if not inputs[stream.iri]:
            raise InvalidArgument(
                f"the stream `{stream.alias}` <{stream.iri}> has no input: "
                f'say `streams={{"{stream.alias}": …}}`'
            )
    return inputs


def stream_iri(name: str, queries: Sequence[NamedQuery]) -> str:
    """The IRI of the stream that a name means in some queries."""
    streams = [(item, stream) for item in queries for stream in item.query.streams]
    found = {stream.iri: item for item, stream in streams if name in stream.names}
    if len(found) == 1:
        return next(iter(found))
    if found:
        meanings = " and ".join(f"<{iri}> in {item.name}" for iri, item in found.items())
        raise InvalidArgument(f"`{name}` is {meanings}: name the stream by its IRI")
    if any(stream.iri == EVERY_STREAM for _, stream in streams):
        return EVERY_STREAM
    known = {stream.alias: stream.iri for _, stream in streams}
    listing = ", ".join(f"`{alias}` <{iri}>" for alias, iri in known.items())
    who = "the query declares" if len(queries) == 1 else "the queries declare"
    hint = did_you_mean(name, [*known, *known.values()])
    raise InvalidArgument(f"{who} no stream `{name}`, only {listing}{hint}")


def as_paths(value: StreamInput) -> list[PathLike] | None:
    """The paths of an input; None if it is events."""
    if isinstance(value, (str, os.PathLike)):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, (str, os.PathLike)) for v in value):
        return list(value)
    return None


def as_lateness(given: object) -> int | None:
    """A lateness in microseconds, as text or as a number; None if it was not given."""
    return None if given is None else as_duration(given, "lateness")


def pairs(streams: Mapping[str, StreamInput]) -> list[tuple[str, StreamInput]]:
    """The inputs of `spaseq.run` as a list; anything but a mapping is refused."""
    if not isinstance(streams, Mapping):
        raise InvalidArgument(
            f"`streams=` is a mapping from stream names to inputs, not {described(streams)}"
        )
    for name in streams:
        if not isinstance(name, str):
            raise InvalidArgument(f"a stream is named by a text, its alias or IRI, not {described(name)}")
    return list(streams.items())
