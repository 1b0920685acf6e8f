"""Lines that workers write and the driver merges: all of them, by time, none twice."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from spaseq.model.dictionary import TermDictionary
from spaseq.operators.answers import Answers
from spaseq.spark.output.line_files import AnswerLines, merged_lines, written_lines
from spaseq.spark.shared_folder import SharedFolder


def answers(times: list[int], terms: list[int], dictionary: TermDictionary) -> Answers:
    """One variable and no events."""
    instants = np.array(times, np.int64)
    return Answers(instants, instants - 1, {"v": np.array(terms, np.int32)}, [], dictionary.generation)


def written(folder: Path) -> list[bytes]:
    """The lines as they would be merged now; merging uses files up, so it gets a copy."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        return b"".join(bytes(piece.text) for piece in merged_lines(Path(copy))).splitlines()


def second(line: bytes) -> str:
    """The time that stands first in a line."""
    return line.decode().split('"')[3]


@pytest.mark.parametrize("size", [1, 1000, 1 << 24])
@pytest.mark.parametrize("promoted", [False, True])
def test_many_files_become_one_in_order_of_time(
    tmp_path: Path, promoted: bool, size: int, change_settings: Callable[..., None]
) -> None:
    """Whatever the pieces are: every line once, by time, and counted by its query; no file is left."""
    change_settings(line_piece=7, line_file_bytes=size)
    dictionary = TermDictionary([f'"{i}"' for i in range(50)])
    if promoted:
        dictionary.promote()
    chance = random.Random(5)
    total = 0
    for bucket in range(3):
        for query in range(2):
            taker = AnswerLines(SharedFolder.made(tmp_path), f"000000-{bucket:05d}-{query:05d}", None)
            for _ in range(4):
                times = [1_000_000 * chance.randrange(20) for _ in range(chance.randrange(1, 30))]
                list(
                    taker.take(
                        answers(times, [chance.randrange(1, 51) for _ in times], dictionary), dictionary
                    )
                )
                total += len(times)
            list(taker.close())
    lines = written(tmp_path)
    assert len(lines) == total == written_lines(tmp_path)
    assert len(list(tmp_path.glob("*.arrow"))) >= (6 if size > 1 else total / 7)
    assert [second(line) for line in lines] == sorted(second(line) for line in lines)
    counts = [piece.counts for piece in merged_lines(tmp_path)]
    assert sum(sum(each.values()) for each in counts) == total
    assert {query for each in counts for query in each} == {0, 1}
    assert not list(tmp_path.glob("*.arrow"))


def test_the_output_grows_by_what_the_files_give_back(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """While lines are merged, those merged already take no place on the disk."""
    change_settings(line_piece=10, line_file_bytes=1)
    dictionary = TermDictionary(['"x"'])
    taker = AnswerLines(SharedFolder.made(tmp_path), "000000-00000-00000", None)
    list(taker.take(answers(list(range(1000)), [1] * 1000, dictionary), dictionary))
    list(taker.close())
    left = [len(list(tmp_path.glob("*.arrow"))) for _ in merged_lines(tmp_path)]
    assert len(left) == 100
    assert all(files <= 100 - number for number, files in enumerate(left))


def test_a_task_that_is_done_again_replaces_what_it_wrote(tmp_path: Path) -> None:
    """One that was cut off has written nothing that anybody sees."""
    dictionary = TermDictionary(['"x"'])
    list(
        AnswerLines(SharedFolder.made(tmp_path), "000000-00000-00000", None).take(
            answers([1, 2], [1, 1], dictionary), dictionary
        )
    )
    assert written(tmp_path) == []
    for _ in range(2):
        taker = AnswerLines(SharedFolder.made(tmp_path), "000000-00000-00000", "q")
        list(taker.take(answers([1, 2], [1, 1], dictionary), dictionary))
        list(taker.close())
    assert len(written(tmp_path)) == 2
    assert written(tmp_path)[0].startswith(b'{"query":"q","time":')


def test_of_two_attempts_at_a_task_one_counts_as_a_whole(tmp_path: Path) -> None:
    """They may cut their lines into files differently; nothing of one is mixed with the other."""
    dictionary = TermDictionary(['"x"'])
    first, second_ = (AnswerLines(SharedFolder.made(tmp_path), "000000-00000-00000", None) for _ in range(2))
    for times in ([5], [3], [1]):
        list(first.take(answers(times, [1], dictionary), dictionary))
    list(second_.take(answers([1, 3, 5], [1, 1, 1], dictionary), dictionary))
    list(first.close())
    assert len(written(tmp_path)) == 3
    list(second_.close())
    assert len(written(tmp_path)) == 3


@pytest.mark.parametrize("promoted", [False, True])
def test_blank_nodes_leave_without_the_mark_of_their_worker(tmp_path: Path, promoted: bool) -> None:
    """As the other engine prints them."""
    dictionary = TermDictionary(['"x"', "_:b-e0123456789abcdef-t0x3"])
    if promoted:
        dictionary.promote()
    taker = AnswerLines(SharedFolder.made(tmp_path), "000000-00000-00000", None)
    list(taker.take(answers([1, 2, 3], [1, 2, 0], dictionary), dictionary))
    list(taker.close())
    lines = written(tmp_path)
    assert b'"b-e0123456789abcdef"' in lines[1]
    assert lines[2].endswith(b'"bindings":{}}')
