"""Verdicts to report on, and folders as a run leaves them, written by the record itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitgate.results.plan import Plan, PlannedItem
from bitgate.results.record import FINGERPRINT, Certificate, Diagnosis, Key, Outcome, Verdict, append

CASE = "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_d1x1_p1x1_q1x1"


def _verdict(outcome: Outcome = Outcome.PASS, **changes: Any) -> Verdict:
    key: dict[str, Any] = {
        "case": CASE,
        "kernel": "grouped_bwd_data",
        "instance": "t64x64x32",
        "options": (),
        "fill": "exact",
        "seed": 0,
        "schedule": "forward",
        "target": "host",
    }
    key |= {name: changes.pop(name) for name in list(changes) if name in key}
    test_id = f"{key['case']}__{key['kernel']}_{key['instance']}__{key['fill']}"
    fields: dict[str, Any] = {
        "suite": "conv_bwd_data",
        "test": f"suites/conv_bwd_data/test_correctness.py::test_correctness[{test_id}]",
        "tier": "smoke",
        "platform": "host",
        "device_kind": "cpu",
        "device_name": "host, 2 threads",
        "digest": "bg1:00112233445566778899aabbccddeeff",
        "certificate": Certificate(1152, 2**24, 1.0, 1.0, True),
        "dispatch": {"path": "grouped", "gemms_count": 9},
        "seconds": {"fill": 0.001, "kernel": 0.0000123, "total": 0.002},
        "human": "bwd_data f16 NHWGC G=1 N=4 K=128 C=64 3x3 28x28 s3 p1 -> 9 sub-GEMMs",
        "repro": f"bitgate verify {key['case']} --target {key['target']}",
        "fingerprint": {name: f"its {name}" for name in FINGERPRINT},
        "row": "suites/conv_bwd_data/cases.toml:17",
        "plan": "p0",
    }
    return Verdict(Key(**key), outcome, **(fields | changes))


def _item(one: Verdict) -> PlannedItem:
    test: dict[str, Any] = {"tier": one.tier, "suite": one.suite, "test": one.test, "human": one.human, "row": one.row}
    return PlannedItem(f"{one.key.case}__{one.key.seed}", one.key, **test)


@pytest.fixture(scope="session")
def verdict() -> Callable[..., Verdict]:
    """Makes a verdict with everything filled in; keywords replace fields of it or of its key."""
    return _verdict


@pytest.fixture(scope="session")
def dropped(verdict: Callable[..., Verdict]) -> Verdict:
    """The founding bug: all sub-GEMMs but the first are missing."""
    sentence = "sub-GEMMs 1 to 8 of 9 never ran: their 702464 cells are zero"
    cells = [{"at": [0, 0, 0, 0, w], "result": 0, "reference": 12 + w} for w in range(1, 11)]
    evidence = {"missing": list(range(1, 9)), "first_wrong_cells": cells}
    diagnosis = Diagnosis(("missing_sub_gemm", "zero"), sentence, evidence)
    options = (("flat_path_gate", "off"),)
    return verdict(Outcome.MISMATCH, options=options, diagnosis=diagnosis, view={"axes": list("gnchw")})


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes results.jsonl and, where ``planned`` is given, plan.json as a run does; returns the folder."""

    def write(name: str, *verdicts: Verdict, planned: list[Verdict] | None = None, **plan: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        for one in verdicts:
            append(folder / "results.jsonl", one)
        if planned is not None:
            Plan("smoke", planned[0].key.target, tuple(map(_item, planned)), **plan).write(folder / "plan.json")
        return folder

    return write
