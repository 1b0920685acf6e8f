"""One verdict on bad input, whatever the tier, the piece or the predicates that a query needs.

Valid files are mutated in every way that breaks files; each is then read by pyoxigraph as a whole and in pieces, by
the byte kernel in pieces, and with few or no needed predicates. All readings give the same events and the same
bad input, and a judge that asks pyoxigraph line by line agrees.
"""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyoxigraph import DefaultGraph, Quad, RdfFormat, parse

from spaseq.io.assemble import GraphAssembler, StartMark
from spaseq.io.bad_input import BadInput
from spaseq.io.count import TripleCounter
from spaseq.io.lines import damage_of, message_of, parse_line
from spaseq.io.options import ReadOptions
from spaseq.io.sources import Layout
from spaseq.settings import changed_settings
from support.readings import Seen, read_in_batches, read_plainly
from support.seeds import repeated, seeds

PREDICATE = "http://www.w3.org/ns/prov#generatedAtTime"
XSD = "http://www.w3.org/2001/XMLSchema#"
PER_EVENT = 2

Reading = tuple[list[Seen], list[tuple[str, int, str, str]]]


# --- reading ------------------------------------------------------------------------------------------


_CONTEXT = re.compile(
    r"@\w+ keyword can't be redefined in context|Unexpected key in term definition .*|Inconsistent expansion of .*"
    r"|Term definition value must be null, a string or a map"
)
"""Of several faults of a context pyoxigraph names any."""


def found_bad(bad: list[BadInput]) -> list[tuple[str, int, str, str]]:
    """Bad input without the name of its file."""
    return [
        (_CONTEXT.sub("the context is bad", item.reason), item.position, item.unit, item.text) for item in bad
    ]


def plainly(file: Path, options: ReadOptions) -> Reading:
    """Events and bad input by pyoxigraph alone."""
    events, bad = read_plainly(file, options)
    return events, found_bad(bad)


def in_batches(file: Path, options: ReadOptions) -> Reading:
    """Events and bad input as an engine gets them."""
    events, bad = read_in_batches(file, options)
    return events, found_bad(bad)


_SCOPE = re.compile(r"-e[0-9a-f]{16}\b")


def restricted(reading: Reading, needed: frozenset[str] | None, names: bool) -> Reading:
    """What is left of a reading where only some predicates and no names are needed."""
    events, bad = reading
    kept: list[Seen] = []
    for time, name, position, triples in events:
        left = (t for t in triples if needed is None or t.split(" ", 2)[1][1:-1] in needed)
        # A blank node's scope may count events that are the same but for triples that were left out.
        shown = frozenset(_SCOPE.sub("", t) for t in left)
        kept.append((time, _SCOPE.sub("", name) if names else "", position, shown))
    return kept, bad


NEEDED = [
    None,
    frozenset[str](),
    frozenset({"http://e/p"}),
    frozenset({"http://e/q#r", "http://e/p"}),
    frozenset({PREDICATE}),
]


def check_readings(file: Path, rng: random.Random, layout: Layout) -> Reading:
    """All readings of a file agree; what they found."""
    whole = plainly(file, ReadOptions(triples_per_event=PER_EVENT, layout=layout))
    chunks = [rng.randint(1, 60), rng.randint(60, 600), 1 << 20]
    plain = ReadOptions(triples_per_event=PER_EVENT, chunk_bytes=rng.choice(chunks[:2]), layout=layout)
    assert plainly(file, plain) == whole, f"pyoxigraph in pieces of {plain.chunk_bytes}"
    for needed, chunk in ((None, rng.choice(chunks)), (rng.choice(NEEDED), rng.choice(chunks))):
        names = needed is None or rng.random() < 0.5
        for tier in (0, 1 << 20):
            options = ReadOptions(
                triples_per_event=PER_EVENT,
                interpreted_bytes=tier,
                chunk_bytes=chunk,
                needed_predicates=needed,
                keep_names=names,
                layout=layout,
            )
            with changed_settings(plain_bytes=rng.choice([24, 200, 1 << 14]), arena_terms=64):
                found = in_batches(file, options)
            what = f"{'kernel' if tier == 0 else 'batches'} in pieces of {chunk} with needed {needed}"
            if needed is None:
                assert found == whole, what
            else:
                assert restricted(found, None, names) == restricted(whole, needed, names), what
    return whole


