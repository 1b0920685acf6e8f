"""Run the properties with fresh seeds for some time, over default, small and mixed settings: `make fuzz SECONDS=600`.

Each round has its own seed. A failure ends the script with status 1, after the command that repeats it.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

from spaseq.settings import SMALL, THRESHOLDS, VARIABLE, Settings

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("tests/properties", "tests/hosts/test_random.py")


def chosen(chance: random.Random, number: int) -> str:
    """The settings of a round: the defaults, all small, then a mix of both."""
    if number % 3 < 2:
        return (SMALL, "")[number % 3]
    small = {field.name: field.metadata["small"] for field in fields(Settings)}
    return ",".join(f"{name}={small[name]}" for name in THRESHOLDS if chance.random() < 0.5)


def one_round(seed: int, settings: str, seconds: float, tests: list[str]) -> bool:
    """Run the properties once; False if one failed. At the end of the time the round is broken off."""
    given = {"HYPOTHESIS_PROFILE": "fuzz", "SPASEQ_FUZZ_SEED": str(seed), VARIABLE: settings}
    command = ["-m", "pytest", "-q", f"--hypothesis-seed={seed}"]
    process = subprocess.Popen(
        [sys.executable, *command, "-x", "-n", "2", *tests],
        cwd=ROOT,
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=max(seconds, 1))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    if process.returncode == 0:
        return True
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", text, re.MULTILINE)
    print(text)
    print("To repeat it:")
    environment = " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
    for test in failed or tests:
        print(f"  {environment} .venv/bin/python {' '.join(command)} {shlex.quote(test)}")
    print("Write what it found as a case of tests/spec, or as an @example of the property, then mend it.")
    return False


def main() -> None:
    """``fuzz.py SECONDS [TEST…]``."""
    seconds, tests = float(sys.argv[1]), sys.argv[2:] or list(TESTS)
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        seed = random.SystemRandom().randrange(2**32)
        settings = chosen(random.Random(seed), number)
        print(f"round {number + 1}: seed {seed}, {VARIABLE}={settings or '(defaults)'}", flush=True)
        if not one_round(seed, settings, end - time.monotonic(), tests):
            raise SystemExit(1)
        number += 1
    print(f"{number} rounds, the last one perhaps broken off: nothing failed")


if __name__ == "__main__":
    main()
