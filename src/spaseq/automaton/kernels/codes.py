"""Results of conditions and outcomes of steps as numbers."""

NO, YES, UNSURE, ERROR = 0, 1, 2, 3
"""Verdicts; ERROR exists only inside a condition and counts as NO at its end."""

DONE, NEEDS_VERDICT, NEEDS_ROOM, SLICED = 0, 1, 2, 3
"""Why `advance` came back: all rows done, the evaluator must decide, the arrays are full, or a slice of work is done."""

BEGINS, RECALLS = -1, -2
"""Candidates that have no run yet."""
