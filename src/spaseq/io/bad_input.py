"""Bad input as values: a reason, a place and an excerpt, handed to a policy and counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, get_args

from spaseq.errors import InvalidArgument, SpaseqError, described

Policy: TypeAlias = Literal["fail", "skip", "quarantine"]
"""What to do with bad input (docs/reference/cli.md, ``--on-bad-input``)."""

POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)

Unit: TypeAlias = Literal["line", "byte", "event", "frame"]
"""What a position counts: lines, events and frames from 1, bytes from 0."""

Fault: TypeAlias = Literal["", "no timestamp", "no graph", "two timestamps", "one end", "two ends"]
"""What is wrong with the timestamp of a graph; empty for all other bad input."""

EXCERPT: Final = 200
"""How many characters of the offending text are kept."""


@dataclass(frozen=True, slots=True)
class BadInput:
    """One piece of input that is no event: why, where, and how it begins.

    ``fault`` and ``graph`` tell what the layout of a file is judged by (`spaseq.io.layouts`).
    """

    reason: str
    source: str
    position: int
    unit: Unit = "line"
    text: str = ""
    fault: Fault = ""
    graph: str = ""
    time: str = ""
    """When a late event took place, which can be read but is not wanted any more."""
    carried: Mapping[str, str] | None = None
    """Columns of its row that the user wants to see again."""

    def __str__(self) -> str:
        where = (
            f"{self.source}:{self.position}"
            if self.unit == "line"
            else f"{self.source}, {self.unit} {self.position}"
        )
        return f"{where}: {self.reason}"

    def to_json(self) -> str:
        """One line of a quarantine file."""
        fields = {
            "reason": self.reason,
            "source": self.source,
            "position": self.position,
            "unit": self.unit,
            "text": self.text,
            **({"time": self.time} if self.time else {}),
            **({} if self.carried is None else {"carried": dict(self.carried)}),
        }
        return json.dumps(fields, ensure_ascii=False)


OnBad: TypeAlias = Callable[[BadInput], None]


class BadInputError(SpaseqError):
    """Bad input under the policy ``fail``, which the argument ``option`` has chosen unless another ``cure`` is told."""

    def __init__(self, bad: BadInput, option: str = "on_bad_input", cure: str = "") -> None:
        self.bad = bad
        cure = cure or f'`{option}="skip"` or "quarantine" goes on without it'
        super().__init__(f"bad input: {bad}\nhelp: {cure}")


class Quarantine(Protocol):
    """Where bad input is kept."""

    def write(self, bad: BadInput) -> None:
        """Keep one piece of bad input."""


def checked_policy(policy: object) -> Policy:
    """A policy the user named."""
    found = next((known for known in POLICIES if isinstance(policy, str) and known == policy), None)
    if found is None:
        raise InvalidArgument(
            f"{described(policy)} is not a policy for bad input; use one of {', '.join(POLICIES)}"
        )
    return found


class BadInputHandler:
    """Applies a policy to bad input and counts it; pass it as ``on_bad``."""

    __slots__ = ("_quarantine", "count", "policy")

    def __init__(self, policy: Policy = "fail", quarantine: Quarantine | None = None) -> None:
        self.policy = checked_policy(policy)
        if policy == "quarantine" and quarantine is None:
            raise InvalidArgument("the policy `quarantine` needs a place to keep bad input")
        self.count = 0
        self._quarantine = quarantine

    def __call__(self, bad: BadInput) -> None:
        """Fail, count, or keep and count."""
        self.count += 1
        if self.policy == "fail":
            raise BadInputError(bad)
        if self.policy == "quarantine" and self._quarantine is not None:
            self._quarantine.write(bad)


def fail(bad: BadInput) -> None:
    """The strictest policy: any bad input ends the run."""
    raise BadInputError(bad)


def excerpt(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= EXCERPT else text[: EXCERPT - 3] + "..."
