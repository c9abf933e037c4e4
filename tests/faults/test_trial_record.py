"""A run over hundreds of faults takes an hour: what was tried stands in a file, and is not tried again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bitgate.cli import main
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.tools.faults.fault import Fault
from bitgate.tools.faults.trial import Trial, TrialSetup, try_faults
from bitgate.tools.faults.trial_record import TrialRecord

FOUND = Trial(
    Fault("tail_dropped", "an old bug", "kernels/a.hpp", "<=", "<", "k_tail"),
    valid=True,
    killed=True,
    by="suites/a/test_a.py::test_bits[one]",
    verdict="MISMATCH",
    kinds=("k_tail", "zero"),
    sentence="the last 5 terms are missing",
    seconds=3.25,
)
HOLE = replace(FOUND, fault=Fault("nothing", "nothing", "kernels/a.hpp", "a", "a "), killed=False, by="", note="a hole")


def record(path: Path, tier: str = "smoke", commit: str = "c0ffee") -> TrialRecord:
    return TrialRecord(path, tier, "host", commit)


def test_what_was_tried_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    for trial in (FOUND, HOLE):
        record(path).add(trial)
    assert record(path).known([FOUND.fault, HOLE.fault]) == {"tail_dropped": FOUND, "nothing": HOLE}


def test_a_fault_that_was_changed_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    record(path).add(FOUND)
    assert record(path).known([replace(FOUND.fault, replace="==")]) == {}


def test_a_line_that_was_cut_was_not_tried(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    record(path).add(FOUND)
    record(path).add(HOLE)
    path.write_bytes(path.read_bytes()[:-9])
    assert list(record(path).known([FOUND.fault, HOLE.fault])) == ["tail_dropped"]
    record(path).add(HOLE)
    assert len(record(path).known([FOUND.fault, HOLE.fault])) == 2


@pytest.mark.parametrize(("tier", "commit"), [("regression", "c0ffee"), ("smoke", "facade")])
def test_a_record_of_another_run_is_refused(tmp_path: Path, tier: str, commit: str) -> None:
    path = tmp_path / "faults.jsonl"
    record(path).add(FOUND)
    with pytest.raises(UsageError, match="give another --record"):
        record(path, tier, commit).known([FOUND.fault])


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    path.write_text('{"schema": 1}\n')
    with pytest.raises(UsageError, match=r"not a record of `bitgate faults run --record`"):
        record(path).known([FOUND.fault])


def test_only_the_others_are_tried(tmp_path: Path) -> None:
    """A fault that says that it cannot even be planted would be refused if it were tried."""
    bench = TrialSetup("smoke", "host", 300, replace(ours(), root=tmp_path))
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.hpp").write_text("a")
    reported: list[Trial] = []
    assert try_faults([HOLE.fault], bench, reported.append, {HOLE.fault.name: HOLE}) == (HOLE,)
    assert not reported


@pytest.mark.parametrize("command", ["run", "mutate"])
def test_a_record_that_cannot_be_written_is_named_before_the_first_trial(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").touch()
    record = tmp_path / "file" / "trials.jsonl"
    assert main.run(["faults", command, "--file", str(tmp_path / "nowhere"), "--record", str(record)]) == 2
    assert f"{record} cannot be written" in capsys.readouterr().err
