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
from spaseq.spark.output.line_files import TaskLines, merged_lines, written_lines
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


def task(folder: Path, number: int = 0, name: str | None = None) -> TaskLines:
    """A task that writes the answers of two queries into a folder."""
    return TaskLines(SharedFolder.made(folder), f"000000-{number:05d}", (name, name))


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
    total = [0, 0]
    for number in range(2):
        lines_of = task(tmp_path, number)
        for bucket in range(3):
            for query in range(2):
                taker = lines_of.taker(query, bucket)
                for _ in range(4):
                    times = [1_000_000 * chance.randrange(20) for _ in range(chance.randrange(1, 30))]
                    terms = [chance.randrange(1, 51) for _ in times]
                    list(taker.take(answers(times, terms, dictionary), dictionary))
                    total[query] += len(times)
                list(taker.close())
        lines_of.close()
    lines = written(tmp_path)
    assert len(lines) == sum(total) == written_lines(tmp_path)
    files = len(list(tmp_path.glob("*.arrow")))
    assert files >= {1: sum(total) / 7, 1000: 5}.get(size, 4)
    assert files == 4 or size < 1 << 24, "one for each query of a task"
    assert [second(line) for line in lines] == sorted(second(line) for line in lines)
    counts = [piece.counts for piece in merged_lines(tmp_path)]
    assert [sum(each.get(query, 0) for each in counts) for query in range(2)] == total
    assert not list(tmp_path.glob("*.arrow"))


def test_the_output_grows_by_what_the_files_give_back(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """While lines are merged, those merged already take no place on the disk."""
    change_settings(line_piece=10, line_file_bytes=1)
    dictionary = TermDictionary(['"x"'])
    lines = task(tmp_path)
    taker = lines.taker(0, 0)
    list(taker.take(answers(list(range(1000)), [1] * 1000, dictionary), dictionary))
    list(taker.close())
    lines.close()
    left = [len(list(tmp_path.glob("*.arrow"))) for _ in merged_lines(tmp_path)]
    assert len(left) == 100
    assert all(files <= 100 - number for number, files in enumerate(left))


def test_a_task_that_is_done_again_replaces_what_it_wrote(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """One that was cut off has written nothing that anybody sees, files or not."""
    dictionary = TermDictionary(['"x"'])
    for size in (1, 1 << 24):
        change_settings(line_file_bytes=size)
        cut_off = task(tmp_path).taker(0, 0)
        list(cut_off.take(answers([1, 2], [1, 1], dictionary), dictionary))
        list(cut_off.close())
        assert written(tmp_path) == []
    for _ in range(2):
        lines = task(tmp_path, name="q")
        taker = lines.taker(0, 0)
        list(taker.take(answers([1, 2], [1, 1], dictionary), dictionary))
        list(taker.close())
        lines.close()
    assert len(written(tmp_path)) == 2
    assert written(tmp_path)[0].startswith(b'{"query":"q","time":')


@pytest.mark.parametrize("size", [1, 1 << 24])
def test_of_two_attempts_at_a_task_one_counts_as_a_whole(
    tmp_path: Path, size: int, change_settings: Callable[..., None]
) -> None:
    """They may cut their lines into files differently; nothing of one is mixed with the other."""
    change_settings(line_file_bytes=size)
    dictionary = TermDictionary(['"x"'])
    first, second_ = task(tmp_path), task(tmp_path)
    one, other = first.taker(0, 0), second_.taker(0, 0)
    for times in ([5], [3], [1]):
        list(one.take(answers(times, [1], dictionary), dictionary))
    list(other.take(answers([1, 3, 5], [1, 1, 1], dictionary), dictionary))
    list(one.close())
    first.close()
    assert len(written(tmp_path)) == 3
    list(other.close())
    second_.close()
    assert len(written(tmp_path)) == 3


@pytest.mark.parametrize("promoted", [False, True])
def test_blank_nodes_leave_without_the_mark_of_their_worker(tmp_path: Path, promoted: bool) -> None:
    """As the other engine prints them."""
    dictionary = TermDictionary(['"x"', "_:b-e0123456789abcdef-t0x3"])
    if promoted:
        dictionary.promote()
    lines = task(tmp_path)
    taker = lines.taker(0, 0)
    list(taker.take(answers([1, 2, 3], [1, 2, 0], dictionary), dictionary))
    list(taker.close())
    lines.close()
    found = written(tmp_path)
    assert b'"b-e0123456789abcdef"' in found[1]
    assert found[2].endswith(b'"bindings":{}}')
