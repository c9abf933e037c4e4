"""A library that returns OK has to have done its work, all of it, with nothing left for others to find."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bitgate.core.project import ours
from bitgate.kernel.abi import EventKind
from bitgate.kernel.dispatch import DispatchRecord, LaunchEvent
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict
from bitgate.runtime.errors import HipError
from bitgate.runtime.ledger import HipLedger, Incident
from bitgate.runtime.seen_work import KERNEL, SeenWork
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.running import LaunchEffects, after_launch, launched_before
from bitgate.verify.session import Session

DECLARATION = Path(__file__).parent / "fault_injected" / "declaration.py"
CASE = "fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1"
HID = "; the library hid it and returned OK"
LEFT = "work was left in flight on a stream that is not the caller's: "


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host", project=ours().loading([DECLARATION]))


def verdict(session: Session, option: str, value: str, instance: str = "f32", case: str = CASE, **more) -> Verdict:
    kernel = kernel_called(session.families, "fault_injected", instance, [(option, value)])
    planned = PlannedCase(parse_case_id(case), kernel, **more)
    found = verify(planned, session)
    healthy = verify(
        PlannedCase(parse_case_id(CASE), kernel_called(session.families, "fault_injected", "f32")), session
    )
    assert healthy.outcome is Outcome.PASS, "what the case left behind hurt the next one"
    return found


@pytest.mark.parametrize("reference", ["auto", "gpu"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("null", "kernel add, block (0,0,0), thread (0,0,0): read through a null pointer (address 0x0)"),
        ("launch", "launch of add with grid (1,1,1), block (4096,1,1), 0 LDS bytes refused"),
        ("unread", "launch of add with grid (1,1,1), block (4096,1,1), 0 LDS bytes refused"),
        ("copy", "hipMemcpy: the destination reaches"),
        ("double_free", "has been freed already"),
        ("foreign_free", "is no buffer of this runtime"),
        ("lent_free", "hipFree: buffer wei belongs to the caller, who frees it"),
        ("reset", "hipDeviceReset: "),
        ("left_error", "hipErrorInvalidDevice was left by a call whose result the library did not check"),
    ],
)
def test_an_error_that_the_library_cleared_is_a_crash(session, value, words, reference):
    found = verdict(session, "hides", value, reference=reference)
    assert found.outcome is Outcome.CRASHED
    assert words in found.reason
    assert found.reason.endswith(HID)


def test_where_a_hidden_fault_happened_is_evidence(session):
    diagnosis = verdict(session, "hides", "null").diagnosis
    assert diagnosis
    fault = diagnosis.evidence["fault"]
    assert (fault["kind"], fault["kernel"], fault["thread"]) == ("null", "add", [0, 0, 0])


@pytest.mark.parametrize("value", ["own_memory", "full_memory"])
def test_private_memory_and_a_failed_allocation_are_no_errors(session, value):
    found = verdict(session, "hides", value)
    assert found.outcome is Outcome.PASS
    assert found.fingerprint["unchecked"] == "capture"  # its declaration says that launches wait


@pytest.mark.parametrize("reference", ["auto", "gpu"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("stream", "kernel add on a stream of its own"),
        ("destroyed_stream", "kernel add on a stream of its own"),
        ("null_stream", "hipMemsetAsync on the null stream"),
    ],
)
def test_work_that_nobody_waits_for_is_corruption(session, value, words, reference):
    found = verdict(session, "leaves", value, reference=reference)
    assert (found.outcome, found.reason) == (Outcome.CORRUPTED, LEFT + words)


def test_work_that_was_left_and_faults_when_it_runs(session):
    found = verdict(session, "hides", "late_fault")
    assert found.outcome is Outcome.CORRUPTED
    assert found.reason.startswith(LEFT + "kernel add on the null stream; kernel add, block (0,0,0)")


def test_a_private_stream_that_the_caller_awaits_is_fine(session):
    assert verdict(session, "leaves", "joined_stream").outcome is Outcome.PASS


def test_the_callers_stream_cannot_be_destroyed(session):
    found = verdict(session, "leaves", "no_stream")
    assert found.outcome is Outcome.CRASHED
    # This library reports the error, and knows less about it than the runtime.
    assert found.reason.endswith(
        "(invalid resource handle): hipStreamDestroy: the stream belongs to the caller, who destroys it"
    )


def test_a_kernel_that_is_given_a_host_pointer(session):
    found = verdict(session, "trusts", "host_pointer")
    assert found.outcome is Outcome.CRASHED
    assert "kernel add, argument 2: 0x" in found.reason
    assert "points into the host's memory, which no GPU can read" in found.reason


@pytest.mark.parametrize(("value", "words"), [("flush", "flush-to-zero (MXCSR"), ("round", "rounding (MXCSR")])
def test_a_changed_fp_environment_corrupts_one_case_only(session, value, words):
    found = verdict(session, "changes", value)
    assert found.outcome is Outcome.CORRUPTED
    assert "kernel set_control, block (0,0,0)" in found.reason
    assert f"the floating-point environment was changed and left so: {words}" in found.reason
    special = PlannedCase(parse_case_id(CASE), kernel_called(session.families, "fault_injected", "f32"), fill="special")
    assert verify(special, session).outcome is Outcome.PASS


@pytest.mark.parametrize("reference", ["auto", "gpu"])
@pytest.mark.parametrize("value", ["scratch", "lds"])
def test_a_value_that_only_the_first_poison_hides(session, value, reference):
    """fmax(NaN, 0) is 0: what the kernel read from unwritten memory did no harm, by luck of the pattern."""
    found = verdict(session, "trusts", value, reference=reference)
    assert found.outcome is Outcome.NONDETERMINISTIC
    assert "a read of memory that was never written" in found.reason


def test_a_cell_that_nobody_wrote_and_that_is_right_by_luck(session):
    """An i8 cell that should hold 0xA5 holds the first poison, which is 0xA5."""
    found = verdict(session, "trusts", "luck", "i8", "fwd_i8_nhwgc_g1n1k32c16_y1_h16")
    assert found.outcome is Outcome.MISMATCH
    assert found.diagnosis
    assert found.diagnosis.kinds[0] == "never_written"
    assert found.diagnosis.evidence["run"] == "reverse schedule, left-aligned buffers"


def test_cells_that_no_launch_wrote_are_no_race(session):
    found = verdict(session, "trusts", "idle")
    assert found.diagnosis
    assert (found.outcome, found.diagnosis.kinds[0]) == (Outcome.MISMATCH, "never_written")


@pytest.mark.parametrize(
    ("value", "outcome", "words"),
    [
        ("negative", Outcome.CRASHED, "bitgate_workspace_size returned -1000, which is neither a size nor a status"),
        ("status", Outcome.CRASHED, "HIP_ERROR: bitgate_workspace_size gives no reason"),
        ("more", Outcome.MISMATCH, "bitgate_workspace_size asks for 512 bytes of workspace, predicted 256"),
        ("less", Outcome.MISMATCH, "bitgate_workspace_size asks for 0 bytes of workspace, predicted 256"),
        ("more_alone", Outcome.MISMATCH, "1048576 bytes of workspace, more than 16 times the tensors' 2880"),
        ("huge_alone", Outcome.MISMATCH, "have the declaration's dispatch predict workspace_bytes"),
    ],
)
def test_an_implausible_workspace_is_not_allocated(session, value, outcome, words):
    found = verdict(session, "asks", value)
    assert (found.outcome, found.green) == (outcome, False)
    assert words in found.reason


@pytest.mark.parametrize(
    ("value", "outcome", "words"),
    [
        ("fault", Outcome.CRASHED, "kernel add, block (0,0,0), thread (0,0,0): "),
        ("work", Outcome.CORRUPTED, LEFT + "kernel add on the null stream; kernel add, block (0,0,0)"),
    ],
)
def test_a_question_is_held_to_the_same(session, value, outcome, words):
    found = verdict(session, "asks", value)
    assert found.outcome is outcome
    assert found.reason.startswith("when asked about the problem: " + words)


def test_a_workspace_as_predicted_that_does_not_fit_is_not_run(session):
    found = verdict(session, "asks", "huge")
    assert (found.outcome, found.green) == (Outcome.NOT_RUN, True)
    assert "GiB of device memory" in found.reason
    assert verdict(session, "asks", "modest_alone").outcome is Outcome.PASS


class Rocm:
    """ROCm's runtime as far as HipLedger asks it."""

    class hipError_t:
        hipSuccess, hipErrorNotReady = 0, 600

    def __init__(self, last: object = 0, null_stream: int = 0) -> None:
        self.last, self.null_stream = last, null_stream

    def hipGetLastError(self) -> object:
        last, self.last = self.last, 0
        return last

    def hipPeekAtLastError(self) -> tuple[object]:
        return (self.last,)

    def hipStreamQuery(self, stream: object) -> tuple[int]:
        assert stream is None
        return (self.null_stream,)


