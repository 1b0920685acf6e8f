"""EP-SPARQL: SPARQL over triples that hold for an interval, with joins over time and rules (semantics 2)."""

from spaseq.languages.epsparql.query import compile_file
from spaseq.languages.registry import Language

LANGUAGE = Language(
    "epsparql",
    (".epsparql",),
    frozenset(("OPTIONALSEQ", "EQUALSOPTIONAL", "EQUALS", "GETDURATION", "GETSTARTTIME", "GETENDTIME")),
    compile_file,
    sign=r"\}\s*SEQ\s*\{",
)

__all__ = ["LANGUAGE"]
