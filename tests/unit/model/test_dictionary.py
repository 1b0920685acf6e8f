"""The term dictionary: one id per term, in both tiers, with bounded memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode

from spaseq.model.dictionary import TermDictionary
from spaseq.model.terms import BlankScopes, Term, event_key, scoped_label, term_of

XSD = "http://www.w3.org/2001/XMLSchema#"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TERMS: st.SearchStrategy[Term] = st.one_of(
    st.sampled_from(["http://e/a", "urn:b", "http://e/é"]).map(NamedNode),
    st.sampled_from(["b", "x.y", "é"]).map(BlankNode),
    TEXT.map(Literal),
    st.builds(lambda text, tag: Literal(text, language=tag), TEXT, st.sampled_from(["en", "de-at"])),
    st.builds(lambda text: Literal(text, datatype=NamedNode(XSD + "integer")), TEXT),
)


@given(st.lists(TERMS, max_size=30), st.integers(0, 30))
def test_ids_stand_for_terms_before_and_after_promotion(terms: list[Term], moment: int) -> None:
    """Equal terms have one id, different terms two; moving to the arena changes no id."""
    dictionary = TermDictionary()
    ids = []
    for i, term in enumerate(terms):
        if i == moment:
            dictionary.promote()
        ids.append(dictionary.encode(term))
    dictionary.promote()
    assert dictionary.decode_many(ids) == terms
    assert [dictionary.find(term) for term in terms] == ids
    assert dictionary.encode_texts([str(term) for term in terms]) == ids
    assert len(dictionary) == len(set(terms))


@given(TERMS)
def test_a_term_is_read_back_from_its_text(term: Term) -> None:
    """`term_of` is the inverse of ``str``."""
    assert term_of(str(term)) == term


def test_the_key_of_a_term_is_its_canonical_text() -> None:
    """Two spellings of a number are two terms, two spellings of a character are one."""
    dictionary = TermDictionary()
    integer = NamedNode(XSD + "integer")
    five = dictionary.encode(Literal("5", datatype=integer))
    assert dictionary.encode(Literal("05", datatype=integer)) != five
    assert dictionary.encode(Literal("aA")) == dictionary.encode(Literal("a\u0041"))
    assert dictionary.encode(Literal("x", language="EN")) == dictionary.encode(Literal("x", language="en"))


@pytest.mark.parametrize("promoted", [False, True])
def test_unknown_ids_and_terms_are_told_apart_from_known_ones(promoted: bool) -> None:
    """0 is no term; a term that was never seen has the id 0."""
    dictionary = TermDictionary()
    if promoted:
        dictionary.promote()
    assert dictionary.find(NamedNode("urn:a")) == 0
    for unknown in (0, 1, -1):
        with pytest.raises(KeyError):
            dictionary.decode(unknown)


@pytest.mark.parametrize("promoted", [False, True])
def test_compacting_keeps_the_live_terms_and_nothing_else(promoted: bool) -> None:
    """An endless stream must not make the dictionary grow for ever."""
    dictionary = TermDictionary()
    if promoted:
        dictionary.promote()
    ids = dictionary.encode_texts([str(Literal(str(i))) for i in range(1000)])
    mapping = dictionary.compact([ids[7], ids[500], 0])
    assert len(dictionary) == 2
    assert dictionary.decode(int(mapping[ids[500]])) == Literal("500")
    assert dictionary.find(Literal("7")) == mapping[ids[7]] == 1
    assert mapping[ids[8]] == 0
    assert dictionary.find(Literal("8")) == 0
    assert dictionary.encode(Literal("8")) == 3


@pytest.mark.parametrize("promoted", [False, True])
def test_a_pickle_carries_terms(promoted: bool) -> None:
    """Ids of a copy stand for the same terms, in whatever process."""
    dictionary = TermDictionary()
    if promoted:
        dictionary.promote()
    ids = dictionary.encode_texts(list(map(str, (NamedNode("urn:a"), Literal("b\n"), BlankNode("c")))))
    copy = pickle.loads(pickle.dumps(dictionary))
    assert copy.decode_many(ids) == dictionary.decode_many(ids)


def test_the_arena_grows_with_its_terms() -> None:
    """More terms, and longer ones, than the arena was made for."""
    dictionary = TermDictionary()
    dictionary.promote()
    ids = dictionary.encode_texts([str(Literal(f"{i}" * 20)) for i in range(50_000)])
    long = dictionary.encode(Literal("x" * 5_000_000))
    assert dictionary.decode(ids[49_999]) == Literal("49999" * 20)
    assert dictionary.find(dictionary.decode(ids[123])) == ids[123]
    assert len(dictionary.ntriples(long)) == 5_000_002


def test_equal_labels_in_two_events_are_two_blank_nodes() -> None:
    """The scope follows from stream, instant and name; events that agree in all three are counted."""
    scopes = BlankScopes()
    key = event_key("http://s", 5, "<urn:g>")
    labels = {scoped_label("b", scopes.next(key)) for _ in range(3)}
    labels.add(scoped_label("b", scopes.next(event_key("http://s", 6, "<urn:g>"))))
    assert len(labels) == 4
    assert BlankScopes().next(key) == BlankScopes().next(key)
    assert all(label.startswith("b-") for label in labels)


def test_a_taken_label_is_never_given_twice() -> None:
    """Even if the counts were forgotten, a label that is alive keeps to its event."""
    dictionary = TermDictionary()
    first = dictionary.blank_scope("http://s", 1, "", ["b"])
    dictionary.scopes = BlankScopes()
    second = dictionary.blank_scope("http://s", 1, "", ["b"])
    assert dictionary.encode_blank("b", second) != dictionary.find_text("_:" + scoped_label("b", first))


def test_keys_that_were_seen_lately_are_counted_on(change_settings: Callable[..., None]) -> None:
    """What is forgotten is what was not seen for the longest time, so labels near each other do not depend on it."""
    change_settings(remembered_scopes=4)
    dictionary, exact = TermDictionary(), BlankScopes()
    for time in (1, 2, 3, 1, 4, 5, 1, 5, 6, 5):
        key = event_key("http://s", time, "")
        assert dictionary.next_scope(key) == exact.next(key)
    assert len(dictionary.scopes.counts) <= 4


def test_a_small_dictionary_needs_neither_numpy_nor_numba() -> None:
    """Ten events must not wait for heavy imports."""
    code = (
        "import sys; from spaseq.model.dictionary import TermDictionary; "
        "TermDictionary(['<urn:a>']).decode(1); assert not {'numpy', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
