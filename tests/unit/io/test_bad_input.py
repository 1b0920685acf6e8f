"""Bad input: every case of docs/reference/event-formats.md is reported with its reason and place, and costs no good event."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument
from spaseq.io.bad_input import BadInput, BadInputError, BadInputHandler
from spaseq.io.options import ReadOptions
from spaseq.io.quarantine import QuarantineFile
from spaseq.io.readers import read_events, read_graph_events
from spaseq.model.dictionary import TermDictionary

STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
STREAM = "urn:s"


def event(number: int, before: bool = False) -> str:
    """A good event of two quads at so many milliseconds."""
    name = f"<urn:good:{number}>"
    quads = f'<urn:a> <urn:p> <urn:b> {name} .\n<urn:a> <urn:q> "{number}" {name} .\n'
    stamp = f'{name} {STAMP} "{number}"{INTEGER} .\n'
    return stamp + quads if before else quads + stamp


def read(file: Path, options: ReadOptions, compiled: bool) -> tuple[list[int], list[BadInput]]:
    """The times in milliseconds of what is read, and what is bad."""
    bad: list[BadInput] = []
    if compiled:
        batches = read_events(
            file,
            stream=STREAM,
            streams=[STREAM],
            dictionary=TermDictionary(),
            options=options,
            on_bad=bad.append,
        )
        return [int(time) // 1000 for batch in batches for time in batch.times], bad
    events = read_graph_events(file, stream=STREAM, options=options, on_bad=bad.append)
    return [found.time // 1000 for found in events], bad


CASES = {
    "a graph without timestamp": ("<urn:a> <urn:p> 5 <urn:g> .\n".replace("5", '"5"'), "no timestamp", 4),
    "a graph with two timestamps": (
        f'<urn:g> {STAMP} "1"{INTEGER} .\n<urn:a> <urn:p> "x" <urn:g> .\n<urn:g> {STAMP} "2"{INTEGER} .\n',
        "more than one timestamp",
        5,
    ),
    "an unreadable timestamp": (
        f'<urn:a> <urn:p> "x" <urn:g> .\n<urn:g> {STAMP} "soon" .\n',
        "cannot be read: a timestamp is a date-time",
        5,
    ),
    "a timestamp that is an IRI": (
        f"<urn:a> <urn:p> <urn:x> <urn:g> .\n<urn:g> {STAMP} <urn:t> .\n",
        "a timestamp is a literal",
        5,
    ),
    "a timestamp out of range": (
        f'<urn:a> <urn:p> "x" <urn:g> .\n<urn:g> {STAMP} "99999999999999999999"{INTEGER} .\n',
        "outside the years 1 to 9999",
        5,
    ),
    "a timestamp without graph": (f'<urn:g> {STAMP} "1"{INTEGER} .\n', "has no graph", 4),
    "a timestamp far from its graph": (
        f'<urn:a> <urn:p> "x" <urn:g> .\n{event(50)}<urn:g> {STAMP} "1"{INTEGER} .\n',
        "no timestamp",
        4,
    ),
    "a triple of no event": ('<urn:a> <urn:p> "x" .\n', "belongs to no event", 4),
    "an unparsable line": ("garbage\n", "subject", 4),
    "a wrong escape": (
        f'<urn:a> <urn:p> "\\q" <urn:g> .\n<urn:g> {STAMP} "1"{INTEGER} .\n',
        "escape character",
        4,
    ),
    "a relative IRI": (f'<urn:a> <p> "x" <urn:g> .\n<urn:g> {STAMP} "1"{INTEGER} .\n', "scheme", 4),
    "invalid UTF-8": ('<urn:a> <urn:p> "\udcff" <urn:g> .\n', "UTF-8", 4),
    "an unreadable line inside an event": (
        f'<urn:a> <urn:p> "x" <urn:g> .\n<urn:a <urn:p> .\n<urn:g> {STAMP} "1"{INTEGER} .\n',
        "IRI code point",
        5,
    ),
    "a triple term": (
        f'<urn:a> <urn:p> <<( <urn:a> <urn:p> <urn:b> )>> <urn:g> .\n<urn:g> {STAMP} "1"{INTEGER} .\n',
        "triple term",
        4,
    ),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["pyoxigraph", "kernel"])
@pytest.mark.parametrize("before", [False, True], ids=["stamp-after", "stamp-before"])
@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_reported_and_costs_no_good_event(
    tmp_path: Path, case: str, before: bool, compiled: bool
) -> None:
    """One entry with reason and line; the events around it survive."""
    text, reason, line = CASES[case]
    file = tmp_path / "events.nq"
    file.write_bytes((event(1, before) + text + event(2, before)).encode("utf-8", "surrogateescape"))
    times, bad = read(file, ReadOptions(interpreted_bytes=0, layout="stream"), compiled)
    assert [time for time in times if time != 50] == [1, 2]
    assert reason in bad[0].reason
    assert (bad[0].position, bad[0].unit, bad[0].source) == (line, "line", str(file))
    assert len(bad) == (2 if "far" in case else 1)


@pytest.mark.parametrize("compiled", [False, True], ids=["pyoxigraph", "kernel"])
@pytest.mark.parametrize("before", [False, True], ids=["stamp-after", "stamp-before"])
def test_a_file_cut_off_anywhere_gives_the_events_before_the_cut(
    tmp_path: Path, before: bool, compiled: bool
) -> None:
    """Whole events survive, the one that was cut does not come out incomplete, and the cut is reported.

    Where a stamp comes first, nothing tells that a quad is missing if the cut leaves no trace of it: at the
    end of a line, or in bytes that could as well begin the next event.
    """
    whole = event(1, before) + event(2, before)
    file = tmp_path / "events.nq"
    for size in range(len(event(1, before)) + 1, len(whole) - 1):
        text = whole[:size]
        file.write_text(text)
        times, bad = read(file, ReadOptions(interpreted_bytes=0), compiled)
        rest = text[text.rfind("\n") + 1 :]
        ended = before and text.rstrip("\n").count("\n") == 4 and text.rstrip("\n").endswith(" .")
        traceless = ended or (before and text.count("\n") == 5 and "<urn:good".startswith(rest))
        assert times == ([1, 2] if traceless else [1]), text
        assert len(bad) == (0 if ended else 1), text


@pytest.mark.parametrize("compiled", [False, True], ids=["pyoxigraph", "kernel"])
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_damaged_compressed_file_is_read_as_far_as_it_goes(
    tmp_path: Path, suffix: str, compiled: bool
) -> None:
    """Events before the damage come out; the damage is reported."""
    data = "".join(event(number) for number in range(2000)).encode()
    if suffix == ".gz":
        packed = gzip.compress(data)
        word = "gzip"
    else:
        from zstandard import ZstdCompressor

        packed = ZstdCompressor(level=1).compress(data)
        word = "zstd"
    file = tmp_path / f"events.nq{suffix}"
    file.write_bytes(packed)
    assert read(file, ReadOptions(interpreted_bytes=0), compiled) == (list(range(2000)), [])
    file.write_bytes(packed[: len(packed) - 20])
    times, bad = read(file, ReadOptions(interpreted_bytes=0, chunk_bytes=4096), compiled)
    assert times == list(range(len(times)))
    assert len(bad) == 1
    assert word in bad[0].reason
    file.write_bytes(b"not compressed at all")
    assert word in read(file, ReadOptions(interpreted_bytes=0), compiled)[1][0].reason


@pytest.mark.parametrize("compiled", [False, True], ids=["pyoxigraph", "kernel"])
def test_an_empty_file_has_no_events_and_no_faults(tmp_path: Path, compiled: bool) -> None:
    """Nothing, a line feed, a comment."""
    file = tmp_path / "events.nq"
    for text in ("", "\n", "# nothing\n", "\n\n# no line feed"):
        file.write_text(text)
        assert read(file, ReadOptions(interpreted_bytes=0), compiled) == ([], [])


@pytest.mark.parametrize("compiled", [False, True], ids=["pyoxigraph", "kernel"])
def test_clocks_that_run_backwards_are_read_as_they_are(tmp_path: Path, compiled: bool) -> None:
    """Order is the engine's matter."""
    file = tmp_path / "events.nq"
    file.write_text(event(5) + event(3, before=True) + event(4))
    assert read(file, ReadOptions(interpreted_bytes=0), compiled) == ([5, 3, 4], [])


