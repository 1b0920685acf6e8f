"""What tasks have counted, in files beside the results: they are there when a micro-batch is done, and a task that is
done again writes the same file. Spark's own metrics come later, by another way, and are lost with the driver.
"""

from __future__ import annotations

import json
from collections import Counter

from spaseq.spark.shared_folder import SharedFolder
from spaseq.stores import Place, write_whole


def write_tally(folder: SharedFolder, name: str, counted: dict[str, int]) -> None:
    """Keep what a task has counted; its name says which micro-batch it belongs to: ``read-0-000003-00001``."""
    write_whole(folder.checked() / f"{name}.json", json.dumps(counted))


def take_tallies(folder: Place, batch: int = 0) -> Counter[str]:
    """The sums over all tasks of a micro-batch; the files go."""
    found: Counter[str] = Counter()
    for path in folder.glob(f"*-{batch:06d}-*.json"):
        found.update(json.loads(path.read_text(encoding="utf-8")))
        path.unlink()
    return found
