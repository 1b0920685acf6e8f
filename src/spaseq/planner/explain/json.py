"""The plan as JSON: the fields of `Explanation`, by their names, in their order."""

from __future__ import annotations

import json
from dataclasses import asdict

from spaseq.planner.explain.facts import Explanation


def to_json(facts: Explanation) -> str:
    """One JSON object, indented, with a final newline."""
    return json.dumps(asdict(facts), ensure_ascii=False, indent=2) + "\n"
