"""The reference implementation: semantics 1 and 3 as short, slow, obvious Python. It is never optimised, and always shipped.

Read it beside the page: `sequence` is 1.3 to 1.6, `windows` is 1.8, `partitions` is 1.9, `answers` is
1.10, `sparql` is 1.2 with pyoxigraph doing the graph patterns. `contents` is 3.2, `evaluations` 3.4, `continuous` 3.3 and 3.5.
"""

from spaseq.reference.answers import answers

__all__ = ["answers"]
