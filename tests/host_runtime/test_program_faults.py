"""Programs that are wrong: races at every level of optimisation, many faults in one run, arguments that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.host_runtime.test_programs import ready, tool

__all__ = ["ready"]

RACE = """
#include <hip/hip_runtime.h>
#include <cstdio>
template <int N> __device__ void put(float* to, const float* tile) { to[threadIdx.x] = tile[N - 1 - threadIdx.x]; }
template <int N> __global__ void reverse(float* x) {
  __shared__ float tile[N];
  tile[threadIdx.x] = x[threadIdx.x];
  put<N>(x, tile);
}
int main() {
  float *x, h[128];
  for (int i = 0; i < 128; ++i) h[i] = i;
  hipMalloc(&x, sizeof h);
  hipMemcpy(x, h, sizeof h, hipMemcpyHostToDevice);
  reverse<128><<<1, 128>>>(x);
  hipMemcpy(h, x, sizeof h, hipMemcpyDeviceToHost);
  printf("%g\\n", h[0]);
}
"""
FAULTS = """
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void both(int* x, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = x[i];
  if (i < n) x[i] = v + 1;
  if (i == 70) x[n + 2] = v;
  if (i == 3) x[i] = n / by;
}
__global__ void sound(int* x) { x[threadIdx.x] += 10; }
int main() {
  int *x, h[100] = {};
  hipMalloc(&x, sizeof h);
  hipMemcpy(x, h, sizeof h, hipMemcpyHostToDevice);
  both<<<2, 64>>>(x, 100, 0);
  both<<<2, 64>>>(x, 100, 0);
  sound<<<1, 100>>>(x);
  hipError_t error = hipMemcpy(h, x, sizeof h, hipMemcpyDeviceToHost);
  printf("%s %d\\n", hipGetErrorString(error), h[80]);
}
"""
MISTAKE = """
#include <hip/hip_runtime.h>
__global__ void add(float* x, int n) { x[0] += n; }
int main() {
  double* x = nullptr;
  add<<<1, 1>>>(x, 4);
  add<<<1, 1>>>(nullptr);
}
"""


def built(folder: Path, text: str, *flags: str) -> None:
    (folder / "program.hip").write_text(text)
    done = tool(folder, "bitgate-hipcc", *flags, "program.hip", "-o", "program")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_a_race_is_named_at_the_programs_own_level(tmp_path: Path, level: str) -> None:
    built(tmp_path, RACE, "--race", level)
    done = tool(tmp_path, "bitgate", "exec", "./program")
    assert done.returncode == 1
    assert "race on LDS" in done.stderr
    assert "program.hip:4" in done.stderr
    assert "program.hip:7" in done.stderr


def test_each_fault_is_reported_once_and_the_rest_runs(tmp_path: Path) -> None:
    built(tmp_path, FAULTS, "-O0")
    done = tool(tmp_path, "bitgate", "exec", "--keep-going", "--json", "./program")
    (run,) = json.loads(done.stdout)["runs"]
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["no error 12"]
    places = sorted(Path(text.rpartition(" at ")[2]).name for text in run["incidents"])
    assert places == ["program.hip:6", "program.hip:8", "program.hip:9"]
    assert run["count"] == 3
    assert any("read outside global memory: +0 past the end" in text for text in run["incidents"])


def test_a_fault_names_its_line_and_ends_the_launch(tmp_path: Path) -> None:
    built(tmp_path, FAULTS, "-O1")
    done = tool(tmp_path, "bitgate", "exec", "./program")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].endswith("program.hip:9")


def test_wrong_arguments_are_an_error_of_the_line(tmp_path: Path) -> None:
    (tmp_path / "program.hip").write_text(MISTAKE)
    done = tool(tmp_path, "bitgate-hipcc", "-c", "program.hip")
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if " error: " in line]
    assert [line.split(":")[:2] for line in errors] == [["program.hip", "6"], ["program.hip", "7"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#include <hipfft/hipfft.h>\n", "hipfft/hipfft.h belongs to a library of device code"),
        (
            "#include <hip/hip_runtime.h>\nvoid f() { hipMallocMipmappedArray(0, 0, 0, 0); }\n",
            "the host runtime has no hipMallocMipmappedArray: compile this part out",
        ),
        (
            "#include <thrust/thrust.h>\nvoid f() { thrust::shuffle(1); }\n",
            "thrust has no stand-in for shuffle on the host",
        ),
        (
            '#include <hip/hip_runtime.h>\n__global__ void k(float* x) { asm volatile("s_nop 0"); }\n',
            "assembly of a GPU has no meaning on the host: write it in C++",
        ),
        (
            '#include <cuda_runtime.h>\nvoid k(short x) { asm volatile("mov.u16 %0;" ::"h"(x)); }\n',
            "assembly of a GPU has no meaning on the host: write it in C++",
        ),
    ],
)
def test_what_has_no_stand_in_is_said_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "program.hip").write_text(text)
    done = tool(tmp_path, "bitgate-hipcc", "-c", "program.hip")
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"bitgate-hipcc: program.hip:{text.count(chr(10))}: ")
    assert said in line


GRID = """
#include <hip/hip_cooperative_groups.h>
#include <cstring>
__global__ void meet(int* x, int leaves, int meets) {
  auto grid = cooperative_groups::this_grid();
  if ((int)blockIdx.x < leaves) return;
  x[grid.thread_rank()] = 1;
  if (meets) grid.sync();
  x[grid.thread_rank()] += x[(grid.thread_rank() + 64) % 256];
}
int main(int argc, char** argv) {
  int *x, leaves = argc > 1 && !strcmp(argv[1], "leaves") ? 3 : 0, meets = argc > 1 && strcmp(argv[1], "none");
  hipMalloc(&x, 256 * sizeof(int));
  hipMemset(x, 0, 256 * sizeof(int));
  if (argc > 1 && !strcmp(argv[1], "plain"))
    meet<<<4, 64>>>(x, 0, 1);
  void* arguments[] = {&x, &leaves, &meets};
  if (argc < 2 || strcmp(argv[1], "plain"))
    hipLaunchCooperativeKernel((void*)meet, 4, 64, arguments, 0, 0);
  hipDeviceSynchronize();
}
"""


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("leaves", "barrier of the grid not reached by 3 of 4 blocks: they have left the kernel"),
        ("plain", "a barrier of the grid in a launch that is not cooperative"),
        ("none", "nothing that orders blocks"),
    ],
)
def test_blocks_that_do_not_meet_are_named(tmp_path: Path, mode: str, said: str) -> None:
    built(tmp_path, GRID, *(["--race"] if mode == "none" else []))
    done = tool(tmp_path, "bitgate", "exec", "--schedule", "reverse", "./program", mode)
    assert done.returncode == 1
    assert said in done.stderr
