"""Kernels: what functions and operators do to columns of ids."""
