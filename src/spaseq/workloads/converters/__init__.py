"""Real data sets as streams and background graphs, one module for each use case."""
