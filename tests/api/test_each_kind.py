"""Each kind of kernel by ``bitgate.check``: a library, a source, a module, a function; and problems drawn for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate import UsageError, problems, verify
from bitgate.core import paths
from bitgate.model import parse_case_id

EXAMPLES = paths.root() / "examples"
CASE = "gemm_f32_m9n6k5"
MODULE = """
from bitgate.kernel import DeviceSource, Instance, KernelFamily
from bitgate.operation import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="compiled", operations=("gemm",), platforms=("amd", "nvidia"), sources=("gemm.ptx",),
    source=DeviceSource(kernels=("gemm",), launches=lambda problem, instance, options: []),
    instances=(Instance("f32", "all", ("f32",), ("rcr",), (0,), F32_ACCUMULATION),),
)
"""


def matmul(problem, tensors):
    return (tensors["in"] @ tensors["wei"].swapaxes(1, 2)).astype("float32")


@pytest.mark.parametrize("kernel", ["batched_gemm", EXAMPLES / "tiled_gemm" / "declaration.py", matmul])
def test_a_right_kernel_passes(bitgate, kernel) -> None:
    assert bitgate.check(CASE, kernel=kernel if callable(kernel) else str(kernel), target="host").green


def test_a_module_is_for_gpus(tmp_path: Path) -> None:
    file = tmp_path / "declaration.py"
    file.write_text(MODULE)
    (tmp_path / "gemm.ptx").write_text(".version 8.3\n.target sm_80\n.visible .entry gemm()\n{\n  ret;\n}\n")
    with pytest.raises(UsageError, match="no kernel that is loaded is for host"):
        verify(CASE, kernel=str(file), target="host")


@problems("gemm", where=lambda one: not one.attributes and one.dtypes.canonical == "f32", most=3)
def test_problems_are_drawn(case: str) -> None:
    problem = parse_case_id(case)
    assert (problem.operation.name, problem.dtypes.canonical, dict(problem.attributes)) == ("gemm", "f32", {})


def test_problems_are_those_of_the_suites() -> None:
    first, *_, last = every = problems("gemm").args[1]
    assert len(set(every)) == len(every) > 100
    assert {first, last} <= set(problems("gemm", "regression").args[1])
    assert problems("gemm", most=2).args == ("case", [first, every[len(every) // 2]])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("gem",), "operation gem: did you mean 'gemm'"),
        (("gemm", "smok"), "--tier smok: did you mean 'smoke'"),
        (("gemm", "smoke", lambda one: False), "'where' keeps none of"),
    ],
)
def test_problems_that_there_are_not(asked, said: str) -> None:
    operation, tier, where = (*asked, *("smoke", None)[len(asked) - 1 :])[:3]
    with pytest.raises(UsageError, match=said):
        problems(operation, tier, where=where)
