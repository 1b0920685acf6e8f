"""A stream of files that go once they were read: every event is read once, whatever happens in between."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from support.file_feed import FileFeed

STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("xyz"), st.integers(1, 3)),
        st.sampled_from(["step", "crash", "stop", "lose"]),
    ),
    max_size=14,
)
OPTIONS = st.fixed_dictionaries(
    {"cleanSource": st.sampled_from(["delete", "archive"])},
    optional={
        "maxFilesPerTrigger": st.just("1"),
        "maxBytesPerTrigger": st.sampled_from(["100", "400"]),
        "fileLog": st.just("log"),
    },
)


@given(STEPS, OPTIONS)
def test_every_event_of_files_that_come_again_and_again_is_read_once(
    steps: list[str | tuple[str, int]], options: dict[str, str]
) -> None:
    """Names are used again as soon as they are free; the query is stopped, fails after a plan or before it is noted."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = {"fileLog": str(folder / "log")} if "fileLog" in options else {}
        if options["cleanSource"] == "archive":
            paths["sourceArchiveDir"] = str(folder / "old")
        feed = FileFeed(folder, **{**options, **paths})
        put, found = 0, list[int]()
        for step in steps:
            match step:
                case (file, count):
                    if not (folder / "in" / f"{file}.nq").exists():
                        feed.put(f"{file}.nq", *range(put, put + count))
                        put += count
                case "step" | "crash":
                    found += feed.step(crash=step == "crash")
                case "stop":
                    feed.restart()
                case _:
                    feed.plan()
                    feed.restart()
        while events := feed.step():
            found += events
        assert sorted(found) == list(range(put))
        kept = [*(folder / "old").rglob("*.nq"), *(folder / "in").rglob("*.nq")]
        archived = options["cleanSource"] == "archive"
        assert not archived or sum(path.read_text().count("generatedAtTime") for path in kept) == put
