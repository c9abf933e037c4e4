"""The launcher begins with the next case while one is judged: neither costs the other its verdict or its time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import case_id, parse_case_id
from bitgate.numerics.fill import plan_fill
from bitgate.results.record import Outcome, from_event
from bitgate.verify import stored
from bitgate.verify.planned import PlannedCase, PlannedMessage
from bitgate.verify.process import Opening
from bitgate.verify.server import BY_BITS, CaseServer, LoadLibrary, VerifyCase

UNHEALTHY = Path(__file__).parent / "unhealthy" / "declaration.py"
PROJECT = ours().loading([UNHEALTHY])
SECONDS = 3.0


class Queue:
    """A channel with the next question in it, if there is one."""

    def __init__(self) -> None:
        self.next: VerifyCase | None = None

    def note(self, value: Any, seconds: float | None = None) -> None:
        return

    def upcoming(self) -> bytes | None:
        return None if self.next is None else json.encode(self.next)


def asked(illness: str) -> VerifyCase:
    problem = parse_case_id("fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1")
    kernel = kernel_called(families(PROJECT, "host", here=True), "unhealthy", "fwd_f32", [("illness", illness)])
    return VerifyCase(PlannedMessage.of(PlannedCase(problem, kernel)), BY_BITS, SECONDS)


def opened(queue: Queue, *suites: Path) -> CaseServer:
    server = CaseServer(queue)  # type: ignore[arg-type]
    server.open(Opening("host", PROJECT, suites=suites).message())
    server.load(LoadLibrary("unhealthy", "fwd_f32", False))
    return server


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    """A folder of suites in which the digest of the case is stored: its check on the device begins ahead."""
    server = opened(Queue())
    verdict = from_event(server.verify(asked("none")).verdict)
    server.launcher.end()
    problem = parse_case_id(verdict.key.case)
    kernel = kernel_called(families(PROJECT, "host", here=True), "unhealthy", "fwd_f32")
    plan = plan_fill(problem, kernel.instance.accumulation_for(problem), "exact", 0)
    assert verdict.certificate is not None
    (tmp_path / "toy").mkdir()
    known = {stored.key_of(case_id(problem), plan): stored.StoredDigest.of(verdict.digest, verdict.certificate)}
    stored.write(tmp_path / "toy" / stored.FILE, known)
    return tmp_path


@pytest.mark.parametrize("illness", ["hang", "abort"])
def test_a_bad_next_case_harms_no_other(suites: Path, illness: str) -> None:
    queue = Queue()
    server = opened(queue, suites)
    try:
        found = []
        for this, following in (("none", illness), (illness, "none"), ("none", "wrong"), ("wrong", None)):
            queue.next = None if following is None else asked(following)
            found.append(from_event(server.verify(asked(this)).verdict).outcome)
        assert found == [Outcome.PASS, Outcome.CRASHED, Outcome.PASS, Outcome.MISMATCH]
    finally:
        server.launcher.end()
