"""What the syntax of a language is: a grammar over the SPARQL core, the words its lexer knows, how its nodes are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from spaseq.errors import QueryError
from spaseq.syntax.builder import SparqlActions
from spaseq.syntax.builder.base import Building
from spaseq.syntax.built_ins import AGGREGATES, ARGUMENTS
from spaseq.syntax.expected import Wording
from spaseq.syntax.lexer import Lexer, Vocabulary
from spaseq.syntax.parse_tables import LalrTable, load_table
from spaseq.syntax.rules import check_sparql

SPARQL_GRAMMAR: Final = Path(__file__).with_name("sparql.lark")
"""The grammar that every language starts from."""


@dataclass(frozen=True)
class Dialect:
    """The syntax of one language.

    ``grammar`` are the grammar files in the order they are read; ``classes`` maps further words to the token class
    that the grammar declares for them; the fields from ``words_after`` to ``island_hint`` are explained in `Vocabulary`.
    ``lexer`` makes the tokens, ``check`` finds the static errors of a finished tree, ``wording`` words its syntax errors.
    """

    name: str
    grammar: tuple[Path, ...]
    start: str
    actions: type[Building]
    check: Callable[[Any], list[QueryError]]
    classes: Mapping[str, str] = field(default_factory=dict)
    words_after: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names_after: Mapping[str, frozenset[str]] = field(default_factory=dict)
    islands: frozenset[str] = frozenset()
    soft_words: Mapping[str, str] = field(default_factory=dict)
    called_words: frozenset[str] = frozenset()
    counts_names: frozenset[str] = frozenset()
    island_hint: str = ""
    wording: Wording = field(default_factory=Wording)
    default_base: str | None = None
    lexer: type[Lexer] = Lexer

    @property
    def table(self) -> LalrTable:
        return load_table(self.grammar, self.start)

    @cached_property
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
            self.island_hint,
        )


SPARQL: Final = Dialect(
    name="sparql",
    grammar=(SPARQL_GRAMMAR,),
    start="sparql_query",
    actions=SparqlActions,
    check=check_sparql,
    # A query without BASE gets one from its surroundings (SPARQL 1.1, 4.1.1.2); text alone has none.
    default_base="http://base.invalid/",
)
"""Plain SPARQL 1.1 queries."""
