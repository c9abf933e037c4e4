"""One real case to one verdict, through a real library on the host: every outcome that a kernel can earn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel, kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict, from_event, to_event
from bitgate.verify.memory import memory_shortage
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.session import Session

DECLARATION = Path(__file__).parent / "unhealthy" / "declaration.py"
FAMILIES = families(ours().loading([DECLARATION]), "host", here=True)
CASE = "fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1"


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host", project=ours().loading([DECLARATION]))


def verify_alone(planned: PlannedCase, load: tuple[Path, ...], time_limit: float = 600.0) -> Verdict:
    with CaseProcess(Opening(planned.target, ours().loading(load))) as process:
        return process.verify(planned, time_limit)


def plan(illness: str = "none", case: str = CASE, **more) -> PlannedCase:
    return PlannedCase(
        parse_case_id(case), kernel_called(FAMILIES, "unhealthy", "fwd_f32", [("illness", illness)]), **more
    )


def test_pass_carries_all_that_a_results_line_needs(session):
    verdict = verify(plan(), session)
    assert verdict.outcome is Outcome.PASS
    assert verdict.green
    assert verdict.compared
    assert verdict.certificate
    assert verdict.certificate.holds
    assert verdict.digest.startswith("bg1:")
    assert verdict.dispatch["path"] == "naive"
    assert set(verdict.seconds) == {"fill", "kernel", "reference", "compare", "total"}
    assert verdict.fingerprint["guards"] == "both"
    assert verdict.human == "fwd f32 NHWGC G=1 N=1 K=8 C=4 3x3 6x6 p1"
    assert verdict.foreign == "ckProfiler grouped_conv_fwd 0 1 0 1 1 0 0 2 1 1 8 4 3 3 6 6 1 1 1 1 1 1 1 1"
    assert from_event(to_event(verdict)) == verdict


def test_a_case_that_is_cut_short_says_what_is_known_until_then(session):
    def ends(what, tensor):
        raise MemoryError("no room for the dump")

    verdict = verify(plan(), session, observer=ends)
    assert (verdict.outcome, verdict.reason) == (Outcome.INFRA, "the host ran out of memory: no room for the dump")
    assert verdict.certificate
    assert verdict.certificate.holds
    assert verdict.reference == "exact"
    assert verdict.seconds["kernel"] > 0
    assert verdict.fingerprint["guards"] == "both"


@pytest.mark.parametrize(
    ("illness", "outcome", "words"),
    [
        ("wrong", Outcome.MISMATCH, "1 of 288 cells of y are wrong, within k 5, h 0, w 0"),
        ("idle", Outcome.MISMATCH, "nothing was written"),
        ("past", Outcome.CRASHED, "+0 past the end of buffer out (1152 bytes), byte offset 1152"),
        ("before", Outcome.CORRUPTED, "byte 4 before buffer out was written"),
        ("input", Outcome.CORRUPTED, "input in was changed: 1 of 144 elements, the first at index 3"),
        ("race", Outcome.NONDETERMINISTIC, "on the same input differ in 1 of 288 cells"),
        ("fail", Outcome.CRASHED, "hipErrorInvalidValue"),
        ("record", Outcome.MISMATCH, "the dispatch record is not what the problem needs: launches is 7, predicted 1"),
        ("more", Outcome.REFUSED, "the library refuses (mood) what its declaration supports"),
        ("less", Outcome.REFUSED, "the library supports what its declaration refuses (mood)"),
    ],
)
def test_each_illness_is_red_and_named(session, illness, outcome, words):
    verdict = verify(plan(illness), session)
    assert verdict.outcome is outcome
    assert not verdict.green
    assert words in verdict.reason
    assert from_event(to_event(verdict)) == verdict


def test_a_disagreement_names_what_the_library_does_not_look_at(session):
    """The declaration refuses any stride; the library asks for the last axis only."""
    verdict = verify(plan("blind", CASE + "_s2x1"), session)
    assert verdict.outcome is Outcome.REFUSED
    assert (
        "refuses (stride_1): strides of (2, 1); both refuse it with stride (1, 2) instead of (2, 1)" in verdict.reason
    )
    assert "both take it with stride[0] 1 instead of 2" in verdict.reason


def test_a_disagreement_over_every_problem_has_no_neighbours(session):
    reason = "the library supports what its declaration refuses (mood): the declaration does not feel like it"
    assert verify(plan("less"), session).reason == reason


def test_a_fault_names_kernel_block_thread_buffer_and_offset(session):
    diagnosis = verify(plan("past"), session).diagnosis
    assert diagnosis
    fault = diagnosis.evidence["fault"]
    assert fault["kernel"] == "write_one"
    assert fault["block"] == fault["thread"] == [0, 0, 0]
    assert (fault["buffer"], fault["offset"], fault["size"]) == ("out", 1152, 1152)


def test_after_a_crash_the_next_case_is_healthy(session):
    assert verify(plan("past"), session).outcome is Outcome.CRASHED
    assert verify(plan(), session).outcome is Outcome.PASS


def test_a_written_gap_is_corruption_though_every_cell_is_right(session):
    verdict = verify(plan("gap", CASE + "_gap"), session)
    assert verdict.outcome is Outcome.CORRUPTED
    assert "the padding between the rows of out was written (index 8 of its memory)" in verdict.reason
    assert verify(plan("none", CASE + "_gap"), session).outcome is Outcome.PASS


def test_both_runs_take_a_stated_schedule(session):
    assert verify(plan("race", schedule="reverse"), session).outcome is Outcome.MISMATCH
    assert verify(plan(schedule="random:7"), session).outcome is Outcome.PASS


def test_an_expensive_case_runs_once(session, monkeypatch):
    monkeypatch.setattr("bitgate.verify.session.CHEAP_FLOPS", {"host": 0})
    verdict = verify(plan("race"), session)
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.fingerprint["guards"] == "right"


ODD = "fwd_f32_nhwgc_g1n1k8c3_y3_h6_p1"


def test_an_expected_refusal_is_green_with_its_clause_only(session):
    assert verify(plan(case=ODD, refused="c_even"), session).green
    other = verify(plan(case=ODD, refused="k_even"), session)
    assert (other.outcome, other.green) == (Outcome.REFUSED, False)
    assert "refused by c_even, expected k_even" in other.reason
    unexpected = verify(plan(case=ODD), session)
    assert (unexpected.outcome, unexpected.green) == (Outcome.REFUSED, False)
    accepted = verify(plan(refused="c_even"), session)
    assert not accepted.green
    assert "was to be refused (c_even), and is supported" in accepted.reason


def test_a_case_that_does_not_fit_is_not_tried(session):
    verdict = verify(plan(case="fwd_f32_nhwgc_g1n65536k2c64_y1_h512"), session)
    assert verdict.outcome is Outcome.NOT_RUN
    assert verdict.green
    assert "GiB of device memory, " in verdict.reason


def test_a_case_that_host_memory_does_not_hold_is_not_tried(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1 << 30))
    half, more = (parse_case_id(f"fwd_f32_nhwgc_g1n1k1c{c}_y1_h1024") for c in (64, 256))
    assert memory_shortage(half, True, "exact") == ""
    assert memory_shortage(more, True, "exact").startswith("the case needs about 2.0 GiB of host memory, 1.0 GiB")
    assert memory_shortage(more, False, "exact").startswith("the case needs about 1.0 GiB")


def test_data_that_an_operation_makes_take_more_memory_than_they_have(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1 << 30))
    total, largest = (parse_case_id(f"reduction_f16_o1000l32768i1_{kind}") for kind in ("sum", "max"))
    assert memory_shortage(total, False, "exact") == ""
    assert memory_shortage(largest, False, "exact").startswith("the case needs about 1.3 GiB of host memory")


def test_a_source_that_does_not_compile_is_a_verdict(tmp_path):
    session = Session("host", project=ours().loading([DECLARATION]))
    broken = tmp_path / "unhealthy.hip.cpp"
    broken.write_text("this is no C++\n")
    family = session.families["unhealthy"]
    kernel = Kernel(replace(family, sources=(str(broken),)), family.instances[0])
    verdict = verify(replace(plan(), kernel=kernel), session)
    assert verdict.outcome is Outcome.BUILD_FAILED
    assert "error" in verdict.reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schedule": "backwards"}, "give forward, reverse, lockstep or random:N"),
        ({"fill": "exotic"}, "unknown fill 'exotic'"),
        ({"fill": "decimal", "reference": "ordered"}, "bits depend on the order of summation"),
        ({"fill": "decimal", "reference": "exact"}, "no exact reference: data are not integers"),
        ({"reference": "oracle"}, "reference 'oracle'"),
    ],
)
def test_a_mistake_of_the_user_is_no_verdict(session, change, message):
    with pytest.raises(UsageError, match=message):
        verify(replace(plan(), **change), session)


def test_the_naive_kernels_take_real_numbers(session):
    problem = parse_case_id("bwd_weight_f32_nhwgc_g2n2k4c4_y3_h6_p1")
    planned = PlannedCase(problem, kernel_called(FAMILIES, "naive_conv", "bwd_weight_f32"), fill="decimal")
    verdict = verify(planned, session)
    assert (verdict.outcome, verdict.reference) == (Outcome.PASS, "ordered")
    assert verdict.certificate
    assert not verdict.certificate.holds


def test_real_numbers_are_held_to_a_bound_a_cell(session):
    verdict = verify(plan(fill="decimal"), session)
    assert (verdict.outcome, verdict.reference, verdict.digest) == (Outcome.PASS, "bounds", "")
    wrong = verify(plan("wrong", fill="decimal"), session)
    assert wrong.outcome is Outcome.MISMATCH
    assert "1 of 288 cells of y are wrong" in wrong.reason
    assert wrong.diagnosis
    assert len(wrong.diagnosis.evidence["first_wrong_cells"]) == 1


def test_the_devices_naive_kernel_is_a_reference_too(session):
    there, here = verify(plan(reference="gpu"), session), verify(plan(), session)
    assert (there.outcome, there.reference, there.digest) == (Outcome.PASS, "gpu", here.digest)
    assert verify(plan("wrong", reference="gpu"), session).outcome is Outcome.MISMATCH
    with pytest.raises(UsageError, match="is the kernel that --reference gpu compares with"):
        verify(
            PlannedCase(parse_case_id(CASE), kernel_called(FAMILIES, "naive_conv", "fwd_f32"), reference="gpu"), session
        )


def test_a_sum_of_rows_is_held_to_the_naive_kernel_on_the_device():
    session = Session("host")
    total = parse_case_id("reduction_f16_o7l300i5_sum")

    def planned(family: str, instance: str, reference: str) -> PlannedCase:
        return PlannedCase(total, kernel_called(FAMILIES, family, instance), reference=reference)

    there, here = (verify(planned("reduction", "f16_columns", by), session) for by in ("gpu", "auto"))
    assert (there.outcome, there.reference, there.digest) == (Outcome.PASS, "gpu", here.digest)
    with pytest.raises(UsageError, match="is the kernel that --reference gpu compares with"):
        verify(planned("naive_reduction", "f16", "gpu"), session)


def test_the_dump_sees_every_tensor(session):
    seen: dict[str, Any] = {}
    verify(plan("wrong"), session, lambda name, tensor: seen.setdefault(name, tensor.logical.copy()))
    assert set(seen) == {"in", "wei", "result", "reference"}
    assert (seen["result"] != seen["reference"]).sum() == 1


def test_a_kernel_that_kills_its_process_is_a_crash():
    verdict = verify_alone(plan("abort"), (DECLARATION,))
    assert verdict.outcome is Outcome.CRASHED
    assert "died of SIGABRT" in verdict.reason
    assert "--load" in verdict.repro


@pytest.mark.parametrize(("illness", "words"), [("third", "1 of 288 cells"), ("cached", "of 288 cells")])
def test_a_third_launch_on_other_data_shows_hidden_state(illness, words):
    verdict = verify_alone(plan(illness), (DECLARATION,))
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.diagnosis
    assert "launch 3 of the same problem, with other data" in verdict.diagnosis.sentence
    assert verdict.diagnosis.evidence["seed"] == 1000003
    assert words in verdict.diagnosis.sentence


def test_memory_by_address_is_found_in_buffers_of_other_data():
    verdict = verify_alone(plan("kept"), (DECLARATION,))
    assert verdict.outcome is Outcome.MISMATCH
    assert "launch 5 of the same problem, after one of seed 1000003 in the same buffers" in verdict.reason
    assert verdict.diagnosis
    assert "seed" not in verdict.diagnosis.evidence


def test_a_kernel_that_never_ends_is_hung(monkeypatch):
    monkeypatch.setenv("BITGATE_SPIN_SECONDS", "100")
    verdict = verify_alone(plan("hang"), (DECLARATION,), time_limit=3)
    assert verdict.outcome is Outcome.HUNG
    assert "no verdict within 3 s" in verdict.reason


def test_an_endless_wait_is_reported_before_the_timeout():
    verdict = verify_alone(plan("hang"), (DECLARATION,), time_limit=10)
    assert verdict.outcome is Outcome.CRASHED
    assert "it spins: 1" in verdict.reason


def test_an_isolated_verdict_is_the_same_as_one_here():
    session = Session("host", project=ours().loading([DECLARATION]))  # which has probed no wrong result yet
    there, here = verify_alone(plan("wrong"), (DECLARATION,)), verify(plan("wrong"), session)
    assert (there.key, there.outcome, there.diagnosis, there.digest) == (
        here.key,
        here.outcome,
        here.diagnosis,
        here.digest,
    )
    with pytest.raises(UsageError, match="unknown fill"):
        verify_alone(replace(plan(), fill="exotic"), (DECLARATION,))
