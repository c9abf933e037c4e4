"""Our HIP header for AMD device code: all that it offers compiles on both wave sizes, to instructions and no call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.plain_family import plain_family

from bitgate.kernel.build import Builder, BuildError
from bitgate.kernel.build.code_object import read
from bitgate.kernel.cache import Cache

EVERYTHING = """
#include <hip/hip_runtime.h>
#include <algorithm>
#include <vector>

template <class T> __global__ void __launch_bounds__(128, 2) functions(const T* from, T* to) {
  const T x = from[0], y = from[1];
  to[0] = fma(x, y, ceil(x) + floor(y)) + rint(x) + nearbyint(y) + round(x) + trunc(y);
  to[1] = sqrt(fabs(x)) + fmax(x, y) + fmin(x, y) + copysign(x, y);
}
template __global__ void functions<float>(const float*, float*);
template __global__ void functions<double>(const double*, double*);

__global__ void __launch_bounds__(256) waves(int* words, double* sums, unsigned long long* masks) {
  HIP_DYNAMIC_SHARED(int, shared)
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  shared[threadIdx.x] = __shfl(words[at], 3) + __shfl_xor(words[at], 1) + __shfl_up(words[at], 2u, 16);
  __threadfence_block();
  __syncthreads();
  sums[at] = __shfl_down(sums[at], 1u, 8) + shared[threadIdx.x ^ 1] + gridDim.x + warpSize;
  if (__any(words[at] > 0) && !__all(words[at] > 1))
    masks[at] = __ballot(words[at] & 1) + __lane_id();
  __threadfence();
}

__global__ void __launch_bounds__(64) atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  atomicAdd(i, atomicMax(i + 1, atomicCAS(i + 2, 3, 4)));
  atomicAdd(u, atomicMin(u + 1, atomicExch(u + 2, 5u)));
  atomicAdd(l, atomicOr(l + 1, atomicAnd(l + 2, 6ull)) + atomicXor(l + 3, 7ull) + atomicCAS(l + 4, 8ull, 9ull));
  atomicAdd(f, atomicExch(f + 1, 1.0f));
  atomicAdd(d, 2.0);
}

int started(std::vector<int>& counts) {
  std::sort(counts.begin(), counts.end());
  functions<float><<<dim3(1), dim3(64)>>>(nullptr, nullptr);
  hipLaunchKernelGGL(atomics, 1, 64, 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  return hipDeviceSynchronize() == hipSuccess;
}
"""
NEEDS_ROCM = """
#include <hip/hip_runtime.h>
__global__ void wave(float* x) { x[0] = sinf(x[0]); }
"""


@pytest.fixture
def compiled(tmp_path: Path):
    """The code object and the assembly of one source for a target."""

    def build(source: str, target: str) -> Path:
        folder = tmp_path / "every"
        folder.mkdir(exist_ok=True)
        (folder / "unit.hip.cpp").write_text(source)
        family = plain_family(folder, "unit.hip.cpp", platforms=("amd",))
        return Builder("amd", lambda line: None, arch=target, cache=Cache(tmp_path / "cache")).code_objects(family)[
            "unit"
        ]

    return build


@pytest.mark.parametrize(("target", "wave"), [("gfx90a", 64), ("gfx1201", 32)])
def test_all_functions_compile(compiled, target, wave):
    path = compiled(EVERYTHING, target)
    code = read(path)
    assert {(k.function, k.wavefront) for k in code.kernels} == {(n, wave) for n in ("functions", "waves", "atomics")}
    assert {k.function: k.max_workgroup for k in code.kernels} == {"functions": 128, "waves": 256, "atomics": 64}
    assert not re.search(r"s_swappc|s_setpc_b64 s\[|\.globl\s+threadIdx", path.with_suffix(".s").read_text())


def test_what_needs_rocms_library_does_not_compile(compiled):
    with pytest.raises(BuildError, match="sinf"):
        compiled(NEEDS_ROCM, "gfx942")