class Failed:
    name = "hipErrorInvalidValue"


def test_on_amd_a_pending_error_and_null_stream_work_are_seen():
    ledger = HipLedger(Rocm())
    assert (list(ledger.since(ledger.mark())), ledger.in_flight(7)) == ([], "")
    rocm = Rocm(Failed(), 600)
    ledger = HipLedger(rocm)
    (incident,) = ledger.since(0)
    assert incident.text.startswith("hipErrorInvalidValue was left by a call")
    assert list(ledger.since(0)) == []
    assert ledger.in_flight(7) == "work on the null stream"


class Gpu:
    """A device whose runtime reports no place, and may be dead."""

    stream = 7

    def __init__(self, *incidents: Incident, in_flight: str = "", dead: bool = False) -> None:
        self.ledger = SimpleNamespace(since=lambda mark: incidents, in_flight=lambda stream: in_flight)
        kinds = SimpleNamespace(hipSuccess=0, hipErrorNotReady=600)
        self.hip = SimpleNamespace(hipPeekAtLastError=lambda: 0, hipGetLastError=lambda: 0, hipError_t=kinds)
        self._dead = dead

    def synchronize(self) -> None:
        if self._dead:
            raise HipError("hipErrorIllegalAddress", "an illegal memory access was encountered", "hipDeviceSynchronize")


