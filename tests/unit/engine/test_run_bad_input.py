"""Facts about bad input: no kind of it ends a run, and none takes a good event with it.

Every case runs twice: as a small input, by pyoxigraph, and as a large one, surveyed and read by the kernel.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq.engine.run import BadInputWarning
from spaseq.io.bad_input import Policy
from spaseq.io.unreadable import IncompleteInput
from spaseq.model.events import GraphEvent
from support.event_files import nquads

EX = "http://ex.org/"
STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
EACH = """PREFIX : <http://ex.org/>
SELECT ?v FROM STREAM S <http://ex.org/s> WHERE { SEQ (A) DEFINE GPM A ON S { ?s :v ?v } }"""

Answer = Callable[..., tuple[list[str], list[str]]]


def event(second: int) -> GraphEvent:
    """An event that says its own second."""
    triple = Triple(NamedNode(EX + "s"), NamedNode(EX + "v"), Literal(second))
    return GraphEvent(EX + "s", second * 1_000_000, frozenset({triple}), NamedNode(f"{EX}g{second}"))


GOOD = [event(second) for second in range(1, 9)]
FIRST, LAST = nquads(GOOD[:4]).encode(), nquads(GOOD[4:]).encode()
ALL = [str(second) for second in range(1, 9)]


@pytest.fixture(params=["small", "large"])
def answer(request: pytest.FixtureRequest, tmp_path: Path, change_settings: Callable[..., None]) -> Answer:
    """Write bytes into a file and run over it: the values found, and the reasons in the quarantine."""
    if request.param == "large":
        change_settings(sorted_bytes=-1, interpreted_bytes=1, chunk_bytes=1 << 12)

    def answered(
        data: bytes, name: str = "a.nq", on_bad_input: Policy = "quarantine"
    ) -> tuple[list[str], list[str]]:
        (tmp_path / name).write_bytes(data)
        kept = tmp_path / "quarantine.jsonl"
        found = [
            match.bindings["v"].value
            for match in spaseq.run(
                EACH, {"S": tmp_path / name}, on_bad_input=on_bad_input, quarantine=kept, with_events=False
            )
        ]
        lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
        return found, [json.loads(line)["reason"] for line in lines]

    return answered


def quad(graph: str, value: str = '"1"') -> bytes:
    """One line of an event."""
    return f"<{EX}s> <{EX}v> {value} <{graph}> .\n".encode()


def stamp(graph: str, value: str = f'"5000"{INTEGER}') -> bytes:
    """A timestamp."""
    return f"<{graph}> {STAMP} {value} .\n".encode()


@pytest.mark.filterwarnings("ignore::spaseq.engine.run.BadInputWarning")
@pytest.mark.parametrize(
    ("between", "reasons"),
    [
        pytest.param(b"<http://ex.org/s> <http://ex.org/v> \n", 1, id="half a line"),
        pytest.param(quad("urn:x") + b"\xff\xfe<broken>\n" + stamp("urn:x"), 1, id="invalid UTF-8"),
        pytest.param(b'<urn:a> <http://ex.org/v> "\xc3\x28" <urn:x> .\n' + quad("urn:x") + stamp("urn:x"), 1, id="invalid UTF-8 in a literal"),
        pytest.param(quad("urn:x", r'"\q"') + stamp("urn:x"), 1, id="a wrong escape"),
        pytest.param(quad("urn:x", r'"\u12"') + stamp("urn:x"), 1, id="a short escape"),
        pytest.param(quad("urn:x"), 1, id="no timestamp"),
        pytest.param(stamp("urn:x") + quad("urn:x") + stamp("urn:x", f'"6000"{INTEGER}'), 1, id="two timestamps"),
        pytest.param(stamp("urn:x"), 1, id="a timestamp without graph"),
        pytest.param(quad("urn:x") + stamp("urn:x", '"tomorrow"'), 1, id="a timestamp that is none"),
        pytest.param(quad("urn:x") + stamp("urn:x", "<urn:y>"), 1, id="a timestamp that is an IRI"),
        pytest.param(b"<urn:a> <urn:b> <urn:c> .\n", 1, id="a triple of no event"),
        pytest.param(b"\x00\x01\x02\x03\n", 1, id="bytes of no text"),
        pytest.param(b"\n\n# nothing\n   \n", 0, id="empty lines and comments"),
    ],
)  # fmt: skip
def test_bad_input_between_good_events_takes_none_of_them(
    answer: Answer, between: bytes, reasons: int
) -> None:
    """Eight events around it, eight answers, one reason."""
    found, kept = answer(FIRST + between + LAST)
    assert found == ALL
    assert len(kept) == reasons, kept


