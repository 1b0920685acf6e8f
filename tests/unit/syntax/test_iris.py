"""Relative IRIs: the examples of RFC 3986, section 5.4."""

from __future__ import annotations

import pytest

from spaseq.syntax.iris import is_absolute, resolve

BASE = "http://a/b/c/d;p?q"

NORMAL = {
    "g:h": "g:h",
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    "#s": "http://a/b/c/d;p?q#s",
    "g#s": "http://a/b/c/g#s",
    "g?y#s": "http://a/b/c/g?y#s",
    ";x": "http://a/b/c/;x",
    "g;x": "http://a/b/c/g;x",
    "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/",
    "./": "http://a/b/c/",
    "..": "http://a/b/",
    "../": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../g": "http://a/g",
}
ABNORMAL = {
    "../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    ".g": "http://a/b/c/.g",
    "g..": "http://a/b/c/g..",
    "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/",
    "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h",
    "g;x=1/./y": "http://a/b/c/g;x=1/y",
    "g;x=1/../y": "http://a/b/c/y",
    "g?y/./x": "http://a/b/c/g?y/./x",
    "g#s/../x": "http://a/b/c/g#s/../x",
    "http:g": "http:g",
}


@pytest.mark.parametrize(("reference", "expected"), [*NORMAL.items(), *ABNORMAL.items()])
def test_references_resolve_as_the_rfc_says(reference: str, expected: str) -> None:
    """Normal and abnormal examples alike."""
    assert resolve(reference, BASE) == expected


def test_a_base_without_path_gets_a_slash() -> None:
    """``g`` under ``http://a`` is ``http://a/g``."""
    assert resolve("g", "http://a") == "http://a/g"


def test_a_scheme_makes_an_iri_absolute() -> None:
    """``urn:x`` stands alone, ``x`` and ``//x`` do not."""
    assert is_absolute("urn:x")
    assert not is_absolute("x")
    assert not is_absolute("//x/y:z")
