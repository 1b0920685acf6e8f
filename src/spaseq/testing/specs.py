"""Spec files: facts about behaviour as plain text, run on every host.

A file holds cases. What stands before the first ``case`` belongs to all of them. A line at the margin
opens a section; its content is the rest of that line and the indented lines below it.

    -- Skip-till-next takes the first partner only (semantics 1.3).

    stream S <http://ex.org/s>
      1     | :a1 a :A .
      2 :g2 | :b1 a :B .          (a graph name may stand after the time)

    gpm A on S
      ?a a :A .
    gpm B on S
      ?b a :B .

    case the first partner ends the search
    seq      A ; B
    within   10 SECONDS SLIDING
    expect
      1..2   a=:a1 b=:b1          [A@1 B@2]

A case has either a whole ``query`` or a ``seq`` from which one is assembled with the GPMs it names and
the optional sections ``select`` (default ``*``), ``construct``, ``ask``, ``within`` and ``partition``.
A section of a case replaces the shared one of the same name: a stream by its alias, a GPM by its name.
It expects ``expect`` (matches, or ``none``), ``error CODE [at LINE:COLUMN]``, ``warning CODE``,
``automaton`` (its edges), ``plan ~ REGEX``, ``plan !~ REGEX``; any number of them. Times are seconds
since the epoch or dateTimes; terms and graphs are Turtle with the prefixes ``:`` (http://ex.org/),
``xsd:``, ``rdf:`` and ``rdfs:``. ``knowledge <iri>`` gives a background graph. ``language`` names the language of a whole
query, by default ``spaseq``; an ASK over windows expects ``START..TIME true`` or ``false``. In EP-SPARQL an event may be
``START..END | turtle``, ``policy`` names a policy, and ``rdfs`` closes graphs and stream under RDFS. ``profile`` names the engine as
which a query of RSEP-QL is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from pyoxigraph import RdfFormat, Triple, parse

from spaseq.errors import InvalidArgument
from spaseq.model.events import GraphEvent
from spaseq.model.terms import Term
from spaseq.temporal.instants import parse_date_time

PREFIXES = """@prefix : <http://ex.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
KEYWORDS = frozenset(
    [
        "case",
        "language",
        "query",
        "seq",
        "select",
        "construct",
        "ask",
        "within",
        "partition",
        "stream",
        "gpm",
        "knowledge",
        "policy",
        "profile",
        "rdfs",
        "expect",
        "error",
        "warning",
        "automaton",
        "plan",
    ]
)


@dataclass(frozen=True, slots=True)
class Section:
    """A keyword, the rest of its line, and the indented lines below it with their line numbers."""

    keyword: str
    head: str
    body: tuple[tuple[int, str], ...]
    line: int

    @property
    def text(self) -> str:
        """The content: the head, then the body without its indentation."""
        lines = [line for _, line in self.body]
        margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        return "\n".join(([self.head] if self.head else []) + [line[margin:] for line in lines]).rstrip()


@dataclass(frozen=True, slots=True)
class Expected:
    """One expected match; ``events`` is None where the spec does not name them."""

    start: int
    time: int
    bindings: tuple[tuple[str, Term], ...] = ()
    triples: frozenset[Triple] | None = None
    events: tuple[str, ...] | None = None
    boolean: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """One fact: a query over streams, and what must come of it."""

    name: str
    path: Path
    line: int
    query: str
    events: tuple[GraphEvent, ...] = ()
    knowledge: dict[str, frozenset[Triple]] = field(default_factory=dict)
    expected: tuple[Expected, ...] | None = None
    error: tuple[str, str] | None = None
    warnings: tuple[str, ...] = ()
    automaton: str | None = None
    plan: tuple[tuple[bool, str], ...] = ()
    language: str = "spaseq"
    policy: str = "unrestricted"
    rdfs: bool = False
    profile: str | None = None

    @property
    def id(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}: {self.name}"


