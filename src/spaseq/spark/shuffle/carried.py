"""Columns of rows that events carry into provenance: they travel with the event's name, as one literal."""

from __future__ import annotations

import json
from typing import Final, cast

from pyoxigraph import Literal, NamedNode

from spaseq.model.terms import term_of

_KIND: Final = NamedNode("urn:spaseq:carried")


def packed(name: str | None, columns: str) -> str:
    """The text of a term that says the name of an event and some columns, which are given as JSON.

    >>> unpacked(packed("<urn:g>", '{"offset": "7"}'))
    ('<urn:g>', {'offset': '7'})
    """
    return str(Literal(json.dumps([name, json.loads(columns)]), datatype=_KIND))


def unpacked(text: str) -> tuple[str | None, dict[str, str]]:
    """What `packed` was given."""
    name, columns = json.loads(cast("Literal", term_of(text)).value)
    return name, columns
