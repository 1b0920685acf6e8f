"""What a dialect is: a grammar over the SPARQL core, the words its lexer knows, and how its nodes are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from spaseq import errors
from spaseq.syntax.builder.base import Building
from spaseq.syntax.functions import AGGREGATES, ARGUMENTS
from spaseq.syntax.lexer import Vocabulary
from spaseq.syntax.tables import Table, load_table


@dataclass(frozen=True, slots=True)
class Dialect:
    """A query language over the SPARQL core.

    ``grammar`` names the files of ``syntax/grammar`` in the order they are read; ``classes`` maps further
    words to the token class that the grammar declares for them; the fields below it are explained in
    `Vocabulary`. ``check`` finds the static errors of a finished tree.
    """

    name: str
    grammar: tuple[str, ...]
    start: str
    actions: type[Building]
    check: Callable[[Any], list[errors.QueryError]]
    classes: Mapping[str, str] = field(default_factory=dict)
    words_after: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names_after: frozenset[str] = frozenset()
    islands: frozenset[str] = frozenset()
    soft_words: Mapping[str, str] = field(default_factory=dict)
    called_words: frozenset[str] = frozenset()
    counts_names: frozenset[str] = frozenset()
    default_base: str | None = None

    @property
    def table(self) -> Table:
        return load_table(self.grammar, self.start)

    @property
    def vocabulary(self) -> Vocabulary:
        """The lexer's tables; the keywords are the words that the grammar quotes."""
        words = {word: word for word in self.table.literals if word.isupper()}
        words |= dict.fromkeys(ARGUMENTS, "FUNCTION") | dict.fromkeys(AGGREGATES, "AGGREGATE")
        words |= {"TRUE": "BOOLEAN", "FALSE": "BOOLEAN", **self.classes}
        return Vocabulary(
            words,
            self.words_after,
            self.names_after,
            self.islands,
            self.soft_words,
            self.called_words,
            self.counts_names,
        )


@cache
def find_dialect(name: str) -> Dialect:
    """The dialect of that name: the module of this package that is called so describes it."""
    if name not in dialect_names():
        hint = errors.did_you_mean(name, dialect_names())
        raise errors.InvalidArgument(
            f"no dialect `{name}`{hint}; there are: {errors.listed(dialect_names())}"
        )
    found = import_module(f"spaseq.syntax.dialects.{name}").DIALECT
    assert isinstance(found, Dialect)
    return found


@cache
def dialect_names() -> tuple[str, ...]:
    """The names of all dialects: one module of this package each, beside this one."""
    package = import_module("spaseq.syntax.dialects")
    return tuple(sorted(module.name for module in iter_modules(package.__path__) if module.name != "base"))
