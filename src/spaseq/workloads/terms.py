"""RDF terms as N-Quads text, and the names of the vocabularies that streams and background graphs use.

Streams are written as text, line by line, without an RDF library: a term is a ``str`` in N-Quads syntax.
`docs/use-cases/vocabularies.md` says what each name means.
"""

from __future__ import annotations

from typing import Final

PREFIXES: Final[dict[str, str]] = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "prov": "http://www.w3.org/ns/prov#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "qudt": "http://qudt.org/schema/qudt/",
    "unit": "http://qudt.org/vocab/unit/",
    "schema": "http://schema.org/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "wgs84": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "ub": "http://swat.cse.lehigh.edu/onto/univ-bench.owl#",
    "ns": "http://example.org/ns#",
}
"""The prefixes of Turtle files and of the documentation."""

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_NOT_IN_IRIS: Final = {ord(char): f"%{ord(char):02X}" for char in '<>"{}|^`\\ \t\n\r'}


def iri(text: str) -> str:
    """An IRI as a term; characters that may not stand in one are percent-encoded.

    >>> iri("http://example.org/a b")
    '<http://example.org/a%20b>'
    """
    return f"<{text.translate(_NOT_IN_IRIS)}>"


def name(prefixed: str) -> str:
    """A prefixed name as a term.

    >>> name("sosa:Sensor")
    '<http://www.w3.org/ns/sosa/Sensor>'
    """
    prefix, _, local = prefixed.partition(":")
    return f"<{PREFIXES[prefix]}{local}>"


def string(text: str) -> str:
    r"""A plain string literal.

    >>> string('a "b"')
    '"a \\"b\\""'
    """
    return f'"{text.translate(_ESCAPES)}"'


_DECIMAL: Final = f"^^{name('xsd:decimal')}"
_INTEGER: Final = f"^^{name('xsd:integer')}"
_BOOLEAN: Final = f"^^{name('xsd:boolean')}"
_DATE: Final = f"^^{name('xsd:date')}"
_WKT: Final = f"^^{name('geo:wktLiteral')}"
DATE_TIME: Final = f"^^{name('xsd:dateTime')}"


def decimal(text: str | float) -> str:
    """A decimal literal; the digits stay as they are written.

    >>> decimal("038.0")
    '"038.0"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    """
    return f'"{text}"{_DECIMAL}'


def cents(amount: int) -> str:
    """A decimal literal with two digits, from hundredths.

    >>> cents(1205)
    '"12.05"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    """
    return f'"{amount // 100}.{amount % 100:02d}"{_DECIMAL}'


def tenths(amount: int) -> str:
    """A decimal literal with one digit, from tenths; the amount is not negative."""
    return f'"{amount // 10}.{amount % 10}"{_DECIMAL}'


def integer(text: str | int) -> str:
    """An integer literal."""
    return f'"{text}"{_INTEGER}'


def boolean(value: bool) -> str:
    """A boolean literal."""
    return f'"{"true" if value else "false"}"{_BOOLEAN}'


def date(text: str) -> str:
    """A date literal."""
    return f'"{text}"{_DATE}'


def wkt(text: str) -> str:
    """A GeoSPARQL geometry in Well-Known Text."""
    return f'"{text}"{_WKT}'


A: Final = name("rdf:type")
LABEL: Final = name("rdfs:label")
GENERATED_AT: Final = name("prov:generatedAtTime")

OBSERVATION: Final = name("sosa:Observation")
SENSOR: Final = name("sosa:Sensor")
MADE_BY: Final = name("sosa:madeBySensor")
OBSERVES: Final = name("sosa:observes")
FEATURE: Final = name("sosa:hasFeatureOfInterest")
RESULT: Final = name("sosa:hasSimpleResult")
HOSTED_BY: Final = name("sosa:isHostedBy")
HAS_UNIT: Final = name("qudt:hasUnit")

TRADE: Final = name("schema:TradeAction")
TRANSFER: Final = name("schema:MoneyTransfer")
OBJECT: Final = name("schema:object")
INSTRUMENT: Final = name("schema:instrument")
RECIPIENT: Final = name("schema:recipient")
AMOUNT: Final = name("schema:amount")
PRICE: Final = name("schema:price")
NAME: Final = name("schema:name")

LATITUDE: Final = name("wgs84:lat")
LONGITUDE: Final = name("wgs84:long")
AS_WKT: Final = name("geo:asWKT")


def own(local: str) -> str:
    """A term of the project's own small vocabulary, for what no well-known one names."""
    return f"<{PREFIXES['ns']}{local}>"
