"""State as named arrays, and the one way in which it becomes bytes: for snapshots, checkpoints and Spark's state store.

Arrays of term ids are kept apart from all others, so that they can be saved with the terms they stand for and taken up over
any dictionary, in any process. What comes back may come from anywhere: ids are checked here, everything else by the operator
that takes the state up (`spaseq.model.packing.Field`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spaseq.model.dictionary import TermDictionary
from spaseq.model.packing import Arrays, Damaged, Field, check_array, check_arrays, pack, unpack
from spaseq.model.terms import check_terms

_IDS: Final = "ids:"
"""What the saved names of arrays of ids begin with."""
_TERM_FIELDS: Final[dict[str, Field]] = {
    "ends": Field(np.int64, ("terms",)),
    "texts": Field(np.uint8, ("bytes",)),
}


@dataclass(slots=True)
class State:
    """The state of an operator: named arrays, those that hold term ids apart, and small facts that JSON can write.

    ``whole`` is False if it only holds what came since a mark.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    ids: Arrays = field(default_factory=dict)
    whole: bool = True

    def add(self, name: str, part: State) -> None:
        """Let another state be a part of this one, under a name."""
        self.facts[name] = part.facts
        self.arrays |= {f"{name}.{key}": array for key, array in part.arrays.items()}
        self.ids |= {f"{name}.{key}": array for key, array in part.ids.items()}

    def part(self, name: str) -> State:
        """The part of that name."""
        facts, start = self.facts.get(name, {}), f"{name}."
        if not isinstance(facts, dict):
            raise Damaged(f"`{name}` is {facts!r}")
        arrays, ids = (
            {key.removeprefix(start): array for key, array in known.items() if key.startswith(start)}
            for known in (self.arrays, self.ids)
        )
        return State(facts, arrays, ids, self.whole)


def pack_state(state: State, dictionary: TermDictionary, header: Mapping[str, Any], version: int) -> bytes:
    """A state as bytes; its ids count through its own list of terms."""
    known = np.zeros(len(dictionary) + 1, np.bool_)
    for array in state.ids.values():
        known[array] = True
    known[0] = False
    used = np.flatnonzero(known)
    number = np.zeros(len(known), np.int32)  # a table by id: sorting the ids of a large state takes seconds
    number[used] = np.arange(1, len(used) + 1)
    own = {f"{_IDS}{name}": number[array] for name, array in state.ids.items()}
    whole = {**header, "facts": state.facts, "whole": state.whole}
    return pack(whole, {**state.arrays, **own, **_packed_terms(dictionary, used)}, version)


def read_state(header: Mapping[str, Any], saved: Arrays, dictionary: TermDictionary) -> State:
    """The state of what `pack_state` wrote, over this dictionary; its arrays may be written to."""
    facts = header["facts"]
    if not isinstance(facts, dict):
        raise Damaged(f"`facts` is {facts!r}")
    sizes: dict[str, int] = {}
    check_arrays(saved, _TERM_FIELDS, sizes)
    for name, array in saved.items():
        if name.startswith(_IDS):
            wanted = Field(np.int32, tuple(array.shape), (0, sizes["terms"] + 1))
            check_array(name.removeprefix(_IDS), array, wanted, sizes)
    known = _encoded_terms(dictionary, saved["texts"].tobytes(), saved["ends"])
    found = State(facts, whole=bool(header["whole"]))
    for name, array in saved.items():
        if name.startswith(_IDS):
            found.ids[name.removeprefix(_IDS)] = known[array]
        elif name not in _TERM_FIELDS:
            found.arrays[name] = array.copy()  # what is read from bytes cannot be written to
    return found


def unpack_state(data: bytes, dictionary: TermDictionary, version: int) -> tuple[dict[str, Any], State]:
    """The header and the state that `pack_state` wrote."""
    header, saved = unpack(data, version)
    return header, read_state(header, saved, dictionary)


def _packed_terms(dictionary: TermDictionary, ids: npt.NDArray[np.integer]) -> Arrays:
    """The texts of some ids, one after the other, and where each ends; few terms do not load pyarrow."""
    if dictionary.promoted:
        from spaseq.operators.term_texts import packed_terms, texts_of

        return packed_terms(texts_of(dictionary, ids))
    texts = [dictionary.ntriples(known).encode("utf-8", "surrogatepass") for known in ids.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"ends": ends, "texts": np.frombuffer(b"".join(texts), np.uint8)}


def _encoded_terms(
    dictionary: TermDictionary, body: bytes, ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """The ids of saved terms: entry ``n`` is that of term number ``n``, entry 0 is unbound."""
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    if (np.diff(offsets) < 0).any() or int(offsets[-1]) != len(body):
        raise Damaged("a term is cut off")
    ids = np.zeros(len(ends) + 1, np.int32)
    if dictionary.promote_for(len(ends)) and len(ends):
        from spaseq.operators.term_texts import unusual_terms

        check_terms(_decoded(body, offsets, unusual_terms(body, offsets)))
        ids[1:] = dictionary.promote().encode_packed(body, ends)
    else:
        texts = _decoded(body, offsets, range(len(ends)))
        check_terms(texts)
        ids[1:] = dictionary.encode_texts(texts)
    return ids


def _decoded(body: bytes, offsets: npt.NDArray[np.int64], which: Iterable[int]) -> list[str]:
    return [body[offsets[n] : offsets[n + 1]].decode("utf-8", "surrogatepass") for n in which]
