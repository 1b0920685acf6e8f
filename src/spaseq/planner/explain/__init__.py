"""The explanation of a compiled query, one module per format."""

from spaseq.planner.explain.facts import Explanation, explanation
from spaseq.planner.explain.render import FORMATS, explain

__all__ = ["FORMATS", "Explanation", "explain", "explanation"]
