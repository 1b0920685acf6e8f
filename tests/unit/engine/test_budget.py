"""Facts about the memory budget: whatever may grow without bound counts, and ends in an error that names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.cli import main
from spaseq.engine import Engine
from spaseq.model.budget import Budget, TooMuchMemory, available_memory, resident_memory
from spaseq.model.events import GraphEvent
from spaseq.operators import held_answers
from spaseq.operators.answers import Answers, stacked

EX = "http://ex.org/"
QUERY = """PREFIX : <http://ex.org/>
{form} FROM STREAM S <http://ex.org/s> WHERE {{ SEQ (A : B)
DEFINE GPM A ON S {{ ?x :a ?a ; :k ?k }} DEFINE GPM B ON S {{ ?y :{last} ?b ; :k ?k }} }}"""
ENDLESS = QUERY.format(form="SELECT ?a ?b", last="none")


def event(number: int, name: str = "a", time: int | None = None, key: int = 0) -> GraphEvent:
    """One of a hundred nodes, with a value and a key."""
    node, value = NamedNode(f"{EX}n{number % 100}"), Literal(number % 100)
    triples = {Triple(node, NamedNode(EX + name), value), Triple(node, NamedNode(EX + "k"), Literal(key))}
    return GraphEvent(EX + "s", number if time is None else time, frozenset(triples))


def one_instant(count: int) -> list[GraphEvent]:
    """Events that match in every combination with events of an earlier instant."""
    return [event(number, name, time) for name, time in (("a", 1), ("b", 2)) for number in range(count)]


def keyed(count: int) -> list[GraphEvent]:
    """Events with a key each."""
    return [event(number, key=number) for number in range(count)]


HOLDERS: dict[str, Callable[[], object]] = {
    "runs": lambda: Engine(ENDLESS, with_events=False, max_memory=500_000).push(map(event, range(5_000))),
    "events": lambda: Engine(ENDLESS, lateness="1h", max_memory=200_000).push(map(event, range(8_000))),
    "partition keys": lambda: Engine(
        ENDLESS.replace("WHERE", "PARTITION BY ?k WHERE"), max_memory=3_000_000
    ).push(keyed(5_000)),
    "terms": lambda: Engine(ENDLESS, lateness="1h", max_memory=1_000_000).push(keyed(5_000)),
    "matches": lambda: Engine(
        QUERY.format(form="SELECT DISTINCT ?a ?b", last="b"), max_memory=3_000_000
    ).push(one_instant(100)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_whatever_grows_is_counted_and_named(holder: str) -> None:
    """The error says what holds the memory, what the limit is and what to do."""
    with pytest.raises(
        TooMuchMemory, match=rf"than max_memory=[0-9,]+ bytes\. It holds .*{holder} [0-9.]+ [kM]B"
    ) as error:
        HOLDERS[holder]()
    assert "Make the window smaller" in str(error.value)
    assert str(error.value).endswith("allow more with `max_memory=`")


LANGUAGES = {
    "Make the window smaller (WITHIN), use `;` instead of `:`, divide the stream (PARTITION BY), ": ENDLESS,
    "Make the windows smaller (RANGE), ": "SELECT ?x FROM NAMED WINDOW <urn:w> ON <http://ex.org/s> [RANGE PT1H] "
    "WHERE { WINDOW <urn:w> { ?x <http://ex.org/a> ?v } }",
    "Bound how long solutions last (`FILTER(getDURATION() < …)`), ": "SELECT ?x { { ?x <http://ex.org/a> ?v } SEQ "
    "{ ?x <http://ex.org/b> ?w } }",
}


@pytest.mark.parametrize("cure", LANGUAGES)
def test_the_cure_is_in_the_words_of_the_query(cure: str) -> None:
    """A language without WITHIN has another bound."""
    engine = Engine(LANGUAGES[cure], lateness="1h", max_memory=200_000)
    with pytest.raises(TooMuchMemory) as error:
        engine.push(map(event, range(8_000)))
    assert str(error.value).endswith(f". {cure}or allow more with `max_memory=`")


def test_the_default_is_half_of_the_memory_there_is() -> None:
    """Divided among those that work at the same time."""
    assert Budget().most == available_memory() // 2
    assert Budget(share=4).most == available_memory() // 8
    assert available_memory() > 100_000_000


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")
def test_the_memory_of_a_process_is_measured() -> None:
    """What nobody counted counts too, where the process belongs to the run."""
    # Many tests ran in this process before; what it gives back meanwhile is little beside these numbers.
    budget = Budget(resident_memory() + 200_000_000, whole_process=True)
    budget.check()
    with pytest.raises(TooMuchMemory, match="the program itself"):
        budget.check(400_000_000)
    held = np.ones(50_000_000)
    with pytest.raises(TooMuchMemory, match="compiled code and work in progress"):
        budget.check()
    assert held.nbytes == 400_000_000


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")
def test_the_command_line_counts_all_of_its_process(tmp_path: Path) -> None:
    """Less than the program itself takes is too little, and the error says so in the words of the command line."""
    query, data = tmp_path / "q.spaseq", tmp_path / "s.nq"
    query.write_text(ENDLESS, encoding="utf-8")
    data.write_text(
        f'<{EX}x> <{EX}a> "1" <{EX}g> .\n<{EX}g> <http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:01Z" .\n',
        encoding="utf-8",
    )
    options = ["--engine", "local", "--stream", f"S={data}", "--quarantine", str(tmp_path / "bad.jsonl")]
    done = CliRunner().invoke(main, ["run", str(query), *options, "--max-memory", "1M"])
    assert done.exit_code == 1
    assert "more memory than --max-memory 1,048,576 bytes. It holds the program itself" in done.stderr


def test_answers_of_one_instant_are_not_copied_again_and_again(
    monkeypatch: pytest.MonkeyPatch, change_settings: Callable[..., None]
) -> None:
    """DISTINCT chooses when the instant is over; the work is proportional to the matches."""
    change_settings(slice_matches=10)
    copied = 0

    def counted(parts: list[Answers]) -> Answers:
        nonlocal copied
        copied += sum(map(len, parts))
        return stacked(parts)

    monkeypatch.setattr(held_answers, "stacked", counted)
    engine = Engine(QUERY.format(form="SELECT DISTINCT ?a ?b", last="b"), with_events=False)
    found = engine.push(one_instant(60)) + engine.finish()
    assert len(found) == 3600
    assert copied < 6 * 3600


def test_ask_keeps_one_answer_while_its_instant_is_open(change_settings: Callable[..., None]) -> None:
    """However many matches there are at the instant of the first one."""
    change_settings(slice_matches=10)
    engine = Engine(QUERY.format(form="ASK", last="b"), with_events=False)
    assert engine.push(one_instant(60)) == []
    answers = engine.machine.held.answers
    assert answers is not None
    assert len(answers) < 40
    assert [match.boolean for match in engine.finish()] == [True]
