"""``bitgate compile``: what it builds, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.kernel.build import toolchain

DECLARATION = """
from pathlib import Path
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.ops.convolution import Pass
from bitgate.model import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="mine", operations=("fwd",), sources=("mine.hip.cpp",), folder=Path(__file__).parent, platforms=("host",),
    instances=(Instance("only", "mine", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION),),
)
"""


@pytest.fixture
def mine(tmp_path: Path) -> list[str]:
    """Options that name a user's family."""
    (tmp_path / "declaration.py").write_text(DECLARATION)
    (tmp_path / "mine.hip.cpp").write_text("#include <hip/hip_runtime.h>\n__global__ void nothing() {}\n")
    return ["--load", str(tmp_path / "declaration.py"), "--kernel", "mine"]


def test_a_users_family_is_built_beside_the_runtime(mine: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "--target", "host", "--json", *mine]) == 0
    objects = json.loads(capsys.readouterr().out)["objects"]
    assert [built["kernel"] for built in objects] == ["runtime", "mine"]
    for built in objects:
        assert Path(built["path"]).read_bytes()[:4] == b"\x7fELF"
        assert {"vgprs", "sgprs", "lds", "scratch", "spills", "wavefront"} <= built.keys()


def test_a_kernel_that_does_not_compile_is_a_defect(
    mine: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.hip.cpp").write_text("__global__ void nothing() {\n")
    assert run(["compile", "--target", "host", "--json", *mine]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["kernel"] == "mine"
    assert "mine.hip.cpp:1" in failure["reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "gfx94"], "did you mean 'gfx942'"),
        (["--target", "sm_90"], "none of mine is for sm_90"),
        (["--target", "host", "--kernel", "mien"], "no kernel matches 'mien'; did you mean 'mine'?"),
        (["--target", "gfx90a"], "none of mine is for gfx90a"),
    ],
)
def test_what_cannot_be_built_is_the_users_error(
    mine: list[str], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compile", *mine, *arguments]) == 2
    assert message in capsys.readouterr().err


DEVICE_DECLARATION = DECLARATION.replace('platforms=("host",)', 'platforms=("amd",)').replace(
    "F32_ACCUMULATION),", "F32_ACCUMULATION, fragment=(16, 16, 16), wave_size=64),"
)
NO_MATRIX = """
#include <hip/hip_runtime.h>
__global__ void __launch_bounds__(64) sum(const float* from, float* to, int count) {
  __shared__ float partial[64];
  partial[threadIdx.x] = blockIdx.x * 64 + threadIdx.x < count ? from[threadIdx.x] : 0;
  __syncthreads();
  to[blockIdx.x] = partial[0];
}
"""
MATRIX = f"""{NO_MATRIX}
using Four = __attribute__((ext_vector_type(4))) float;
__global__ void __launch_bounds__(64) multiply(const float* a, Four* c) {{
  c[threadIdx.x] = __builtin_amdgcn_mfma_f32_16x16x4f32(a[threadIdx.x], a[threadIdx.x], c[threadIdx.x], 0, 0, 0);
}}
"""


@pytest.fixture
def device_code(mine: list[str], tmp_path: Path) -> list[str]:
    (tmp_path / "declaration.py").write_text(DEVICE_DECLARATION)
    return [*mine, "--target", "gfx942", "--json"]


@pytest.mark.parametrize(("source", "exit_code"), [(MATRIX, 0), (NO_MATRIX, 1)])
def test_a_matrix_kernel_without_its_instruction_is_a_defect(
    device_code: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, exit_code: int
) -> None:
    (tmp_path / "mine.hip.cpp").write_text(source)
    assert run(["compile", *device_code]) == exit_code
    report = json.loads(capsys.readouterr().out)
    figures = {row["function"]: row for row in report["objects"]}
    row = figures["sum"]
    assert (row["lds"], row["scratch"], row["spills"], row["wavefront"], row["max_workgroup"]) == (256, 0, 0, 64, 64)
    assert 0 < row["vgprs"] < 64
    assert 0 < row["sgprs"] < 107
    reasons = [failure["reason"] for failure in report["failures"]]
    assert reasons == (["mine.only: no v_mfma_f32_*[0-9_]f32* in _Z3sumPKfPfi"] if exit_code else [])


def test_without_a_compiler_it_says_what_to_install(
    device_code: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "_zig_command", lambda: None)
    assert run(["compile", *device_code]) == 2
    assert "no HIP compiler found" in (text := capsys.readouterr().err)
    assert "pip install ziglang" in text
