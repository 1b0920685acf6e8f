"""The public test kit: spec files, and the hosts that run them."""

from spaseq.testing.runner import Host, check, check_windows, reference_host
from spaseq.testing.specs import Case, load, load_all

__all__ = ["Case", "Host", "check", "check_windows", "load", "load_all", "reference_host"]
