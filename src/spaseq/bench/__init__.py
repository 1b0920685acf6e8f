"""The benchmark harness: declared workloads, checked answers, interleaved variants, and a report."""

from spaseq.bench.declared import Benchmark, load_all, load_benchmark
from spaseq.bench.measure import measure

__all__ = ["Benchmark", "load_all", "load_benchmark", "measure"]
