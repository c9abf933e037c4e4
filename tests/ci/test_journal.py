"""The journal of a night: whatever is left of it is the state of a night that can go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.core.errors import UsageError
from bitgate.lab.ci.journal import (
    JOURNAL,
    AttemptEnded,
    AttemptSubmitted,
    Event,
    Journal,
    NightFinished,
    NightPlanned,
    NightState,
    ShardSettled,
    read,
    replay,
)
from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.shard import Shard

SHARDS = (("host", "1/2", 7), ("host", "2/2", 6), ("gfx942", "1/1", 13))
PLANNED = NightPlanned("night-1", "p1", "/owner", "local", 2, {"a": "b"}, ("--tier=smoke",), {"A": "1"}, SHARDS)
FIRST = ("host", Shard(1, 2))

_OVER = [state for state in TaskState if state.over]


@st.composite
def _nights(draw: st.DrawFn) -> list[Event]:
    """What controllers write, one after another: an attempt ends after it was submitted, and is settled after that."""
    events: list[Event] = [PLANNED]
    for _ in range(draw(st.integers(0, 12))):
        target, shard, _ = draw(st.sampled_from(SHARDS))
        progress = replay(events).shards[target, Shard.parse(shard)]
        last = progress.last.number if progress.last else 0
        if progress.open:
            events.append(AttemptEnded(target, shard, last, draw(st.sampled_from(_OVER)), 0, "n1"))
        elif draw(st.booleans()):
            events.append(
                AttemptSubmitted(target, shard, last + 1, f"h{last + 1}", draw(st.sampled_from(["", "lost"])))
            )
        elif last:
            events.append(ShardSettled(target, shard, last, draw(st.sampled_from(["", "sick"]))))
        else:
            events.append(NightFinished(draw(st.integers(0, 3))))
    return events


def test_a_night_is_what_its_events_add_up_to() -> None:
    night = replay(
        [
            PLANNED,
            AttemptSubmitted("host", "1/2", 1, "h1"),
            AttemptEnded("host", "1/2", 1, TaskState.LOST, node="n1", reason="killed"),
            AttemptSubmitted("host", "1/2", 2, "h2", "killed"),
        ]
    )
    progress = night.shards[FIRST]
    assert [attempt.number for attempt in progress.attempts] == [1, 2]
    assert progress.attempts[0].status == TaskStatus(TaskState.LOST, None, "n1", "killed")
    assert progress.open == progress.last
    assert progress.settled is None
    assert night.shards["gfx942", Shard(1, 1)].attempts == ()


def test_what_was_given_up_may_be_taken_up_again() -> None:
    events: list[Event] = [
        PLANNED,
        AttemptSubmitted("host", "1/2", 1, "h1"),
        AttemptEnded("host", "1/2", 1, TaskState.CANCELLED),
        ShardSettled("host", "1/2", 1, "interrupted"),
    ]
    assert replay(events).shards[FIRST].settled == "interrupted"
    assert replay([*events, AttemptSubmitted("host", "1/2", 2, "h2")]).shards[FIRST].settled is None


@given(_nights())
def test_a_journal_told_twice_says_nothing_new(events: list[Event]) -> None:
    assert replay([*events, *events]) == replay(events)


@given(_nights(), st.data())
def test_any_prefix_of_a_journal_resumes_to_the_same_night(events: list[Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(events)))
    assert replay(events[cut:], replay(events[:cut])) == replay(events)


@given(_nights())
def test_one_attempt_of_a_shard_is_open_and_attempts_count_up(events: list[Event]) -> None:
    for progress in replay(events).shards.values():
        numbers = [attempt.number for attempt in progress.attempts]
        assert numbers == sorted(set(numbers))
        assert progress.open in (None, progress.last)


@given(_nights(), st.data())
def test_a_file_cut_anywhere_is_a_beginning_and_is_gone_on_with(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("night")
    journal = Journal(folder)
    for event in events:
        journal.add(event)
    assert read(journal.path) == events
    whole = journal.path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    journal.path.write_bytes(whole[:cut])
    left = whole[:cut].count(b"\n")
    again = Journal(folder)
    assert again.night == replay(events[:left])
    again.add(NightFinished(1))
    assert read(journal.path) == [*events[:left], NightFinished(1)]


def test_no_file_is_a_night_before_its_first_event(tmp_path: Path) -> None:
    assert Journal(tmp_path).night == NightState()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not JSON"),
        ('{"event": "danced"}', "Invalid value 'danced'"),
        ('{"event": "submitted", "target": "../..", "shard": "1/1", "attempt": 1, "handle": "h"}', "target"),
        ('{"event": "ended", "target": "host", "shard": "1/1", "attempt": 1, "state": "dead"}', "state"),
    ],
)
def test_a_damaged_line_is_named_with_its_number(tmp_path: Path, line: str, why: str) -> None:
    journal = Journal(tmp_path)
    journal.add(PLANNED)
    journal.path.write_text(journal.path.read_text() + line + "\n")
    with pytest.raises(UsageError, match=why) as caught:
        Journal(tmp_path)
    assert f"{JOURNAL}:2: " in str(caught.value)
