"""Submissions that try to be taken for right ones are not, whatever they do in their process."""

from __future__ import annotations

from pathlib import Path

import pytest

ATTACKS = (
    "searches_the_collector",
    "scans_memory",
    "uses_freed_memory",
    "overwrites_its_input",
    "remembers_by_identity",
    "remembers_by_shape",
    "remembers_by_first_row",
    "right_for_ten_calls",
    "forges_answers",
    "exits_with_success",
    "patches_the_harness",
    "patches_with_gaps",
    "leaves_a_module",
    "changes_the_environment",
    "returns_a_lazy_result",
    "fills_with_nan",
    "leaves_it_to_a_thread",
    "ends_its_judge",
    "reads_its_judge",
    "installs_a_handler",
    "asks_the_task",
)


def test_the_control_passes(judged) -> None:
    report = judged("attacks.py", "right", "softmax.py")
    assert (report["verdict"], report["exit"]) == ("right", 0), report["diagnosis"]


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_passes(judged, name: str, tmp_path: Path) -> None:
    report = judged("attacks.py", name, "softmax.py", problems=3)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".py"] == [f"{name}.py"]
    assert not (Path.cwd() / "torch.py").exists()