# --- the judge ----------------------------------------------------------------------------------------


def judged(data: bytes, counted: bool) -> Reading:
    """What pyoxigraph says of every line on its own, and the events that these lines make."""
    syntax = RdfFormat.N_TRIPLES if counted else RdfFormat.N_QUADS
    assembler: GraphAssembler | TripleCounter = (
        TripleCounter(PREDICATE, "ms", "", PER_EVENT) if counted else GraphAssembler(PREDICATE, "ms", "")
    )
    number, offset = 1, 0
    for line in data.splitlines(keepends=True):
        at = StartMark(number, offset)
        number, offset = number + line.endswith(b"\n"), offset + len(line)
        try:
            for quad in parse_line(line, syntax):
                assembler.quad(quad, at)
        except SyntaxError as error:
            assembler.damaged(damage_of(line, message_of(error), at, (PREDICATE,)))
    assembler.end()
    bad = [item for _, item in sorted(assembler.bad, key=lambda item: item[0])]
    events = [(e.time, str(e.name), e.position, frozenset(map(str, e.triples))) for e in assembler.events]
    return events, found_bad(bad)


def verdicts(data: bytes) -> list[tuple[int, list[Quad] | None]]:
    """The number of every line and its quads, None where pyoxigraph refuses it."""
    found: list[tuple[int, list[Quad] | None]] = []
    number = 1
    for line in data.splitlines(keepends=True):
        try:
            found.append((number, parse_line(line)))
        except SyntaxError:
            found.append((number, None))
        number += line.endswith(b"\n")
    return found


def check_events(data: bytes, events: list[Seen]) -> None:
    """An event is all quads of its name in successive lines, and none of these lines is bad."""
    lines = [(number, quads) for number, quads in verdicts(data) if quads is None or quads]
    last = -1
    for _, name, position, triples in events:
        first = last + 1
        while lines[first][0] < position or _graphs(lines[first][1]) != {_SCOPE.sub("", name)}:
            first += 1
        expected: set[str] = set()
        unsure = False
        for last in range(first, len(lines)):
            quads = lines[last][1]
            if quads is None:
                unsure = True
                continue
            named = _graphs(quads)
            if named - {_SCOPE.sub("", name)} or (not named and quads[0].predicate.value == PREDICATE):
                last -= 1
                break
            if named:
                assert not unsure, f"a bad line inside the event at line {position}"
                expected |= {str(quad.triple) for quad in quads}
        assert {_SCOPE.sub("", t) for t in triples} == expected, f"the event at line {position} is not whole"


def _graphs(quads: list[Quad] | None) -> set[str]:
    return {str(quad.graph_name) for quad in quads or () if not isinstance(quad.graph_name, DefaultGraph)}


_BLANK = re.compile(r"_:[^ <>]*")


def check_document(kind: str, data: bytes, reading: Reading) -> None:
    """What pyoxigraph reads as a whole is read, and nothing is called unreadable; what it refuses is bad input."""
    try:
        quads = document_quads(kind, data)
    except (SyntaxError, UnicodeDecodeError):
        assert reading[1], "pyoxigraph refuses the file, and there is no bad input"
        return
    assembler = GraphAssembler(PREDICATE, "ms", "")
    for number, quad in enumerate(quads):
        assembler.quad(quad, StartMark(1, number))
    assembler.end()
    expected = [(e.time, blanked(e.name), {blanked(t) for t in e.triples}) for e in assembler.events]
    found = [(time, blanked(name), {blanked(t) for t in triples}) for time, name, _, triples in reading[0]]
    assert found == expected, "pyoxigraph reads the file as a whole"
    reasons = sorted(blanked(item.reason) for _, item in assembler.bad)
    assert sorted(blanked(reason) for reason, *_ in reading[1]) == reasons, "pyoxigraph finds no fault"


def document_quads(kind: str, data: bytes) -> list[Quad]:
    """The quads of a TriG file, or of JSON-LD documents that stand one behind the other."""
    if kind == "trig":
        return list(parse(data, format=RdfFormat.TRIG))
    text, at, quads = data.decode(), 0, list[Quad]()
    while at < len(text):
        end = at + 1
        if text[at] not in " \t\r\n":
            try:
                end = json.JSONDecoder().raw_decode(text, at)[1]
            except ValueError as error:
                raise SyntaxError(str(error)) from None
            quads.extend(parse(text[at:end].encode(), format=RdfFormat.JSON_LD))
        at = end
    return quads


