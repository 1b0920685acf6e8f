"""Lines by the kernel are the lines that Python writes, and it knows what it cannot write."""

from __future__ import annotations

import json
from itertools import accumulate

import numpy as np
import pytest

from spaseq.io.result_json import ColumnLines
from spaseq.io.result_kernel import column_lines
from spaseq.model.dictionary import TermDictionary
from spaseq.temporal.instants import FIRST_INSTANT, LAST_INSTANT

XSD = "http://www.w3.org/2001/XMLSchema#"
PLAIN = (
    "<http://ex.org/a>",
    "<urn:ü>",
    '""',
    '"plain"',
    *(f'"{"~" * length}"' for length in range(1, 17)),
    '"Grüße, 世界 🎉"',
    f'"12.50"^^<{XSD}decimal>',
    '"oui"@fr-CA',
    "_:b0-1",
)
ESCAPED = (
    *(f'"{"a" * length}\\t{"b" * (9 - length)}"' for length in range(9)),
    '"a \\"quoted\\" word"',
    '"back\\\\slash"',
    '"two\\nlines"',
    '"left"@ar--rtl',
)
ROWS = 3000


def many(texts: tuple[str, ...], seed: int = 1) -> tuple[TermDictionary, np.ndarray, np.ndarray, np.ndarray]:
    """A dictionary with these terms, and random rows over them; some cells are unbound."""
    dictionary = TermDictionary(texts)
    dictionary.promote()
    random = np.random.default_rng(seed)
    ids = random.integers(0, len(texts) + 1, (ROWS, 3)).astype(np.int32)
    times = random.integers(FIRST_INSTANT + 10**13, LAST_INSTANT, ROWS)
    times[::3] -= times[::3] % 1_000_000
    times[1::3] -= times[1::3] % 1000
    starts = times - random.integers(0, 10**12, ROWS)
    for row in np.flatnonzero(random.integers(0, 3, ROWS)):  # lines of one evaluation have the same instants
        times[row], starts[row] = times[row - 1], starts[row - 1] if row % 5 else starts[row]
    return dictionary, ids, times, starts


def by_python(
    dictionary: TermDictionary, ids: np.ndarray, times: np.ndarray, starts: np.ndarray, query: str | None
) -> bytes:
    """The lines in batches too small for the kernel."""
    lines = ColumnLines(dictionary)
    names = ("a", "été", "c%s")
    parts = [
        lines.lines(
            times[i : i + 500],
            starts[i : i + 500],
            [(name, ids[i : i + 500, n]) for n, name in enumerate(names)],
            generation=dictionary.generation,
            query=query,
        )
        for i in range(0, ROWS, 500)
    ]
    return b"".join(text for text, _ in parts)


def at_once(
    dictionary: TermDictionary, ids: np.ndarray, times: np.ndarray, starts: np.ndarray, query: str | None
) -> bytes:
    """The lines in one batch."""
    columns = [(name, ids[:, n]) for n, name in enumerate(("a", "été", "c%s"))]
    text, ends = ColumnLines(dictionary).lines(
        times, starts, columns, generation=dictionary.generation, query=query
    )
    assert ends.tolist() == list(accumulate(map(len, bytes(text).splitlines(keepends=True))))
    return bytes(text)


@pytest.mark.slow
@pytest.mark.parametrize("query", [None, 'the "query"'])
def test_lines_of_the_kernel_are_those_of_python(query: str | None) -> None:
    """Every kind of term, unbound cells, whole seconds and fractions, years from 1 to 9999."""
    data = many(PLAIN)
    lines = at_once(*data, query)
    assert lines == by_python(*data, query)
    assert all(json.loads(line) for line in lines.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("text", ESCAPED)
def test_a_term_that_json_must_escape_is_written_with_care(text: str) -> None:
    """The kernel gives up on the batch, and the lines are the same as ever."""
    dictionary, ids, times, starts = many((*PLAIN, text))
    arena = dictionary.promote()
    keys = [b'"a":', b'"b":', b'"c":']
    assert column_lines(arena.buffer, arena.starts, ids, times, starts, b"{", keys) is None
    assert at_once(dictionary, ids, times, starts, None) == by_python(dictionary, ids, times, starts, None)


@pytest.mark.slow
def test_an_instant_beyond_the_calendar_is_left_to_python() -> None:
    """A window may end after the year 9999."""
    dictionary, ids, times, starts = many(PLAIN)
    times[-1] = LAST_INSTANT + 1
    arena = dictionary.promote()
    keys = [b'"a":', b'"b":', b'"c":']
    assert column_lines(arena.buffer, arena.starts, ids, times, starts, b"{", keys) is None
