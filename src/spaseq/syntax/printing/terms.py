"""Terms, variables and property paths as text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import assert_never

from pyoxigraph import BlankNode, Literal, NamedNode

from spaseq.algebra.expressions import Constant, Term, Var
from spaseq.algebra.patterns import (
    Inverse,
    Link,
    NegatedSet,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    TriplePattern,
)
from spaseq.syntax.ast import PrefixDeclaration, Prologue
from spaseq.syntax.terminals import terminals

_XSD = "http://www.w3.org/2001/XMLSchema#"
_RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_RDF_NIL = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#nil")
_NUMBERS = {
    _XSD + "integer": re.compile(r"[+-]?[0-9]+"),
    _XSD + "decimal": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    _XSD + "double": re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+"),
    _XSD + "boolean": re.compile(r"true|false"),
}
"""The literals that may be written bare."""

_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)
_LOCAL_ESCAPE = re.compile(r"\\(.)")
_PLAIN_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Names:
    """How IRIs are written: with the prefixes of a prologue, where the author did so."""

    prefixes: dict[str, str] = field(default_factory=dict)
    based: bool = False
    """True if a BASE line gives relative IRIs another meaning."""

    @classmethod
    def of(cls, prologue: Prologue) -> Names:
        """The prefixes that hold at the end of a prologue."""
        declared = [item for item in prologue.declarations if isinstance(item, PrefixDeclaration)]
        return cls({item.name: item.iri for item in declared}, len(declared) < len(prologue.declarations))

    def constant(self, node: Constant) -> str:
        """A term written in the query, with its own spelling (prefixed, or a mere name) if that still means the same."""
        if isinstance(node.term, NamedNode) and self._means(node.written, node.term.value):
            return node.written
        if node.written.startswith("<") and not self.based:
            return node.written
        return self.term(node.term)

    def _means(self, written: str, iri: str) -> bool:
        prefix, colon, local = written.partition(":")
        namespace = self.prefixes.get(prefix) if colon else None
        if namespace is None or namespace + _LOCAL_ESCAPE.sub(r"\1", local) != iri:
            return False
        return not local or terminals(ascii_only=local.isascii()).local.fullmatch(local) is not None

    def term(self, term: Term) -> str:
        """A term in SPARQL's spelling."""
        match term:
            case NamedNode():
                return f"<{term.value}>"
            case Literal():
                return self._literal(term)
            case BlankNode():
                return f"_:{term.value}"
            case _:
                assert_never(term)

    def _literal(self, literal: Literal) -> str:
        if literal.language:
            return f"{quoted(literal.value)}@{literal.language}"
        datatype = literal.datatype.value
        if datatype == _XSD + "string":
            return quoted(literal.value)
        bare = _NUMBERS.get(datatype)
        if bare is not None and bare.fullmatch(literal.value):
            return literal.value
        return f"{quoted(literal.value)}^^{self._abbreviated(datatype)}"

    def _abbreviated(self, iri: str) -> str:
        for prefix, namespace in self.prefixes.items():
            if namespace and iri.startswith(namespace) and _PLAIN_LOCAL.fullmatch(iri[len(namespace) :]):
                return f"{prefix}:{iri[len(namespace) :]}"
        return f"<{iri}>"

    def node(self, node: Var | Constant) -> str:
        """A variable, blank node or term."""
        if isinstance(node, Var):
            return node.name if node.hidden else f"?{node.name}"
        return self.constant(node)

    def predicate(self, predicate: Var | Constant | Path) -> str:
        """A predicate: ``a`` is allowed here, and so are paths."""
        if isinstance(predicate, Var):
            return self.node(predicate)
        return self.path(Link(predicate) if isinstance(predicate, Constant) else predicate)

    # --- property paths: alternative 1, sequence 2, inverse 3, repetition 4, primary 5 ---

    def path(self, path: Path, level: int = 1) -> str:
        """A property path, in parentheses where it binds less tightly than its place demands."""
        match path:
            case Link(iri):
                return "a" if iri.written == "a" and iri.term == _RDF_TYPE else self.constant(iri)
            case NegatedSet(forward, backward):
                steps = [self.path(Link(iri)) for iri in forward]
                steps += ["^" + self.path(Link(iri)) for iri in backward]
                return f"!{steps[0]}" if len(steps) == 1 else f"!({'|'.join(steps)})"
            case PathRepeat(inner, op):
                return _wrapped(self.path(inner, 5) + op, level > 4)
            case Inverse(inner):
                return _wrapped("^" + self.path(inner, 4), level > 3)
            case PathSequence(parts):
                return _wrapped("/".join(self.path(part, 3) for part in parts), level > 2)
            case PathAlternative(parts):
                return _wrapped("|".join(self.path(part, 2) for part in parts), level > 1)
            case _:
                assert_never(path)

    # --- triples ---

    def _end(self, node: Var | Constant) -> str:
        """A subject or object; only here may the empty list be ``()``."""
        if isinstance(node, Constant) and node.written == "()" and node.term == _RDF_NIL:
            return "()"
        return self.node(node)

    def triples(self, triples: tuple[TriplePattern, ...], pad: str) -> list[str]:
        """Lines of triples; a subject, or a subject and predicate, that comes again is not repeated."""
        lines: list[str] = []
        before: TriplePattern | None = None
        margin = pad
        for triple in triples:
            end = self._end(triple.object)
            if before is None or before.subject != triple.subject:
                if lines:
                    lines[-1] += " ."
                subject = self._end(triple.subject)
                margin = pad + " " * (len(subject) + 1)
                lines.append(f"{pad}{subject} {self.predicate(triple.predicate)} {end}")
            elif before.predicate != triple.predicate:
                lines[-1] += " ;"
                lines.append(f"{margin}{self.predicate(triple.predicate)} {end}")
            else:
                lines[-1] += f", {end}"
            before = triple
        if lines:
            lines[-1] += " ."
        return lines


def quoted(text: str) -> str:
    """A string literal in double quotes."""
    return f'"{text.translate(_ESCAPES)}"'


def _wrapped(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
