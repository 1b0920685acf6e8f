"""Where everything of a drawn automaton lies: states on one line, loops above it, other edges below it.

All lengths are in pixels. Loops at a state are arches, each over the label of the one below it. The first edge to
the next state is straight; all others, also those back, are bridges that hang below the line, the shorter ones above
the longer ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from spaseq.planner.explain.facts import AutomatonFacts, EdgeFacts
from spaseq.planner.explain.text import waiting

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
    waits: str


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """The path of an edge, and its label with the box it fills."""

    edge: EdgeFacts
    path: str
    label: str
    box: Box


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole automaton, placed."""

    width: float
    height: float
    states: tuple[DrawnState, ...]
    edges: tuple[DrawnEdge, ...]


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops at one state: half-widths and heights of their arches, and the room they need."""

    edges: tuple[EdgeFacts, ...]
    half_widths: tuple[float, ...]
    room: float


@dataclass(frozen=True, slots=True)
class Bridge:
    """An edge between two states, by their places in the line; level 0 is straight."""

    edge: EdgeFacts
    source: int
    target: int
    level: int

    @property
    def ends(self) -> tuple[int, int]:
        return min(self.source, self.target), max(self.source, self.target)


def layout(automaton: AutomatonFacts) -> Drawing:
    """Place the states from left to right and all edges around them."""
    names = [state.name for state in automaton.states]
    loops = {name: _loops(automaton, name) for name in names}
    bridges = _bridges(automaton, names)
    xs = _positions(names, loops, bridges)
    y = MARGIN + max(_loops_height(loops[name]) for name in names) + RADIUS
    edges: list[DrawnEdge] = []
    for name, x in xs.items():
        edges += _place_loops(loops[name], x, y)
    edges += [_place_bridge(bridge, list(xs.values()), y) for bridge in bridges]
    depth = max((bridge.level for bridge in bridges), default=0) * LEVEL
    last = names[-1]
    return Drawing(
        width=xs[last] + max(RADIUS, loops[last].room) + MARGIN,
        height=y + max(RADIUS + 4, depth + 8) + MARGIN,
        states=tuple(DrawnState(s.name, xs[s.name], y, s.final, waiting(s)) for s in automaton.states),
        edges=tuple(edges),
    )


def _bridges(automaton: AutomatonFacts, names: list[str]) -> list[Bridge]:
    """A level for every edge between two states, such that no two of one level share a stretch of the line."""
    place = {name: index for index, name in enumerate(names)}
    edges = [edge for edge in automaton.edges if edge.source != edge.target]
    # Short ones first; of those between the same states the ones that take an event.
    edges.sort(key=lambda e: (abs(place[e.target] - place[e.source]), e.kind != "take", e.kind == "epsilon"))
    placed: list[Bridge] = []
    for edge in edges:
        bridge = Bridge(edge, place[edge.source], place[edge.target], 0)
        low, high = bridge.ends
        # A label needs room below the states that its bridge passes.
        level = 0 if bridge.target == bridge.source + 1 else 1 if high == low + 1 else 2
        while any(other.level == level and other.ends[0] < high and low < other.ends[1] for other in placed):
            level += 1
        placed.append(Bridge(edge, bridge.source, bridge.target, level))
    return placed


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


def _positions(names: list[str], loops: dict[str, Loops], bridges: list[Bridge]) -> dict[str, float]:
    x = MARGIN + max(ENTRY + RADIUS, loops[names[0]].room)
    found = {names[0]: x}
    for index, (name, following) in enumerate(pairwise(names)):
        over = [bridge for bridge in bridges if bridge.ends == (index, index + 1)]
        widest = max((text_width(short_label(bridge.edge)) for bridge in over), default=0.0)
        bend = BEND if any(bridge.level for bridge in over) else STRAIGHT
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


def _place_bridge(bridge: Bridge, xs: list[float], y: float) -> DrawnEdge:
    low, high = bridge.ends
    level = y + LEVEL * bridge.level
    label = short_label(bridge.edge)
    width = text_width(label)
    box = Box((xs[low] + xs[high] - width) / 2, level - LABEL_HEIGHT - 3, width, LABEL_HEIGHT)
    backward = bridge.target < bridge.source
    return DrawnEdge(
        bridge.edge, _path(xs[low], xs[high], y, level, bridge.level, backward=backward), label, box
    )


def _path(left: float, right: float, y: float, level: float, index: int, *, backward: bool) -> str:
    """An edge: straight on, or down to its level, across, and up again; drawn from its source."""
    if index == 0:
        return f"M {left + RADIUS:.1f} {y:.1f} L {right - RADIUS:.1f} {y:.1f}"
    drop = min(7 + 5 * (index - 1), 19)
    out = (RADIUS**2 - drop**2) ** 0.5
    start, end = left + out, right - out
    a, b = left + RADIUS + BEND, right - RADIUS - BEND
    points = [
        (start, y + drop),
        (start + 14, y + drop + 8),
        (a - 26, level),
        (a, level),
        (b, level),
        (b + 26, level),
        (end - 14, y + drop + 8),
        (end, y + drop),
    ]
    if backward:
        points.reverse()
    shown = [f"{x:.1f} {height:.1f}" for x, height in points]
    return f"M {shown[0]} C {shown[1]} {shown[2]} {shown[3]} L {shown[4]} C {shown[5]} {shown[6]} {shown[7]}"
