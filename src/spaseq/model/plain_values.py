"""Terms as plain Python values, and those as JSON: for programs that do not use RDF."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from spaseq.model.terms import Term
from spaseq.temporal.instants import (
    INTEGER_RANGES,
    XSD,
    format_instant,
    from_datetime,
    parse_instant,
    to_datetime,
)

Plain: TypeAlias = str | int | Decimal | float | bool | datetime
"""What a term is in Python."""

_DATE_TIMES = (XSD + "dateTime", XSD + "dateTimeStamp")
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z|[+-]?INF\Z|NaN\Z")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def plain_value(term: Term) -> Plain:
    """The Python value of a term; an IRI, a blank node and a literal that is no number, truth value or time are text.

    >>> plain_value(Literal("05", datatype=NamedNode(XSD + "integer")))
    5
    >>> plain_value(NamedNode("http://ex.org/H1"))
    'http://ex.org/H1'
    """
    if isinstance(term, Literal):
        try:
            return _literal(term.value, term.datatype.value)
        except ValueError:  # a time outside the calendar, an integer of thousands of digits
            return term.value
    return term.value if isinstance(term, NamedNode) else str(term)


def _literal(lexical: str, datatype: str) -> Plain:
    if datatype in _DATE_TIMES:
        return to_datetime(parse_instant(lexical, datatype))
    if datatype in INTEGER_RANGES:
        return int(lexical) if _INTEGER.match(lexical) else lexical
    match datatype.removeprefix(XSD):
        case "decimal":
            return Decimal(lexical) if _DECIMAL.match(lexical) else lexical
        case "double" | "float":
            return float(lexical) if _DOUBLE.match(lexical) else lexical
        case "boolean":
            return _TRUTH.get(lexical, lexical)
        case _:
            return lexical


def json_value(value: Plain) -> str | int | float | bool:
    """A plain value as `json.dumps` takes it; decimals and times are text, and so is what JSON has no number for."""
    match value:
        case Decimal():
            return str(value)
        case datetime():
            return format_instant(from_datetime(value))
        case float() if not isfinite(value):
            return "NaN" if value != value else "INF" if value > 0 else "-INF"
        case _:
            return value
