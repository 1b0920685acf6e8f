"""Queries with mistakes: those of the specs and examples, damaged at random."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import spaseq
from spaseq.testing import load_all

LONGEST = 20.0
"""Seconds of CPU that compiling one query may take."""
TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)


def corpus(root: Path) -> list[str]:
    """The texts that are damaged."""
    examples = [file.read_text(encoding="utf-8") for file in sorted((root / "examples").rglob("*.spaseq"))]
    return [*examples, *(case.query for case in load_all(root / "tests" / "spec"))]


def damaged(chance: random.Random, texts: list[str]) -> str:
    """One text with a few tokens dropped, doubled, swapped or taken from another one."""
    tokens = TOKEN.findall(chance.choice(texts))
    others = TOKEN.findall(chance.choice(texts))
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(tokens) + 1)
        match chance.randrange(5):
            case 0:
                del tokens[at : at + chance.randint(1, 4)]
            case 1:
                tokens[at:at] = tokens[at : at + chance.randint(1, 20)]
            case 2:
                first = chance.randrange(len(others))
                tokens[at:at] = others[first : first + chance.randint(1, 20)]
            case 3:
                other = chance.randrange(len(tokens) + 1)
                tokens[at : at + 1], tokens[other : other + 1] = (
                    tokens[other : other + 1],
                    tokens[at : at + 1],
                )
            case _:
                tokens.insert(
                    at, chance.choice([*'{}()[]<>"\\?:;,&|+*!.^@#', "\0", "\ud7ff", "é", "9" * 400])
                )
    return "".join(tokens)


def mutated_queries(root: Path, count: int, seed: int) -> Iterator[tuple[str, str] | None]:
    """For every query None, or what it is and what is wrong with how it was answered."""
    texts = corpus(root)
    for number in range(seed, seed + count):
        text = damaged(random.Random(number), texts)
        begun = time.process_time()
        try:
            spaseq.compile(text)
        except spaseq.QueryError:
            pass
        except Exception as error:  # noqa: BLE001 - that there is no other is the claim
            yield f"query {number}", f"{type(error).__name__}: {error}"
            continue
        took = time.process_time() - begun
        yield (f"query {number}", f"compiled for {took:.1f} s") if took > LONGEST else None
