"""The examples do what they say: a user's kernel meets the gate without a change to bitgate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.core import paths

EXAMPLES = paths.root() / "examples"
POINTWISE = "bwd_data_f32_nhwgc_g2n2k32c16_y1x1_h5x7"


def _verify(case: str, example: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    load = EXAMPLES / example / "declaration.py"
    code = run(["verify", case, "--load", str(load), "--kernel", f"{example}*", "--target", "host", "--json"])
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    return code, verdict


def test_a_users_kernel_passes_what_it_supports(capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = _verify(POINTWISE, "pointwise", capsys)
    assert (code, verdict["verdict"]) == (0, "PASS")


def test_a_users_kernel_refuses_the_rest_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = _verify(POINTWISE.replace("y1x1", "y3x3"), "pointwise", capsys)
    assert (code, verdict["verdict"]) == (3, "REFUSED")
    assert str(verdict["reason"]).startswith("pointwise")


@pytest.mark.parametrize("declaration", sorted(EXAMPLES.glob("*/declaration.py")), ids=lambda path: path.parent.name)
def test_every_example_is_loaded_by_a_test(declaration: Path) -> None:
    assert declaration.parent.name in Path(__file__).read_text()


@pytest.mark.parametrize("case", ["gemm_f32_m33n17k40", "gemm_f16_crr_b2m7n5k40_gap"])
def test_a_users_function_in_cuda_passes_as_it_is(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    load = ["--load", str(EXAMPLES / "tiled_gemm"), "--kernel", "tiled_gemm*", "--target", "host", "--json"]
    assert run(["verify", case, *load]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert (verdict["verdict"], verdict["dispatch"]["path"], verdict["dispatch"]["launches"]) == ("PASS", "source", 1)


@pytest.mark.needs("torch")
def test_pytorchs_own_matmul_passes(capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = _verify("gemm_f32_b2m9n8k7", "torch", capsys)
    assert (code, verdict["verdict"]) == (0, "PASS"), verdict["reason"]


def test_an_example_and_its_library_refuse_operations_alike(capsys: pytest.CaptureFixture[str]) -> None:
    load = str(EXAMPLES / "pointwise" / "declaration.py")
    case = "bwd_data_f32_nhwgc_g1n1k8c8_y1x1_h5x7_weirelu"
    assert run(["verify", case, "--load", load, "--target", "host", "--json"]) == 3
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert (verdict["verdict"], verdict["green"]) == ("REFUSED", True), verdict["reason"]


def test_cudnn_stands_beside_our_kernels_on_nvidia_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    load = ["--load", str(EXAMPLES / "cudnn" / "declaration.py")]
    assert run(["kernels", "--target", "sm_90", "--json", *load]) == 0
    listed = json.loads(capsys.readouterr().out)["kernels"]
    assert {one["instance"] for one in listed if one["family"] == "cudnn"} == {"f16", "bf16"}
    assert run(["verify", "fwd_f16_nhwgc_g1n1k8c8_y1_h4", "--target", "host", "--kernel", "cudnn.*", *load]) == 2
    assert "host" in capsys.readouterr().err
