"""Terms as text: what is taken for a term without parsing is one."""

from __future__ import annotations

import random

import numpy as np

from spaseq.model.terms import check_terms
from spaseq.operators.term_texts import unusual_terms

PIECES = [
    "<", ">", "http", "urn", ":", "//", "ex.org", "/", "#", "a", "-", ".", "9", '"', "\\", " ", "^^", "@en", "_:", "\n", "é", "%41",
    "<http://www.w3.org/2001/XMLSchema#integer>", "<urn:a:", "<http://ex.org/", '"x"',
]  # fmt: skip


def test_what_needs_no_parser_is_a_term() -> None:
    """Random pieces of terms: the parser accepts all that were not set aside for it."""
    chance = random.Random(11)
    texts = ["".join(chance.choices(PIECES, k=chance.randint(1, 4))).encode() for _ in range(20_000)]
    texts += [b"<http://ex.org/x#y>", b'"1"^^<http://www.w3.org/2001/XMLSchema#integer>', b'""', b"<urn:a:>"]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    unusual = set(unusual_terms(b"".join(texts), offsets))
    usual = [text.decode() for n, text in enumerate(texts) if n not in unusual]
    assert len(set(usual)) > 10
    check_terms(usual)
