"""Judging of the functions of a module of this folder, each as the file of a submission."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitgate.model import registry
from bitgate.tools.judge.run import JudgeRequest, judge

HERE = Path(__file__).parent

Judge = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _operations_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task's operation stays in its process, and its file does not: no later test may load it."""
    monkeypatch.setattr(registry, "_added", dict(registry._added))


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    """Return a function that judges one function, or class, of a module on a task, and returns the report."""

    def run(module: str, name: str, task: str, **more: Any) -> dict[str, Any]:
        entry = more.pop("entry", "custom_kernel")
        is_class = name[0].isupper() or entry == "custom_kernel"
        wrapped = f"{entry} = {name}" if is_class else f"{entry} = lambda *_: {name}"
        submission = tmp_path / f"{name}.py"
        submission.write_text(f"{(HERE / module).read_text()}\n\n{wrapped}\n")
        where = str(HERE / "tasks" / task) if task.endswith(".py") else task
        request = JudgeRequest(submission, where, **{"problems": 5, "seed": 11, **more})
        return judge(request, lambda one, verdict: None, lambda line: None)

    return run
