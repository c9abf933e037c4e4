"""After a case that broke a GPU, a small case of ours goes first; until it passes, no other kernel is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.verify import canary, process
from bitgate.verify.canary import distress
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.server import RunCanary
from bitgate.verify.session import Session
from bitgate.worker.worker import Worker

UNHEALTHY = Path(__file__).parent / "unhealthy" / "declaration.py"
FAMILIES = families(ours().loading([UNHEALTHY]), "host", here=True)


def planned(illness: str) -> PlannedCase:
    problem = parse_case_id("fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1")
    return PlannedCase(problem, kernel_called(FAMILIES, "unhealthy", "fwd_f32", [("illness", illness)]))


def test_a_sound_device_has_nothing_to_say() -> None:
    assert distress(Session("host")) == ""


def test_a_device_that_computes_wrongly_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "verify", lambda case, session: _wrong(case))
    session = Session("host")
    digest = session.device_tools.digest
    monkeypatch.setattr(session.device_tools, "digest", lambda data, tensor: digest(data, tensor, 1))
    assert distress(session).startswith("the naive kernel ends in MISMATCH")


def test_a_naive_kernel_that_is_wrong_itself_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "verify", lambda case, session: _wrong(case))
    assert distress(Session("host")) == ""


def _wrong(case: PlannedCase) -> Any:
    from bitgate.results.record import Verdict

    return Verdict(case.key, Outcome.MISMATCH, "one cell is wrong")


@pytest.mark.parametrize(("said", "outcome"), [("", Outcome.PASS), ("it is dead", Outcome.INFRA)])
def test_it_goes_first_behind_a_case_that_took_its_process(
    monkeypatch: pytest.MonkeyPatch, said: str, outcome: Outcome
) -> None:
    """As on a GPU: the host's device is part of the process and needs no canary."""
    asked: list[type] = []
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as kernels:
        monkeypatch.setattr(process, "platform_of", lambda target: "nvidia")
        ask = Worker.ask

        def listen(worker: Any, question: Any, *more: Any) -> Any:
            asked.append(type(question))
            return said if isinstance(question, RunCanary) else ask(worker, question, *more)

        monkeypatch.setattr(Worker, "ask", listen)
        assert kernels.verify(planned("none")).outcome is Outcome.PASS
        assert RunCanary not in asked
        assert kernels.verify(planned("abort")).outcome is Outcome.CRASHED
        assert kernels.verify(planned("none")).outcome is outcome
        assert asked.count(RunCanary) == 1
