"""The output of a run on Spark: what the workers have written, merged by time, and how far that has come."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from spaseq.engine.inputs import NamedQuery
from spaseq.engine.notices import Notices, Tell, kind_of, silent
from spaseq.engine.outgoing import Outgoing
from spaseq.engine.output import Output, Writers, chosen_format
from spaseq.engine.request import RunRequest, Status
from spaseq.engine.summary import summarised
from spaseq.io.bad_input import BadInput
from spaseq.io.quarantine import QuarantineFile
from spaseq.io.sample import sampled_predicates
from spaseq.io.sources import Source, is_cut_short
from spaseq.io.written import Written
from spaseq.spark.command.run_folder import Record
from spaseq.spark.output.answer_files import merged, written_rows
from spaseq.spark.output.line_files import merged_lines, written_lines
from spaseq.spark.output.tallies import take_tallies
from spaseq.spark.shared_folder import check_arrived
from spaseq.stores import Place, files_in

ANSWERS, BAD, COUNTS = "answers", "bad", "counts"
"""Folders in which workers leave answers, bad input and what they have counted."""


class Writing:
    """The outputs of a run, for the answers of its queries and for what its rules produce, and its quarantine."""

    def __init__(
        self,
        request: RunRequest,
        names: dict[str, NamedQuery],
        outgoing: Outgoing,
        stack: ExitStack,
        record: Record | None,
        tell: Tell = silent,
    ) -> None:
        resumed, record = record is not None, record or Record()
        self.record = record
        self.notices = Notices(tell)
        self._read = request.input.read
        self._every = names
        self._names = dict(list(names.items())[: len(request.queries)])
        """The queries that were asked; what rules produce is written apart."""
        self._outs: list[Output] = []

        def writers(asked: RunRequest, path: Path | None, known: Written, written: int = 0) -> Writers:
            kept = request.checkpoint is not None
            self._outs.append(
                stack.enter_context(Output(path, kept=kept, resumed=known if resumed else None))
            )
            return Writers(
                asked.queries,
                self._outs[-1],
                chosen_format(asked),
                read=asked.input.read,
                provenance=asked.provenance,
                written=written,
                tell=tell,
            )

        self._writers = writers(request, outgoing.output, record.output, sum(record.matches.values()))
        self._rules: Writers | None = None
        if (rules := request.for_rules) is not None:
            self._rules = writers(rules, outgoing.rules, record.rules)
        self._quarantine: QuarantineFile | None = None
        if request.on_bad_input == "quarantine":
            known = record.quarantine if resumed else None
            self._quarantine = stack.enter_context(QuarantineFile(outgoing.quarantine, resumed=known))

    def take(self, folder: Place, batch: int, written: int) -> list[Place]:
        """Write the answers that tasks have left in a folder, lines or rows, and the bad input; add up what they counted.

        Tasks say that they have ``written`` so many answers. The result are the files of bad input, which may go.
        """
        answers = folder / ANSWERS
        check_arrived("answers", written, written_lines(answers) + written_rows(answers), answers)
        for piece in merged_lines(answers):
            self._outs[0].write(memoryview(piece.text))
            for number, count in piece.counts.items():
                self.record.matches[f"{number}"] = self.record.matches.get(f"{number}", 0) + count
        for name, match in merged(answers):
            query = self._every[name]
            if self._rules is not None and name not in self._names:
                self._rules.write(query.query, query.name, match)
                continue
            self._writers.write(query.query, query.name, match)
            self.record.matches[name] = self.record.matches.get(name, 0) + 1
        self._flush()
        bad = files_in(folder / BAD, f"*-{batch:06d}-*.jsonl")
        found = [json.loads(line) for file in bad for line in file.read_text(encoding="utf-8").splitlines()]
        for each in sorted(found, key=lambda each: (each["source"], each["position"])):
            kept = BadInput(**each)
            if self._quarantine is not None:
                self._quarantine.write(kept)
            if is_cut_short(kept.reason):
                self.record.incomplete.append(str(kept))
            self.notices.note(kind_of(kept.reason), str(kept))
        if self._quarantine is not None:
            self._quarantine.flush()
        counted = take_tallies(folder / COUNTS, batch)
        if self._quarantine is not None:
            check_arrived("bad events", counted["bad"] + counted["late"], len(found), folder / BAD)
        self.record.events += counted["events"]
        self.record.bad += counted["bad"]
        self.record.late += counted["late"]
        for name, count in counted.items():
            if " of " in name:
                self.record.counts[name] = self.record.counts.get(name, 0) + count
        return bad

    def sync(self) -> None:
        """Hand everything to the disk and note how much there is."""
        for out in self._outs:
            out.sync()
        self.record.output = self._outs[0].written
        if self._rules is not None:
            self.record.rules = self._outs[1].written
        if self._quarantine is not None:
            self.record.quarantine = self._quarantine.sync()

    def finish(self) -> None:
        """Write what is known at the end of a finite input, and what closes a document."""
        for name, query in self._names.items():
            if query.query.form.once and not self.record.matches.get(name):
                self._writers.no_match(query.query, query.name)
        self.close()

    def close(self) -> None:
        """Write what comes after the last match."""
        self._writers.close()
        if self._rules is not None:
            self._rules.close()
        self._flush()
        self.notices.flush()

    def _flush(self) -> None:
        for out in self._outs:
            out.flush()

    @property
    def status(self) -> Status:
        """The status of the run."""
        return self.record.status

    def summary(self, record: Record, sources: Callable[[], Sequence[Source]]) -> tuple[str, ...]:
        """What the run has read and found when it was at this record, in sentences."""
        matches = [record.matches.get(name, 0) for name in self._names]
        queries = list(self._names.values())
        found = summarised(queries, record.counts, matches, bad=record.bad, late=record.late)
        present: frozenset[str] = frozenset()
        if found.wants_sample:
            present = sampled_predicates(sources(), self._read)
        return tuple(found.lines(present))

    @property
    def answered(self) -> bool:
        """True if nothing more can come of any query; rules never have all of their answers."""
        return self._rules is None and all(
            q.query.form.complete(self.record.matches.get(n, 0)) for n, q in self._names.items()
        )
