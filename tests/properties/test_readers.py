"""Laws of the readers: kernel and pyoxigraph agree, pieces do not matter, damage stays where it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spaseq.io.options import ReadOptions
from support.readings import read_in_batches as by_kernel
from support.readings import read_plainly as plainly

STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
XSD = "http://www.w3.org/2001/XMLSchema#"


def options(chunk: int = 1 << 20) -> ReadOptions:
    """Options that send even a small input through the kernel."""
    return ReadOptions(interpreted_bytes=0, chunk_bytes=chunk)


# --- random documents ---------------------------------------------------------------------------------

IRIS = st.sampled_from(
    [
        "<http://e/a>",
        "<http://e/b#c>",
        "<urn:x:y>",
        "<http://e/é>",
        "<http://e/%41>",
        "<http://u:p@h/>",
        "<http://[::1]/>",
        "<http://e:8080/x>",
        "<http://e:80a/x>",
        "<http://e:/x>",
        "<http://e/\\u0061>",
    ]
)
BLANKS = st.sampled_from(["_:a", "_:b0", "_:x.y", "_:é", "_:0-1"])
TEXTS = st.sampled_from(
    [
        "",
        "x",
        "tab\\t",
        "raw\ttab",
        'q\\"uo',
        "back\\\\",
        "\\u00e9é",
        "\\U0001F600😀",
        "\\'",
        "\\u0001",
        "\x7f",
        "\ufffe",
        "long " * 30,
    ]
)
TAILS = st.sampled_from(
    [
        "",
        "@en",
        "@en-GB",
        "@zh-Hans-CN",
        "@es-419",
        "@zh-yue",
        "@de-1996",
        "@en-us-us",
        "@a1",
        "@x-private",
        f"^^<{XSD}string>",
        f"^^<{XSD}integer>",
        "^^<urn:dt>",
        "^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>",
        "^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON>",
    ]
)
LITERALS = st.builds(lambda text, tail: f'"{text}"{tail}', TEXTS, TAILS)
NAMES = st.sampled_from(["<http://e/g1>", "<http://e/g2>", "_:g", "<http://e/g?q=1>"])
TIMES = st.one_of(
    st.integers(-(10**6), 10**6).map(lambda n: f'"{n}"^^<{XSD}integer>'),
    st.integers(0, 10**6).map(lambda n: f'"{n / 10}"^^<{XSD}decimal>'),
    st.datetimes().map(lambda d: f'"{d.isoformat()}Z"^^<{XSD}dateTime>'),
    st.datetimes().map(lambda d: f'"{d.isoformat()}+01:30"^^<{XSD}dateTime>'),
    st.dates().map(lambda d: f'"{d.isoformat()}"^^<{XSD}date>'),
    st.sampled_from(
        [f'"1.5E3"^^<{XSD}double>', '"now"', f'"2020-02-30T00:00:00Z"^^<{XSD}dateTime>', "<http://e/t>"]
    ),
)
GAPS = st.sampled_from([" ", "\t", "  ", ""])
ENDS = st.sampled_from(["\n", "\r\n", " # comment\n", "\n\n", '\n# a <b> "c"\n'])


@st.composite
def quad_lines(draw: st.DrawFn, name: str) -> str:
    """A quad of a graph, spaced in some legal way."""
    gap = draw(GAPS)
    subject = draw(st.one_of(IRIS, BLANKS))
    obj = draw(st.one_of(IRIS, BLANKS, LITERALS))
    space = gap or " "
    return f"{subject}{space}{draw(IRIS)}{gap}{obj}{space}{name}{gap if name[0] == '<' else ' '}.{draw(ENDS)}"


@st.composite
def pieces(draw: st.DrawFn) -> str:
    """Part of a document: mostly an event, sometimes something that belongs to none."""
    name = draw(NAMES)
    quads = "".join(draw(st.lists(quad_lines(name), min_size=1, max_size=4)))
    stamp = f"{name} {STAMP} {draw(TIMES)} .{draw(ENDS)}"
    kind = draw(st.integers(0, 14))
    if kind > 11:  # a timestamp inside the graph, and perhaps one beside it
        subjects = draw(st.lists(IRIS, min_size=1, max_size=2))
        inside = "".join(f"{subject} {STAMP} {draw(TIMES)} {name} .\n" for subject in subjects)
        return {12: quads + inside, 13: inside + quads, 14: inside + stamp}[kind]
    if kind < 4:
        return quads + stamp
    if kind < 8:
        return stamp + quads
    odd = draw(
        st.sampled_from(["garbage", '<http://e/a> <http://e/b> "c" .', "<rel> <http://e/p> 5", '"', "\xff\n"])
    )
    return {8: quads, 9: stamp, 10: odd + "\n", 11: quads + odd + "\n" + stamp}[kind]


DOCUMENTS = st.lists(pieces(), max_size=8).map("".join)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write documents into."""
    return tmp_path_factory.mktemp("readers") / "events.nq"


