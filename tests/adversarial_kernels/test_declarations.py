"""Declarations that misbehave: one line, exit code 2, and nothing that a declaration prints passes for a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial_kernels.suite_run import BITGATE, COMMANDS, DEADLINE

FOLDER = Path(__file__).parent / "declarations"
CASE = "fwd_f32_nhwgc_g1n1k4c8_y1x1_h2x3"
SLOW = ("hangs", "supports_hangs")
"""alone.py has them: a declaration has a minute to be read in."""
HARMLESS = ("prints", "empties_the_environment")
BAD = sorted({path.stem for path in FOLDER.glob("*.py")} - {*HARMLESS, "dispatch_exits", *SLOW})


def declaration(name: str) -> str:
    return f"--load={FOLDER / name}.py"


def lines_about(name: str, said: str) -> list[str]:
    assert "Traceback" not in said, said
    return [line for line in said.splitlines() if f"{name}.py" in line]


@pytest.mark.parametrize("name", BAD)
def test_verify_tells_in_one_line_and_ends_with_2(suite_run: Any, name: str) -> None:
    asked = ("verify", CASE, declaration(name), "--kernel=adversarial.healthy", "--target=host")
    ended = suite_run.call(*BITGATE, *asked)
    assert ended.code == 2, ended.said
    assert len(lines_about(name, ended.said)) == 1, ended.said
    assert ended.left == []


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((name, "plain pytest") for name in BAD),
        *(("os_exit", mode) for mode in COMMANDS if mode != "plain pytest"),
    ],
)
def test_a_suite_tells_in_one_line_and_ends_with_2(suite_run: Any, name: str, mode: str) -> None:
    suite_run.write([])
    given = (declaration(name), "--target=host", f"--case-timeout={DEADLINE}")
    ended = suite_run.call(*COMMANDS[mode], *given)
    assert ended.code == 2, ended.said
    assert len(lines_about(name, ended.said)) == 1, ended.said
    assert suite_run.verdicts == []
    assert ended.left == []


def test_a_prediction_that_ends_its_process_fails_both_commands(suite_run: Any) -> None:
    suite_run.write([])
    given = (declaration("dispatch_exits"), "--target=host", f"--case-timeout={DEADLINE}")
    ended = suite_run.call(*COMMANDS["plain pytest"], *given, "-k", "healthy")
    assert ended.code == 2, ended.said
    assert len(lines_about("dispatch_exits", ended.said)) == 1, ended.said
    assert suite_run.verdicts == []
    ended = suite_run.call(*COMMANDS["plain pytest"], *given)
    assert ended.code == 1, ended.said
    assert [verdict.outcome.value for verdict in suite_run.verdicts] == ["CRASHED"]
    assert ended.left == []


@pytest.mark.parametrize(
    ("name", "instance", "verdict"),
    [("dispatch_exits", "healthy", "CRASHED"), *((name, "wrong_cell", "MISMATCH") for name in HARMLESS)],
)
def test_a_declaration_can_print_no_verdict_and_not_end_green(
    suite_run: Any, name: str, instance: str, verdict: str
) -> None:
    asked = ("verify", CASE, declaration(name), f"--kernel=adversarial.{instance}", "--target=host", "--json")
    ended = suite_run.call(*BITGATE, *asked)
    assert ended.code == 1, ended.said
    assert [found["verdict"] for found in json.loads(ended.output)["verdicts"]] == [verdict]
