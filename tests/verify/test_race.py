"""`--race`: a missing synchronisation is named with both threads and both lines, whatever bits it gives."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.arguments import find_instance
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.runtime.targets import Target
from bitgate.tools.faults.fault import Fault, read_faults
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase, repro_line
from bitgate.verify.session import Session

FOLDER = Path(__file__).parent / "block_sums"
DEFECTS = read_faults([FOLDER / "defects.toml"])
OURS = read_faults([paths.data_folder("suites") / "faults" / "races.toml"])
CASES = {
    "bwd_slices_added_without_atomics": (
        "bwd_data_f32_nhwgc_g1n2k16c16_y3x3_h5x5_s2x2_p1x1_sk2",
        "f32_32x32x16_a1b1c1_w32",
    ),
    "gemm_slices_added_without_atomics": ("gemm_f32_rcr_b2m20n16k48_sk2", "f32_rcr_32x32x16_a1b1c1_w32"),
}
FAMILIES = {"bwd": "grouped_bwd_data", "gemm": "batched_gemm"}


@pytest.fixture(scope="module")
def open_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Fault | None], Session]:
    """A session with the defect in it."""

    def open_(fault: Fault | None) -> Session:
        overlay = {}
        if fault:
            folder = tmp_path_factory.mktemp(fault.name)
            fault.plant(paths.root(), folder)
            overlay = {fault.file: folder / fault.file}
        return Session(
            "host", project=ours().loading([FOLDER / "declaration.py"]), overlay=overlay, progress=lambda line: None
        )

    return open_


def planned(session: Session, instance: str) -> PlannedCase:
    problem = parse_case_id("gemm_f32_rcr_b1m2n3k300")
    return PlannedCase(problem, kernel_called(session.families, "block_sums", instance), schedule="race")


@pytest.mark.parametrize("instance", ["w32_b64", "w32_b1024", "w64_b64", "w64_b512"])
def test_a_right_reduction_is_green(open_with, instance: str) -> None:
    session = open_with(None)
    assert verify(planned(session, instance), session).outcome is Outcome.PASS


def test_a_race_is_named_where_threads_have_another_order(open_with) -> None:
    session = open_with(next(fault for fault in DEFECTS if fault.name == "barrier_between_waves_removed"))
    verdict = verify(replace(planned(session, "w32_b64"), schedule="lockstep"), session)
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.kinds[0] == "race"
    assert verdict.reason.startswith("a race: threads in order ")  # no order makes it right


@pytest.mark.parametrize("instance", ["w32_b64", "w32_b1024", "w64_b512"])
@pytest.mark.parametrize("fault", DEFECTS, ids=lambda fault: fault.name)
def test_a_missing_synchronisation_is_named(open_with, fault: Fault, instance: str) -> None:
    session = open_with(fault)
    verdict = verify(planned(session, instance), session)
    assert verdict.outcome is Outcome.CRASHED
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.kinds == ("race",)
    threads = re.findall(r"block \(\d+,0,0\), thread \(\d+,0,0\)", verdict.reason)
    lines = re.findall(r"block_sums\.hip\.cpp:\d+", verdict.reason)
    assert len(set(threads)) == 2, verdict.reason
    assert len(set(lines)) == 2, verdict.reason
    assert "race on LDS" in verdict.reason


@pytest.mark.parametrize("fault", OURS, ids=lambda fault: fault.name)
def test_slices_that_meet_without_atomics_are_named(open_with, fault: Fault) -> None:
    """On one CPU thread blocks run one after the other, and the bits are right: only the watch shows it."""
    case, instance = CASES[fault.name]
    family = FAMILIES[fault.name.partition("_")[0]]
    session = open_with(fault)
    session.opened.device.set_threads(1)
    whole = session.families[family]
    session.families[family] = whole.only(find_instance(whole, instance).group)  # the others need not be built
    asked = PlannedCase(parse_case_id(case), kernel_called(session.families, family, instance))
    assert verify(asked, session).outcome is Outcome.PASS
    verdict = verify(replace(asked, schedule="race"), session)
    assert verdict.outcome is Outcome.CRASHED
    assert "nothing that orders blocks" in verdict.reason
    assert len(re.findall(r"[\w/]+\.hpp:\d+", verdict.reason)) == 2, verdict.reason


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--load", str(FOLDER / "declaration.py"), "--kernel", "block_sums.w32_b64", "--race", "--json"]
    assert run(["verify", "gemm_f32_rcr_b1m2n3k300", *arguments]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert (verdict["verdict"], verdict["schedule"]) == ("PASS", "race")
    assert "--race" in verdict["repro"]


def test_what_does_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "gemm_f32_rcr_b1m2n3k300", "--race", "--schedule", "reverse"]) == 2
    assert "--race runs threads in a special order: leave --schedule reverse out" in capsys.readouterr().err


def test_a_prebuilt_library_cannot_be_watched(open_with) -> None:
    from dataclasses import replace

    session = open_with(None)
    session.families["block_sums"] = replace(session.families["block_sums"], sources=(), library=Path("/nowhere.so"))
    verdict = verify(planned(session, "w32_b64"), session)
    assert verdict.outcome is Outcome.BUILD_FAILED
    assert "prebuilt: --race builds from sources" in verdict.reason


def test_a_gpu_is_not_watched(open_with) -> None:
    session = open_with(None)
    session.target = Target("gfx942", "amd", "hardware", "none")
    with pytest.raises(UsageError, match="races can be watched on the host target only"):
        verify(planned(session, "w32_b64"), session)


def test_it_is_run_again_by_its_line(open_with) -> None:
    assert repro_line(planned(open_with(None), "w32_b64")).endswith("--seed 0 --race --target host")