def load(path: Path) -> list[Case]:
    """The cases of a spec file."""
    sections = list(_sections(path))
    starts = [index for index, section in enumerate(sections) if section.keyword == "case"]
    shared = sections[: starts[0]] if starts else sections
    if not starts:
        return [_case(path, path.stem, 1, shared)]
    ends = [*starts[1:], len(sections)]
    return [
        _case(path, sections[begin].head, sections[begin].line, shared + sections[begin + 1 : end])
        for begin, end in zip(starts, ends, strict=True)
    ]


def load_all(folder: Path, language: str = "spaseq") -> list[Case]:
    """The cases of one language in every spec file below a folder."""
    cases = (case for path in sorted(folder.rglob("*.spec")) for case in load(path))
    return [case for case in cases if case.language == language]


def _sections(path: Path) -> Iterator[Section]:
    open_section: list[Section] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("--") or (not line.strip() and not open_section):
            continue
        if line[:1].isspace() or not line.strip():
            if not open_section:
                raise _bad(path, number, "an indented line belongs to a section; there is none above")
            last = open_section[-1]
            open_section[-1] = Section(last.keyword, last.head, (*last.body, (number, line)), last.line)
            continue
        keyword, _, head = line.partition(" ")
        if keyword not in KEYWORDS:
            raise _bad(path, number, f"`{keyword}` is not a section; one of {', '.join(sorted(KEYWORDS))}")
        open_section.append(Section(keyword, head.strip(), (), number))
    yield from open_section


def _bad(path: Path, line: int, reason: str) -> InvalidArgument:
    return InvalidArgument(f"{path}:{line}: {reason}")


def _case(path: Path, name: str, line: int, sections: list[Section]) -> Case:
    def all_of(keyword: str) -> list[Section]:
        return [section for section in sections if section.keyword == keyword]

    expected = all_of("expect")
    errors = all_of("error")
    automata = all_of("automaton")
    if not (expected or errors or automata or all_of("plan") or all_of("warning")):
        raise _bad(path, line, f"case `{name}` expects nothing, so it cannot fail")
    streams = _streams(sections)
    return Case(
        name=name,
        path=path,
        line=line,
        query=_query(path, line, sections),
        events=tuple(event for section in streams for event in _events(path, section)),
        knowledge={
            section.head.strip("<>"): _graph(path, section.line, "\n".join(t for _, t in section.body))
            for section in all_of("knowledge")
        },
        expected=tuple(e for s in expected for e in _expected(path, s)) if expected else None,
        error=_error(path, errors[0]) if errors else None,
        warnings=tuple(section.head for section in all_of("warning")),
        automaton="\n".join(line.strip() for line in automata[0].text.splitlines()) if automata else None,
        plan=tuple(_plan(path, section) for section in all_of("plan")),
        language=next((section.head for section in reversed(all_of("language"))), "spaseq"),
        policy=next((section.head for section in reversed(all_of("policy"))), "unrestricted"),
        rdfs=bool(all_of("rdfs")),
        profile=next((section.head for section in reversed(all_of("profile"))), None),
    )


def _streams(sections: list[Section]) -> list[Section]:
    """The streams by alias, in the order of their first declaration; the last one of an alias counts."""
    return list({s.head.split()[0]: s for s in sections if s.keyword == "stream"}.values())


# --- queries ------------------------------------------------------------------------------------


