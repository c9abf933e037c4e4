"""Each kind of kernel by ``bitgate.check``: a library, a source, a module, a function; and problems drawn for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate import UsageError, problems, verify
from bitgate.core import paths
from bitgate.model import parse_case_id
from bitgate.worker.kept import USER_WORKERS

EXAMPLES = paths.root() / "examples"
CASE = "gemm_f32_m9n6k5"
MODULE = """
from bitgate.kernel import DeviceSource, Instance, KernelFamily, KernelLaunch
from bitgate.operation import F32_ACCUMULATION

def launches(problem, instance, options):
    # A thread a cell.
    yield KernelLaunch("gemm", 1, 64, ("in", "wei", "out"))

FAMILY = KernelFamily(
    name="compiled", operations=("gemm",), platforms=("amd", "nvidia"), sources=("gemm.ptx",),
    source=DeviceSource(kernels=("gemm",), launches=launches),
    instances=(Instance("f32", "all", ("f32",), ("rcr",), (0,), F32_ACCUMULATION),),
)
"""


def matmul(problem, tensors):
    return (tensors["in"] @ tensors["wei"].swapaxes(1, 2)).astype("float32")


@pytest.mark.parametrize("kernel", ["batched_gemm", EXAMPLES / "tiled_gemm" / "declaration.py", matmul])
def test_a_right_kernel_passes(bitgate, kernel) -> None:
    assert bitgate.check(CASE, kernel=kernel if callable(kernel) else str(kernel), target="host").green


PTX = ".version 8.3\n.target sm_80\n.visible .entry gemm(%s)\n{\n  ret;\n}\n"


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[[str], str]:
    """The declaration of a module whose kernel has these parameters."""

    def write(parameters: str) -> str:
        (tmp_path / "declaration.py").write_text(MODULE)
        (tmp_path / "gemm.ptx").write_text(PTX % parameters)
        return str(tmp_path / "declaration.py")

    return write


def test_each_kernel_that_is_judged_leaves_no_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(USER_WORKERS, "_most", 2)
    counts = []
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "declaration.py").write_text(MODULE)
        (folder / "gemm.ptx").write_text(PTX % ".param .u64 a, .param .u64 b, .param .u64 c")
        assert verify(CASE, kernel=str(folder / "declaration.py"), target="host").outcome == "NOT_RUN"
        counts.append(len(os.listdir("/proc/self/fd")))
    assert counts[2:] == [counts[2]] * 4


def test_a_module_that_fits_is_not_run_and_not_green(compiled: Callable[[str], str]) -> None:
    found = verify(CASE, kernel=compiled(".param .u64 a, .param .u64 b, .param .u64 c"), target="host")
    assert (found.outcome.value, found.green) == ("NOT_RUN", False)
    assert found.reason == (
        "compiled device code runs on no host; what its launches pass fits gemm.ptx (sm_80, launches: 1)"
    )


def test_a_test_of_a_module_is_skipped_and_its_run_is_not_green(compiled: Callable[[str], str], tmp_path: Path) -> None:
    declaration = compiled(".param .u64 a, .param .u64 b, .param .u64 c")
    own = tmp_path / "test_own.py"
    own.write_text(f"def test_it(bitgate):\n    bitgate.check({CASE!r}, kernel={declaration!r}, target='host')\n")
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", str(own)]
    environment = {**os.environ, "BITGATE_OUT": str(tmp_path / "out")}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert ran.returncode in (1, 3), ran.stdout
    assert "NOT_RUN: compiled device code runs on no host" in ran.stdout
    assert "GREEN" not in ran.stdout


@pytest.mark.parametrize(
    ("parameters", "outcome", "words"),
    [
        (".param .u64 a, .param .u64 b", "CRASHED", "takes 2 arguments .*, 3 are given .gemm.ptx."),
        (
            ".param .u64 a, .param .u64 b, .param .u32 c",
            "CRASHED",
            "argument 3 is a value of 4 bytes, the buffer 'out'",
        ),
        (
            ".param .u64 a, .param .u64 b, .param .f32 c",
            "CRASHED",
            "argument 3 is float, the buffer 'out' is a pointer",
        ),
    ],
)
def test_wrong_arguments_are_red_without_a_gpu(
    compiled: Callable[[str], str], parameters: str, outcome: str, words: str
) -> None:
    found = verify(CASE, kernel=compiled(parameters), target="host")
    assert (found.outcome.value, found.green) == (outcome, False)
    assert re.search(f"no GPU was needed to see: declaration.py:7: gemm:? ?{words}", found.reason), found.reason


def test_a_kernel_that_a_module_has_not_is_red_without_a_gpu(compiled: Callable[[str], str]) -> None:
    file = Path(compiled(""))
    file.write_text(MODULE.replace('"gemm"', '"gemm"').replace('kernels=("gemm",)', 'kernels=("gem",)'))
    found = verify(CASE, kernel=str(file), target="host")
    assert (found.outcome.value, found.green) == ("BUILD_FAILED", False)
    assert "gemm.ptx has no kernel 'gem': did you mean 'gemm'" in found.reason


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
