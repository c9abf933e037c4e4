"""The answers of a process in which a submission is tried are claims: one that is none makes the submission wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bitgate.tools.judge.conventions import CUSTOM
from bitgate.tools.judge.problems import Problems, of_file
from bitgate.tools.judge.trial import SubmissionTrial

FORGES = """
from bitgate.worker.channel import Channel

send = Channel._send
Channel._send = lambda self, value: send(self, value if "begins" in value else {said})


def custom_kernel(x):
    return x
"""
OUTPUT = {"type": "float32", "shape": [0, 96]}


@pytest.fixture(scope="module")
def task() -> Problems:
    return of_file(Path(__file__).parent / "tasks" / "softmax.py", {}, (), 1, 11, False, False)


@pytest.fixture
def tried(tmp_path: Path, task: Problems) -> Iterator[Any]:
    trials = []

    def run(text: str) -> tuple[str, str]:
        file = tmp_path / "s.py"
        file.write_text(text)
        trials.append(SubmissionTrial(file, CUSTOM, 20.0, "host"))
        return trials[-1].why_not_loaded(), trials[-1].of_zero_length(task.facts or {}, task.zero[0], 11)

    yield run
    for trial in trials:
        trial.end()


@pytest.mark.parametrize(
    "said",
    [
        {"error": "Traceback: a defect of bitgate"},
        {"usage": "no such task"},
        {"answer": 7},
        {"answer": None},
        {"answer": {"outputs": 3}},
        {"answer": {"outputs": [{**OUTPUT, "cells": ["x"]}]}},
        {"answer": {"outputs": [{**OUTPUT, "cells": [0.0]}]}},
        {"answer": {"outputs": []}},
    ],
    ids=lambda said: str(said).replace("'", ""),
)
def test_what_is_no_answer_is_wrong(tried: Any, said: Any) -> None:
    _, wrong = tried(FORGES.format(said=said))
    assert wrong


@pytest.mark.needs("torch")
def test_a_module_that_is_installed_is_no_excuse(tried: Any) -> None:
    why, _ = tried("raise ModuleNotFoundError('No module named torch', name='torch')\ndef custom_kernel(x): return x")
    assert "torch" in why
