"""Verify each adversarial kernel by itself, through ``bitgate verify``: part of the nightly.

`python -m pytest tests/adversarial_kernels/alone.py`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.adversarial_kernels.catalogue import BAD_KERNELS, HERE, BadKernel
from tests.adversarial_kernels.suite_run import BITGATE

DEADLINE = 5
"""Seconds, among them those in which the process starts."""


@pytest.mark.parametrize("bad", BAD_KERNELS, ids=lambda bad: bad.name)
def test_a_bad_kernel_alone(suite_run: Any, bad: BadKernel) -> None:
    where = (f"--load={bad.declaration}", f"--kernel={bad.kernel}", "--target=host", f"--time-limit={DEADLINE}")
    ended = suite_run.call(*BITGATE, "verify", bad.case, *where, "--json")
    (verdict,) = json.loads(ended.output)["verdicts"]
    sentence = (verdict.get("diagnosis") or {}).get("sentence", "")
    assert bad.difference(verdict["verdict"], f"{verdict['reason']} {sentence}") == ""
    assert ended.code == (0 if bad.verdict == "PASS" else 1)
    assert ended.left == []


@pytest.mark.parametrize("name", ["hangs", "supports_hangs"])
def test_a_declaration_that_does_not_come_back(suite_run: Any, name: str) -> None:
    load = f"--load={HERE / 'declarations' / name}.py"
    ended = suite_run.call(
        *BITGATE, "verify", BAD_KERNELS[0].case, load, "--kernel=adversarial.healthy", "--target=host"
    )
    assert ended.code == 2, ended.said
    assert "Traceback" not in ended.said
    assert len([line for line in ended.said.splitlines() if f"{name}.py" in line]) == 1, ended.said
    assert ended.left == []
