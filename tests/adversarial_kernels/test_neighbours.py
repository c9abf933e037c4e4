"""What a bad kernel leaves to the kernels after it, in an order that the suite of all of them has not."""

from __future__ import annotations

import time

import psutil
from tests.adversarial_kernels.catalogue import DECLARATION

from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Verdict
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening

PROJECT = ours().loading([DECLARATION])
SMALL = "fwd_f32_nhwgc_g1n1k4c8_y1x1_h5x6_s1x1_d1x1_p0x0_q0x0"
LARGE = "fwd_f32_nhwgc_g1n4k64c8_y1x1_h40x40_s1x1_d1x1_p0x0_q0x0"


def verdicts(*cases: tuple[str, str]) -> list[Verdict]:
    """The verdicts of instances on problems, one after the other in one judge."""
    known = families(PROJECT, "host", here=True)
    planned = [
        PlannedCase(parse_case_id(case), kernel_called(known, "adversarial", instance)) for instance, case in cases
    ]
    with CaseProcess(Opening("host", PROJECT)) as kernels:
        return [kernels.verify(one) for one in planned]


def outcomes(*cases: tuple[str, str]) -> list[str]:
    return [verdict.outcome.value for verdict in verdicts(*cases)]


def test_a_result_that_a_neighbour_left_is_gone() -> None:
    copied = outcomes(("healthy", SMALL), ("copies_a_result_that_was_left", SMALL))
    assert copied == ["PASS", "MISMATCH"]


def test_a_larger_case_finds_room_after_seals() -> None:
    assert outcomes(("seals_the_shared_memory", SMALL), ("healthy", LARGE)) == ["PASS", "PASS"]


def test_other_launchers_start_after_limits_were_lowered() -> None:
    for bad in ("limits_its_zygote", "limits_its_judge"):
        cases = ((bad, SMALL), ("exit_0", SMALL), ("healthy", SMALL))
        assert outcomes(*cases) == ["PASS", "CRASHED", "PASS"], bad


def test_an_interpreter_that_failed_is_replaced() -> None:
    harmed = ("no_arrays_from_now_on", "healthy", "arrays_of_zeros_for_its_neighbours", "healthy")
    assert outcomes(*((name, SMALL) for name in harmed)) == ["INFRA", "PASS", "MISMATCH", "PASS"]


def test_a_daemon_without_a_mark_is_ended() -> None:
    def daemons() -> list[int]:
        return [one.pid for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == ["sleep", "20.0625"]]

    assert outcomes(("daemon_without_environment", SMALL), ("healthy", SMALL)) == ["CORRUPTED", "PASS"]
    end = time.monotonic() + 15  # less than it sleeps
    while daemons() and time.monotonic() < end:
        time.sleep(0.05)
    assert daemons() == []
