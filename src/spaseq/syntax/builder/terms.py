"""Terms: names become IRIs at once, literals keep their lexical form, blank nodes become hidden variables."""

from __future__ import annotations

import re

from pyoxigraph import Literal, NamedNode

from spaseq.algebra.expressions import Constant, Var
from spaseq.errors import Span, did_you_mean, listed
from spaseq.syntax.ast import BaseDeclaration, PrefixDeclaration, Prologue
from spaseq.syntax.builder.base import Building
from spaseq.syntax.errors import BadIri, BadLanguageTag, RelativeIri, UndefinedPrefix
from spaseq.syntax.iris import is_absolute, resolve
from spaseq.syntax.lexer import Token, string_value

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE, RDF_NIL = NamedNode(RDF + "type"), NamedNode(RDF + "nil")
XSD_INTEGER, XSD_DECIMAL = NamedNode(XSD + "integer"), NamedNode(XSD + "decimal")
XSD_DOUBLE, XSD_BOOLEAN = NamedNode(XSD + "double"), NamedNode(XSD + "boolean")

_PLACEHOLDER = NamedNode("urn:spaseq:undefined")
"""Stands for a name that is reported as wrong, so that the build can go on and find more."""

_LOCAL_ESCAPE = re.compile(r"\\(.)")


class TermActions(Building):
    """Builds the prologue and every term."""

    # --- prologue ---

    def prologue(self, _span: Span, *declarations: BaseDeclaration | PrefixDeclaration) -> Prologue:
        return Prologue(declarations)

    def base_declaration(self, span: Span, token: Token) -> BaseDeclaration:
        self.base = self._resolved(token)
        return BaseDeclaration(self.base, span)

    def prefix_declaration(self, span: Span, name: Token, token: Token) -> PrefixDeclaration:
        declared = PrefixDeclaration(name.text[:-1], self._resolved(token), span)
        self.prefixes[declared.name] = declared.iri
        return declared

    def _resolved(self, token: Token) -> str:
        written = token.text[1:-1]
        if self.base is not None:
            return resolve(written, self.base)
        if not is_absolute(written):
            self.report(RelativeIri(iri=written, span=token.span))
            return _PLACEHOLDER.value
        return written

    # --- IRIs and blank nodes ---

    def full_iri(self, span: Span, token: Token) -> Constant:
        return Constant(self._named_node(self._resolved(token), token.text, span), "", span)

    def prefixed_name(self, span: Span, token: Token) -> Constant:
        prefix, _, local = token.text.partition(":")
        namespace = self.prefixes.get(prefix)
        if namespace is None:
            if prefix not in self.used_prefixes:
                hint = did_you_mean(prefix, self.prefixes)
                known = listed(f"{name}:" for name in self.prefixes)
                self.report(UndefinedPrefix(prefix=prefix, known=known, hint=hint, span=span))
            node = _PLACEHOLDER
        else:
            node = self._named_node(namespace + _LOCAL_ESCAPE.sub(r"\1", local), token.text, span)
        self.used_prefixes.add(prefix)
        return Constant(node, token.text, span)

    def _named_node(self, iri: str, written: str, span: Span) -> NamedNode:
        try:
            return NamedNode(iri)
        except ValueError as problem:
            self.report(BadIri(iri=written, reason=_sentence(problem), span=span))
            return _PLACEHOLDER

    def rdf_type(self, span: Span) -> Constant:
        return Constant(RDF_TYPE, "a", span)

    def nil(self, span: Span, _token: Token) -> Constant:
        return Constant(RDF_NIL, "()", span)

    def var(self, span: Span, token: Token) -> Var:
        return Var(token.text[1:], span)

    def labelled_blank_node(self, span: Span, token: Token) -> Var:
        return Var(token.text, span)

    def anonymous_blank_node(self, span: Span, _token: Token) -> Var:
        return Var("_:" + self.fresh_label(), span)

    # --- literals ---

    def plain_literal(self, span: Span, token: Token) -> Constant:
        return Constant(Literal(string_value(token)), "", span)

    def tagged_literal(self, span: Span, token: Token, tag: Token) -> Constant:
        value = string_value(token)
        try:
            return Constant(Literal(value, language=tag.text[1:]), "", span)
        except ValueError as problem:
            self.report(BadLanguageTag(tag=tag.text[1:], reason=_sentence(problem), span=tag.span))
            return Constant(Literal(value), "", span)

    def typed_literal(self, span: Span, token: Token, datatype: Constant) -> Constant:
        assert isinstance(datatype.term, NamedNode)
        return Constant(Literal(string_value(token), datatype=datatype.term), "", span)

    def number(self, span: Span, token: Token) -> Constant:
        return number_constant(token.text, span)

    def boolean(self, span: Span, token: Token) -> Constant:
        return Constant(Literal(token.text.lower(), datatype=XSD_BOOLEAN), "", span)


def number_constant(text: str, span: Span) -> Constant:
    """A number as written; its form decides the datatype."""
    if "e" in text or "E" in text:
        return Constant(Literal(text, datatype=XSD_DOUBLE), "", span)
    return Constant(Literal(text, datatype=XSD_DECIMAL if "." in text else XSD_INTEGER), "", span)


def _sentence(problem: ValueError) -> str:
    """A library's message as part of our own sentence."""
    text = str(problem)
    return text[:1].lower() + text[1:]
