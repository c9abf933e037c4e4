"""A PASS that a kernel which only clears its result has as well compares nothing, and says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.bounded import bounded_reference
from tests.problems import convolution

from bitgate.cli.main import run
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import DTYPES, F32_ACCUMULATION
from bitgate.numerics.certificate import NO_PRODUCT, ZERO_RESULT, has_products
from bitgate.numerics.digest import digest_of_zeros
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.ops.convolution import ConvProblem
from bitgate.results.record import Outcome, from_event, to_event
from bitgate.verify.bounds import Bounds
from bitgate.verify.laws import judge_by_laws
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session
from bitgate.verify.stored import FILE, StoredDigest, key_of, write

NOTHING = "bwd_data_f16_nhwgc_g1n1k8c8_y2x2_h1x1_s1x1_d3x3_p2x2"
"""The tap before and the tap behind, both in the padding: no product at all."""
SOMETHING = "bwd_data_f16_nhwgc_g1n1k8c8_y2x2_h2x2_s1x1_d3x3_p2x2"
LOOSE = "bwd_weight_bf16_nhwgc_g1n4k16c16_y3x3_h16x16_p1x1_sk64"
"""64 slices that meet in bf16: each cell may be off by half of the sum of its terms' magnitudes."""
FAMILIES = families(target="host")
BWD_DATA = ("grouped_bwd_data", "f16_32x32x32_a1b1c1")
BWD_WEIGHT = ("grouped_bwd_weight", "bf16_32x32x32_a1b1c1")


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host", suites=())


def plan(case: str, kernel: tuple[str, str] = BWD_DATA, **more: object) -> PlannedCase:
    return PlannedCase(convolution(case), kernel_called(FAMILIES, *kernel), **more)  # type: ignore[arg-type]


def relu(seed: int) -> PlannedCase:
    return plan("fwd_f32_nwgc_n1k1c1_y1_h1_relu", ("naive_conv", "fwd_f32"), seed=seed)


def brute_force(problem: ConvProblem) -> bool:
    def hits(axis: int) -> Iterator[int]:
        for output, tap in product(range(problem.output[axis]), range(problem.filter[axis])):
            at = output * problem.stride[axis] + tap * problem.dilation[axis] - problem.left_pad[axis]
            yield 0 <= at < problem.input[axis]

    return all(any(hits(axis)) for axis in range(problem.ndim))


def test_products_exist_where_a_tap_meets_the_image() -> None:
    found = set()
    for length, taps, stride, dilation, pad in product((1, 2, 5), (1, 2, 3), (1, 2, 4), (1, 3), (0, 1, 2, 3)):
        if length + 2 * pad < dilation * (taps - 1) + 1:
            continue
        problem = convolution(f"fwd_f32_nwgc_n1k1c1_y{taps}_h{length}_s{stride}_d{dilation}_p{pad}")
        assert has_products(problem) == brute_force(problem), problem
        found.add(has_products(problem))
    assert found == {True, False}


@pytest.mark.parametrize("reference", ["auto", "exact", "gpu"])
def test_a_case_without_products_compares_nothing(session: Session, reference: str) -> None:
    verdict = verify(plan(NOTHING, reference=reference), session)
    assert (verdict.outcome, verdict.compared, verdict.green) == (Outcome.PASS, False, True)
    assert verdict.reason == NO_PRODUCT
    assert verdict.certificate is not None
    assert verdict.certificate.sensitivity == 0
    assert NO_PRODUCT in verdict.certificate.note
    event = to_event(verdict)
    assert event["compared"] is False
    assert from_event(json.loads(json.dumps(event))) == verdict


def test_a_case_without_products_is_not_red_where_it_is_held_to_bounds(session: Session) -> None:
    """1.2 times D has no bits that any order gives: what is left of the problem is D alone."""
    verdict = verify(plan(f"{NOTHING}_bilinear_b1p2", suite="toy"), session)
    assert (verdict.outcome, verdict.compared, verdict.reason) == (Outcome.PASS, False, NO_PRODUCT)


def test_a_row_that_states_it_holds_that_zeros_are_written(session: Session) -> None:
    verdict = verify(plan(NOTHING, zero_result=True, suite="toy"), session)
    assert (verdict.outcome, verdict.compared) == (Outcome.PASS, True)
    assert verdict.certificate is not None
    assert verdict.certificate.sensitivity == 0


def test_a_case_with_products_is_compared(session: Session) -> None:
    verdict = verify(plan(SOMETHING), session)
    assert (verdict.outcome, verdict.compared, verdict.reason) == (Outcome.PASS, True, "")
    assert to_event(verdict)["compared"] is True


