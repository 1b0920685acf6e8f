"""The public test kit: spec files, the hosts that run them, and the comparison of their matches."""

from spaseq.testing.comparison import comparable
from spaseq.testing.runner import Host, check, reference_host
from spaseq.testing.specs import Case, load, load_all

__all__ = ["Case", "Host", "check", "comparable", "load", "load_all", "reference_host"]
