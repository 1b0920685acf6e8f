"""The two stages on a worker: graph patterns per event before the shuffle, sequences per bucket after it."""