def _query(path: Path, line: int, sections: list[Section]) -> str:
    latest = {section.keyword: section for section in sections}
    if "query" in latest:
        return latest["query"].text
    if "seq" not in latest:
        raise _bad(path, line, "a case needs a `query` or a `seq`")
    sequence = latest["seq"].text
    used = set(re.findall(r"[A-Za-z_]\w*", sequence))
    gpms = {section.head.split()[0]: section for section in sections if section.keyword == "gpm"}
    if "construct" in latest:
        form = f"CONSTRUCT {{ {latest['construct'].text} }}"
    elif "ask" in latest:
        form = "ASK"
    else:
        form = f"SELECT {latest['select'].text if 'select' in latest else '*'}"
    lines = ["PREFIX : <http://ex.org/>", form]
    if "within" in latest:
        lines.append(f"WITHIN {latest['within'].text}")
    lines += [f"FROM STREAM {section.head}" for section in _streams(sections)]
    if "partition" in latest:
        lines.append(f"PARTITION BY {latest['partition'].text}")
    steps, skips, rest = sequence.partition(" AFTER MATCH ")
    lines += ["WHERE {", f"  SEQ ({steps}){skips}{rest}"]
    for name, section in gpms.items():
        if name in used:
            stream = section.head.split()[-1]
            body = "\n".join(f"    {part.strip()}" for _, part in section.body if part.strip())
            lines.append(f"  DEFINE GPM {name} ON {stream} {{\n{body}\n  }}")
    return "\n".join([*lines, "}"])


# --- data ---------------------------------------------------------------------------------------


def _events(path: Path, section: Section) -> Iterator[GraphEvent]:
    iri = section.head.partition(" ")[2].strip().strip("<>")
    for number, line in section.body:
        if not line.strip():
            continue
        head, bar, graph = line.partition("|")
        if not bar:
            raise _bad(path, number, "an event is `TIME [NAME] | turtle`")
        time, _, name = head.strip().partition(" ")
        triples = _graph(path, number, graph)
        graph_name = _term(path, number, name.strip()) if name.strip() else None
        begin, dots, end = time.rpartition("..")
        start = _instant(path, number, begin) if dots else None
        yield GraphEvent(iri, _instant(path, number, end), triples, graph_name, str(path), number, start)


def _instant(path: Path, line: int, text: str) -> int:
    try:
        return parse_date_time(text) if "T" in text else int(Decimal(text) * 1_000_000)
    except (ValueError, ArithmeticError):
        raise _bad(path, line, f"`{text}` is neither seconds nor a dateTime") from None


def _graph(path: Path, line: int, text: str) -> frozenset[Triple]:
    try:
        quads = parse((PREFIXES + text.strip()).encode(), format=RdfFormat.TURTLE)
        return frozenset(quad.triple for quad in quads)
    except SyntaxError as error:
        raise _bad(path, line, f"not Turtle: {error}") from None


def _term(path: Path, line: int, text: str) -> Term:
    (triple,) = _graph(path, line, f":s :p {text} .")
    return triple.object  # type: ignore[return-value]


def _expected(path: Path, section: Section) -> Iterator[Expected]:
    lines = [(section.line, section.head)] if section.head else []
    for number, line in [*lines, *section.body]:
        line = line.split(" -- ")[0].strip()
        if not line or line == "none":
            continue
        found = re.fullmatch(r"(\S+?)\.\.(\S+)\s*(.*?)\s*(?:\[([^\]]*)\])?", line)
        if not found:
            raise _bad(path, number, "a match is `START..TIME name=term … [A@1 B@2]`")
        start, time, rest, events = found.groups()
        triples = _graph(path, number, rest[1:]) if rest.startswith("|") else None
        names = re.findall(r"(\w+)=((?:\"(?:[^\"\\]|\\.)*\"\S*)|\S+)", rest) if triples is None else []
        yield Expected(
            _instant(path, number, start),
            _instant(path, number, time),
            tuple((name, _term(path, number, term)) for name, term in names),
            triples,
            tuple(events.split()) if events is not None else None,
            rest != "false",
        )


def _error(path: Path, section: Section) -> tuple[str, str]:
    found = re.fullmatch(r"(SPQ\d+)(?:\s+at\s+(\d+:\d+))?", section.head)
    if not found:
        raise _bad(path, section.line, "an error is `error SPQnnn [at LINE:COLUMN]`")
    return found[1], found[2] or ""


def _plan(path: Path, section: Section) -> tuple[bool, str]:
    found = re.fullmatch(r"(!?)~\s*(.+)", section.head)
    if not found:
        raise _bad(path, section.line, "a plan assertion is `plan ~ REGEX` or `plan !~ REGEX`")
    return not found[1], found[2]
