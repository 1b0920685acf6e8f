"""A limit on what the entities of an RDF/XML text expand to: a few lines can make a gigabyte.

As pyoxigraph reads them: a value is expanded where it is declared, with the entities that stand before it.
"""

from __future__ import annotations

import re

from spaseq.settings import limit_reached, settings

_DECLARED = re.compile(rb'<!ENTITY\s+([^\s"]+)\s+"([^"]*)"')
_REFERENCE = re.compile(rb"&([^\s&;<>]+);")


def check_entities(text: str | bytes, what: str) -> None:
    """Raise `LimitReached` if the entities of an RDF/XML text expand to too many bytes; ``what`` names it."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    sizes: dict[bytes, int] = {}
    total = begin = 0
    for found in _DECLARED.finditer(data):
        name, value = found.groups()
        sizes[name] = len(value) + sum(sizes.get(used[1], 0) for used in _REFERENCE.finditer(value))
        total, begin = _checked(total + sizes[name], what), found.end()
    if sizes:
        for used in _REFERENCE.finditer(data, begin):
            total = _checked(total + sizes.get(used[1], 0), what)


def _checked(total: int, what: str) -> int:
    if total > settings().entity_bytes:
        raise limit_reached(f"the entities of {what} expand to {total:,} bytes or more", "entity_bytes")
    return total
