"""The public test kit: spec files, the hosts that run them, and the comparison of their matches."""

from spaseq.testing.comparison import comparable
from spaseq.testing.runner import Host, check, check_windows, reference_host
from spaseq.testing.specs import Case, load, load_all

__all__ = ["Case", "Host", "check", "comparable", "check_windows", "load", "load_all", "reference_host"]
