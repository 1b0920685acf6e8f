"""Where everything of a drawn automaton lies: states on one line, loops above it, other edges below it.

All lengths are in pixels. Loops at a state are arches, each over the label of the one below it. Of
several edges between two states the first is straight and the others are bridges that hang below it, so
no edge crosses another and no label lies on an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from spaseq.planner.explain.facts import AutomatonFacts, EdgeFacts

RADIUS = 22
CHARACTER = 7.3
"""The width of a character in a fixed-width font of 12 pixels."""
LABEL_HEIGHT = 15
LEVEL = 32
"""The distance between parallel edges, label included."""
BEND = 46
"""The horizontal room in which an edge leaves its state."""
STRAIGHT = 18
"""The same for a single edge, which does not bend."""
ARCH = 24
"""Half the width of the innermost loop."""
MARGIN = 16
ENTRY = 44
"""The length of the arrow into the initial state."""
LONGEST_LABEL = 26


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        """True if the two share an area."""
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )


@dataclass(frozen=True, slots=True)
class DrawnState:
    """A circle and its name."""

    name: str
    x: float
    y: float
    final: bool
    step: int | None


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """The path of an edge, and its label with the box it fills."""

    edge: EdgeFacts
    path: str
    label: str
    box: Box


@dataclass(frozen=True, slots=True)
class Bracket:
    """A line that ties together the edges of one conjunction."""

    x: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole automaton, placed."""

    width: float
    height: float
    states: tuple[DrawnState, ...]
    edges: tuple[DrawnEdge, ...]
    brackets: tuple[Bracket, ...]


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops at one state: half-widths and heights of their arches, and the room they need."""

    edges: tuple[EdgeFacts, ...]
    half_widths: tuple[float, ...]
    room: float


def layout(automaton: AutomatonFacts) -> Drawing:
    """Place the states from left to right and all edges around them."""
    names = [state.name for state in automaton.states]
    loops = {name: _loops(automaton, name) for name in names}
    forward = {name: _leaving(automaton, name) for name in names}
    xs = _positions(names, loops, forward)
    y = MARGIN + max(_loops_height(loops[name]) for name in names) + RADIUS
    edges: list[DrawnEdge] = []
    brackets: list[Bracket] = []
    for name, x in xs.items():
        edges += _place_loops(loops[name], x, y)
    for name, following in pairwise(names):
        placed = _place_forward(forward[name], xs[name], xs[following], y)
        edges += placed
        brackets += _brackets(placed)
    depth = max((len(found) - 1 for found in forward.values()), default=0) * LEVEL
    last = names[-1]
    return Drawing(
        width=xs[last] + max(RADIUS, loops[last].room) + MARGIN,
        height=y + max(RADIUS + 4, depth + 8) + MARGIN,
        states=tuple(DrawnState(s.name, xs[s.name], y, s.final, s.step) for s in automaton.states),
        edges=tuple(edges),
        brackets=tuple(brackets),
    )


def short_label(edge: EdgeFacts) -> str:
    """The label of an edge; a long list of streams is cut, the tooltip has it all."""
    if len(edge.label) <= LONGEST_LABEL or not edge.streams:
        return edge.label
    tail = edge.label[len(",".join(edge.streams)) + 1 :]
    return f"({edge.streams[0]},…{tail}" if len(edge.streams) > 1 else edge.label


def text_width(text: str) -> float:
    """The width of a label."""
    return len(text) * CHARACTER


# --- measuring ----------------------------------------------------------------------------------


def _loops(automaton: AutomatonFacts, name: str) -> Loops:
    found = sorted(
        (edge for edge in automaton.edges if edge.source == edge.target == name),
        key=lambda edge: edge.kind == "skip",  # what takes events is inside, what lets them pass outside
    )
    half_widths: list[float] = []
    for index in range(len(found)):
        inner = text_width(short_label(found[index - 1])) / 2 + 8 if index else 0.0
        half_widths.append(max(ARCH, inner, half_widths[-1] + 6 if half_widths else 0.0))
    widest = max((text_width(short_label(edge)) / 2 for edge in found), default=0.0)
    return Loops(tuple(found), tuple(half_widths), max([RADIUS, widest, *half_widths]) + 8)


def _loops_height(loops: Loops) -> float:
    return 0.0 if not loops.edges else 30 + LEVEL * (len(loops.edges) - 1) + LABEL_HEIGHT + 4


def _leaving(automaton: AutomatonFacts, name: str) -> tuple[EdgeFacts, ...]:
    """The edges to the next state, those without an event last."""
    found = [edge for edge in automaton.edges if edge.source == name != edge.target]
    return tuple(sorted(found, key=lambda edge: edge.kind == "epsilon"))


def _positions(
    names: list[str], loops: dict[str, Loops], forward: dict[str, tuple[EdgeFacts, ...]]
) -> dict[str, float]:
    x = MARGIN + max(ENTRY + RADIUS, loops[names[0]].room)
    found = {names[0]: x}
    for name, following in pairwise(names):
        widest = max(text_width(short_label(edge)) for edge in forward[name])
        bend = BEND if len(forward[name]) > 1 else STRAIGHT
        x += max(2 * (RADIUS + bend) + widest + 20, loops[name].room + loops[following].room + 12)
        found[following] = x
    return found


# --- placing ------------------------------------------------------------------------------------


def _place_loops(loops: Loops, x: float, y: float) -> list[DrawnEdge]:
    placed = []
    for index, (edge, half) in enumerate(zip(loops.edges, loops.half_widths, strict=True)):
        top = y - RADIUS - 30 - LEVEL * index
        label = short_label(edge)
        width = text_width(label)
        box = Box(x - width / 2, top - LABEL_HEIGHT - 3, width, LABEL_HEIGHT)
        placed.append(DrawnEdge(edge, _arch(x, y, half, top, index), label, box))
    return placed


def _arch(x: float, y: float, half: float, top: float, index: int) -> str:
    """A loop: up from the left shoulder of the state, over, and down to the right one."""
    out = min(9 + 5 * index, 20)
    foot, shoulder, corner = y - (RADIUS**2 - out**2) ** 0.5, y - RADIUS - 14, 12
    return (
        f"M {x - out:.1f} {foot:.1f} "
        f"C {x - out * 1.4:.1f} {foot - 10:.1f} {x - half:.1f} {shoulder + 12:.1f} {x - half:.1f} {shoulder:.1f} "
        f"L {x - half:.1f} {top + corner:.1f} Q {x - half:.1f} {top:.1f} {x - half + corner:.1f} {top:.1f} "
        f"L {x + half - corner:.1f} {top:.1f} Q {x + half:.1f} {top:.1f} {x + half:.1f} {top + corner:.1f} "
        f"L {x + half:.1f} {shoulder:.1f} "
        f"C {x + half:.1f} {shoulder + 12:.1f} {x + out * 1.4:.1f} {foot - 10:.1f} {x + out:.1f} {foot:.1f}"
    )


def _place_forward(edges: tuple[EdgeFacts, ...], left: float, right: float, y: float) -> list[DrawnEdge]:
    placed = []
    for index, edge in enumerate(edges):
        level = y + LEVEL * index
        label = short_label(edge)
        width = text_width(label)
        box = Box((left + right - width) / 2, level - LABEL_HEIGHT - 3, width, LABEL_HEIGHT)
        placed.append(DrawnEdge(edge, _bridge(left, right, y, level, index), label, box))
    return placed


def _bridge(left: float, right: float, y: float, level: float, index: int) -> str:
    """An edge: straight on, or down to its level, across, and up again."""
    if index == 0:
        return f"M {left + RADIUS:.1f} {y:.1f} L {right - RADIUS:.1f} {y:.1f}"
    drop = min(7 + 5 * (index - 1), 19)
    out = (RADIUS**2 - drop**2) ** 0.5
    start, end = left + out, right - out
    a, b = left + RADIUS + BEND, right - RADIUS - BEND
    return (
        f"M {start:.1f} {y + drop:.1f} C {start + 14:.1f} {y + drop + 8:.1f} "
        f"{a - 26:.1f} {level:.1f} {a:.1f} {level:.1f} L {b:.1f} {level:.1f} "
        f"C {b + 26:.1f} {level:.1f} {end - 14:.1f} {y + drop + 8:.1f} {end:.1f} {y + drop:.1f}"
    )


def _brackets(placed: list[DrawnEdge]) -> list[Bracket]:
    """One line for each conjunction, before the labels of its edges."""
    found = []
    joined = [drawn for drawn in placed if "&" in drawn.edge.op]
    for choice in dict.fromkeys(drawn.edge.choice for drawn in joined):
        boxes = [drawn.box for drawn in joined if drawn.edge.choice == choice]
        levels = [box.y + LABEL_HEIGHT + 3 for box in boxes]
        left = min(drawn.box.x for drawn in placed)
        found.append(Bracket(left - 6, min(levels), max(levels)))
    return found
