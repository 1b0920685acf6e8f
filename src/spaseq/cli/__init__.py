"""The command line: one file per verb."""

from spaseq.cli.main import main

__all__ = ["main"]
