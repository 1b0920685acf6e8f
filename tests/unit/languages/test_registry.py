"""Facts about query languages: one registry, found by name, by extension, by words."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import spaseq
from spaseq import InvalidArgument, languages
from spaseq.languages.registry import find_language, language_names, language_of

QUERY = """SELECT * WITHIN 5 SECONDS FROM STREAM S <urn:s>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?s <urn:p> ?o } DEFINE GPM B ON S { ?s <urn:q> ?o } }"""
TOY = """from spaseq.languages.registry import Language
from spaseq.languages.spaseq.query import compile_text

def pairs(text, name):
    first, second = text.split("THEN")
    return compile_text(
        "SELECT * WITHIN 5 SECONDS FROM STREAM S <urn:s> WHERE { SEQ (A ; B) "
        f"DEFINE GPM A ON S {{ {first} }} DEFINE GPM B ON S {{ {second} }} }}", name)

LANGUAGE = Language("toy", (".toy",), frozenset(("THEN",)), pairs)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language in a package beside the others."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "__init__.py").write_text(TOY)
    monkeypatch.setattr(languages, "__path__", [*languages.__path__, str(tmp_path)])
    language_names.cache_clear()
    find_language.cache_clear()
    yield
    sys.modules.pop("spaseq.languages.toy", None)
    language_names.cache_clear()
    find_language.cache_clear()


def test_a_language_that_does_not_exist_is_refused_with_those_that_do() -> None:
    """Early, with a suggestion."""
    with pytest.raises(InvalidArgument, match="no language `spasek`; did you mean `spaseq`"):
        spaseq.compile(QUERY, language="spasek")


def test_a_compiled_query_knows_its_language_prefixes_and_fingerprint() -> None:
    """And nothing of the language's own tree; layout and prefixes do not change what it is."""
    plain = spaseq.compile(QUERY)
    other = spaseq.compile("PREFIX u: <urn:> # a comment\n" + QUERY.replace("<urn:p>", "u:p"), "spaseq")
    assert (plain.language, plain.prefixes) == ("spaseq", ())
    assert (other.prefixes, other.fingerprint) == ((("u", "urn:"),), plain.fingerprint)
    assert spaseq.compile(QUERY.replace("urn:q", "urn:r")).fingerprint != plain.fingerprint


@pytest.mark.usefixtures("toy")
def test_a_package_beside_the_others_is_a_language() -> None:
    """It is listed, found by name, extension and words; what it compiles to runs like any other query."""
    text = "?s <urn:p> ?o THEN ?s <urn:q> ?o"
    assert language_names() == ("epsparql", "rsepql", "spaseq", "toy")
    assert language_of(text).name == language_of("", "query.toy").name == "toy"
    assert language_of(QUERY + " # THEN").name == language_of("ASK { 'THEN' }").name == "spaseq"
    query = spaseq.compile(text)
    assert query.language == "toy"
    engine = spaseq.Engine(query)
    events = [
        spaseq.Event("S", t, f"<urn:a> <urn:{p}> 1 .", format="turtle") for t, p in ((1, "p"), (2, "q"))
    ]
    assert len([*engine.push(events), *engine.finish()]) == 1


def test_the_recipe_names_every_file_of_a_language() -> None:
    """What the languages there are consist of, and the one that tests add, is in the table of docs/how-to/extend.md."""
    root = Path(__file__).resolve().parents[3]
    page = (root / "docs/how-to/extend.md").read_text("utf-8")
    named = set(re.findall(r"^\| `([\w.]+)`", page, re.MULTILINE)) | {"query.py"}
    assert {path.name for path in (root / "tests/toys/languages/tally").iterdir() if path.suffix} <= named
    for needed in ("src/spaseq/operators/<name>.py", "src/spaseq/io/connectors/<scheme>.py"):
        assert needed in page