@given(document=DOCUMENTS, cut=st.integers(0, 40))
def test_the_kernel_reads_what_pyoxigraph_reads(file: Path, document: str, cut: int) -> None:
    """Same events, same labels, same bad input with the same lines and words, also of a truncated file."""
    data = document.encode("utf-8", "surrogatepass")
    file.write_bytes(data[: len(data) - cut] if cut < 20 else data)
    assert by_kernel(file, options()) == plainly(file, options())


@given(document=DOCUMENTS, chunk=st.integers(1, 400))
def test_it_does_not_matter_how_the_input_is_cut_into_pieces(file: Path, document: str, chunk: int) -> None:
    """Any size of piece gives the same events and the same bad input, on both paths."""
    file.write_bytes(document.encode("utf-8", "surrogatepass"))
    whole = plainly(file, options())
    assert plainly(file, options(chunk)) == whole
    assert by_kernel(file, options(chunk)) == whole


@given(document=DOCUMENTS)
def test_leaving_out_unneeded_predicates_keeps_every_event(file: Path, document: str) -> None:
    """Only triples with needed predicates remain; events and their times stay as they are."""
    file.write_bytes(document.encode("utf-8", "surrogatepass"))
    needed = ReadOptions(interpreted_bytes=0, needed_predicates=frozenset({"http://e/a"}))
    kept = by_kernel(file, needed)[0]
    full = plainly(file, options())[0]
    shown = [frozenset(t for t in triples if " <http://e/a> " in t) for _, _, _, triples in full]
    by_name = {(time, position): triples for time, _, position, triples in kept}
    for (time_, _, position, _), triples in zip(full, shown, strict=True):
        assert {t.split("-e")[0] for t in by_name[time_, position]} == {t.split("-e")[0] for t in triples}


# --- the other formats ----------------------------------------------------------------------------------


@st.composite
def trig_pieces(draw: st.DrawFn) -> str:
    """An event as a block, a declaration, or something unreadable."""
    name = draw(st.sampled_from([":g1", "<http://e/g2>", "_:g", "x:g"]))
    objects = draw(
        st.lists(st.sampled_from([":o", "[ :q (1 2.5) ]", '"a } . {"', '"""x\n}"""', "_:b"]), min_size=1)
    )
    block = f"{draw(st.sampled_from(['', 'GRAPH ']))}{name} {{\n :s :p {', '.join(objects)} .\n}}\n"
    stamp = f"{name} <http://www.w3.org/ns/prov#generatedAtTime> {draw(st.integers(0, 99))} .\n"
    kind = draw(st.integers(0, 9))
    odd = draw(
        st.sampled_from(["@prefix x: <http://y/> .\n", "# } \n", ':g { :a :b "c }\n', "} ", ":a :b :c .\n"])
    )
    return {8: odd, 9: block}.get(kind, block + stamp if kind < 4 else stamp + block)


