"""Pipes among the inputs of a run: each can be read once only, so a finite run reads it to its end first."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from spaseq.engine.inputs import StreamInput, as_paths
from spaseq.engine.opening import InputOptions, Opened, StreamFiles, find_inputs
from spaseq.errors import InvalidArgument
from spaseq.io.pipes import kept_in
from spaseq.io.sources import PipeSource, Source, is_pipe
from spaseq.model.forms import Stream
from spaseq.stores import Place


def check_pipes(pipes: Sequence[tuple[Stream, PipeSource]], *, again: bool = False) -> None:
    """Refuse to read a pipe twice: for two streams, or ``again`` after a crash."""
    seen: dict[Place, str] = {}
    for stream, source in pipes:
        if again:
            raise InvalidArgument(
                f"{source.name} cannot be read again after a crash, so there can be no checkpoint; save it in a file first"
            )
        if source.path in seen:
            raise InvalidArgument(
                f"{source.name} can be read only once, and it is an input of `{seen[source.path]}` and of "
                f"`{stream.alias}`; save it in a file and name that file for both"
            )
        seen[source.path] = stream.alias


def find_pipes(
    streams: Sequence[Stream], given: dict[str, list[StreamInput]], options: InputOptions
) -> list[Opened]:
    """The pipes among the inputs of a run that follows them."""
    only = {
        iri: [path for value in values for path in as_paths(value) or () if is_pipe(path)]
        for iri, values in given.items()
    }
    return find_inputs(streams, {iri: [*paths] for iri, paths in only.items()}, options)


def pipes_of(inputs: Sequence[Opened]) -> list[tuple[Stream, PipeSource]]:
    """The pipes among some inputs, each with its stream."""
    return [
        (item.stream, source)
        for item in inputs
        if isinstance(item, StreamFiles)
        for source in item.sources
        if isinstance(source, PipeSource)
    ]


def keep_pipes(
    inputs: Sequence[Opened], stack: ExitStack, poll: Callable[[], None] = lambda: None
) -> list[Opened]:
    """The inputs with every pipe as a temporary file, which goes with the stack."""
    if not pipes_of(inputs):
        return list(inputs)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spaseq-")))

    def kept(source: Source) -> Source:
        return kept_in(folder, source, poll) if isinstance(source, PipeSource) else source

    return [
        replace(item, sources=tuple(map(kept, item.sources))) if isinstance(item, StreamFiles) else item
        for item in inputs
    ]
