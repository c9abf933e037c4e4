"""Each law holds for the convolution that numpy computes, and is broken by a kernel that is wrong in its way only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.oracle import sums
from tests.problems import convolution

from bitgate.core.errors import UsageError
from bitgate.kernel.resolved import kernel_called
from bitgate.model import Problem, operation_called, parse_case_id
from bitgate.model.law import Cells, Data, KernelFunction
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.convolution.laws import LAWS, passes
from bitgate.ops.reduction.diagnostics import LAWS as ALL_OF_REDUCTIONS
from bitgate.results.record import Outcome
from bitgate.verify.laws import break_of, judge_by_laws, small_data
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

SHAPE = "f32_nhwgc_g2n3k4c5_y3x2_h6x7_s2x3_d1x2_p1x0_q0x2"
REDUCTION_LAWS = [law for law in ALL_OF_REDUCTIONS if law.name != "linear"]
CASES = [f"{direction}_{SHAPE}" for direction in ("fwd", "bwd_data", "bwd_weight")]


Wrong = Callable[..., Cells]


class NumpyKernel:
    """A kernel that takes everything and computes what it is given."""

    name = "numpy.einsum"

    def __init__(self, compute: Wrong) -> None:
        self.compute = compute

    def takes(self, problem: ConvProblem) -> bool:
        return True

    def __call__(self, problem: ConvProblem, data: Data, output: str = "") -> Cells:
        return self.compute(problem, data)

    def partner(self, problem: ConvProblem) -> KernelFunction | None:
        return NumpyKernel(sums)


class Function(NumpyKernel):
    """One that gives the output that is asked for."""

    def __call__(self, problem: Problem, data: Data, output: str = "") -> Cells:
        return self.compute(problem, data, output)


def without_last(letter: str) -> Wrong:
    """One step of an axis is left out where there are several."""

    def compute(problem: ConvProblem, data: Data) -> Cells:
        axes = {"g": {"in": 0, "wei": 0, "out": 0}, "n": {"in": 1, "out": 1}, "k": {"wei": 1, "out": 2}}
        axis = {**axes, "c": {"in": 2, "wei": 2}}[letter]
        cut = {name: cells.copy() for name, cells in data.items()}
        for name in problem.operands:
            if name in axis and getattr(problem, letter) > 1:
                np.moveaxis(cut[name], axis[name], 0)[-1] = 0
        return sums(problem, cut)

    return compute


def twice_if(condition: Callable[[ConvProblem], bool]) -> Wrong:
    return lambda problem, data: sums(problem, data) * (2 if condition(problem) else 1)


WRONG: dict[str, Wrong] = {
    "linear": lambda problem, data: np.minimum(sums(problem, data), 5),
    "turned_g": without_last("g"),
    "turned_n": without_last("n"),
    "turned_k": without_last("k"),
    "turned_c": without_last("c"),
    "cut_g": twice_if(lambda problem: problem.g > 1),
    "cut_n": twice_if(lambda problem: problem.n > 2),
    "cut_k": twice_if(lambda problem: problem.k > 2),
    "cut_c": twice_if(lambda problem: problem.c > 3),
    "adjoint": twice_if(lambda problem: True),
    "subsampled": twice_if(lambda problem: problem.strided),
}


def data_of(problem: ConvProblem, seed: int = 0) -> Data:
    return small_data(problem, seed, 2**23, passes(problem))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_convolution_keeps_the_law_and_a_wrong_one_breaks_it(case, law):
    problem = convolution(case)
    right, wrong = NumpyKernel(sums), NumpyKernel(WRONG[law.name])
    assert law.applies(problem, right)
    assert break_of(law, problem, right, data_of(problem)) is None
    broken = break_of(law, problem, wrong, data_of(problem))
    assert broken is not None
    assert broken.sides.result[broken.first] != broken.sides.reference[broken.first]
    assert law.name in broken.sentence


@pytest.mark.parametrize("name", ["cut_g", "cut_n", "cut_k", "cut_c", "adjoint", "subsampled"])
def test_some_bugs_show_in_one_law_only(name):
    problem = convolution(CASES[1])
    wrong = NumpyKernel(WRONG[name])
    broken = {law.name for law in LAWS if break_of(law, problem, wrong, data_of(problem))}
    assert broken - {"adjoint"} == {name} - {"adjoint"}
    assert "adjoint" in broken  # the other passes know the right scale


def test_data_are_small_enough_for_every_pass():
    problem = convolution("bwd_data_bf16_nhwgc_g1n2k64c8_y3x3_h9x9_s1x1_p1x1")
    data = small_data(problem, 3, 128, passes(problem))
    for one in passes(problem):
        result = sums(one, data)
        assert np.abs(result).max() <= 128
        assert np.count_nonzero(result) > 0.1 * result.size, (one.direction, np.count_nonzero(result), result.size)
    with pytest.raises(UsageError, match="take a smaller problem"):
        small_data(problem, 3, 0, passes(problem))


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host")


def test_kernels_keep_the_laws_and_the_verdict_says_which(session):
    problem = parse_case_id("bwd_data_f32_nhwgc_g2n2k4c4_y3x3_h5x6_s2x1_d1x1_p1x1_q1x1")
    verdict = judge_by_laws(
        PlannedCase(problem, kernel_called(session.families, "naive_conv", "bwd_data_f32")), session
    )
    assert verdict.outcome is Outcome.PASS
    assert verdict.reason == f"held: {', '.join(law.name for law in LAWS)}"
    assert verdict.reference == "laws"
    assert verdict.repro.endswith("--laws")


def test_a_gemm_is_held_to_the_laws_of_any_product(session):
    problem = parse_case_id("gemm_f16_rcr_b2m9n16k24")
    instance = next(i.name for i in session.families["batched_gemm"].instances if "f16" in i.dtypes and i.fits("host"))
    verdict = judge_by_laws(PlannedCase(problem, kernel_called(session.families, "batched_gemm", instance)), session)
    assert verdict.outcome is Outcome.PASS, verdict.reason
    assert verdict.reason == "held: linear, turned_g, turned_n, turned_k, turned_c, cut_g, cut_n, cut_k, cut_c"


def test_laws_of_maxima_look_at_their_places_too(session):
    """The order of cells in a row is left to the values: which of equal maxima is the first depends on it."""
    problem = parse_case_id("reduction_f32_o3l40i4_argmax")
    verdict = judge_by_laws(PlannedCase(problem, kernel_called(session.families, "reduction", "f32_wave")), session)
    assert verdict.outcome is Outcome.PASS, verdict.reason
    assert verdict.reason == "held: turned_o, turned_i, turned_l, cut_o, cut_i"

    def last_row_at_0(problem: Problem, data: Data, output: str = "") -> Cells:
        index = data["x"].argmax(axis=1).astype(np.float64)
        index[-1] = 0
        return index if output == "index" else data["x"].max(axis=1)

    data, wrong = small_data(problem, 0, 2**23, [problem]), Function(last_row_at_0)
    broken = {law.name: break_of(law, problem, wrong, data) for law in REDUCTION_LAWS}
    assert {name for name, found in broken.items() if found} == {"turned_o", "cut_o"}
    assert broken["turned_o"]
    assert broken["turned_o"].what == "index: outer in reverse order"


def test_where_no_law_applies_nothing_was_compared(session):
    verdict = judge_by_laws(
        PlannedCase(
            parse_case_id("reduction_f32_o1l1i1_max"), kernel_called(session.families, "reduction", "f32_wave")
        ),
        session,
    )
    assert (verdict.outcome, verdict.green) == (Outcome.NOT_RUN, False)
    assert verdict.reason == "nothing was compared: no law applies to the problem"


def test_a_law_that_is_broken_is_reported_with_both_sides(session):
    def wrong(problem: Problem, data: Data) -> Cells:
        right = np.einsum("bmk,bnk->bmn", data["in"], data["wei"])
        return right + (right == right.max())

    problem = parse_case_id("gemm_f32_rcr_b1m3n4k5")
    data = {name: np.ones(tensor.lengths) for name, tensor in problem.tensors.items()}
    law, *_ = operation_called("gemm").diagnostics.laws
    broken = break_of(law, problem, NumpyKernel(wrong), data)
    assert broken is not None
    assert broken.sentence == (
        "law linear is broken (f(a + a', b) = f(a, b) + f(a', b)): sum of two in differ in 12 of 12 cells,"
        " first at [0, 0, 0]: 11 is not 12"
    )


def test_what_reads_more_than_operands_has_no_laws(session):
    problem = parse_case_id("fwd_f32_nhwgc_n1k4c4_y1_h4x4_bilinear")
    with pytest.raises(UsageError, match="laws hold for sums alone, and 'bilinear' does more"):
        judge_by_laws(PlannedCase(problem, kernel_called(session.families, "naive_conv", "fwd_f32")), session)


def test_what_the_kernel_refuses_goes_the_usual_way(session):
    problem = parse_case_id("bwd_data_f16_nhwgc_g1n1k1c1_y1_h1")
    kernel = kernel_called(session.families, "naive_conv", "bwd_data_f32")
    planned = PlannedCase(problem, kernel, refused="dtypes")
    assert judge_by_laws(planned, session).outcome is Outcome.REFUSED
    assert judge_by_laws(planned, session).green


def test_the_flat_path_without_its_gate_breaks_the_stride_law(session):
    problem = parse_case_id("bwd_data_f32_nhwgc_g1n1k4c4_y3x3_h7x7_s2x2_d1x1_p1x1_q1x1")
    gate = [("flat_path_gate", "off")]
    planned = PlannedCase(problem, kernel_called(session.families, "grouped_bwd_data", "f32_32x32x16_a1b1c1", gate))
    verdict = judge_by_laws(planned, session)
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.evidence["law"] in {law.name for law in LAWS}
    assert "is broken" in verdict.diagnosis.sentence
