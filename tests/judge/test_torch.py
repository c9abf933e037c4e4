"""Tasks and submissions in torch: modules with parameters, and functions as kernels."""

from __future__ import annotations

import pytest

from bitgate.core import paths

pytestmark = pytest.mark.needs("torch")


@pytest.mark.parametrize("name", ["TanhGelu", "OtherSeed", "InBf16", "Cached", "FreedMemory", "ReturnsLazily"])
def test_a_wrong_module_is_wrong(judged, name: str) -> None:
    report = judged("torch_submissions.py", name, "linear.py", entry="ModelNew", problems=3)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)


def test_a_right_module_is_right_and_timed(judged) -> None:
    report = judged("torch_submissions.py", "Right", "linear.py", entry="ModelNew", problems=4, samples=2)
    assert (report["verdict"], report["exit"]) == ("right", 0), report["diagnosis"]
    assert report["time"]["kind"] == "bounded"
    assert report["summary"]["groups"].keys() == {"own", "not contiguous", "drawn", "zero length"}


def matmul(problem, tensors):
    return (tensors["in"].float() @ tensors["wei"].float().mT).to(tensors["out"].dtype)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_a_function_of_torch_in_a_test(bitgate, dtype: str) -> None:
    from bitgate.kernel import PythonKernel

    bitgate.check(PythonKernel(matmul, "torch"), f"gemm_{dtype}_b2m6n5k64", target="host")


@pytest.mark.parametrize("vendor", ["on", "off"])
@pytest.mark.parametrize("case", ["bwd_data_f32_nhwgc_g2n2k3c4_y3x2_h5x6_s2x1_p1x0_q0x1", "softmax_f16_r5c33_full"])
def test_operations_of_torch_are_kernels(bitgate, case: str, vendor: str) -> None:
    example = paths.root() / "examples" / "torch" / "declaration.py"
    bitgate.check(case, kernel=str(example), options={"vendor": vendor}, target="host")
