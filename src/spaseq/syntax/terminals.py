"""The terminals of SPARQL 1.1 (section 19.8 of the recommendation) as regular expressions.

Names may hold most letters of Unicode. Compiling those ranges takes longer than reading a query, so a text
in plain ASCII, as nearly all are, is read with the patterns restricted to ASCII: the same tokens, sooner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_LETTERS = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_MARKS = "\u00b7\u0300-\u036f\u203f-\u2040"

SPACE = "(?:[ \\t\\r\\n\ufeff]++|#[^\\r\\n]*+)*+"
"""White space (a byte order mark too) and comments.

Possessive, as are all repetitions here: no input makes matching slow.
"""

_EXPONENT = "[eE][+-]?[0-9]++"
_UNSIGNED = rf"(?:[0-9]++\.[0-9]*+|\.?[0-9]++){_EXPONENT}|[0-9]*+\.[0-9]++"
_STRING = (
    r'"""[^"\\]*+(?:(?:\\[\s\S]|"{1,2}(?!"))[^"\\]*+)*+"""'
    r"|'''[^'\\]*+(?:(?:\\[\s\S]|'{1,2}(?!'))[^'\\]*+)*+'''"
    r'|"(?!"")[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+"'
    r"|'(?!'')[^'\\\r\n]*+(?:\\[^\r\n][^'\\\r\n]*+)*+'"
)
_LOCAL_ESCAPE = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"


@dataclass(frozen=True, slots=True)
class Terminals:
    """``sparql`` and ``sequence`` match the token at a place, the group's name is its type.

    ``label`` finds blank nodes; ``local`` is the local part of a prefixed name, for the printer.
    """

    sparql: re.Pattern[str]
    sequence: re.Pattern[str]
    label: re.Pattern[str]
    local: re.Pattern[str]


@cache
def terminals(*, ascii_only: bool) -> Terminals:
    """The patterns for a text, compiled on first use."""
    letters, marks = ("", "") if ascii_only else (_LETTERS, _MARKS)
    base = f"A-Za-z{letters}"
    start = f"{base}_"
    word = f"{start}0-9{marks}"
    chars = rf"{word}\-"
    prefix = rf"[{base}](?:[{chars}]|\.++(?=[{chars}]))*+"
    local = rf"(?:[{start}:0-9]|{_LOCAL_ESCAPE})(?:[{chars}:]|{_LOCAL_ESCAPE}|\.++(?=[{chars}:%\\]))*+"
    label = rf"_:[{start}0-9](?:[{chars}]|\.++(?=[{chars}]))*+"
    sparql = (
        rf"(?P<PNAME>(?:{prefix})?:(?:{local})?)",
        rf"(?P<BLANK_NODE>{label})",
        rf"(?P<WORD>[{start}][{word}]*+)",
        rf"(?P<VAR>[?$][{start}0-9][{word}]*+)",
        r'(?P<IRIREF><[^<>"{}|^`\\\x00-\x20]*+>)',
        rf"(?P<STRING>{_STRING})",
        rf"(?P<NUMBER>{_UNSIGNED})",
        r"(?P<INTEGER>[0-9]++)",
        rf"(?P<SIGNED>[+-](?:{_UNSIGNED}|[0-9]++))",
        r"(?P<LANGTAG>@[A-Za-z]++(?:-[A-Za-z0-9]++)*+)",
        rf"(?P<NIL>\({SPACE}\))",
        rf"(?P<ANON>\[{SPACE}\])",
        r"(?P<SIGN>&&|\|\||!=|<=|>=|\^\^|[{}()\[\].,;*/+\-|^?!=<>])",
    )
    sequence = (
        rf"(?P<NAME>[{start}][{word}]*+)",
        r"(?P<INTEGER>[0-9]++)",
        r"(?P<SIGN>[,;:&|+*?!(){}\[\]])",
    )
    return Terminals(
        re.compile("|".join(sparql)), re.compile("|".join(sequence)), re.compile(label), re.compile(local)
    )
