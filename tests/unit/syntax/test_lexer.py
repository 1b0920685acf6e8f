"""Tokens: every form of the recommendation, the island of SEQ, names that look like keywords, places."""

from __future__ import annotations

import pytest

from spaseq.languages.spaseq.dialect import DIALECT as SPASEQ
from spaseq.syntax.dialect import SPARQL
from spaseq.syntax.errors import BadCharacter, BadEscape, UnterminatedString
from spaseq.syntax.lexer import Lexer, Token, read_source, string_value


def lex(text: str, dialect: str = "spaseq") -> list[Token]:
    """The tokens of a text, without the end."""
    return list(Lexer(read_source(text), (SPASEQ if dialect == "spaseq" else SPARQL).vocabulary))[:-1]


def kinds(text: str, dialect: str = "spaseq") -> list[str]:
    """The types of the tokens of a text."""
    return [token.type for token in lex(text, dialect)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<http://a/b?c#d>", "IRIREF"),
        ("<>", "IRIREF"),
        ("<é>", "IRIREF"),
        ("ex:a", "PNAME_LN"),
        ("ex:a.b:c%20\\~-1", "PNAME_LN"),
        (":", "PNAME_NS"),
        ("ex.y-1:", "PNAME_NS"),
        ("::", "PNAME_LN"),
        (":12.3", "PNAME_LN"),
        ("_:b.1", "BLANK_NODE"),
        ("_:0", "BLANK_NODE"),
        ("?x", "VAR"),
        ("$Ω1", "VAR"),
        ("?1", "VAR"),
        ("''", "STRING"),
        ('"a\\"b"', "STRING"),
        ("'''a'b''c\n'''", "STRING"),
        ('"""a\\""""', "STRING"),
        ("@en-GB", "LANGTAG"),
        ("12", "INTEGER"),
        ("1.5", "NUMBER"),
        (".5", "NUMBER"),
        ("1.e9", "NUMBER"),
        ("1E-3", "NUMBER"),
        ("+1", "SIGNED"),
        ("-.5e1", "SIGNED"),
        ("TRUE", "BOOLEAN"),
        ("false", "BOOLEAN"),
        ("( # comment\n )", "NIL"),
        ("[\t]", "ANON"),
        ("a", "a"),
        ("A", "NAME"),
        ("select", "SELECT"),
        ("isIRI", "FUNCTION"),
        ("Group_Concat", "GROUP_CONCAT"),
        ("avg", "AGGREGATE"),
        ("&&", "&&"),
        ("^^", "^^"),
    ],
)
def test_each_form_is_one_token(text: str, kind: str) -> None:
    """The longest match takes the whole text, and its type is right."""
    assert [(token.type, token.text) for token in lex(text)] == [(kind, text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?x.", ["VAR", "."]),
        (":a.", ["PNAME_LN", "."]),
        ("1.", ["INTEGER", "."]),
        ("?a<?b", ["VAR", "<", "VAR"]),
        ("?a<=3", ["VAR", "<=", "INTEGER"]),
        ("?a+1", ["VAR", "SIGNED"]),
        ("?a + 1", ["VAR", "+", "INTEGER"]),
        (":p?", ["PNAME_LN", "?"]),
        ("<a>*", ["IRIREF", "*"]),
        ("_:a.", ["BLANK_NODE", "."]),
        ("# all\n?x # is comment", ["VAR"]),
        ('"x"^^ex:y', ["STRING", "^^", "PNAME_LN"]),
    ],
)
def test_neighbours_are_told_apart(text: str, expected: list[str]) -> None:
    """Signs that touch a name or number are tokens of their own where the grammar says so."""
    assert kinds(text) == expected


def test_seq_is_an_island_of_sequence_tokens() -> None:
    """Between the parentheses of SEQ ``A:B`` is name, operator, name; after them it is a prefixed name."""
    assert kinds("SEQ (A:B;(filter|a)+{2,}?!) A:B") == [
        *("SEQ", "(", "NAME", ":", "NAME", ";", "(", "NAME", "|", "NAME", ")"),
        *("+", "{", "INTEGER", ",", "}", "?", "!", ")", "PNAME_LN"),
    ]


def test_empty_parentheses_after_seq_are_two_tokens() -> None:
    """``SEQ ()`` is an island with nothing in it, not the empty list."""
    assert kinds("SEQ () ()") == ["SEQ", "(", ")", "NIL"]


