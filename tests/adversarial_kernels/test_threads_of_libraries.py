"""Threads that a library has left are its own: no case of another family runs in their process."""

from __future__ import annotations

from tests.adversarial_kernels.catalogue import DECLARATION, HERE

from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening

WATCHDOG = HERE / "loads" / "watchdog_on_load.py"
PROJECT = ours().loading([DECLARATION, WATCHDOG])


def planned(family: str) -> PlannedCase:
    problem = parse_case_id("fwd_f32_nhwgc_g1n1k4c8_y1x1_h5x5_s1x1_d1x1_p0x0_q0x0")
    return PlannedCase(problem, kernel_called(families(PROJECT, "host", here=True), family, "healthy"))


def numbers(*cases: str) -> list[int]:
    """The processes that the cases ran in."""
    found = []
    with CaseProcess(Opening("host", PROJECT)) as kernels:
        for family in cases:
            assert kernels.verify(planned(family)).outcome is Outcome.PASS
            found.append(kernels.number)
    return found


def test_another_family_gets_another_process() -> None:
    assert numbers("adversarial_watchdog_on_load", "adversarial") == [1, 2]


def test_a_family_without_threads_shares_its_process() -> None:
    assert numbers("adversarial", "adversarial_watchdog_on_load") == [1, 1]


def test_cases_that_began_ahead_begin_anew() -> None:
    with CaseProcess(Opening("host", PROJECT)) as kernels:
        kernels.start()
        for family in ("adversarial_watchdog_on_load", "adversarial"):
            assert kernels.ahead(planned(family))
        for family in ("adversarial_watchdog_on_load", "adversarial"):
            assert kernels.verify(planned(family)).outcome is Outcome.PASS
        assert kernels.number == 2
