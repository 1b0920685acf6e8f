"""Resolving a relative IRI against a base: RFC 3986, section 5.2, letters untouched."""

from __future__ import annotations

import re
from typing import NamedTuple

_PARTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)


class _Iri(NamedTuple):
    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    def __str__(self) -> str:
        scheme = "" if self.scheme is None else self.scheme + ":"
        authority = "" if self.authority is None else "//" + self.authority
        query = "" if self.query is None else "?" + self.query
        fragment = "" if self.fragment is None else "#" + self.fragment
        return scheme + authority + self.path + query + fragment


def _split(iri: str) -> _Iri:
    found = _PARTS.fullmatch(iri)
    assert found is not None  # every part is optional and the path takes the rest
    return _Iri(found[1], found[2], found[3], found[4], found[5])


def is_absolute(iri: str) -> bool:
    """True if the IRI begins with a scheme."""
    return _split(iri).scheme is not None


def resolve(iri: str, base: str) -> str:
    """The IRI that a reference means under a base.

    >>> resolve("../g?y#s", "http://a/b/c/d;p?q")
    'http://a/b/g?y#s'
    """
    ref, root = _split(iri), _split(base)
    if ref.scheme is not None:
        return str(ref._replace(path=_without_dots(ref.path)))
    if ref.authority is not None:
        return str(ref._replace(scheme=root.scheme, path=_without_dots(ref.path)))
    if not ref.path:
        query = root.query if ref.query is None else ref.query
        return str(root._replace(query=query, fragment=ref.fragment))
    if ref.path.startswith("/"):
        path = ref.path
    elif root.authority is not None and not root.path:
        path = "/" + ref.path
    else:
        path = root.path[: root.path.rfind("/") + 1] + ref.path
    return str(_Iri(root.scheme, root.authority, _without_dots(path), ref.query, ref.fragment))


def _without_dots(path: str) -> str:
    """The path without ``.`` and ``..`` segments (RFC 3986, 5.2.4)."""
    if "." not in path:
        return path
    absolute = path.startswith("/")
    segments = path[absolute:].split("/")
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            if kept:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return ("/" if absolute else "") + "/".join(kept)
