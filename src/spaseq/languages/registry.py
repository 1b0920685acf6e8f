"""The query languages: how each is recognised, and how its text becomes the event algebra.

A language is a package beside this module whose ``LANGUAGE`` describes it; nothing else lists them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import PurePath
from pkgutil import iter_modules
from typing import Final

from spaseq.algebra.events import EventQuery
from spaseq.algebra.intervals import IntervalQuery
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.windows import WindowQuery
from spaseq.errors import InvalidArgument, QueryWarning, Span, did_you_mean, listed

DEFAULT: Final = "spaseq"
"""The language of a text that nothing tells apart."""
_NO_WORDS: Final = re.compile(
    r"""\#[^\n]*|<[^<>\s]*>|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|[?$@][\w-]+|[\w.-]*:[\w.-]*"""
)
"""What stands between keywords: comments, IRIs, strings, variables, language tags, prefixed names."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """What every stage after the languages works with: a query as a value, and what its text says of it.

    A query of the event algebra runs on the automaton, any other names its operator.
    """

    query: EventQuery | OperatorQuery | WindowQuery | IntervalQuery
    warnings: tuple[QueryWarning, ...]
    normal_text: str
    """The text without what carries no meaning: comments, layout, prefixes."""
    prefixes: tuple[tuple[str, str], ...]
    """The names that the text gives to IRIs, in its order."""
    pattern: Span
    """Where the text says what is looked for: the place of warnings about the whole query."""


@dataclass(frozen=True, slots=True)
class Language:
    """A query language over the SPARQL core.

    ``compile`` parses, checks and lowers a text, which may have several queries; the second argument is the name that errors show. ``words`` are keywords
    that no other language has.
    """

    name: str
    extensions: tuple[str, ...]
    words: frozenset[str]
    compile: Callable[[str, str], Lowered | tuple[Lowered, ...]]
    sign: str = ""
    """What only its texts look like, if it has words in common with another: a regular expression over the text without names.

    It counts before any word.
    """
    profiles: tuple[str, ...] = ()
    """The other engines as which its texts can be run."""
    compile_profile: Callable[[str, str, str], Lowered] | None = None
    """As ``compile``, for one of the profiles."""

    def compiled(self, text: str, name: str, profile: str | None = None) -> tuple[Lowered, ...]:
        """The queries of a text, parsed, checked and lowered; with a ``profile`` as another engine would run it."""
        if profile is None:
            lowered = self.compile(text, name)
            return lowered if isinstance(lowered, tuple) else (lowered,)
        if profile not in self.profiles or self.compile_profile is None:
            hint = did_you_mean(profile, self.profiles)
            known = f"its profiles are {listed(self.profiles)}" if self.profiles else "it has no profiles"
            raise InvalidArgument(f"`{profile}` is not a profile of {self.name}; {known}{hint}")
        return (self.compile_profile(text, name, profile),)


@cache
def language_names() -> tuple[str, ...]:
    """The names of all languages; a package without ``LANGUAGE`` is none that a host runs."""
    package = import_module("spaseq.languages")
    names = sorted(module.name for module in iter_modules(package.__path__) if module.ispkg)
    return tuple(name for name in names if hasattr(import_module(f"spaseq.languages.{name}"), "LANGUAGE"))


@cache
def find_language(name: str) -> Language:
    """The language of that name."""
    if name not in language_names():
        hint = did_you_mean(name, language_names())
        raise InvalidArgument(f"no language `{name}`{hint}; there are: {listed(language_names())}")
    found = import_module(f"spaseq.languages.{name}").LANGUAGE
    assert isinstance(found, Language)
    return found


def language_of(text: str, path: str = "") -> Language:
    """The language of a query: by the extension of its file, else by the words that only one language has."""
    languages = [find_language(name) for name in language_names()]
    suffix = PurePath(path).suffix.lower()
    for language in languages:
        if suffix in language.extensions:
            return language
    bare = _NO_WORDS.sub(" ", text).upper()
    words = set(re.findall(r"[A-Z_]+", bare))
    signed = [each for each in languages if each.sign and re.search(each.sign, bare)]
    known = signed or [each for each in languages if words & each.words]
    return known[0] if len(known) == 1 else find_language(DEFAULT)
