"""A process that measures: it takes jobs and orders on standard input and answers on standard output, line by line.

    {"prepare": 3, "job": {…}}   ->   {"ready": 3}
    {"go": 3}                    ->   {"cpu": …, "wall": …, …}   or   {"error": "…"}

Peers in other environments use the same protocol; see `spaseq_bench.peers`.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import TextIO

from spaseq_bench.tasks import ENDED, Round, prepare


def serve(orders: TextIO, answers: TextIO) -> None:
    """Obey until the orders end."""
    rounds: dict[int, Round] = {}
    for line in orders:
        order = json.loads(line)
        try:
            if "prepare" in order:
                rounds[order["prepare"]] = prepare(order["job"])
                answer = {"ready": order["prepare"]}
            else:
                ENDED.clear()
                gc.collect()  # garbage of another cell is not this cell's cost
                answer = dict(rounds[order["go"]]())
        except Exception as error:  # noqa: BLE001 - any error is reported to the harness
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    replies, sys.stdout = sys.stdout, sys.stderr  # nothing else may stand among the answers
    serve(sys.stdin, replies)
