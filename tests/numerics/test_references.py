"""The two references against the formula, against each other, and against PyTorch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.numerics.small_convolutions import EVERY, MIXED, UNIFORM, convolutions, inputs_of, of_own_types
from tests.oracle import after, exact_sums, expected, gaps, through_operation
from tests.problems import convolution

from bitgate.model import DTYPES
from bitgate.model.host_tensor import GAP_PATTERN, HostTensor
from bitgate.numerics import native
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import InexactError, exact_reference
from bitgate.ops.convolution import CONVOLUTIONS, ConvProblem, Pass, reference


def same_bits(host: HostTensor, values: np.ndarray) -> bool:
    return np.array_equal(host.bits, values.view(host.tensor.dtype.bits))


@given(convolutions((*EVERY, *MIXED)))
@settings(max_examples=160, deadline=None)
def test_both_references_equal_the_formula_bit_for_bit(problem: ConvProblem) -> None:
    inputs = inputs_of(problem)
    values = expected(problem, inputs)
    for result in (exact_reference(problem, inputs), ordered_reference(problem, inputs)):
        assert same_bits(result, values)
        assert np.all(gaps(result) == GAP_PATTERN)


@given(of_own_types((*EVERY, *MIXED), EVERY))
@settings(max_examples=120, deadline=None)
def test_data_are_exact_in_an_operand_s_own_type(problem: ConvProblem) -> None:
    """The formula knows of no rounding: what it does not hold would differ."""
    inputs = inputs_of(problem)
    values = expected(problem, inputs)
    for result in (exact_reference(problem, inputs), ordered_reference(problem, inputs)):
        assert same_bits(result, values)


@pytest.mark.parametrize(
    ("case", "own"),
    [
        ("fwd_f16_ctinf8ocp_ctweibf8ocp", {"in": "f8ocp", "wei": "bf8ocp"}),
        ("bwd_data_f16_ctweif8fnuz_ctoutbf8fnuz", {"wei": "f8fnuz", "out": "bf8fnuz"}),
        ("bwd_weight_f16_ctinf8ocp_ctoutbf8ocp", {"in": "f8ocp", "out": "bf8ocp"}),
        ("bwd_weight_f32_ctoutbf16", {"out": "bf16"}),
        ("fwd_f32_bf16_f32_ctinf16", {"in": "f16"}),
    ],
)
def test_an_operand_is_rounded_to_its_own_type(case: str, own: dict[str, str]) -> None:
    """As if it had been so in memory, and is multiplied as it lies there."""
    problem = convolution(f"{case}_nhwgc_g2n2k7c5_y3x2_h9x8_s2x1_d1x2_p1x0_q0x2_gap")
    inputs = inputs_of(problem, "decimal")
    wide = replace(problem, dtypes=replace(problem.dtypes, compute=DTYPES["f32"], own=()))
    held = dict(inputs)
    for name, dtype in own.items():
        stored = inputs[name].storage.astype(np.float32).astype(DTYPES[dtype].numpy)
        held[name] = HostTensor(inputs[name].tensor, stored.astype(np.float32).astype(inputs[name].storage.dtype))
    result = ordered_reference(problem, inputs)
    assert native.count_differences(result, ordered_reference(wide, held)) == 0
    assert native.count_differences(result, ordered_reference(wide, inputs)) > 0


@given(convolutions(), st.sampled_from([1, 400, 1 << 30]))
@settings(max_examples=80, deadline=None)
def test_chunks_and_threads_change_nothing(problem: ConvProblem, image_bytes: int) -> None:
    """Groups, images and rows a few at a time."""
    inputs = inputs_of(problem)
    whole = exact_reference(problem, inputs, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "CHUNK_BYTES", 1)
        patch.setattr(reference, "IMAGE_BYTES", image_bytes)
        patch.setattr(reference, "PARALLEL_FLOPS", 0)
        assert native.count_differences(whole, exact_reference(problem, inputs, 3)) == 0


@pytest.mark.parametrize(
    "shape",
    [
        "nhwgc_g2n2k24c40_y3x3_h17x19_s2x2_p1x1",
        "gnhwc_g2n3k33c17_y2x3_h15x16_s3x2_d2x1_p0x2_q1x0",
        "ngchw_gkcyx_g1n2k16c70_y3x1_h20x18_s1x2_p1x0_bilinear_gap",
        "ndhwgc_g1n2k12c20_y2x3x2_h6x7x8_s2x1x3_p1x1x0_bias",
        "gnwc_g3n2k20c130_y5_h300_s2_p2_relu",
        "nhwgc_g2n3k4c5_y1x2_h5x1_q2x3",
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i8", "f64"])
@pytest.mark.parametrize("direction", CONVOLUTIONS)
def test_references_agree_on_middling_problems(direction: Pass, dtype: str, shape: str) -> None:
    """Large enough for vector loops, several blocks of channels and several threads; positions that reach nothing."""
    problem = convolution(f"{direction}_{dtype}_{shape}")
    inputs = inputs_of(problem, seed=3)
    assert native.differences(exact_reference(problem, inputs), ordered_reference(problem, inputs)).first == -1


def test_sums_beyond_f32_are_summed_in_f64() -> None:
    """f64 data are chosen so that f32 accumulation would be wrong."""
    problem = convolution("fwd_f64_nwgc_n1k4c64_y3_h8")
    inputs = inputs_of(problem)
    sums = exact_sums(problem, inputs)
    assert np.any(sums != sums.astype(np.float32).astype(np.int64))
    assert same_bits(exact_reference(problem, inputs), sums.astype(np.float64))


def test_a_sum_beyond_the_output_type_is_rounded_once() -> None:
    """Ties, and neighbours of ties."""
    problem = convolution("fwd_f32_f32_bf16_nwgc_n1k1c3_y1_h1")
    inputs = inputs_of(problem)
    for values, rounded in (((257, 0, 0), 256.0), ((258, 1, 0), 260.0), ((2**20, 2**12, 1), 2**20 + 2**13)):
        inputs["in"].logical[...] = np.reshape(values, (1, 1, 3, 1))
        inputs["wei"].logical[...] = 1
        for result in (exact_reference(problem, inputs), ordered_reference(problem, inputs)):
            assert float(result.logical.item()) == rounded


def test_decimal_data_are_refused_by_the_exact_reference() -> None:
    problem = convolution("bwd_data_f32_nhwgc_n1k4c4_y3x3_h6x6")
    with pytest.raises(InexactError, match="ordered"):
        exact_reference(problem, inputs_of(problem, "decimal"))


@pytest.mark.needs("torch")
@given(convolutions(UNIFORM))
@settings(max_examples=40, deadline=None)
def test_ordered_reference_is_near_the_true_sum_on_decimals(problem: ConvProblem) -> None:
    """Against f64 sums, within the a-priori bound of summation; test_summation_order.py fixes the bits."""
    assume(problem.dtypes.out.name != "i8")
    inputs = inputs_of(problem, "decimal")
    truth = torch_convolution(problem, {name: host.logical.astype(np.float64) for name, host in inputs.items()})
    dtype = problem.dtypes.out
    unit = 2.0**-dtype.mantissa
    step = unit if dtype.name == "f64" else 2.0**-24  # of the accumulator
    largest = abs(problem.op.alpha) * problem.reduction + abs(problem.op.beta) + 1
    tolerance = 2 * step * (problem.reduction + 3) * largest + 1.01 * unit * np.abs(truth) + 2.0**-25
    result = ordered_reference(problem, inputs).logical.astype(np.float64)
    assert np.all(np.abs(result - truth) <= tolerance)


@pytest.mark.needs("torch")
@given(convolutions(("f32",)))
@settings(max_examples=40, deadline=None)
def test_exact_reference_equals_pytorch(problem: ConvProblem) -> None:
    inputs = inputs_of(problem)
    wide = {name: host.logical.astype(np.float64) for name, host in inputs.items()}
    truth = torch_convolution(problem, wide)
    assert np.array_equal(exact_reference(problem, inputs).logical.astype(np.float64), truth)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("compute", ["bf16", "f8ocp", "bf8fnuz"])
@pytest.mark.parametrize("direction", CONVOLUTIONS)
def test_operands_of_a_compute_type_are_rounded_as_by_pytorch(direction: Pass, compute: str) -> None:
    import torch

    narrow = {"bf16": torch.bfloat16, "f8ocp": torch.float8_e4m3fn, "bf8fnuz": torch.float8_e5m2fnuz}[compute]
    problem = convolution(f"{direction}_f32_ct{compute}_nhwgc_g2n2k6c5_y3x2_h7x9_s2x1_p1")
    inputs = inputs_of(problem, "decimal")
    rounded_by_torch = {
        name: torch.from_numpy(np.ascontiguousarray(host.logical)).to(narrow).to(torch.float64).numpy()
        for name, host in inputs.items()
    }
    truth = torch_convolution(problem, rounded_by_torch)
    error = np.abs(ordered_reference(problem, inputs).logical - truth)
    assert error.max() <= 2.0**-24 * (problem.reduction + 2) * problem.reduction
    whole = torch_convolution(problem, {name: host.logical.astype(np.float64) for name, host in inputs.items()})
    assert np.abs(whole - truth).max() > 100 * error.max()


def torch_convolution(problem: ConvProblem, data: dict[str, np.ndarray]) -> np.ndarray:
    """The convolution by PyTorch in f64, in our logical shapes; the operation applied by numpy."""
    import torch

    data = {n: through_operation(problem, n, v) if n in problem.operands else v for n, v in data.items()}
    torch.set_num_threads(1)
    convolve = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}
    p = problem

    def images(values: np.ndarray) -> np.ndarray:  # (g, n, c, ...) -> (n, g * c, ...)
        return np.moveaxis(values, 0, 1).reshape(p.n, -1, *values.shape[3:])

    x = torch.zeros(p.n, p.g * p.c, *p.input, dtype=torch.float64, requires_grad=True)
    w = torch.zeros(p.g * p.k, p.c, *p.filter, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        if "in" in data:
            x.copy_(torch.from_numpy(images(data["in"]).copy()))
        if "wei" in data:
            w.copy_(torch.from_numpy(data["wei"].reshape(w.shape).copy()))
    pads = [side for axis in reversed(range(p.ndim)) for side in (p.left_pad[axis], p.right_pad[axis])]
    y = convolve[p.ndim](torch.nn.functional.pad(x, pads), w, stride=p.stride, dilation=p.dilation, groups=p.g)
    if p.direction is Pass.FWD:
        sums = np.moveaxis(y.detach().numpy().reshape(p.n, p.g, p.k, *p.output), 1, 0)
    else:
        y.backward(torch.from_numpy(images(data["out"]).copy()))
        if p.direction is Pass.BWD_DATA:
            sums = np.moveaxis(x.grad.numpy().reshape(p.n, p.g, p.c, *p.input), 1, 0)
        else:
            sums = w.grad.numpy().reshape(p.g, p.k, p.c, *p.filter)
    return after(problem, sums, data.get("d0", 0))
