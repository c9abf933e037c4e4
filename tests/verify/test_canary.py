"""After a case that broke a GPU, a small case of ours goes first; until it passes, no other kernel is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, from_event
from bitgate.verify import canary
from bitgate.verify import server as server_module
from bitgate.verify.canary import distress
from bitgate.verify.planned import PlannedCase, PlannedMessage
from bitgate.verify.process import Opening
from bitgate.verify.server import BY_BITS, CaseServer, VerifyCase
from bitgate.verify.session import Session

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
    tools = session.opened.device_tools
    digest = tools.digest
    monkeypatch.setattr(tools, "digest", lambda data, tensor: digest(data, tensor, 1))
    assert distress(session).startswith("the naive kernel ends in MISMATCH")


def test_a_naive_kernel_that_is_wrong_itself_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "verify", lambda case, session: _wrong(case))
    assert distress(Session("host")) == ""


def _wrong(case: PlannedCase) -> Any:
    from bitgate.results.record import Verdict

    return Verdict(case.key, Outcome.MISMATCH, "one cell is wrong")


class Silent:
    """A channel without a reader."""

    def note(self, value: Any, seconds: float | None = None) -> None:
        return

    def upcoming(self) -> None:
        return


def answering(asked: list[Session], said: str) -> Callable[[Session], str]:
    def distress(session: Session) -> str:
        asked.append(session)
        return said

    return distress


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[CaseServer]:
    opened = CaseServer(Silent())  # type: ignore[arg-type]
    opened.open(Opening("host", ours().loading([UNHEALTHY])).message())
    yield opened
    opened.launcher.end()


def test_a_launchers_process_sums_what_its_device_fills(server: CaseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "verify", lambda case, session: _wrong(case))
    server.launcher.begin_case(60.0)
    assert distress(server.session) == ""


def outcome_of(server: CaseServer, illness: str) -> str:
    return str(
        from_event(server.verify(VerifyCase(PlannedMessage.of(planned(illness)), BY_BITS, 60.0)).verdict).outcome
    )


@pytest.mark.parametrize(("said", "outcome"), [("", "PASS"), ("it is dead", "INFRA")])
def test_it_goes_first_after_a_case_that_broke_a_gpu(
    server: CaseServer, monkeypatch: pytest.MonkeyPatch, said: str, outcome: str
) -> None:
    asked: list[Session] = []
    monkeypatch.setattr(server_module, "distress", answering(asked, said))
    monkeypatch.setattr(CaseServer, "faults_last", True)
    assert outcome_of(server, "none") == "PASS"
    assert not asked
    assert outcome_of(server, "abort") == "CRASHED"
    assert outcome_of(server, "none") == outcome
    assert len(asked) == 1


def test_a_host_process_that_survived_a_crash_is_replaced(server: CaseServer) -> None:
    """A kernel that left no memory made later verdicts INFRA."""
    before = server.launcher.number
    assert outcome_of(server, "past") == "CRASHED"
    assert outcome_of(server, "none") == "PASS"
    assert server.launcher.number == before + 1


@pytest.mark.parametrize("said", ["", "it is dead"])
def test_a_host_process_with_guests_is_tried(server: CaseServer, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """It is kept if the canary passes: its guests have set what another one would lack."""
    asked: list[Session] = []
    monkeypatch.setattr(server_module, "distress", answering(asked, said))
    server.launcher._had_guests = True
    assert outcome_of(server, "past") == "CRASHED"
    assert outcome_of(server, "none") == "PASS"
    assert len(asked) == 1
    assert server.launcher.number == 1
