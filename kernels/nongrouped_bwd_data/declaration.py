"""Convolution, backward data, without groups: one launch for each sub-GEMM (CK's example 17).

``supports`` and ``dispatch`` follow the maths of the decomposition, not the C++: where the two disagree, one is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.operation import DTYPES, F32_ACCUMULATION, Accumulation
from bitgate.operations.convolution import ConvProblem, Pass, gemms_count, sub_gemm_rows, sub_gemms

from ..alignment import is_aligned
from ..limits import MAX_COORDINATE, MAX_GRID_THREADS

MAX_SUB_GEMMS = 65536

# tile, vector of dy, w and dx, waves, fragment, lanes of a wave. The first of each wave size takes any K and C.
TILES_16 = (
    ((32, 32, 32), 1, 1, (16, 16, 16), 64),
    ((64, 64, 32), 4, 2, (32, 32, 8), 64),
    ((128, 64, 32), 8, 4, (32, 32, 8), 64),
    ((32, 32, 32), 1, 4, (16, 16, 16), 32),
    ((64, 64, 32), 8, 4, (16, 16, 16), 32),
)
TILES_32 = (
    ((32, 32, 16), 1, 1, (16, 16, 4), 64),
    ((64, 64, 16), 2, 2, (16, 16, 4), 64),
    ((128, 64, 16), 4, 4, (16, 16, 4), 64),
    ((32, 32, 16), 1, 4, (16, 16, 4), 32),
    ((64, 64, 16), 4, 4, (16, 16, 4), 32),
)
TILES_8 = (
    ((32, 32, 32), 1, 1, (16, 16, 32), 64),
    ((128, 64, 64), 16, 4, (16, 16, 32), 64),
    ((32, 32, 32), 1, 4, (16, 16, 16), 32),
    ((64, 64, 64), 8, 4, (16, 16, 16), 32),
)
TILES = {"f32": TILES_32, "f16": TILES_16, "bf16": TILES_16, "i8": TILES_8}
I32_ACCUMULATION = Accumulation(DTYPES["i32"])


def _instance(
    dtype: str, tile: tuple[int, int, int], vector: int, waves: int, fragment: tuple[int, int, int], wave: int
) -> Instance:
    suffix = "_w32" if wave == 32 else ""
    return Instance(
        name="{0}_{2}x{3}x{4}_a{1}b{1}c{1}".format(dtype, vector, *tile) + suffix,
        group=f"nongrouped_bwd_data_{dtype}",
        dtypes=(dtype,),
        layouts=("nwgc", "gnwc", "nhwgc", "gnhwc", "ndhwgc", "gndhwc"),
        ndims=(1, 2, 3),
        accumulation=I32_ACCUMULATION if dtype == "i8" else F32_ACCUMULATION,
        tile=tile,
        vector=(vector, vector, vector),
        block_size=waves * wave,
        wave_size=wave,
        fragment=fragment,
    )


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if problem.direction is not Pass.BWD_DATA:
        return Refusal("operation", f"only bwd_data, not {problem.direction}")
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    if problem.in_op.name != "pass" or problem.wei_op.name != "pass":
        return Refusal("op", f"operations on the operands: in {problem.in_op.name}, wei {problem.wei_op.name}")
    if problem.g != 1:
        return Refusal("groups", f"G = {problem.g}: this kernel takes one group")
    if problem.op.name != "pass":
        return Refusal("op", f"{problem.op.name} on dx: this kernel applies no operation")
    if problem.split_k not in (1, -1):
        return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")
    tensors = [problem.tensors[name] for name in ("out", "wei", "in")]
    for tensor in tensors:
        if tensor.strides[2] != 1:
            return Refusal("layout", f"channels of {tensor.name} are {tensor.strides[2]} elements apart, not 1")
    vector = (instance.vector or (1, 1, 1))[0]
    for clause, name, length in (("k_vector", "K", problem.k), ("c_vector", "C", problem.c)):
        if length % vector:
            return Refusal(clause, f"{name} = {length} is not a multiple of {vector}")
    for tensor in tensors:
        if not is_aligned(tensor, vector):
            return Refusal("alignment", f"vectors of {vector} elements in {tensor.name} {tensor.strides}")
    return _index_range(problem, instance)


def _index_range(problem: ConvProblem, instance: Instance) -> Refusal | None:
    windows = [o + d * (f - 1) for o, d, f in zip(problem.output, problem.dilation, problem.filter, strict=True)]
    padded = [i + p for i, p in zip(problem.input, problem.left_pad, strict=True)]
    largest = max(*windows, *padded, *problem.stride, problem.n, problem.k * prod(problem.filter), problem.c)
    if largest > MAX_COORDINATE:
        return Refusal("index_range", f"a coordinate or a reduction of {largest} is over 2^30")
    if gemms_count(problem) > MAX_SUB_GEMMS:
        return Refusal("index_range", f"{gemms_count(problem)} sub-GEMMs are over {MAX_SUB_GEMMS}")
    tile_m, tile_n, _ = instance.tile or (1, 1, 1)
    rows = sub_gemm_rows(problem)
    threads = -(-rows // tile_m) * -(-problem.c // tile_n) * instance.block_size
    if threads > MAX_GRID_THREADS:
        return Refusal("index_range", f"a grid of {threads} threads is over 2^32")
    return None


def main_loop(problem: ConvProblem, instance: Instance) -> str:
    """Does every sub-GEMM take more than one step of Tile K channels, or none, or some?"""
    tile_k = (instance.tile or (1, 1, 1))[2]
    loops = {prod(gemm.taps) * -(-problem.k // tile_k) > 1 for gemm in sub_gemms(problem)}
    return "mixed" if len(loops) > 1 else "all" if loops == {True} else "none"


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """dx is cleared first; then each sub-GEMM is a launch."""
    count = gemms_count(problem)
    return Dispatch(
        path="nongrouped",
        launches=count,
        zero_fill=True,
        facts={
            "gemms_count": count,
            "buckets": count,
            "split_k": 1,
            "split_n": 1,
            "main_loop": main_loop(problem, instance),
        },
    )


FAMILY = KernelFamily(
    name="nongrouped_bwd_data",
    operations=("bwd_data",),
    sources=("library.hip.cpp", *(f"nongrouped_bwd_data_{dtype}.hip.cpp" for dtype in TILES)),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=tuple(_instance(dtype, *row) for dtype, rows in TILES.items() for row in rows),
    options=(),
    supports=supports,
    dispatch=dispatch,
)
