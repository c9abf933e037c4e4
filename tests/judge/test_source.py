"""Plain device functions as a submission to a task's file: only their declaration is Python."""

from __future__ import annotations

import shutil
from pathlib import Path

from bitgate.tools.judge.run import JudgeRequest, judge

HERE = Path(__file__).parent


def test_device_functions_are_judged_on_a_task(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(HERE / "softmax_source", tmp_path / "mine"))
    task = str(HERE / "tasks" / "softmax.py")
    request = JudgeRequest(folder / "softmax.cu", task, problems=3, samples=1)
    report = judge(request, lambda one, verdict: None, lambda line: None)
    assert (report["verdict"], report["time"]["wrong"]) == ("right", None), report["diagnosis"]
    assert "it refuses 1 of the task's cases" in report["notes"][0]
    text = (folder / "softmax.cu").read_text()
    (folder / "softmax.cu").write_text(
        text.replace("i < columns; ++i)\n    sum", "i < columns / 32 * 32; ++i)\n    sum")
    )
    report = judge(JudgeRequest(folder, task, problems=3), lambda one, verdict: None, lambda line: None)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