BUFFERS: dict[str, Any] = {
    "in": SimpleNamespace(pointer=0x1000, bytes=64),
    "wei": SimpleNamespace(pointer=0x2000, bytes=64),
}


def effects(device: Any, reported: str = "") -> LaunchEffects:
    return after_launch(device, 0, BUFFERS, reported)


def test_on_a_gpu_a_refused_free_names_its_buffer():
    freed = Incident("hipFree of 0x2010: invalid argument", 0x2010)
    left = effects(Gpu(freed, Incident("hipMemcpy: invalid argument")))
    words = "hipFree of 0x2010: invalid argument (buffer wei, which belongs to the caller) (and 1 more after it)"
    assert left == LaunchEffects(crash=words + HID)
    assert "buffer" not in effects(Gpu(Incident("hipFree of 0x3000: x", 0x3000))).crash


def test_on_a_gpu_work_in_flight_corrupts_a_dead_device_crashes():
    left = effects(Gpu(in_flight="work on a stream of its own"))
    assert left == LaunchEffects(damage=LEFT + "work on a stream of its own")
    assert "hipErrorIllegalAddress" in effects(Gpu(dead=True)).crash
    assert effects(Gpu()) == LaunchEffects()


def test_waiting_for_the_callers_stream_spares_other_streams(session):
    device = session.opened.device
    buffer = device.alloc(4, name="word")
    device.hip.hipMemset(buffer.pointer, 1, 4)
    device.synchronize()
    assert device.ledger.in_flight(device.stream) == ""
    other = device.hip.hipStreamCreateWithFlags(1)[1]
    device.hip.hipMemsetAsync(buffer.pointer, 2, 4, other)
    device.wait()
    assert device.ledger.in_flight(device.stream) == "hipMemsetAsync on a stream of its own"
    device.synchronize()
    assert device.ledger.in_flight(device.stream) == ""
    device.hip.hipStreamDestroy(other)
    buffer.free()


def test_a_buffer_of_the_harness_can_be_freed_by_nobody_else(session):
    buffer = session.opened.device.alloc(4, name="word")
    mark = session.opened.device.ledger.mark()
    session.opened.device.hip.hipFree(buffer.pointer)
    (incident,) = session.opened.device.ledger.since(mark)
    assert incident.text == "hipFree: buffer word belongs to the caller, who frees it"
    buffer.free()
    assert len(session.opened.device.ledger.since(mark)) == 1


def test_a_call_that_failed_and_its_incident_are_said_once() -> None:
    failed = str(HipError("hipErrorIllegalAddress", "an illegal access", "hipStreamSynchronize"))
    gpu = Gpu(Incident("hipStreamSynchronize: an illegal access"), Incident("hipFree: an illegal access"))
    assert effects(gpu, failed).crash == f"{failed} (and 1 more after it)"
    other = Gpu(Incident("hipMemcpy: invalid argument"))
    assert effects(other, failed).crash == f"{failed}: hipMemcpy: invalid argument"


def test_kernels_before_a_crash_have_the_names_that_the_library_recorded() -> None:
    def seen(function: int, name: str = "") -> SeenWork:
        return SeenWork(KERNEL, name, (2, 1, 1), (64, 1, 1), function, 0, 0)

    event = LaunchEvent(EventKind.KERNEL, "add", (2, 1, 1), (64, 1, 1), 0, 32, (), b"", 0, 0, 0, function=0x10)
    record = DispatchRecord("", 1, False, 0, "", {}, (), (), (event,))
    work = [seen(0x10), seen(0x20), seen(0x30, "scale")]
    grid = "(grid (2, 1, 1), block (64, 1, 1))"
    assert launched_before(work, record) == f"; launched: add {grid}, a kernel {grid}, scale {grid}"
    assert launched_before(work[:1], None) == f"; launched: a kernel {grid}"
