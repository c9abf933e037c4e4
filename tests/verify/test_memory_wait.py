"""A case for which others have left no device memory waits for theirs, and is launched then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bitgate.core import settings
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict, from_event
from bitgate.runtime.device import DeviceMemory
from bitgate.runtime.errors import HipError
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named
from bitgate.verify import server
from bitgate.verify.memory import device_shortage, memory_seconds, parts_with_memory
from bitgate.verify.planned import PlannedCase, PlannedMessage
from bitgate.verify.process import Opening
from bitgate.verify.server import BY_BITS, CaseServer, LoadLibrary, VerifyCase

UNHEALTHY = Path(__file__).parent / "unhealthy" / "declaration.py"
PROJECT = ours().loading([UNHEALTHY])
PLANNED = PlannedCase(
    parse_case_id("fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1"),
    kernel_called(families(PROJECT, "host", here=True), "unhealthy", "fwd_f32"),
)


class Parent:
    """The parent's end of the channel: it hears the deadlines that are set anew."""

    def __init__(self) -> None:
        self.deadlines: list[float] = []

    def note(self, value: Any, seconds: float | None = None) -> None:
        self.deadlines += [] if seconds is None else [seconds]

    def upcoming(self) -> None:
        return None


def verdict_without_memory(monkeypatch: pytest.MonkeyPatch, times: int, name: str) -> tuple[Verdict, Parent]:
    """The verdict of a case whose first ``times`` requests to the launcher end in this error."""
    parent = Parent()
    judge = CaseServer(parent)  # type: ignore[arg-type]
    judge.open(Opening("host", PROJECT).message())
    judge.load(LoadLibrary("unhealthy", "fwd_f32", False))
    ask, left = judge.launcher.ask, [None] * times

    def starved(*arguments: Any, **named: Any) -> Any:
        if left:
            left.pop()
            raise HipError(name, "out of memory", "hipMalloc")
        return ask(*arguments, **named)

    monkeypatch.setattr(judge.launcher, "ask", starved)
    monkeypatch.setattr(server, "MEMORY_PAUSE", 0.01)
    try:
        return from_event(judge.verify(VerifyCase(PlannedMessage.of(PLANNED), BY_BITS, 60.0)).verdict), parent
    finally:
        judge.end()


def test_a_case_waits_until_memory_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_MEMORY_SECONDS", "100")
    verdict, parent = verdict_without_memory(monkeypatch, 3, "hipErrorOutOfMemory")
    assert verdict.outcome is Outcome.PASS
    assert len(parent.deadlines) >= 2  # a canary goes first, which may starve too


def test_its_wait_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_MEMORY_SECONDS", "0.2")
    verdict, _ = verdict_without_memory(monkeypatch, 10_000, "hipErrorOutOfMemory")
    assert verdict.outcome is Outcome.INFRA
    assert "hipErrorOutOfMemory" in verdict.reason


def test_no_case_waits_for_another_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_MEMORY_SECONDS", "100")
    verdict, _ = verdict_without_memory(monkeypatch, 1, "hipErrorUnknown")
    assert verdict.outcome is Outcome.INFRA


def test_a_gpu_waits_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITGATE_MEMORY_SECONDS", raising=False)
    assert memory_seconds(on_host=True) == 0
    assert memory_seconds(on_host=False) == 120


class Gpu:
    """A session on a GPU with that memory, in GiB."""

    platform = "amd"
    lacked_memory = False

    def __init__(self, free: float, total: float, *, in_parts: bool = False) -> None:
        self.target = self.launcher = self
        self.memory = lambda: DeviceMemory(int(free * 2**30), int(total * 2**30), in_parts)


@pytest.mark.parametrize(
    ("free", "total", "short", "waits"), [(60, 64, False, False), (4, 64, True, True), (4, 8, True, False)]
)
def test_what_fits_when_others_are_gone_waits(free: float, total: float, short: bool, waits: bool) -> None:
    large = parse_case_id("gemm_f32_rrr_b1m32768n32768k32768")  # 12 GiB
    gpu = Gpu(free, total)
    assert bool(device_shortage(large, gpu, 0)) is short  # type: ignore[arg-type]
    assert gpu.lacked_memory is waits


WIDE = "fwd_f32_nwgc_g1n3k8c4_y3_h6_p1_gapoutg2147483632"  # 136 GiB, of which 144 cells are data


@pytest.mark.parametrize(
    ("total", "in_parts", "short", "has_parts"),
    [(400, True, False, False), (200, True, False, True), (16, True, False, True), (16, False, True, False)],
)
def test_padding_has_memory_on_a_gpu_that_holds_it_and_a_reference(
    total: float, in_parts: bool, short: bool, has_parts: bool
) -> None:
    wide, gpu = parse_case_id(WIDE), Gpu(total, total, in_parts=in_parts)
    parts = parts_with_memory(wide, gpu.memory(), on_host=False)
    assert list(parts) == (["out"] if has_parts else [])
    assert bool(device_shortage(wide, gpu, 0)) is short  # type: ignore[arg-type]
    assert bool(device_shortage(wide, gpu, 0, whole=True)) is (total < 137)  # type: ignore[arg-type]


def test_a_stated_size_is_what_cases_count_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_DEVICE_MEMORY", "64M")
    memory = open_device(named("host")).memory()
    assert (memory.free, memory.total) == (64 << 20, 64 << 20)


@pytest.mark.parametrize("size", ["0", "many", "-1G", "1.5G"])
def test_a_size_that_is_none_is_refused(size: str) -> None:
    with pytest.raises(UsageError, match=r"BITGATE_DEVICE_MEMORY=.*: give bytes, more than 0"):
        settings.check({"BITGATE_DEVICE_MEMORY": size})
