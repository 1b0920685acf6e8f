"""CityBench's questions over real data: the answers are known, in both spellings."""

from __future__ import annotations

import pytest

import spaseq
from support.citybench import ANSWERS, SPELLINGS, digest, file_of, graphs, question


@pytest.mark.parametrize("number", ANSWERS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_question_has_the_answers_that_are_on_its_page(number: int, spelling: str) -> None:
    """As RSP-QL and as C-SPARQL, from the bundled extract."""
    query = question(number, spelling)
    streams = {stream.iri: file_of(stream.iri) for stream in query.streams}
    known = {iri: graph for iri, graph in graphs().items() if iri in query.knowledge[0]}
    assert digest(spaseq.run(query, streams, known)) == ANSWERS[number]