def blanked(term: object) -> str:
    """A text without the labels of blank nodes."""
    return _BLANK.sub("_:", str(term)).replace("[]", "_:")


# --- valid files --------------------------------------------------------------------------------------

SUBJECTS = ["<http://e/s>", "<http://e/s%41>", "<urn:x:y>", "_:b", "_:b0.x", "<http://e:80/é?q=1#f>"]
PREDICATES = ["<http://e/p>", "<http://e/p>", "<http://e/q#r>", "<http://e/unneeded>", f"<{PREDICATE}>"]
OBJECTS = [
    "<http://e/o>",
    "_:b",
    '"x"',
    '"x\\ty \\u00e9 é"',
    '"q\\"uo\\\\"',
    '"2"@en',
    '"2"@en-GB',
    f'"1.5"^^<{XSD}decimal>',
    f'"7"^^<{XSD}integer>',
    f'"s"^^<{XSD}string>',
    '"long text with a < and a > and # and _:x . " ',
]


def term_line(rng: random.Random) -> str:
    """Subject, predicate and object."""
    return f"{rng.choice(SUBJECTS)} {rng.choice(PREDICATES)} {rng.choice(OBJECTS)}"


def nquads(rng: random.Random) -> bytes:
    """A few events, most of one layout."""
    layout = rng.choice(["before", "after", "mixed"])
    parts: list[str] = []
    for number in range(rng.randint(2, 6)):
        name = rng.choice([f"<http://e/g{number}>", f"<http://e/g{number}>", f"_:g{number}", "<http://e/g>"])
        quads = "".join(f"{term_line(rng)} {name} .\n" for _ in range(rng.randint(1, 4)))
        stamp = f"{name} <{PREDICATE}> {stamp_value(rng, number)} .\n"
        before = layout == "before" or (layout == "mixed" and rng.random() < 0.5)
        parts.append(stamp + quads if before else quads + stamp)
        if rng.random() < 0.1:
            parts.append(rng.choice(["# a comment\n", "\n", "  \t\n", "<urn:a> <urn:b> <urn:c> .\n"]))
    return "".join(parts).encode()


def stamp_value(rng: random.Random, number: int) -> str:
    """A timestamp in one of its forms."""
    return rng.choice(
        [
            f'"{number}"^^<{XSD}integer>',
            f'"{number}.5"^^<{XSD}decimal>',
            f'"2024-01-01T00:00:0{number}Z"^^<{XSD}dateTime>',
            f'"2024-01-0{number + 1}"^^<{XSD}date>',
        ]
    )


def ntriples(rng: random.Random) -> bytes:
    """A few events of two data triples and a timestamp."""
    parts: list[str] = []
    for number in range(rng.randint(2, 6)):
        lines = [f"{term_line(rng)} .\n".replace(PREDICATE, "http://e/p") for _ in range(PER_EVENT)]
        lines.insert(rng.randint(0, PER_EVENT), f"<http://e/s> <{PREDICATE}> {stamp_value(rng, number)} .\n")
        parts.append("".join(lines))
    return "".join(parts).encode()


def trig(rng: random.Random) -> bytes:
    """A few events as blocks, on many lines or on one."""
    gap = rng.choice(["\n", "\n", " "])
    parts = ["@prefix : <http://e/> .", "PREFIX x: <http://x/>", "BASE <http://b/>"]
    before = rng.random() < 0.5
    for number in range(rng.randint(2, 5)):
        name = rng.choice([f":g{number}", f"<http://e/g{number}>", f"_:g{number}", "x:g", "<rel>"])
        triples = [
            f"{rng.choice([':s', '_:b', '[ :q 1 ]', '<r>'])} :p {rng.choice(TURTLE)} {rng.choice(['.', '; :q 5 .', ', 6.5 .'])}"
            for _ in range(rng.randint(1, 3))
        ]
        block = f"{rng.choice(['', 'GRAPH '])}{name} {{{gap}" + gap.join(triples) + f"{gap}}}"
        stamp = f"{name} <{PREDICATE}> {number} ."
        parts += [stamp, block] if before else [block, stamp]
        if rng.random() < 0.15:
            parts.append(rng.choice(["# } comment {\n", "@prefix x: <http://y/> .", ":a :b :c ."]))
    return (gap.join(parts) + gap).encode()


