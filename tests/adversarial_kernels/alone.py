"""Verify each adversarial kernel by itself, through ``bitgate verify``: part of the nightly.

`python -m pytest tests/adversarial_kernels/alone.py`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.adversarial_kernels.catalogue import EXHIBITS, HERE, Exhibit
from tests.adversarial_kernels.visit import BITGATE

DEADLINE = 5
"""Seconds, among them those in which the process starts."""


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_alone(visit: Any, exhibit: Exhibit) -> None:
    where = (f"--load={exhibit.declaration}", f"--kernel={exhibit.kernel}", "--target=host", f"--time-limit={DEADLINE}")
    ended = visit.call(*BITGATE, "verify", exhibit.case, *where, "--json")
    (verdict,) = json.loads(ended.output)["verdicts"]
    sentence = (verdict.get("diagnosis") or {}).get("sentence", "")
    assert exhibit.difference(verdict["verdict"], f"{verdict['reason']} {sentence}") == ""
    assert ended.code == (0 if exhibit.verdict == "PASS" else 1)
    assert ended.left == []


@pytest.mark.parametrize("name", ["hangs", "supports_hangs"])
def test_a_declaration_that_does_not_come_back(visit: Any, name: str) -> None:
    load = f"--load={HERE / 'declarations' / name}.py"
    ended = visit.call(*BITGATE, "verify", EXHIBITS[0].case, load, "--kernel=museum.healthy", "--target=host")
    assert ended.code == 2, ended.said
    assert "Traceback" not in ended.said
    assert len([line for line in ended.said.splitlines() if f"{name}.py" in line]) == 1, ended.said
    assert ended.left == []
