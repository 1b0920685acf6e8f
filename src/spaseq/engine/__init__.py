"""The embedded host: the same Program in this process."""

from spaseq.engine.embedded import Engine, Metrics

__all__ = ["Engine", "Metrics"]
