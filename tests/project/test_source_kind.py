"""Plain ``__global__`` functions as kernels: from a file in CUDA to a verdict, and the lines about mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitgate.core import paths

EXAMPLE = paths.root() / "examples" / "tiled_gemm"
PROGRAM = Path(__file__).with_name("cuda_rows")

KERNELS = """
#include <cuda_runtime.h>
#include <cstdio>
#include <unistd.h>

struct Shape { int rows, columns; };

// A product with the terms of each sum spread over blocks: into a cleared result, through a workspace, by atomics.
__global__ void products(const float* a, const float* b, float* terms, Shape c, int k) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < c.rows * c.columns * k)
    terms[at] = a[at / k / c.columns * k + at % k] * b[at / k % c.columns * k + at % k];
}
template <int THREADS> __global__ void sums(const float* terms, float* out, int cells, int k) {
  extern __shared__ float part[];
  const int cell = blockIdx.x;
  part[threadIdx.x] = 0;
  for (int i = threadIdx.x; i < k; i += THREADS)
    part[threadIdx.x] += terms[cell * k + i];
  __syncthreads();
  if (cell < cells)
    atomicAdd(&out[cell], part[threadIdx.x]);
  if (threadIdx.x == 0 && cell == 0)
    if (FILE* file = fopen("PLACE/launched", "a")) {
      fprintf(file, "%d\\n", static_cast<int>(getpid()));
      fclose(file);
    }
}
void on_a_gpu(const float* terms, float* out) {
  sums<32><<<1, 32, 32 * sizeof(float)>>>(terms, out, 1, 1);
}
"""
DECLARATION = """
import os
import struct
from pathlib import Path

from bitgate.kernel import ClearBuffer, DeviceSource, Instance, KernelFamily, KernelLaunch, Option, Refusal
from bitgate.operation import F32_ACCUMULATION

with (Path(__file__).parent / "declared").open("a") as file:
    print(os.getpid(), file=file)


def supports(problem, instance, options):
    return Refusal("attributes", "a plain product alone") if problem.attributes or problem.batch != 1 else None


def workspace(problem, instance, options):
    return problem.m * problem.n * problem.k * 4