TURTLE = [
    ":o",
    "[ :q (1 2.5) ]",
    '"a } . {"',
    '"""x\n} \\" . """',
    "_:b",
    "'y'",
    "true",
    '"2"@en',
    "<http://e/#x>",
    "-1.5e3",
]


def jsonld(rng: random.Random) -> bytes:
    """A few events as an array, as lines, or as a document with a context; on many lines or on one."""
    events = []
    for number in range(rng.randint(2, 5)):
        node: dict[str, object] = {
            "@id": rng.choice(["http://e/s", "_:b", "p:s"]),
            "p:p": rng.choice([1, 2.5, "x } ] , {", {"@id": "_:b"}, [1, '\\"é\n'], {"@list": [1, 2]}]),
        }
        event = {
            "@id": rng.choice([f"http://e/g{number}", f"_:g{number}"]),
            PREDICATE: number,
            "@graph": [node] * rng.randint(1, 2),
        }
        events.append(event if rng.random() < 0.8 else dict(reversed(event.items())))
    layout = rng.choice(["array", "lines", "document"])
    context = {"p": "http://e/"}
    indent = rng.choice([None, None, 1, 2])
    if layout == "document":
        return json.dumps({"@context": context, "@graph": events}, indent=indent).encode()
    events = [{"@context": context, **event} for event in events]
    if layout == "lines":
        return b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return json.dumps(events, indent=indent).encode()


class Frame(NamedTuple):
    """A frame of Jelly: what stands in it, and whether pyoxigraph can take all of it."""

    statements: list[tuple[object, ...]]
    good: bool


def jelly_frames(rng: random.Random) -> list[Frame]:
    """A few events, some with a term that is none."""
    from pyjelly.integrations.generic.generic_sink import IRI, BlankNode, DefaultGraph, Literal

    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    good = [
        IRI("http://e/é"),
        BlankNode("b"),
        BlankNode("a:b"),
        Literal("x", langtag="EN"),
        Literal("", datatype="urn:d"),
    ]
    bad = [
        IRI("rel"), IRI("http://e/%zz"), IRI("http://e/\\u0041"), BlankNode("a b"), Literal("x", langtag="1"),
        Literal("x", datatype="rel"), Literal("x", datatype=rdf + "langString"),
    ]  # fmt: skip
    frames = []
    for number in range(rng.randint(2, 6)):
        name = rng.choice([IRI(f"http://e/g{number}"), BlankNode("g")])
        objects = rng.choices(good, k=rng.randint(1, 3)) + rng.choices(bad, k=rng.random() < 0.3)
        predicates = rng.choices(["http://e/p", "http://e/q#r"], k=len(objects))
        statements: list[tuple[object, ...]] = [
            (IRI("http://e/s"), IRI(predicate), value, name)
            for predicate, value in zip(predicates, objects, strict=True)
        ]
        statements.append(
            (name, IRI(PREDICATE), Literal(f"{number}", datatype=XSD + "integer"), DefaultGraph)
        )
        rng.shuffle(statements)
        frames.append(Frame(statements, all(value in good for value in objects)))
    return frames


def jelly_bytes(frames: list[Frame]) -> bytes:
    """The frames as a file."""
    from pyjelly import jelly
    from pyjelly.integrations.generic.generic_sink import GenericStatementSink, Quad
    from pyjelly.integrations.generic.serialize import GenericSinkTermEncoder, stream_frames
    from pyjelly.options import StreamParameters
    from pyjelly.serialize.ioutils import write_delimited
    from pyjelly.serialize.streams import QuadStream, SerializerOptions

    options = SerializerOptions(logical_type=jelly.LOGICAL_STREAM_TYPE_DATASETS, params=StreamParameters())
    stream = QuadStream(encoder=GenericSinkTermEncoder(lookup_preset=options.lookup_preset), options=options)
    out = io.BytesIO()
    for frame in frames:
        sink = GenericStatementSink()
        for statement in frame.statements:
            sink.add(Quad(*statement))
        for written in stream_frames(stream, sink):
            write_delimited(written, out)
    return out.getvalue()


