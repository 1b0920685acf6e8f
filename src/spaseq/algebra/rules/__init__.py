"""Rewrite rules: one law per file, each a function from query to query that keeps its answers."""

from spaseq.algebra.rules.rewrite import RULES, Rule, rewrite

__all__ = ["RULES", "Rule", "rewrite"]
