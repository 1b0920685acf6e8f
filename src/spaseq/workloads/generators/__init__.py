"""Streams made from a seed, one module for each workload."""