def test_a_zero_digest_that_is_stored_is_known(tmp_path: Path) -> None:
    """Whatever sensitivity an older file claims, and though products exist: relu clips the only cell."""
    case = "fwd_f32_nwgc_n1k1c1_y1_h1_relu"
    seed = next(s for s in range(8) if verify(relu(s), Session("host", suites=())).reason == ZERO_RESULT)
    problem = convolution(case)
    zeros = StoredDigest(digest_of_zeros(problem), 100, 1.0, 1.0, "")
    (tmp_path / "toy").mkdir()
    write(tmp_path / "toy" / FILE, {key_of(relu(seed).case, plan_fill(problem, F32_ACCUMULATION, seed=seed)): zeros})
    verdict = verify(relu(seed), Session("host", suites=[tmp_path]))
    assert (verdict.outcome, verdict.reference, verdict.compared) == (Outcome.PASS, "stored", False)
    assert verdict.reason == ZERO_RESULT


def test_a_bound_that_admits_zero_everywhere_compares_nothing(session: Session) -> None:
    verdict = verify(plan(LOOSE, BWD_WEIGHT, fill="decimal"), session)
    assert (verdict.outcome, verdict.compared) == (Outcome.PASS, False)
    assert verdict.reason == "the bound of every cell admits zero: a kernel that only clears its result passes"
    tight = verify(plan(LOOSE.removesuffix("_sk64"), BWD_WEIGHT, fill="decimal"), session)
    assert (tight.outcome, tight.compared) == (Outcome.PASS, True)


def test_in_a_suite_such_a_bound_is_red_unless_the_row_has_it(session: Session) -> None:
    verdict = verify(plan(LOOSE, BWD_WEIGHT, fill="decimal", suite="toy"), session)
    assert (verdict.outcome, verdict.green) == (Outcome.NOT_RUN, False)
    assert verdict.reason.startswith("nothing was compared: the bound of every cell admits zero")
    stated = verify(plan(LOOSE, BWD_WEIGHT, fill="decimal", suite="toy", zero_result=True), session)
    assert stated.outcome is Outcome.PASS


def a_bound(value: list[float], slack: float, dtype: str) -> Bounds:
    cells, no = np.array(value), np.zeros(len(value), np.bool_)
    reference = np.clip(cells, -448, 448).astype(DTYPES[dtype].numpy)
    return Bounds(cells, np.full(len(value), slack), reference, DTYPES[dtype], no, no, no)


@pytest.mark.parametrize(("slack", "loose"), [(1.0, False), (2.0, False), (3.0, True), (np.inf, True)])
def test_loose_is_a_bound_beyond_every_value(slack: float, loose: bool) -> None:
    assert a_bound([1.0, -2.5], slack, "f32").is_loose == loose


def test_a_saturated_8_bit_float_is_within_its_bound() -> None:
    """448 is all that f8 has: it was "7000 % of the bound" of 1150, beside PASS."""
    bounds = a_bound([1150.0, 1.0], 10.0, "f8ocp")
    assert not bounds.outside(bounds.reference).any()
    assert bounds.error(bounds.reference)["of_bound"] == 0


@pytest.mark.parametrize("dtypes", ["f64", "f32", "f16", "bf16", "f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz"])
@pytest.mark.parametrize("fill", ["decimal", "special", "codes"])
def test_what_lies_inside_takes_no_more_than_its_bound(dtypes: str, fill: str) -> None:
    problem = convolution(f"fwd_{dtypes}_nhwgc_n1k8c64_y3x3_h6x6_p1")
    accumulation = replace(F32_ACCUMULATION, accumulator=DTYPES["f64" if dtypes == "f64" else "f32"])
    inputs = make_inputs(problem, plan_fill(problem, accumulation, fill))
    reference, bounds = bounded_reference(problem, inputs, accumulation)
    assert not bounds.outside(reference.logical).any()
    assert bounds.error(reference.logical).get("of_bound", 0.0) <= 1


def test_laws_of_zeros_compare_nothing(session: Session) -> None:
    verdict = judge_by_laws(plan(NOTHING), session)
    assert (verdict.outcome, verdict.compared) == (Outcome.PASS, False)
    assert "every result was zero in every cell" in verdict.reason
    assert judge_by_laws(plan(NOTHING, suite="toy"), session).outcome is Outcome.NOT_RUN
    assert judge_by_laws(plan(SOMETHING), session).compared


def test_the_command_ends_with_3_or_names_the_case_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = ["--kernel", ".".join(BWD_DATA), "--target", "host"]
    assert run(["verify", NOTHING, *kernel]) == 3
    assert f"not compared: {NO_PRODUCT}" in capsys.readouterr().out
    assert run(["verify", SOMETHING, NOTHING, *kernel, "--json"]) == 1, "one of two named cases was not compared"
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert {name: summary[name] for name in ("asked", "compared", "exit")} == {"asked": 2, "compared": 1, "exit": 1}


def test_a_result_that_happens_to_be_zero_is_reported() -> None:
    """relu clips the only cell of some seeds."""
    verdicts = [verify(relu(seed), Session("host", suites=())) for seed in range(8)]
    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASS}
    assert {verdict.reason for verdict in verdicts} == {"", ZERO_RESULT}
    assert all(verdict.compared == (verdict.reason == "") for verdict in verdicts)