@pytest.mark.parametrize("compiled", [False, True], ids=["pyoxigraph", "kernel"])
def test_a_gigantic_literal_is_a_literal(tmp_path: Path, compiled: bool) -> None:
    """A line much longer than a piece of input."""
    file = tmp_path / "events.nq"
    big = f'<urn:a> <urn:p> "{"x" * 3_000_000}\\u0041" <urn:g> .\n<urn:g> {STAMP} "7"{INTEGER} .\n'
    file.write_text(event(1) + big + event(2))
    assert read(file, ReadOptions(interpreted_bytes=0, chunk_bytes=1 << 16), compiled) == ([1, 7, 2], [])


@pytest.mark.parametrize("compiled", [False, True], ids=["pyoxigraph", "kernel"])
def test_a_huge_event_is_one_event(tmp_path: Path, compiled: bool) -> None:
    """Far more triples than a piece of input holds, some of them twice."""
    count = 200_000 if compiled else 20_000
    file = tmp_path / "events.nq"
    with file.open("w") as out:
        out.write(event(1))
        out.writelines(
            f'<urn:s{i % (count - 5)}> <urn:p> "{i % (count - 5)}" <urn:g> .\n' for i in range(count)
        )
        out.write(f'<urn:g> {STAMP} "7"{INTEGER} .\n' + event(2))
    options = ReadOptions(interpreted_bytes=0, chunk_bytes=1 << 16)
    if compiled:
        batches = list(
            read_events(file, stream=STREAM, streams=[STREAM], dictionary=TermDictionary(), options=options)
        )
        sizes = [len(b.triples_of(i)[0]) for b in batches for i in range(len(b))]
    else:
        sizes = [len(e.triples) for e in read_graph_events(file, stream=STREAM, options=options)]
    assert sizes == [2, count - 5, 2]


