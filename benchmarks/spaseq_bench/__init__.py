"""The benchmark harness: declared workloads, checked answers, interleaved variants, and a report."""

from spaseq_bench.declared import Benchmark, load_all, load_benchmark
from spaseq_bench.measure import measure

__all__ = ["Benchmark", "load_all", "load_benchmark", "measure"]