# --- mutations ----------------------------------------------------------------------------------------

BAD_TERMS = [
    b"<rel>", b"<>", b"<http://e/a b>", b"<http://e/a", b"http://e/a>", b"<http://e/\"q\">", b"<http://e/{x}>",
    b"<http://e/%zz>", b"<http://e/%4>", b"<http://e/\\u00e9>", b"<http://e/\\u0020>", b"<http://e/\\n>", b"<http://e/\xff>",
    b"<http://e/\xc3\xa9>", b"<http://e/a#b#c>", b"<http://e:8a/x>", b"<http://e:/x>", b"<http://u@e/x>", b"<http://[::1]/x>",
    b"<http://[::1/x>", b"<1http://e/x>", b"<:x>", b"<http://e/<x>", b"<http://e/`x>", b"<http://e/^x>", b"<http://e/|x>",
    b"<http://e/x\x7f>", b"<http://e/x\x00>", b"<http://e/\xee\x80\x80>", b"<http://e/?\xee\x80\x80>", b"<urn:\xef\xbf\xbe>", b"<http://\xc3\xa9/>", b"<http://e%41/>",
    b"_:", b"_:a:b", b"_:-a", b"_:.a", b"_:a.", b"_:\xc3\xa9", b"_:a\xff", b"_:0", b"_:a-", b"_",
    b'"', b'"open', b'"a\\q"', b'"\\u12"', b'"\\ud800"', b'"\\U00110000"', b'"\\U0001F600"', b'"\xff"', b'"\xed\xa0\x80"', b'"\xef\xbf\xbe"',
    b'"a\rb"', b'"a\x00b"', b'"a\x7fb"', b'"a\\\'b"', b"'a'", b'"""a"""', b'"a"b"', b'""', b'"a" "b"',
    b'"a"@', b'"a"@1', b'"a"@e', b'"a"@en-', b'"a"@en_GB', b'"a"@toolonglanguage', b'"a"@en-us-us', b'"a"@x-private', b'"a"@en--ltr', b'"a"@en--abc',
    b'"a"@EN', b'"a"@zh-Hans-CN', b'"a" @en', b'"a"@ en', b'"a"^^<rel>', b'"a"^^<>', b'"a"^^"b"', b'"a"^^_:b', b'"a"^^', b'"a"^<urn:x>', b'"a"^^ <urn:x>',
    b'"1.5"^^<"http://e/t>', b'"1.5"^^<http://e/t t>', b'"1.5"^^<http://e/\\u0041>', b'"a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>',
    b'"a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>', b'"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON>', b'"\\"^^<http://www.w3.org/2001/XMLSchema#string>"',
    b'"a"^^<urn:x>@en', b'"a"@en^^<urn:x>', b"5", b"true", b"a", b"[]", b"()", b"<<( <urn:a> <urn:b> <urn:c> )>>", b"<< <urn:a> <urn:b> <urn:c> >>", b"ex:a", b"?x", b".", b"{", b"}", b"#", b"", b"\x00",
    b"\xef\xbb\xbf", b"\xc2\xa0", b"\x0c", b"\x0b", b'"soon"', f'"soon"^^<{XSD}dateTime>'.encode(), f'"99999999999999999999"^^<{XSD}integer>'.encode(),
]  # fmt: skip
HOT = [b'"', b"<", b">", b"\\", b".", b"_:", b"#", b"\n", b"\r", b"\r\n", b"\xff", b"\0", b"@", b"^^", b"'", b" ", b"\t", b"\xc3",
       b"{", b"}", b"[", b"]", b",", b":", b"\x7f", b"\x0c", b"`", b"|"]  # fmt: skip
_TERM = re.compile(rb'<[^<>\n]*>|"(?:[^"\\\n]|\\.)*"(?:@[\w-]+|\^\^<[^>\n]*>)?|_:[\w.]*\w')


def mutate_bytes(rng: random.Random, data: bytearray) -> None:
    """Change, insert or remove a few bytes."""
    at = rng.randrange(len(data) + 1)
    kind = rng.randrange(5)
    if kind == 0 and at < len(data):
        data[at] = rng.randrange(256)
    elif kind == 1 and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at:at] = rng.choice(HOT)
    elif kind == 3:
        del data[at : at + 1]
    else:
        del data[at : at + rng.randint(1, 40)]