def test_the_policy_fail_ends_the_run_at_the_first_bad_input(tmp_path: Path) -> None:
    """The error says where, and what to do."""
    file = tmp_path / "events.nq"
    file.write_text("garbage\n")
    handler = BadInputHandler("fail")
    with pytest.raises(BadInputError, match=r"events.nq:1: .*\n.*on_bad_input"):
        list(read_graph_events(file, stream=STREAM, on_bad=handler))


def test_the_policies_skip_and_quarantine_count(tmp_path: Path) -> None:
    """Quarantined input is a line of JSON with reason, source, position and text."""
    file = tmp_path / "events.nq"
    file.write_text("garbage\n" + event(1) + "rubbish\n")
    skip = BadInputHandler("skip")
    list(read_graph_events(file, stream=STREAM, on_bad=skip))
    assert skip.count == 2
    with QuarantineFile(tmp_path / "quarantine.jsonl") as quarantine:
        keep = BadInputHandler("quarantine", quarantine)
        assert len(list(read_graph_events(file, stream=STREAM, on_bad=keep))) == 1
    lines = [json.loads(line) for line in (tmp_path / "quarantine.jsonl").read_text().splitlines()]
    assert [(line["position"], line["unit"], line["text"]) for line in lines] == [
        (1, "line", "garbage"),
        (5, "line", "rubbish"),
    ]
    assert lines[0]["source"] == str(file)
    assert keep.count == quarantine.count == 2


def test_a_quarantine_without_bad_input_leaves_no_file_and_a_resumed_one_appends(tmp_path: Path) -> None:
    """An empty file would look like bad input; a restart must not lose what was kept."""
    path = tmp_path / "quarantine.jsonl"
    with QuarantineFile(path):
        pass
    assert not path.exists()
    written = None
    for _ in range(2):
        with QuarantineFile(path, resumed=written) as quarantine:
            quarantine.write(BadInput("why", "file", 3))
            written = quarantine.sync()
    assert len(path.read_text().splitlines()) == 2


def test_a_wrong_policy_is_refused() -> None:
    """The error shows it."""
    with pytest.raises(InvalidArgument, match="ignore"):
        BadInputHandler("ignore")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="place"):
        BadInputHandler("quarantine")
