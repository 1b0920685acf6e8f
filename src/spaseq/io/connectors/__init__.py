"""Sources of events that are no files, one module for each scheme in ``--stream NAME=scheme:address``."""