def launches(problem, instance, options):
    m, n, k = problem.sizes
    yield ClearBuffer("out")
    shape = struct.pack("2i", m, n)
    yield KernelLaunch("products", -(-m * n * k // 64), 64, ("in", "wei", "workspace", shape, k))
    threads = int(options["threads"])
    yield KernelLaunch(f"sums<{threads}>", m * n, threads, ("workspace", "out", m * n, k), lds=4 * threads)


FAMILY = KernelFamily(
    name="split_sums",
    operations=("gemm",),
    sources=("split.cu",),
    source=DeviceSource(kernels=("products", "sums<32>", "sums<64>"), launches=launches, workspace=workspace),
    platforms=("host", "amd", "nvidia"),
    options=(Option("threads", ("32", "64"), "64", "Threads of a block."),),
    instances=(Instance("f32", "split", ("f32",), ("rcr",), (0,), F32_ACCUMULATION),),
    supports=supports,
)
"""


TWO_FILES = {
    "two/common/scaled.cuh": "#pragma once\n__device__ inline float scaled(float x) { return FACTOR * x; }\n",
    "two/a.cu": """
#include "scaled.cuh"
__global__ void head(const float* x, const float* w, float* y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scaled(x[i] * w[i]);
}
""",
    "two/b.hip": """
#include <hip/hip_runtime.h>
#include "scaled.cuh"
namespace mine {
__global__ void tail(float* y, const float* x, const float* w, size_t n, bool all) {
  const size_t i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
  if (i < n && all) y[i] = scaled(x[i] * w[i]);
}
}
""",
    "two/operation.py": """
from dataclasses import dataclass
from bitgate.operation import Sized, read, written

@dataclass(frozen=True)
class Sizes:
    n: int

class Products(Sized):
    name = "products_of_cells"
    sizes = Sizes
    is_product = True
    def tensors(self, sizes):
        yield read("x", n=sizes.n)
        yield read("w", n=sizes.n)
        yield written("y", n=sizes.n)

OPERATIONS = (Products(),)
""",
    "two/declaration.py": """
from bitgate.kernel import BufferOffset, DeviceSource, Instance, KernelFamily, KernelLaunch
from bitgate.operation import F32_ACCUMULATION

def launches(problem, instance, options):
    n = problem.sizes.n
    half = n // 2
    if half:
        yield KernelLaunch("head", -(-half // 64), 64, ("x", "w", "y", half))
    rest = tuple(BufferOffset(role, half) for role in ("y", "x", "w"))
    yield KernelLaunch("mine::tail", -(-n // 64), 64, (*rest, n - half, True))

FAMILY = KernelFamily(
    name="two_files", operations=("products_of_cells",), platforms=("host", "amd", "nvidia"),
    sources=("a.cu", "b.hip"), source=DeviceSource(("head", "mine::tail"), launches),
    include_dirs=("common",), defines={"FACTOR": "1.0f"},
    instances=(Instance("f32", "two", ("f32",), (), (), F32_ACCUMULATION),),
)
""",
}


@pytest.fixture
def splitting(tmp_path: Path, empty: Any) -> Callable[..., Any]:
    """Verifies the kernel above: two launches, a cleared result, a workspace, an option, dynamic LDS, a struct."""

    def verify(*words: str, edit: tuple[str, str] = ("", ""), case: str = "gemm_f32_m5n3k70") -> Any:
        empty.write("kernels/split.cu", KERNELS.replace("PLACE", str(tmp_path)))
        assert edit[0] in DECLARATION
        empty.write("kernels/declaration.py", DECLARATION.replace(*edit) if edit[0] else DECLARATION)
        load = ("--load", "kernels", "--kernel", "split_sums*", "--target", "host")
        return empty.bitgate("verify", case, *load, "--json", *words)

    return verify


def test_the_example_is_judged_on_every_suite(empty: Any) -> None:
    ran = empty.bitgate("run", "--tier=smoke", "--target=host", "--load", str(EXAMPLE))
    assert (ran.code, "tiled_gemm took no case of attention, conv_bwd_data" in ran.said) == (0, True), ran.said
    assert "verdicts: 29 PASS" in ran.said


@pytest.mark.parametrize("words", [(), ("--option", "threads=32"), ("--race",), ("--concurrent",)], ids=str)
def test_several_launches_with_a_workspace_are_right(splitting: Any, words: tuple[str, ...]) -> None:
    done = splitting(*words)
    (verdict,) = done.document["verdicts"]
    assert (done.code, verdict["verdict"]) == (0, "PASS"), done.said
    shown = {name: verdict["dispatch"][name] for name in ("path", "launches", "zero_fill", "workspace_bytes")}
    assert shown == {"path": "source", "launches": 2, "zero_fill": True, "workspace_bytes": 5 * 3 * 70 * 4}


def test_no_code_of_the_declaration_runs_where_kernels_do(splitting: Any, tmp_path: Path) -> None:
    assert splitting().code == 0
    declared, launched = ((tmp_path / name).read_text().split() for name in ("kernels/declared", "launched"))
    assert declared
    assert launched
    assert not {*declared} & {*launched}


def test_a_missing_fill_is_found(splitting: Any) -> None:
    done = splitting(edit=('    yield ClearBuffer("out")\n', ""))
    (verdict,) = done.document["verdicts"]
    assert (done.code, verdict["verdict"]) == (1, "MISMATCH"), done.said


MISTAKES = {
    "arguments": (("shape, k))", "k))"), "CRASHED", "declaration.py:25: products takes 5 arguments"),
    "kernel": (('f"sums<', 'f"sum<'), "CRASHED", "declaration.py:27: DeviceSource.kernels lists no 'sum<64>'"),
    "raises": (("int(options", "int(option"), "CRASHED", "launches: declaration.py:26: NameError"),
    "ends": (("    yield ClearBuffer", "    os._exit(3)\n    yield ClearBuffer"), "CRASHED", "ended with exit code 3"),
    "no such kernel": (('"products", ', '"product", '), "BUILD_FAILED", "declaration.py:34: error: 'product'"),
    "a template": (('"sums<32>"', '"sums"'), "BUILD_FAILED", "declaration.py:34: error: 'sums' is no one kernel"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_line_about_the_users_file(splitting: Any, mistake: str) -> None:
    edit, outcome, said = MISTAKES[mistake]
    done = splitting(edit=edit)
    (verdict,) = done.document["verdicts"]
    assert (done.code, verdict["verdict"]) == (1, outcome), done.said
    assert said in verdict["reason"]
    assert "\n" not in verdict["reason"]


FAULTS = {
    "no kernels": (('kernels=("products", "sums<32>", "sums<64>")', "kernels=()"), "kernels names none"),
    "no name": (('"products", "sums<32>"', '"products); evil(", "sums<32>"'), "kernels names 'products); evil('"),
    "no sources": (('sources=("split.cu",)', "sources=()"), "name sources"),
    "no file": (('"split.cu"', '"spilt.cu"'), "spilt.cu does not exist"),
    "no function": (("launches=launches", "launches=5"), "source: launches is 5: give a function"),
    "operations": (('("gemm",)', '("gemm", "fwd")'), "of a source it computes one operation: list one for each"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_declaration_ends_with_one_line(splitting: Any, fault: str) -> None:
    edit, said = FAULTS[fault]
    done = splitting(edit=edit)
    (line,) = done.err.splitlines()
    assert (done.code, said in line) == (2, True), done.said


def test_a_changed_header_of_several_files_rebuilds_them(empty: Any) -> None:
    for path, text in TWO_FILES.items():
        empty.write(path, text)
    words = ("verify", "products_of_cells_f32_n5", "--load", "two", "--target=host", "--json")
    (first,) = empty.bitgate(*words).document["verdicts"]
    assert (first["verdict"], first["dispatch"]["launches"]) == ("PASS", 2), first["reason"]
    empty.write("two/common/scaled.cuh", TWO_FILES["two/common/scaled.cuh"].replace("FACTOR * x", "0 * x"))
    (second,) = empty.bitgate(*words).document["verdicts"]
    assert second["verdict"] == "MISMATCH"
    assert "they are zero" in second["reason"]


def test_kernels_of_a_whole_program_in_cuda_are_judged(empty: Any) -> None:
    cases = ("reduction_f32_o9l300i1_sum", "reduction_bf16_o4l33i3_sum")
    done = empty.bitgate("verify", *cases, "--load", str(PROGRAM), "--target=host", "--json")
    assert [one["verdict"] for one in done.document["verdicts"]] == ["PASS", "PASS"], done.said


FOLDERS = {EXAMPLE: {"gemm"}, PROGRAM: {"row_sums", "copy4"}}


def compiled(repository: Any, folder: Path, target: str) -> list[dict[str, Any]]:
    words = ("--load", str(folder), "--kernel", f"{folder.name}*", "--target", target, "--json")
    done = repository.bitgate("compile", *words)
    assert done.code == 0, done.said
    objects: list[dict[str, Any]] = done.document["objects"]
    return objects


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_device_code_for_amd_is_made_without_rocm(empty: Any, folder: Path) -> None:
    assert {one["function"] for one in compiled(empty, folder, "gfx1100")} == FOLDERS[folder]


@pytest.mark.needs("nvcc")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_library_for_nvidia_is_made_by_nvcc(empty: Any, folder: Path) -> None:
    assert [one["kernel"] for one in compiled(empty, folder, "sm_90")][-1:] == [folder.name]
