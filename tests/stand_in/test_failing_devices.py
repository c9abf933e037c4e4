"""A device that fails under a run: no memory, and memory that is defective, with libraries by ROCm's own compiler.

The stand-in computes nothing, so that a case which comes to its end is a MISMATCH, and the small case that goes first
where a device was not sound (the canary) never passes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.stand_in.stand_in import Node, StandIn, build, lists

pytestmark = pytest.mark.needs("hipcc")

SMALL, OTHER, LARGE = (f"reduction_f32_{sizes}_sum" for sizes in ("o5l33i1", "o5l32i1", "o300l3000i1"))
MI210 = "device gfx90a:sramecc+:xnack- cu=104"
OURS = Path(__file__).resolve().parents[2] / "harness"
NOTHING_WRITTEN = "nothing was written: every cell of y still holds the poison from before the launch"
FULL = "hipMalloc: hipErrorOutOfMemory: hipErrorOutOfMemory; another process may hold the device's memory"
DEFECTIVE = (
    "hipDeviceSynchronize: hipErrorECCNotCorrectable: hipErrorECCNotCorrectable; the device's memory is defective"
)
UNKNOWN = "hipDeviceSynchronize: error 4242: hipErrorUnknown"
UNSOUND = "the device is not sound: the naive kernel ends in "


@pytest.fixture(scope="module")
def rocm(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    made = build(tmp_path_factory.mktemp("failing") / "rocm")
    lists(made.machine, Node(90010, 104, 65536))
    return made


def bitgate(rocm: StandIn, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    waits = {"BITGATE_MEMORY_SECONDS": "0.001"}
    environment = rocm.environment({**os.environ, "PYTHONPATH": str(OURS), **waits, **more})
    del environment["ROCM_PATH"]  # by which hipcc would look for its clang
    command = [sys.executable, "-m", "bitgate", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200)


def verdicts(rocm: StandIn, *cases: str) -> list[tuple[str, str]]:
    """Of each case in turn, and why."""
    kernel = ("--target", "gfx90a", "--kernel", "naive_reduction.f32")
    said = bitgate(rocm, "verify", *kernel, "--json", *cases)
    assert said.returncode == 1, said.stderr
    assert "Traceback" not in said.stderr
    found: list[dict[str, Any]] = json.loads(said.stdout)["verdicts"]
    return [(one["verdict"], one["reason"]) for one in found]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("lines", "cases", "expected"),
    [
        (["fail hipMalloc 2"], [SMALL, OTHER], [("INFRA", FULL), ("INFRA", UNSOUND + "INFRA")]),
        (["free"], [SMALL, LARGE], [("MISMATCH", NOTHING_WRITTEN), ("INFRA", FULL)]),
        (["fail hipDeviceSynchronize 214"], [SMALL, OTHER], [("INFRA", DEFECTIVE), ("INFRA", UNSOUND + "INFRA")]),
        (
            ["fail hipDeviceSynchronize 214 after=12"],
            [SMALL, OTHER, SMALL],
            [("MISMATCH", NOTHING_WRITTEN), ("INFRA", DEFECTIVE), ("INFRA", UNSOUND)],
        ),
        (["fail hipDeviceSynchronize 4242 after=2"], [SMALL, OTHER], [("INFRA", UNKNOWN), ("INFRA", UNSOUND)]),
    ],
    ids=["no memory at once", "no memory later", "defective at once", "defective later", "an error without a name"],
)
def test_a_failing_device_is_no_verdict_on_kernels(
    rocm: StandIn, lines: list[str], cases: list[str], expected: list[tuple[str, str]]
) -> None:
    rocm.says(f"{MI210} free={2 << 20} total={64 << 30}" if lines == ["free"] else MI210, *lines)
    found = verdicts(rocm, *cases)
    assert len(found) == len(expected), found
    for (verdict, reason), (wanted, begin) in zip(found, expected, strict=True):
        assert verdict == wanted, found
        assert reason.startswith(begin), found


@pytest.mark.nightly
def test_a_run_goes_on_to_its_end_on_a_device_that_fails(rocm: StandIn, tmp_path: Path) -> None:
    rocm.says(MI210, "fail hipDeviceSynchronize 214 after=12")
    suite = tmp_path / "sums"
    suite.mkdir()
    cases = ", ".join(f'"reduction_f32_o5l{length}i1_sum"' for length in range(30, 36))
    (suite / "cases.toml").write_text(f'[[case]]\ncase = [{cases}]\nwhy = "sums of few terms"\ntier = "smoke"\n')
    (suite / "test_sums.py").write_text('from bitgate.testing import verified\n\ntest_bits = verified("sums")\n')
    words = ("run", str(suite), "--tier", "smoke", "--target", "gfx90a", "--kernel", "naive_reduction.f32", "-n0")
    said = bitgate(rocm, *words, BITGATE_OUT=str(tmp_path))
    assert said.returncode == 1, said.stdout + said.stderr
    (record,) = tmp_path.rglob("results.jsonl")
    events = [json.loads(line) for line in record.read_text().splitlines()]
    found = [event for event in events if "verdict" in event]
    assert {event["verdict"] for event in found} >= {"INFRA"}
    assert any(event["reason"].startswith(DEFECTIVE) for event in found)
    assert f"{len(found)} failed" in said.stdout


@pytest.mark.nightly
def test_a_library_of_an_older_rocm_does_not_build(tmp_path: Path) -> None:
    """Debian's hipcc links with version 5's libamdhip64.so.5; here is one of version 6."""
    rocm = build(tmp_path / "rocm", MI210, version="hip_6.0", soname="libamdhip64.so.6")
    lists(rocm.machine, Node(90010, 104, 65536))
    ((verdict, reason),) = verdicts(rocm, SMALL)
    assert verdict == "BUILD_FAILED"
    assert reason.endswith("it was built with another ROCm; build it with the hipcc of the one that is here")
