"""Event streams to run queries on: made from a seed, or read from the real data sets of the use cases."""
