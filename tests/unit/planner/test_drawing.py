"""Facts about the drawn automaton: nothing overlaps, nothing is cut off, nothing is left out."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from spaseq.planner import compile_query
from spaseq.planner.explain import explanation
from spaseq.planner.explain.layout import RADIUS, Box, Drawing, layout
from spaseq.planner.explain.svg import to_svg
from spaseq.testing import load_all

ROOT = Path(__file__).resolve().parents[3]


def query(sequence: str, streams: int = 2) -> str:
    """A query with one pattern for every name in the sequence, dealt out to the streams."""
    names = list(dict.fromkeys(re.findall(r"[A-Z]\w*", sequence)))
    declared = "\n".join(f"FROM STREAM stream{i} <http://ex.org/{i}>" for i in range(streams))
    patterns = "\n".join(
        f"DEFINE GPM {name} ON stream{number % streams} {{ ?x <http://ex.org/{name}> ?v{number} }}"
        for number, name in enumerate(names)
    )
    return f"SELECT * WITHIN 1 MINUTE\n{declared}\nWHERE {{ SEQ ({sequence})\n{patterns} }}"


SEQUENCES = {
    "one step": query("A"),
    "paper": query("A; B+, C", 3),
    "mixed": query("((A & B) | C) ; N! ; O? ; (D | E)+"),
    "wide fan": query("(A | B | C | D | E | F | G | H)+ ; (I & J & K & L)"),
    "many streams": query("A ; B+ ; C", 12),
    "long names": query("TemperatureRises ; HumidityFallsBelowThreshold+ , VentilationStarts?"),
    "twelve steps": query(" ; ".join("ABCDEFGHIJKL")),
    "sixty steps": query(" : ".join(f"P{number}" for number in range(60))),
}


def drawing(text: str) -> Drawing:
    """The placed automaton of a query."""
    return layout(explanation(compile_query(text)).automaton)


def circles(drawn: Drawing) -> list[Box]:
    """The boxes around the states."""
    return [Box(s.x - RADIUS, s.y - RADIUS, 2 * RADIUS, 2 * RADIUS) for s in drawn.states]


@pytest.fixture(params=SEQUENCES.values(), ids=SEQUENCES.keys())
def drawn(request: pytest.FixtureRequest) -> Drawing:
    """The drawing of one of the sequences."""
    return drawing(request.param)


def test_no_label_overlaps_another_label_or_a_state(drawn: Drawing) -> None:
    """Every label can be read."""
    boxes = [edge.box for edge in drawn.edges]
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes:
        assert not any(box.overlaps(circle) for circle in circles(drawn))


def test_states_do_not_touch(drawn: Drawing) -> None:
    """There is room for an arrow between two states."""
    for one, other in combinations(circles(drawn), 2):
        assert not one.overlaps(other)


def test_everything_lies_inside_the_picture(drawn: Drawing) -> None:
    """States, labels and the points of every path."""
    picture = Box(0, 0, drawn.width, drawn.height)
    for box in [*circles(drawn), *(edge.box for edge in drawn.edges)]:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= picture.width
        assert box.y + box.height <= picture.height
    for edge in drawn.edges:
        numbers = [float(number) for number in re.findall(r"-?\d+\.\d", edge.path)]
        assert all(0 <= x <= drawn.width for x in numbers[::2])
        assert all(0 <= y <= drawn.height for y in numbers[1::2])


def test_no_straight_part_of_an_edge_runs_through_a_label(drawn: Drawing) -> None:
    """Flat and upright parts of loops and bridges keep clear of every label."""
    for edge in drawn.edges:
        for x1, y1, x2, y2 in segments(edge.path):
            line = Box(min(x1, x2), min(y1, y2), abs(x2 - x1) + 0.1, abs(y2 - y1) + 0.1)
            assert not any(line.overlaps(other.box) for other in drawn.edges), (edge.label, line)


def segments(path: str) -> list[tuple[float, float, float, float]]:
    """The straight parts of a path: from the point before every `L` to its own."""
    found = []
    point = (0.0, 0.0)
    for command, text in re.findall(r"([MLCQ])([^MLCQ]*)", path):
        numbers = [float(number) for number in text.split()]
        last = (numbers[-2], numbers[-1])
        if command == "L":
            found.append((*point, *last))
        point = last
    return found


def test_states_go_from_left_to_right_on_one_line(drawn: Drawing) -> None:
    """Time runs to the right."""
    xs = [state.x for state in drawn.states]
    assert xs == sorted(xs)
    assert len({state.y for state in drawn.states}) == 1


def test_loops_lie_above_the_states_and_edges_between_states_on_or_below_their_line(drawn: Drawing) -> None:
    """So no edge crosses another."""
    y = drawn.states[0].y
    for edge in drawn.edges:
        ys = [float(number) for number in re.findall(r"-?\d+\.\d", edge.path)][1::2]
        assert all(value < y for value in ys) if edge.edge.source == edge.edge.target else min(ys) >= y


def test_every_edge_of_every_spec_is_drawn() -> None:
    """No shape of automaton is beyond the drawing."""
    cases = [case for case in load_all(ROOT / "tests" / "spec") if case.error is None]
    for text in dict.fromkeys(case.query for case in cases):
        compiled = compile_query(text)
        found = layout(explanation(compiled).automaton)
        assert len(found.edges) == len(compiled.automaton.edges)
        boxes = [edge.box for edge in found.edges]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2)), text


def test_the_picture_marks_kinds_of_edges_and_the_final_state() -> None:
    """Dashed, grey and red come from classes; the final state has two circles."""
    svg = to_svg(explanation(compile_query(SEQUENCES["mixed"])))
    for kind in ("take", "skip", "guard", "epsilon"):
        assert f'class="edge {kind}"' in svg
    assert svg.count("<circle") == 7


def test_a_long_list_of_streams_is_cut_in_the_label_and_whole_in_the_tooltip() -> None:
    """Twelve streams do not make a label of a hundred characters."""
    svg = to_svg(explanation(compile_query(SEQUENCES["many streams"])))
    assert "(stream0,… ; ∅)</text>" in svg
    assert "stream10,stream11 ; ∅)" in svg
