"""`TermDictionary`: RDF terms as int32 ids, one dictionary per process (docs/explanation/engine.md).

Two tiers. Small inputs stay in plain Python dicts and never import numba. `promote` moves the terms, ids
unchanged, into an arena that kernels insert into directly. Ids never leave the process: pickling writes
terms. A dictionary has one writer at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, pairwise
from typing import TYPE_CHECKING, Final

from spaseq.model.terms import BlankScopes, Term, event_key, scoped_label, term_of
from spaseq.settings import settings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from spaseq.model.arena import Arena

_PER_TEXT: Final = 180
"""Bytes of a text in a dict and a list, besides its characters."""
_PER_VALUE: Final = 32
"""Bytes of the value columns per term."""
UNBOUND: Final = 0
"""The id that stands for no term."""

_generations: Final = count()
_offered = 0
"""Terms that any dictionary of this process was asked to promote itself for."""


class StaleIds(RuntimeError):
    """Ids were used with a dictionary that has given their numbers to other terms: a mistake of this project."""


class ScopesClosed(Exception):
    """An event with blank nodes was read while no event may have any."""


class _ClosedScopes(BlankScopes):
    """Gives no scopes."""

    __slots__ = ()

    def next(self, key: int, most: int | None = None) -> int:  # noqa: ARG002
        """Refuse."""
        raise ScopesClosed


class TermDictionary:
    """Terms to ids and back; id 0 is unbound.

    The key of a term is its canonical N-Triples text: ``"05"`` and ``"5"`` are two integers, two
    spellings of one character in a literal are one term.
    """

    __slots__ = (
        "_arena",
        "_decoded",
        "_ids",
        "_measured",
        "_texts",
        "caches",
        "generation",
        "scopes",
        "watch",
    )

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._ids: dict[str, int] = {}
        self._texts: list[str] = [""]
        self._measured = (0, 0)
        """How many texts were measured, and their length."""
        self._arena: Arena | None = None
        self._decoded: dict[int, Term] = {}
        self.generation = next(_generations)
        """A number that no other dictionary of the process has, new after every `compact`.

        Ids of different generations must not be mixed.
        """
        self.scopes = BlankScopes()
        """Keeps blank nodes of different events apart."""
        self.caches: dict[str, object] = {}
        """What other packages cache about these ids, by the name of the package; neither pickled nor remapped."""
        self.watch: Callable[[int], None] | None = None
        """Asked before a long term is taken in, with the bytes it needs; raises if there is no memory for it."""
        for text in texts:
            self.encode_text(text)

    def __len__(self) -> int:
        """How many terms are known; ids run from 1 to this number."""
        return len(self._texts) - 1 if self._arena is None else len(self._arena)

    # --- terms to ids ---------------------------------------------------------------------------

    def encode(self, term: Term) -> int:
        """The id of a term, a new one if it has none."""
        return self.encode_text(str(term))

    def encode_text(self, text: str) -> int:
        """The id of the term with this canonical N-Triples text."""
        known = self._ids.get(text)
        if known is None and self.watch is not None and len(text) >= settings().watched_text:
            self.watch(4 * len(text))
        if known is None and self._arena is None:
            known = self._ids[text] = len(self._texts)
            self._texts.append(text)
        elif known is None and self._arena is not None:
            known = self._arena.encode(text.encode())
            self._remember(text, known)
        return known or UNBOUND

    def encode_texts(self, texts: Sequence[str]) -> list[int]:
        """The ids of many terms, given their canonical N-Triples texts."""
        if self._arena is not None:
            ids: list[int] = self._arena.encode_all([text.encode() for text in texts]).tolist()
            return ids
        return [self.encode_text(text) for text in texts]

    def find(self, term: Term) -> int:
        """The id of a term, 0 if it has none."""
        return self.find_text(str(term))

    def find_text(self, text: str) -> int:
        """The id of the term with this canonical N-Triples text, 0 if it has none."""
        known = self._ids.get(text, UNBOUND)
        if known == UNBOUND and self._arena is not None:
            known = self._arena.find(text.encode())
            if known != UNBOUND:
                self._remember(text, known)
        return known

    def _remember(self, text: str, known: int) -> None:
        """In the arena tier the dict only caches what was looked up, since a lookup in the arena costs more."""
        if len(self._ids) >= settings().remembered_terms:
            self._ids.clear()
        self._ids[text] = known

    def next_scope(self, key: int) -> int:
        """The scope of the next event with this key; a scope whose count was dropped is given again."""
        return self.scopes.next(key, settings().remembered_scopes)

    @contextmanager
    def closed_scopes(self) -> Iterator[None]:
        """Until the end of the block, an event with blank nodes raises `ScopesClosed`: its scope would count."""
        kept, self.scopes = self.scopes, _ClosedScopes()
        try:
            yield
        finally:
            self.scopes = kept

    def blank_scope(self, stream: str, time: int, name: str, labels: Iterable[str]) -> int:
        """The scope of the blank nodes of one event, which occur with these labels.

        No term of this dictionary is in it, and the event's nodes are terms from now on: so no other event gets
        it, whatever was dropped, as long as anything mentions them.
        """
        key, known = event_key(stream, time, name), sorted(labels)
        while True:
            scope = self.next_scope(key)
            texts = ["_:" + scoped_label(label, scope) for label in known]
            if not any(map(self.find_text, texts)):
                self.encode_texts(texts)
                return scope

    def encode_blank(self, label: str, scope: int) -> int:
        """The id of an event's blank node."""
        return self.encode_text("_:" + scoped_label(label, scope))

    # --- ids to terms ---------------------------------------------------------------------------

    def ntriples(self, known: int) -> str:
        """The canonical N-Triples text of an id."""
        self._check(known)
        return self._texts[known] if self._arena is None else self._arena.text(known).decode()

    def decode(self, known: int) -> Term:
        """The term of an id; `KeyError` for 0 and for ids that were never given."""
        term = self._decoded.get(known)
        if term is None:
            term = term_of(self.ntriples(known))
            if len(self._decoded) >= settings().remembered_terms:
                self._decoded.clear()
            self._decoded[known] = term
        return term

    def decode_many(self, ids: Sequence[int] | npt.NDArray[np.integer]) -> list[Term]:
        """The terms of many ids."""
        return [self.decode(int(known)) for known in ids]

    def require(self, generation: int) -> None:
        """Refuse ids that were given by another dictionary, or by this one before it was compacted."""
        if generation != self.generation:
            raise StaleIds(f"ids of generation {generation} were used in generation {self.generation}")

    def _check(self, known: int) -> None:
        if not 1 <= known <= len(self):
            raise KeyError(f"no term has the id {known}")

    # --- tiers and memory -----------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """About how much memory the terms take, with what is cached about their values."""
        if self._arena is not None:
            arena = self._arena
            arrays = (arena.buffer, arena.starts, arena.table)
            return sum(array.nbytes for array in arrays) + _PER_VALUE * len(self)
        known, size = self._measured
        if known > len(self._texts):
            known, size = 0, 0
        size += sum(map(len, self._texts[known:]))
        self._measured = len(self._texts), size
        return size + len(self._texts) * (_PER_TEXT + _PER_VALUE)

    @property
    def promoted(self) -> bool:
        """True if the terms live in the arena."""
        return self._arena is not None

    def promote(self) -> Arena:
        """Move to the arena tier, once; ids stay as they are. Imports numba."""
        if self._arena is None:
            from spaseq.model.arena import Arena

            arena = Arena(2 * len(self._texts))
            arena.encode_all([text.encode() for text in self._texts[1:]])
            self._arena, self._ids, self._texts = arena, {}, [""]
        return self._arena

    def promote_for(self, more: int) -> bool:
        """Move to the arena tier if so many terms more are worth it; True if it is there.

        To load that tier takes a while, so all terms of the process count until it is loaded.
        """
        global _offered  # noqa: PLW0603 - one count per process
        _offered += more
        loaded = "spaseq.model.arena" in sys.modules or _offered >= settings().promoted_terms
        if len(self) + more >= (settings().loaded_terms if loaded else settings().promoted_terms):
            self.promote()
        return self.promoted

    def compact(self, live: Iterable[int] | npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """Drop every term but the live ones; the result maps an old id to its new id, 0 where dropped.

        An endless stream keeps bringing new terms; the owner of the state calls this with the ids the
        state still mentions (and those of the query's constants) and remaps them.
        """
        import numpy as np

        known = np.fromiter(live, np.int64) if not isinstance(live, np.ndarray) else live
        if last := int(known.max(initial=0)):
            self._check(last)
        # A mark for each is cheaper than sorting all of them.
        marks = np.zeros(len(self) + 1, np.bool_)
        marks[known] = True
        marks[0] = False
        kept = np.flatnonzero(marks)
        mapping = np.zeros(len(self) + 1, np.int32)
        mapping[kept] = np.arange(1, len(kept) + 1, dtype=np.int32)
        if self._arena is None:
            self._texts = [""] + [self._texts[i] for i in kept.tolist()]
            self._ids = {text: i for i, text in enumerate(self._texts) if i}
        else:
            self._arena.keep(kept)
            self._ids.clear()
        self._decoded.clear()
        self.generation = next(_generations)
        return mapping

    def texts(self, first: int = 1) -> list[str]:
        """The canonical N-Triples texts of all ids from ``first`` on, in order of id."""
        if self._arena is None:
            return self._texts[first:]
        arena = self._arena
        bounds = arena.starts[first : len(arena) + 2].tolist()
        whole = arena.buffer[bounds[0] : bounds[-1]].tobytes() if len(bounds) > 1 else b""
        return [whole[a - bounds[0] : b - bounds[0]].decode() for a, b in pairwise(bounds)]

    def __reduce__(self) -> tuple[type[TermDictionary], tuple[list[str]]]:
        return TermDictionary, (self.texts(),)
