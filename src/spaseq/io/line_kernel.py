"""Cutting one N-Quads line into terms, eight bytes at a time.

Not validating: it finds where terms begin and end and gives up (`TROUBLE`) on anything unusual; then
pyoxigraph decides. What is in the terms is looked at by `spaseq.io.term_kernel`. A term that is expected because
the line before had it is compared, not searched. Positions are addresses; the buffer has padding behind its end.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.arena import Longs, equal_bytes
from spaseq.model.jit import Int, inlined, lean, load8, places, trailing_zeros

NOTHING: Final = 0
QUAD: Final = 1
TROUBLE: Final = -1
SAME_SUBJECT: Final = 2
SAME_PREDICATE: Final = 4
SAME_GRAPH: Final = 8
"""Added to `QUAD`: the term is the one that was expected."""
CLOSE: Final = 8
"""Where in the spans the closing quote of a literal stands."""
SPANS: Final = 9

_QUOTE: Final = np.uint8(34)
_CLOSER: Final = np.uint8(62)
_FEED: Final = np.uint8(10)
_RETURN: Final = np.uint8(13)


def _label_table() -> npt.NDArray[np.bool_]:
    """Bytes of a blank node label that need no second thought."""
    table = np.zeros(256, np.bool_)
    for char in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.":
        table[char] = True
    return table


_LABEL: Final = _label_table()


@inlined
def _find(address: Int, stop: Int, byte: np.uint8) -> Int:
    """The first byte that equals this one, or ``stop``."""
    while address < stop:
        hit = places(address, byte)
        if hit != np.uint64(0):
            found: Int = address + np.int64(trailing_zeros(hit))
            return min(found, stop)
        address += 16
    return stop


@inlined
def find_line_end(address: Int, stop: Int) -> Int:
    """The next line feed, or ``stop``."""
    return _find(address, stop, _FEED)


@inlined
def find_closer(address: Int, stop: Int) -> Int:
    """The next ``>``, or ``stop``."""
    return _find(address, stop, _CLOSER)


@inlined
def find_quote(address: Int, stop: Int) -> Int:
    """The next quote, or ``stop``."""
    return _find(address, stop, _QUOTE)


@lean
def _find_return(address: Int, stop: Int) -> Int:
    return _find(address, stop, _RETURN)


@inlined
def _skip_blanks(address: Int) -> Int:
    while load8(address) == 32 or load8(address) == 9:
        address += 1
    return address


@inlined
def _blank_end(address: Int, stop: Int) -> Int:
    """The end of a blank node label that begins here, 0 if it is unusual."""
    if load8(address + 1) != 58 or load8(address + 2) == 45 or load8(address + 2) == 46:
        return 0
    at = address + 2
    while at < stop and _LABEL[load8(at)]:
        at += 1
    if at > address + 2 and load8(at - 1) == 46:  # the dot that ends the statement
        at -= 1
    if at == address + 2 or load8(at - 1) == 46 or load8(at) >= 128 or load8(at) == 58:
        return 0
    return at


@inlined
def _literal_close(address: Int, stop: Int) -> Int:
    """The closing quote of a literal that begins here, 0 if there is none."""
    quote = address + 1
    while True:
        quote = find_quote(quote, stop)
        if quote >= stop:
            return 0
        slashes = quote - 1
        while load8(slashes) == 92 and slashes > address:
            slashes -= 1
        if (quote - 1 - slashes) % 2 == 0:
            return quote
        quote += 1


@inlined
def _literal_end(close: Int, stop: Int) -> Int:
    """The end of the language or datatype behind a closing quote; 0 if it is unusual."""
    at = close + 1
    if at < stop and load8(at) == 64:  # @
        at += 1
        while at < stop and _LABEL[load8(at)] and load8(at) != 46 and load8(at) != 95:
            at += 1
    elif at < stop and load8(at) == 94:  # ^
        if at + 3 >= stop or load8(at + 1) != 94 or load8(at + 2) != 60:
            return 0
        at = find_closer(at + 3, stop) + 1
        if at > stop:
            return 0
    return at


@inlined
def _resource_end(address: Int, stop: Int) -> Int:
    """The end of an IRI or blank node that begins here, 0 if there is none."""
    lead = load8(address)
    if lead == 60 and address < stop:
        end = find_closer(address + 1, stop) + 1
        return end if end <= stop else 0
    if lead == 95 and address < stop:
        return _blank_end(address, stop)
    return 0


@inlined
def _expected(address: Int, stop: Int, known: Int, known_end: Int) -> bool:
    """Whether an IRI that was read before, and is good, stands here again."""
    size = known_end - known
    return bool(load8(address) == 60 and 0 < size <= stop - address and equal_bytes(address, known, size))


@lean
def _only_return(address: Int, stop: Int) -> bool:
    """Whether a carriage return occurs at most as the very last byte of a line."""
    return bool(_find_return(address, stop) >= stop - 1)


@inlined
def cut_line(address: Int, stop: Int, spans: Longs, expected: Longs) -> Int:
    """Find the terms of the line from ``address`` to ``stop``.

    ``spans`` becomes the begin and end of subject, predicate, object and graph, and the closing quote of a
    literal; the graph's are 0 in the default graph. ``expected`` is the begin and end of a subject, a predicate and
    a graph name that may come again.
    """
    found: Int = QUAD
    at = _skip_blanks(address)
    if at >= stop or (load8(at) == 13 and at + 1 == stop):
        return NOTHING
    if load8(at) == 35:
        return NOTHING if _only_return(at, stop) else TROUBLE
    if _expected(at, stop, expected[0], expected[1]):
        found |= SAME_SUBJECT
        end = at + expected[1] - expected[0]
    else:
        end = _resource_end(at, stop)
        if end == 0:
            return TROUBLE
    spans[0], spans[1] = at, end
    at = _skip_blanks(end)
    if at >= stop or load8(at) != 60:
        return TROUBLE
    if _expected(at, stop, expected[2], expected[3]):
        found |= SAME_PREDICATE
        end = at + expected[3] - expected[2]
    else:
        end = find_closer(at + 1, stop) + 1
        if end > stop:
            return TROUBLE
    spans[2], spans[3] = at, end
    at = _skip_blanks(end)
    if at < stop and load8(at) == 34:
        spans[CLOSE] = _literal_close(at, stop)
        end = _literal_end(spans[CLOSE], stop) if spans[CLOSE] else 0
    else:
        end = _resource_end(at, stop)
    if end == 0:
        return TROUBLE
    spans[4], spans[5] = at, end
    at = _skip_blanks(end)
    spans[6], spans[7] = 0, 0
    if at < stop and load8(at) != 46:
        if _expected(at, stop, expected[4], expected[5]):
            found |= SAME_GRAPH
            end = at + expected[5] - expected[4]
        else:
            end = _resource_end(at, stop)
            if end == 0:
                return TROUBLE
        spans[6], spans[7] = at, end
        at = _skip_blanks(end)
    if at >= stop or load8(at) != 46:
        return TROUBLE
    at = _skip_blanks(at + 1)
    if at >= stop or (load8(at) == 13 and at + 1 == stop):
        return found
    return found if load8(at) == 35 and _only_return(at, stop) else TROUBLE
