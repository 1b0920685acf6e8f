"""From matches of the automaton to answers: what SELECT and CONSTRUCT read of a match (semantics 1.10), as columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spaseq.algebra.events import ConstructForm, SelectForm
from spaseq.algebra.expressions import GpmFunction, Iterated
from spaseq.algebra.scope import expression_variables
from spaseq.automaton.evaluator import Evaluator
from spaseq.automaton.stage import Found
from spaseq.automaton.verdicts import column_name, event_value, functions_in, over_columns
from spaseq.operators.answers import Answers, Matched, Ranks
from spaseq.operators.event_log import EventLog
from spaseq.planner.program import Program

Ints = npt.NDArray[np.int32]


def answer_columns(
    program: Program, found: Found, evaluator: Evaluator, log: EventLog, generation: int
) -> Answers:
    """Project matches on what the query selects."""
    form = program.query.rewritten.form
    variables = program.sequence.variables
    scope: dict[str, Ints] = {name: found.slots[:, slot] for slot, name in enumerate(variables)}
    columns: dict[str, Ints] = {}
    if isinstance(form, SelectForm):
        for item in form.items:
            name = item.variable.name
            if item.expression is not None and not len(found):
                scope[name] = np.zeros(0, np.int32)
            elif item.expression is not None:
                reads = {n: scope[n] for n in expression_variables(item.expression) if n in scope}
                for node in functions_in(item.expression):
                    reads[column_name(node)] = _function(program, found, node, evaluator, log)
                scope[name] = evaluator.values(over_columns(item.expression), reads, len(found))
            columns[name] = scope[name]
    elif isinstance(form, ConstructForm):
        columns = scope
    ranks = None
    if program.query.rewritten.skip_past:
        events = [
            tuple(sorted(serial for _, serials in chain for serial in serials)) for chain in found.chains
        ]
        ranks = Ranks(found.keys, found.last, events)
    named = _events(program, found, log) if log.with_events else []
    return Answers(found.time, found.start, columns, named, generation, ranks)


def _function(
    program: Program, found: Found, node: Iterated | GpmFunction, evaluator: Evaluator, log: EventLog
) -> Ints:
    sequence = program.sequence
    if isinstance(node, GpmFunction) and node.name != "COUNT":
        events = found.told[node.gpm]
        return np.array([event_value(node.name, evaluator, log, *event) for event in events], np.int32)
    if isinstance(node, GpmFunction):
        counts = found.counters[:, sequence.counters.index(node.gpm)]
        return np.array([evaluator.encode(int(count)) for count in counts], np.int32)
    if node.name in ("FIRST", "LAST", "PREV"):
        track = sequence.track(node.name, node.variable.name)
        assert track is not None
        return found.tracks[:, track]
    bags = found.bags[sequence.slot(node.variable.name)]
    return np.array([evaluator.aggregate(node.name, node.separator, bag) for bag in bags], np.int32)


def _events(program: Program, found: Found, log: EventLog) -> list[Matched]:
    """The events of every match in step order; within a step by time, then as SEQ writes its GPMs."""
    order = {name: index for index, name in enumerate(program.query.rewritten.names)}
    rows: list[Matched] = []
    for chain in found.chains:
        taken: list[tuple[int, int, int, str, int]] = []
        for position, (choice, serials) in enumerate(chain):
            names = program.sequence.choices[choice].gpms
            for name, serial in zip(names, serials, strict=True):
                taken.append((position, order[name], serial, name, choice))
        places = log.place(np.array([serial for _, _, serial, _, _ in sorted(taken)], np.int64))
        rows.append(
            tuple(
                (
                    name,
                    int(log.streams[place]),
                    int(log.times[place]),
                    int(log.names[place]),
                    log.digests.get(serial, b""),
                )
                for (_, _, serial, name, _), place in zip(sorted(taken), places.tolist(), strict=True)
            )
        )
    return rows