@pytest.mark.parametrize("name", ["A", "a", "Filter", "SELECT", "count", "ON", "GPM", "true", "Ünder_1"])
def test_any_word_is_a_name_where_a_name_must_stand(name: str) -> None:
    """After GPM, ON and STREAM a keyword is a name like any other."""
    for keyword in ("GPM", "on", "Stream"):
        assert kinds(f"{keyword} {name}")[1] == "NAME"


@pytest.mark.parametrize("name", ["A", "a", "Filter", "COUNT", "now"])
def test_count_of_a_lone_word_counts_a_name(name: str) -> None:
    """``COUNT(A)`` speaks of GPM A, even if A is spelled like a keyword."""
    assert kinds(f"COUNT( {name} )") == ["COUNT", "(", "NAME", ")"]


def test_count_of_an_expression_is_left_alone() -> None:
    """A function call or a truth value inside COUNT stays what it is."""
    assert kinds("COUNT(NOW())") == ["COUNT", "(", "FUNCTION", "NIL", ")"]
    assert kinds("COUNT(true)") == ["COUNT", "(", "BOOLEAN", ")"]
    assert kinds("COUNT(a)", "sparql") == ["COUNT", "(", "a", ")"]


def test_a_unit_is_the_word_after_a_number() -> None:
    """``30 MINUTES`` is a window, ``MINUTES(?t)`` a function."""
    assert kinds("WITHIN 30 MINUTES MINUTES(?t)") == [
        "WITHIN",
        "INTEGER",
        "UNIT",
        "FUNCTION",
        "(",
        "VAR",
        ")",
    ]


def test_dialect_words_are_plain_names_elsewhere() -> None:
    """SPARQL itself knows nothing of SEQ or GPM."""
    assert kinds("SEQ GPM", "sparql") == ["NAME", "NAME"]


def test_codepoint_escapes_are_read_everywhere_and_places_stay_right() -> None:
    r"""``\u0061`` is ``a`` in any token; spans count the characters of the original."""
    text = "SEL\\u0045CT ?\\U00000061 <\\u00e9> ?z"
    tokens = lex(text)
    assert [(token.type, token.text) for token in tokens] == [
        ("SELECT", "SELECT"),
        ("VAR", "?a"),
        ("IRIREF", "<é>"),
        ("VAR", "?z"),
    ]
    assert [text[token.start : token.end] for token in tokens] == text.split()


def test_an_escaped_backslash_hides_the_letters_after_it() -> None:
    r"""``"\\u0041"`` is a backslash and five characters, not an A."""
    assert string_value(lex('"\\\\u0041"')[0]) == "\\u0041"


@pytest.mark.parametrize(
    ("text", "value"),
    [('"a\\tb\\n\\"\\\\"', 'a\tb\n"\\'), ("'''x\n'y'''", "x\n'y"), ('"\\u00e9\\U0001F600"', "é😀")],
)
def test_string_escapes_are_resolved(text: str, value: str) -> None:
    """A string token means the characters its escapes stand for."""
    assert string_value(lex(text)[0]) == value


@pytest.mark.parametrize(("text", "start"), [('ab "cd', 3), ("'a\nb'", 0), ('?x """a', 3), ("'a\\'", 0)])
def test_an_open_string_is_located_at_its_quote(text: str, start: int) -> None:
    """A missing quote is reported where the string starts, whatever follows."""
    with pytest.raises(UnterminatedString) as caught:
        lex(text)
    assert caught.value.span.start == start


@pytest.mark.parametrize(
    ("text", "start"), [("?x § ?y", 3), ("a & b", 2), ("SEQ (A^)", 6), ("x \\y", 2), ("\x00", 0)]
)
def test_a_stray_character_is_located(text: str, start: int) -> None:
    """A character that begins no token is reported at its place."""
    with pytest.raises(BadCharacter) as caught:
        lex(text)
    assert caught.value.span.start == start


@pytest.mark.parametrize(
    ("text", "start"), [('"ab\\q"', 3), ("'\\uD800'", 1), ("'''\n\\x'''", 4), ("'\\U00110000'", 1)]
)
def test_a_bad_escape_is_located_inside_its_string(text: str, start: int) -> None:
    """The caret points at the backslash, and surrogates are no characters."""
    with pytest.raises(BadEscape) as caught:
        string_value(lex(text)[0])
    assert caught.value.span.start == start


def test_a_byte_order_mark_is_white_space() -> None:
    """Files that some editors write begin with one."""
    assert kinds("\ufeffASK {}") == ["ASK", "{", "}"]


def test_half_of_a_surrogate_pair_in_the_text_is_refused() -> None:
    """A string that no file can hold does not reach the terms."""
    with pytest.raises(BadCharacter):
        lex("?x \ud800")
