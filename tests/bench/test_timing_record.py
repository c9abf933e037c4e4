"""bench.jsonl: what is written is read again, and other lines are reported with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.timings import row

from bitgate.results.record.event import RecordError
from bitgate.results.record.timing import Timing, TimingStatus, timings, write

SAMPLES = st.lists(st.tuples(st.floats(0, 10, exclude_min=True), st.integers(0, 50)), min_size=1, max_size=5)


@given(
    SAMPLES, st.text(max_size=20), st.sampled_from(TimingStatus), st.dictionaries(st.text(max_size=5), st.integers())
)
def test_a_row_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    samples: list[tuple[float, int]],
    name: str,
    status: TimingStatus,
    settings: dict[str, int],
) -> None:
    file = tmp_path_factory.mktemp("rows") / "bench.jsonl"
    one = row(
        "A",
        [seconds for seconds, _ in samples],
        rounds=tuple(place for _, place in samples),
        name=name.encode("utf-8", "ignore").decode(),
        status=status,
        settings=settings,
        clocks={"sm_mhz": (900.0, 1980.0)},
        options={"flat_path_gate": "off"},
    )
    write(file, one)
    write(file, one)
    assert list(timings(file)) == [one, one]
    assert one.key.options == (("flat_path_gate", "off"),)


def lines_of(tmp_path: Path, *rows: Timing) -> Path:
    for one in rows:
        write(tmp_path / "bench.jsonl", one)
    return tmp_path / "bench.jsonl"


def test_a_last_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    file = lines_of(tmp_path, row("A", [1e-3]), row("B", [1e-3]))
    data = file.read_bytes()
    for end in range(data.index(b"\n") + 1, len(data) - 1):
        file.write_bytes(data[:end])
        assert [one.side for one in timings(file)] == ["A"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"schema": 7}, "schema 7, not 1: written by another version of bitgate"),
        ({"rounds": [0, 1]}, "1 samples of 2 rounds"),
        ({"status": "guessed"}, "Invalid enum value 'guessed'"),
        ({"case": "../../etc"}, "Expected .str. matching regex"),
        ({"seconds": [], "rounds": []}, "timed, without a sample"),
        ({"verdict": "MISMATCH"}, "timed, and its verdict is MISMATCH"),
        ({"seconds": [0.0]}, "timed, without a sample or with one of 0 s"),
        ({"seconds": [-1.0]}, "Expected .float. >= 0"),
        ({"seconds": ["fast"]}, "Expected .float., got .str."),
    ],
)
def test_a_line_that_is_no_timing_is_told_with_its_place(tmp_path: Path, change: dict[str, object], why: str) -> None:
    file = lines_of(tmp_path, row("A", [1e-3]), row("B", [1e-3]))
    first, second = file.read_text().splitlines()
    file.write_text(f"{first}\n{json.dumps(json.loads(second) | change)}\n")
    with pytest.raises(RecordError, match=f"bench.jsonl:2: not a timing: .*{why}"):
        list(timings(file))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"bench.jsonl: no such file"):
        list(timings(tmp_path / "bench.jsonl"))


def test_fields_of_a_later_bitgate_are_read_over(tmp_path: Path) -> None:
    file = lines_of(tmp_path, row("A", [1e-3]))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"weather": "cold"}) + "\n")
    assert [one.side for one in timings(file)] == ["A"]


def test_attempts_at_the_same_have_one_identity() -> None:
    one, other = row("A", [1e-3]), row("A", [2e-3], status=TimingStatus.FAILED)
    assert one.identity == other.identity
    assert one.identity != row("B", [1e-3]).identity
    assert one.identity != row("A", [1e-3], build="0123abc").identity
