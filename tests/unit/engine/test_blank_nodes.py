"""Blank nodes are local to their event (semantics 0), however many events lie between two equal labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

import spaseq
from spaseq.io.encode import encode_pushed
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.shared_folder import BadPolicy
from spaseq.spark.shuffle.blocks import decode_block
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.spark.stages.gpm_stage import _Task
from spaseq.spark.stages.mapper import Mapper
from spaseq.spark.stages.sequencer import Sequencer

EX = "http://ex.org/"
QUERY = """PREFIX : <http://ex.org/> SELECT ?a ?b WITHIN 1 MINUTE FROM STREAM S <http://ex.org/s> WHERE {
SEQ (A & B) DEFINE GPM A ON S { ?x :p ?a } DEFINE GPM B ON S { ?x :q ?b } }"""
STAMP = NamedNode("http://www.w3.org/ns/prov#generatedAtTime")
WHEN = Literal("2020-01-01T00:00:00Z", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#dateTime"))
INSTANT = 1_577_836_800_000_000
NAMES = ("g", *(f"other{number}" for number in range(7)), "g")
FORMATS = {"nq": RdfFormat.N_QUADS, "trig": RdfFormat.TRIG, "jsonld": RdfFormat.JSON_LD}


def graphs() -> Iterator[tuple[NamedNode, Triple]]:
    """Events of one instant: the first and the last have the same name and label, and say what would join."""
    for number, name in enumerate(NAMES):
        predicate = NamedNode(EX + ("q" if number == len(NAMES) - 1 else "p"))
        yield NamedNode(EX + name), Triple(BlankNode("x"), predicate, Literal(str(number)))


def pushed() -> list[spaseq.Event]:
    """They as a program has them."""
    return [spaseq.Event("S", INSTANT, [triple], name) for name, triple in graphs()]


def written(folder: Path, extension: str) -> Path:
    """They as a file."""
    file = folder / f"events.{extension}"
    parts = []
    for name, triple in graphs():
        quads = [Quad(*triple, name), Quad(name, STAMP, WHEN, DefaultGraph())]
        parts.append(serialize(quads, format=FORMATS[extension]))
    file.write_bytes(b"\n".join(parts))
    return file


@pytest.mark.parametrize("compacted", [4, 10**9])
def test_pushed_one_by_one_or_at_once(compacted: int, change_settings: Callable[..., None]) -> None:
    """Counts of repeated events are forgotten on the way, and the terms that nothing mentions too."""
    change_settings(remembered_scopes=2, compacted_terms=compacted)
    for many in (False, True):
        engine = spaseq.Engine(QUERY, lateness="5s")
        found = engine.push(pushed()) if many else [m for event in pushed() for m in engine.push(event)]
        assert found + engine.finish() == []
    assert list(spaseq.run(QUERY, {"S": pushed()})) == []


@pytest.mark.parametrize("extension", FORMATS)
@pytest.mark.parametrize("kernels", [False, True])
@pytest.mark.parametrize("batch", [1, 100])
def test_read_from_a_file(
    extension: str, kernels: bool, batch: int, tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """By the kernel and by pyoxigraph, in one batch and in many."""
    change_settings(remembered_scopes=2, interpreted_bytes=0 if kernels else 10**9, batch_events=batch)
    assert list(spaseq.run(QUERY, {"S": written(tmp_path, extension)})) == []


def test_matched_on_a_worker(change_settings: Callable[..., None]) -> None:
    """A worker of Spark forgets the terms of a batch with the batch; a bucket keeps what it was sent."""
    change_settings(remembered_scopes=2, compacted_terms=0)
    tasks, streams = make_tasks({"q": spaseq.compile(QUERY)}, 1, streaming=False)
    job = Job("test", tasks, streams, 1, bad=BadPolicy("skip"))
    mapper, sequencer = Mapper(job), Sequencer(job, tasks[0], 0)
    work = _Task(mapper, TaskPlace(), "event")
    for number, event in enumerate(pushed()):
        plain = event.to_graph_event(streams[0], mapper.dictionary)
        batch = encode_pushed([plain], streams, mapper.dictionary)
        (rows,) = work.take(batch, np.array([number]))
        sequencer.add(decode_block(rows.column("block")[0].as_py()))
        mapper.forget()
    assert sequencer.waiting == len(NAMES)
    assert sum(len(answers) for answers in sequencer.finish()) == 0
