"""The question of the RSEP-QL paper on the bundled network, against plain Python over the same events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import spaseq

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "social"
HOUR = timedelta(hours=1)
Said = tuple[datetime, str, str, str]


def said() -> list[Said]:
    """What the events say, in order."""
    text = (FOLDER / "network.trig").read_text(encoding="utf-8")
    return [
        (datetime.fromisoformat(time), subject, verb, about)
        for time, subject, verb, about in re.findall(
            r'Time "(\S+)"\^\^.*\nGRAPH \S+ \{ :(\w+) :(\w+) :(\w+) \}', text
        )
    ]


def followers() -> dict[str, int]:
    """How many followers each user has."""
    text = (FOLDER / "profiles.ttl").read_text(encoding="utf-8")
    return {user: int(many) for user, many in re.findall(r":(\w+) :followers (\d+)", text)}


def popular_followers() -> Iterator[tuple[datetime, str, str, str, int]]:
    """At every event what holds now and did not hold at the event before."""
    events, known = said(), followers()
    before: set[tuple[str, ...]] = set()
    for now, *_ in events:
        held = [each for each in events if now - HOUR < each[0] <= now]
        mentions = [about for _, _, verb, about in held if verb == "mentions"]
        found = {
            (author, post, follower, str(mentions.count(follower)), str(posted), str(followed))
            for posted, author, verb, post in held
            if verb == "posted"
            for followed, follower, other, about in held
            if other == "follows" and about == author and followed > posted
            if mentions.count(follower) >= 2 and known[follower] >= 1000
        }
        for author, post, follower, many, *_times in sorted(found - before):
            yield now, author, post, follower, int(many)
        before = found


def test_a_post_then_a_popular_follower() -> None:
    """The sequence, the mentions of the last hour and the profiles together give what plain Python gives."""
    query = spaseq.compile(
        (FOLDER / "popular-follower.rsepql").read_text(encoding="utf-8"), language="rsepql"
    )
    graphs = {"http://example.org/social#profiles": FOLDER / "profiles.ttl"}
    matches = spaseq.run(query, {"network": FOLDER / "network.trig"}, knowledge=graphs)
    found = [
        (match.time, *(str(match.bindings[name].value).rpartition("#")[2] for name in ("author", "post", "follower")),
         match.values["mentions"])
        for match in matches
    ]  # fmt: skip
    assert found == list(popular_followers())
    assert len(found) == 4