@example(  # a piece that ends at a brace inside a string
    document=f':g1 {{\n :s :p :o .\n}}\n:g1 {STAMP} 0 .\nGRAPH :g1 {{\n :s :p "a }} . {{" .\n}}\n', chunk=1
)
@example(document=f":g1 {{\n :s :p 'a }} \\' }} . {{' .\n}}\n:g1 {STAMP} 0 .\n", chunk=1)
@given(document=st.lists(trig_pieces(), max_size=6).map("".join), chunk=st.integers(1, 200))
def test_it_does_not_matter_how_trig_is_cut_into_pieces(file: Path, document: str, chunk: int) -> None:
    """Any size of piece gives the same events, labels and bad input."""
    turtle = file.with_suffix(".trig")
    turtle.write_text("@prefix : <http://e/> .\nPREFIX x: <http://x/>\n" + document, encoding="utf-8")
    assert plainly(turtle, options(chunk)) == plainly(turtle, options())


@given(
    times=st.lists(st.integers(0, 99), max_size=6),
    odd=st.integers(0, 6),
    chunk=st.integers(1, 200),
    lines=st.booleans(),
)
def test_it_does_not_matter_how_json_ld_is_cut_into_pieces(
    file: Path, times: list[int], odd: int, chunk: int, lines: bool
) -> None:
    """Any size of piece gives the same events, as an array and as lines, with a broken one among them."""
    document = file.with_suffix(".jsonld")
    events = [
        f'{{"@id":"http://e/g{i}","http://www.w3.org/ns/prov#generatedAtTime":{time},\n'
        f' "@graph":[{{"http://e/p":"}} {i}"}},{{"@id":"_:b","http://e/p":{{"@id":"_:b"}}}}]}}'
        for i, time in enumerate(times)
    ]
    if odd < len(events):
        events[odd] = events[odd].replace("@graph", "@grap")
    document.write_text("\n".join(events) if lines else "[" + ",\n".join(events) + "]", encoding="utf-8")
    whole = plainly(document, options())
    assert plainly(document, options(chunk)) == whole
    assert len(whole[0]) == len(times) - (1 if odd < len(events) else 0)


def test_anonymous_nodes_are_labelled_alike_in_every_reading(file: Path) -> None:
    """Readers that label anonymous blank nodes at random would make two hosts print different lines."""
    document = file.with_suffix(".trig")
    document.write_text(
        "<urn:g> { [] <urn:p> [ <urn:q> 1 ] }\n<urn:g> <http://www.w3.org/ns/prov#generatedAtTime> 5 ."
    )
    assert plainly(document, options()) == plainly(document, options())
    assert len(plainly(document, options())[0]) == 1


@st.composite
def triple_lines(draw: st.DrawFn) -> str:
    """A line of N-Triples: mostly data, often a timestamp, sometimes rubbish."""
    kind = draw(st.integers(0, 9))
    if kind < 6:
        return f"{draw(st.one_of(IRIS, BLANKS))} {draw(IRIS)} {draw(st.one_of(IRIS, BLANKS, LITERALS))} .{draw(ENDS)}"
    if kind < 9:
        return f"{draw(st.one_of(IRIS, BLANKS))} {STAMP} {draw(TIMES)} .{draw(ENDS)}"
    return draw(st.sampled_from(["garbage\n", "<urn:a> <urn:b> <urn:c> <urn:d> .\n", f"<urn:a> {STAMP} 5\n"]))


@given(
    document=st.lists(triple_lines(), max_size=20).map("".join),
    size=st.integers(1, 4),
    chunk=st.sampled_from([1, 50, 300, 1 << 20]),
)
def test_triples_are_counted_alike_by_the_kernel_and_in_pieces(
    file: Path, document: str, size: int, chunk: int
) -> None:
    """Same events, labels and bad input, whatever the piece."""
    triples = file.with_suffix(".nt")
    triples.write_bytes(document.encode("utf-8", "surrogatepass"))
    whole = plainly(triples, ReadOptions(triples_per_event=size))
    pieces_ = ReadOptions(triples_per_event=size, interpreted_bytes=0, chunk_bytes=chunk)
    assert plainly(triples, pieces_) == whole
    assert by_kernel(triples, pieces_) == whole
