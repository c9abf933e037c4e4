"""Convolution, backward data, without groups: one launch for each sub-GEMM (CK's example 17).

``supports`` and ``dispatch`` follow the maths of the decomposition, not the C++: where the two disagree, one is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from bitgate.kernel import Dispatch, Instance, Refusal, Registered, units
from bitgate.operation import DTYPES, ConvProblem, Pass, gemms_count, sub_gemm_rows, sub_gemms

from ..backward_data import BackwardDataMap, LaunchedGemms, in_buckets, too_large
from ..clauses import (
    broken_vectors,
    channel_access,
    grid_blocks,
    operand_operations,
    split,
    too_many_threads,
    wrong_types,
)
from ..cpp_names import BWD_DATA, WAVES, types
from ..library_family import library_family
from ..shape import Shape

# tile, vectors (dy, w, dx), waves, fragment, lanes of a wave. The first of each wave size takes any K and C.
TILES_16 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), 64),
    Shape((64, 64, 32), (4, 4, 4), 2, (32, 32, 8), 64),
    Shape((128, 64, 32), (8, 8, 8), 4, (32, 32, 8), 64),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    Shape((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32),
)
TILES_32 = (
    Shape((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), 64),
    Shape((64, 64, 16), (2, 2, 2), 2, (16, 16, 4), 64),
    Shape((128, 64, 16), (4, 4, 4), 4, (16, 16, 4), 64),
    Shape((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), 32),
    Shape((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), 32),
)
TILES_8 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 32), 64),
    Shape((128, 64, 64), (16, 16, 16), 4, (16, 16, 32), 64),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    Shape((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), 32),
)
TILES = {"f32": TILES_32, "f16": TILES_16, "bf16": TILES_16, "i8": TILES_8}
LAYOUTS = ("nwgc", "gnwc", "nhwgc", "gnhwc", "ndhwgc", "gndhwc")


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if problem.direction is not Pass.BWD_DATA:
        return Refusal("operation", f"only bwd_data, not {problem.direction}")
    if refusal := wrong_types(problem, instance) or operand_operations(problem):
        return refusal
    if problem.g != 1:
        return Refusal("groups", f"G = {problem.g}: this kernel takes one group")
    if problem.op.name != "pass":
        return Refusal("op", f"{problem.op.name} on dx: this kernel applies no operation")
    if refusal := split(problem):
        return refusal
    tensors = problem.tensors
    for tensor in (tensors["out"], tensors["wei"], tensors["in"]):
        if tensor.strides[2] != 1:
            return Refusal("layout", f"channels of {tensor.name} are {tensor.strides[2]} elements apart, not 1")
    accesses = channel_access(problem, "out", "wei", "in")
    blocks = grid_blocks(sub_gemm_rows(problem), problem.c, instance)
    return broken_vectors(tensors, accesses, instance) or too_large(problem) or too_many_threads(blocks, instance)


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


def thread_map(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> BackwardDataMap:
    """Each sub-GEMM is a launch."""
    return BackwardDataMap(problem, instance, LaunchedGemms("kernel_flat", in_buckets(gemms_count(problem), 1)))


def _registered(dtype: str, wave: int) -> Registered:
    table = "Instances8" if DTYPES[dtype].bytes == 1 else "Instances"
    return Registered(f"{table}Wave{wave}<{types(dtype, BWD_DATA)}>", (dtype,), wave)


GENERATED = units(
    "nongrouped_bwd_data",
    {f"nongrouped_bwd_data_{dtype}": [_registered(dtype, wave) for wave in WAVES] for dtype in TILES},
)

FAMILY = library_family(
    __file__,
    ("bwd_data",),
    GENERATED,
    instances=tuple(
        shape.instance(f"nongrouped_bwd_data_{dtype}", dtype, layouts=LAYOUTS)
        for dtype, shapes in TILES.items()
        for shape in shapes
    ),
    options=(),
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
)