@pytest.mark.filterwarnings("ignore::spaseq.engine.run.BadInputWarning")
@pytest.mark.parametrize("cut", range(1, 200, 7))
def test_a_truncated_file_loses_only_the_event_it_is_cut_in(answer: Answer, cut: int) -> None:
    """Wherever that is."""
    found, kept = answer((FIRST + LAST)[:-cut])
    assert found in (ALL, ALL[:-1], ALL[:-2])
    assert len(found) + len(kept) >= 8 or found == ALL[: len(found)]
    assert found[:6] == ALL[:6]


@pytest.mark.filterwarnings("ignore::spaseq.engine.run.BadInputWarning")
def test_a_truncated_compressed_file_gives_what_can_be_read_and_is_an_error(
    answer: Answer, tmp_path: Path
) -> None:
    """The error names the file, after the matches; whoever skips bad input gets none."""
    chance = random.Random(1)
    events = [event(chance.randrange(10_000)) for _ in range(3000)]
    data = gzip.compress(nquads(events).encode())[:-2000]
    found, _ = answer(data, "a.nq.gz", on_bad_input="skip")
    assert 0 < len(found) < 3000
    with pytest.raises(IncompleteInput, match=r"a\.nq\.gz:\d+: the gzip file ends too early"):
        answer(data, "a.nq.gz")
    (kept,) = (tmp_path / "quarantine.jsonl").read_text(encoding="utf-8").splitlines()
    assert "ends too early" in kept


def test_a_clock_that_runs_backwards_is_put_in_order(
    answer: Answer,
) -> None:
    """A file in reverse, and one where the clock jumps."""
    assert answer(nquads(reversed(GOOD)).encode()) == (ALL, [])
    jumping = [GOOD[3], GOOD[7], GOOD[0], GOOD[5], GOOD[1], GOOD[6], GOOD[2], GOOD[4]]
    assert answer(nquads(jumping).encode()) == (ALL, [])


def test_a_gigantic_literal_is_read(answer: Answer) -> None:
    """Three megabytes in one term, larger than any piece that is read at a time."""
    giant = "x" * 3_000_000
    found, kept = answer(FIRST + quad("urn:x", f'"{giant}"') + stamp("urn:x", f'"4500"{INTEGER}') + LAST)
    assert found == [*ALL[:4], giant, *ALL[4:]]
    assert kept == []


def test_a_file_without_events_gives_none(answer: Answer) -> None:
    """Empty, or nothing but comments."""
    assert answer(b"") == ([], [])
    assert answer(b"# nothing to see\n") == ([], [])


@pytest.mark.slow
def test_an_event_of_a_million_triples_is_one_event(
    answer: Answer,
) -> None:
    """It takes memory, and it is answered; its neighbours as well."""
    lines = b"".join(b'<urn:s%d> <urn:p> "%d" <urn:x> .\n' % (n, n) for n in range(1_000_000))
    found, kept = answer(FIRST + lines + quad("urn:x", '"big"') + stamp("urn:x", f'"4500"{INTEGER}') + LAST)
    assert found == [*ALL[:4], "big", *ALL[4:]]
    assert kept == []


def test_a_directory_without_files_is_refused(tmp_path: Path) -> None:
    """As is one without event files; both before anything runs."""
    with pytest.raises(spaseq.InvalidArgument, match="has no files"):
        spaseq.run(EACH, {"S": tmp_path})
    (tmp_path / "readme.txt").touch()
    with pytest.raises(spaseq.InvalidArgument, match="no file with the extension of an event format"):
        spaseq.run(EACH, {"S": tmp_path})


def test_bad_input_is_told_at_the_end(tmp_path: Path) -> None:
    """A program gets a warning with the count and the place."""
    (tmp_path / "a.nq").write_bytes(FIRST + b"bad\n" + LAST)
    with pytest.warns(BadInputWarning, match=r"1 piece of bad input was passed over; it is in .*q\.jsonl"):
        list(spaseq.run(EACH, {"S": tmp_path / "a.nq"}, quarantine=tmp_path / "q.jsonl"))
    with pytest.raises(spaseq.SpaseqError, match=r"a\.nq:9"):
        list(spaseq.run(EACH, {"S": tmp_path / "a.nq"}, on_bad_input="fail"))
    with pytest.warns(BadInputWarning, match="1 piece of bad input was passed over$"):
        list(spaseq.run(EACH, {"S": tmp_path / "a.nq"}, on_bad_input="skip"))
