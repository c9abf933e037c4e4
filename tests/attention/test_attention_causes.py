"""benchmarks/attention_causes.py: small tensors as a vendor's attention leaves them, and the step that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitgate
from bitgate.core import paths
from bitgate.kernel.python_files import run_file
from bitgate.model.host_tensor import HostTensor

SCRIPT = paths.root() / "benchmarks" / "attention_causes.py"
NAN = np.nan
STEPS = ("cudnn", "cudnn, strides cut", "efficient", "flash")
"""Those that need no PyTorch."""


@pytest.fixture(scope="module")
def causes() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        script: Any = run_file(SCRIPT, "attention_causes")
    script.STEPS = {name: script.STEPS[name] for name in STEPS}
    return script


def kept(folder: Path, case: str, **tensors: Any) -> Path:
    """Write tensors as ``bitgate verify --dump`` does: those of 16 bits that numpy does not know as f32."""
    problem = bitgate.problem(case)
    for name, cells in tensors.items():
        lengths = problem.tensors[{"result": "o", "reference": "o"}.get(name, name.rpartition("_")[2])].lengths
        np.save(folder / f"{name}.npy", np.broadcast_to(np.array(cells, np.float32), lengths))
    return folder


def test_a_query_without_keys_that_gets_the_mean_of_all_values(tmp_path: Path, causes: Any) -> None:
    """Of three queries and two keys the first admits none, and the second one key."""
    case = "attention_f16_b1h1kv1s3t2d2_causal"
    v, reference = [[1, 2], [5, 6]], [[0, 0], [1, 2], [3, 4]]
    given = kept(tmp_path, case, q=0, k=0, v=v, result=[[3, 4], [1, 2], [3, 4]], reference=reference)
    assert causes.explained(case, given, "cudnn") == {
        "o": {"wrong": 2, "cells": 6, "signs": 0, "step": "cudnn", "explained": 2, "same": 6, "made": 2}
    }


def test_a_stride_that_is_cut_to_16_bytes(tmp_path: Path, causes: Any) -> None:
    """Heads of v are 12 elements of two bytes apart, and the second is read 8 after the first."""
    case = "attention_f16_b1h2kv2s1t1d8_full_gapvt4"
    v = [[[range(8)], [range(8, 16)]]]
    result = [[[range(8)], [[NAN, NAN, NAN, NAN, 8, 9, 10, 11]]]]
    given = kept(tmp_path, case, q=0, k=0, v=v, result=result, reference=v)
    found = causes.explained(case, given, "cudnn")["o"]
    assert (found["step"], found["wrong"], found["explained"]) == ("cudnn, strides cut", 8, 8)


@pytest.mark.parametrize("backend", ["efficient", "flash"])
def test_slopes_from_a_rounded_o(tmp_path: Path, causes: Any, backend: str) -> None:
    """Both products dp are -2^-7 and so is their mean: slopes are 0.

    In bf16 the means of the columns of v are ties, rounded to 1 and 1 + 2^-6, so that do . o is -2^-6.
    """
    case = "attention_bwd_bf16_b1h1kv1s1t2d2_full"
    v = [[1, 1 + 2**-7], [1 + 2**-7, 1 + 2**-6]]
    slope = np.float32(2**-8 * 2**-0.5).astype(bitgate.problem(case).tensors["q"].dtype.numpy).astype(float)
    half_of_do = [[0.5, -0.5], [0.5, -0.5]]
    tensors = {"q": 0, "k": [[1, 2], [1, 2]], "v": v, "do": [1, -1], "result_dk": 0, "reference_dk": 0}
    tensors |= {"result_dv": half_of_do, "reference_dv": half_of_do}
    given = kept(tmp_path, case, **tensors, result_dq=[2 * slope, 4 * slope], reference_dq=0)
    found = causes.explained(case, given, backend)
    assert found == {"dq": {"wrong": 2, "cells": 2, "signs": 0, "step": backend, "explained": 2, "same": 2, "made": 2}}


def test_cells_within_their_bounds_are_not_wrong(tmp_path: Path, causes: Any) -> None:
    case = "attention_f16_b1h1kv1s1t3d2_full"
    v, mean = [[1, 2], [1.25, 2], [2, 4]], np.array([4.25 / 3, 8 / 3], np.float16)
    result = np.nextafter(mean, np.float16(0))
    given = kept(tmp_path, case, q=0, k=0, v=v, result=result, reference=mean)
    assert (result != mean).all()
    assert causes.explained(case, given, "flash") == {}


def test_what_no_step_gives_is_not_explained(tmp_path: Path, causes: Any) -> None:
    case = "attention_f16_b1h1kv1s1t1d2_full"
    given = kept(tmp_path, case, q=0, k=0, v=[1, 2], result=[1, 3], reference=[1, 2])
    found = causes.explained(case, given, "cudnn")["o"]
    assert (found["step"], found["wrong"], found["explained"]) == ("not explained", 1, 0)


def test_zeros_of_the_other_sign(tmp_path: Path, causes: Any) -> None:
    case = "attention_f16_b1h1kv1s1t1d2_full"
    given = kept(tmp_path, case, q=0, k=0, v=[0, 2], result=[-0.0, 2], reference=[0, 2])
    found = causes.explained(case, given, "cudnn")["o"]
    assert (found["step"], found["wrong"], found["signs"]) == ("", 1, 1)


def test_dv_of_f32_by_efficient_is_cut_as_a_tensor_core_cuts(causes: Any) -> None:
    """Two queries see one key, so that dv is the sum of do: 3 + 3 * 2^-24, which rounds to 3 + 2^-22."""
    problem: Any = bitgate.problem("attention_bwd_f32_b1h1kv1s2t1d1_full")
    inputs = {role: HostTensor.empty(problem.tensors[role]) for role in ("q", "k", "v", "do")}
    for role, cells in {"q": 0, "k": 0, "v": 0, "do": np.array([[3], [3 * 2**-24]])}.items():
        inputs[role].logical[...] = cells
    assert causes.STEPS["efficient"](problem, inputs)["dv"] == 3
    assert causes.STEPS["flash"](problem, inputs)["dv"] == 3 + 3 * 2**-24


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    "case", ["attention_bwd_f32_b2h2kv2s5t7d3_causal_gapvd8", "attention_bwd_bf16_b1h2kv2s4t3d5_full"]
)
def test_apart_has_the_bits_of_pytorch(causes: Any, case: str) -> None:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    problem: Any = bitgate.problem(case)
    numbers = np.random.default_rng(0)
    inputs = {role: HostTensor.empty(problem.tensors[role]) for role in ("q", "k", "v", "do")}
    for host in inputs.values():
        host.logical[...] = numbers.integers(-3, 4, host.logical.shape)
    found = causes.apart(problem, inputs)
    q, k, v, do = (causes.on_device(host).requires_grad_() for host in inputs.values())
    mask = torch.tensor(np.broadcast_to(causes.admitted(problem, inputs), (*q.shape[:3], k.shape[2])).copy()).to(
        q.device
    )
    with sdpa_kernel(SDPBackend.MATH):
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    (dv,) = torch.autograd.grad(o, [v], do.detach())
    assert np.array_equal(found["o"], o.detach().cpu().numpy())
    assert np.array_equal(found["dv"], dv.cpu().numpy())