def mutate_lines(rng: random.Random, data: bytearray) -> None:
    """Repeat, swap, remove, join or cut lines."""
    lines = bytes(data).splitlines(keepends=True)
    if not lines:
        return
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(7)
    if kind == 0:
        lines.insert(j, lines[i])
    elif kind == 1:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 2:
        del lines[i]
    elif kind == 3:
        lines[i] = lines[i].rstrip(b"\n")
    elif kind == 4:
        lines[i] = lines[i].rstrip(b"\n") + b"\r\n"
    elif kind == 5:
        lines[i] = lines[i].rstrip(b"\n") + rng.choice(
            [b" # c\n", b"#\xff\n", b" #\r\n", b"# a\rb\n", b"\r", b" <urn:x>\n"]
        )
    else:
        lines = [*lines[:-1], lines[-1][: rng.randrange(len(lines[-1]) + 1)]]
    data[:] = b"".join(lines)


def mutate_terms(rng: random.Random, data: bytearray) -> None:
    """Put another term, mostly an invalid one, in the place of one."""
    terms = list(_TERM.finditer(bytes(data)))
    if terms:
        found = rng.choice(terms)
        other = rng.choice(BAD_TERMS) if rng.random() < 0.8 else rng.choice(terms)[0]
        data[found.start() : found.end()] = other


MUTATIONS: list[Callable[[random.Random, bytearray], None]] = [
    mutate_bytes,
    mutate_bytes,
    mutate_lines,
    mutate_terms,
    mutate_terms,
]


def mutated(rng: random.Random, data: bytes) -> bytes:
    """A file with up to three faults."""
    found = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        rng.choice(MUTATIONS)(rng, found)
    return bytes(found)


# --- laws ---------------------------------------------------------------------------------------------

MAKERS = {
    "nquads": (nquads, ".nq"),
    "ntriples": (ntriples, ".nt"),
    "trig": (trig, ".trig"),
    "jsonld": (jsonld, ".jsonld"),
}


def check_case(kind: str, seed: int, folder: Path) -> None:
    """Mutate one file and read it in every way."""
    rng = random.Random(seed)
    make, suffix = MAKERS[kind]
    file = folder / f"fuzz{suffix}"
    data = mutated(rng, make(rng))
    file.write_bytes(data)
    try:
        layout: Layout = rng.choice(["stream", "stream", "stream", "auto", "dataset"])
        whole = check_readings(file, rng, layout)
        if layout != "stream":
            return
        if kind in ("nquads", "ntriples"):
            expected = judged(data, kind == "ntriples")
            assert restricted(whole, None, True) == restricted(expected, None, True), "line by line"
        if kind == "nquads":
            check_events(data, whole[0])
        if kind in ("trig", "jsonld"):
            check_document(kind, data, whole)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{repeated(seed)}\n{data!r}") from None


def test_a_mutated_jelly_file_has_one_verdict(tmp_path: Path) -> None:
    """A frame with a term that is none is bad input; only one that cannot be decoded ends the file."""
    file = tmp_path / "fuzz.jelly"
    for seed in seeds(200):
        rng = random.Random(seed)
        frames = jelly_frames(rng)
        data = bytearray(jelly_bytes(frames))
        whole = rng.random() < 0.5
        for _ in range(0 if whole else rng.randint(1, 3)):
            mutate_bytes(rng, data)
        file.write_bytes(data)
        with changed_settings(file_bytes=rng.choice([1, 37, 1 << 16])):
            events, bad = check_readings(file, rng, "stream")
        if whole:
            good = [number for number, frame in enumerate(frames) if frame.good]
            assert [time for time, *_ in events] == [1000 * number for number in good], repeated(seed)
            wrong = [number + 1 for number in range(len(frames)) if number not in good]
            assert [position for _, position, *_ in bad] == wrong, repeated(seed)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_mutated_file_has_one_verdict(tmp_path: Path, kind: str) -> None:
    """All readings agree with each other and with pyoxigraph."""
    for seed in seeds(200):
        check_case(kind, seed, tmp_path)


def test_a_missing_comma_before_a_value_that_needs_more_is_reported_once(tmp_path: Path) -> None:
    """A value that cannot be read is looked at again when more of the file is there; what precedes it is reported then."""
    check_case("jsonld", 63_526, tmp_path)
