"""The public test kit: spec files, and the hosts that run them."""

from spaseq.testing.runner import Host, check, reference_host
from spaseq.testing.specs import Case, load, load_all

__all__ = ["Case", "Host", "check", "load", "load_all", "reference_host"]
