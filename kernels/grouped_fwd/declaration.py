"""Grouped convolution, forward, multiple D: one implicit GEMM, with CK's specialisations and split-N.

``supports`` and ``dispatch`` follow what an instance asserts about a problem, not the C++: where the two disagree, one
is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TypeAlias

from bitgate.kernel.declaration import ANY_INTEGER, Dispatch, Instance, KernelFamily, Option, Refusal
from bitgate.operation import DTYPES, F32_ACCUMULATION, Accumulation
from bitgate.operations.convolution import ConvProblem, Pass

from ..alignment import is_aligned
from ..channels_last import ANY_LAYOUT, channels_last
from ..image_chunks import image_chunks
from ..limits import MAX_COORDINATE, MAX_GRID_THREADS, MAX_GRID_YZ

I32_ACCUMULATION = Accumulation(DTYPES["i32"])

GENERAL, ODD_C, POINTWISE, POINTWISE_STRIDE_1 = "", "_odd_c", "_1x1p0", "_1x1s1p0"
PATHS = {
    GENERAL: "default",
    ODD_C: "odd_c",
    POINTWISE: "filter1x1_pad0",
    POINTWISE_STRIDE_1: "filter1x1_stride1_pad0",
}
"""Ending of an instance's name -> the path that it always takes."""

PREFETCHED = "_d2"
"""Ends the names of instances that fetch a step of the reduction while the one before is multiplied."""

Triple: TypeAlias = tuple[int, int, int]
Row: TypeAlias = tuple[Triple, Triple, int, Triple, str, int]
"""Tile, vectors (x, w, y), waves, fragment, specialisation or depth, lanes of a wave. odd_c takes any K and C."""

TILES_16 = (
    ((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), ODD_C, 64),
    ((64, 64, 32), (4, 4, 1), 2, (32, 32, 8), GENERAL, 64),
    ((64, 32, 32), (8, 8, 4), 1, (32, 32, 8), GENERAL, 64),
    ((128, 64, 64), (8, 8, 8), 4, (32, 32, 8), GENERAL, 64),
    ((64, 64, 32), (8, 8, 8), 2, (32, 32, 8), POINTWISE, 64),
    ((64, 64, 64), (8, 8, 8), 1, (32, 32, 8), POINTWISE_STRIDE_1, 64),
    ((64, 64, 32), (8, 8, 4), 2, (32, 32, 8), PREFETCHED, 64),
    ((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), ODD_C, 32),
    ((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), GENERAL, 32),
    ((64, 32, 32), (4, 4, 4), 2, (16, 16, 16), POINTWISE, 32),
    ((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), POINTWISE_STRIDE_1, 32),
    ((64, 64, 32), (8, 8, 4), 4, (16, 16, 16), PREFETCHED, 32),
)
TILES_32 = (
    ((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), ODD_C, 64),
    ((64, 64, 16), (2, 2, 1), 2, (16, 16, 4), GENERAL, 64),
    ((64, 32, 16), (4, 4, 2), 1, (16, 16, 4), GENERAL, 64),
    ((128, 64, 32), (4, 4, 4), 4, (16, 16, 4), GENERAL, 64),
    ((64, 64, 16), (4, 4, 4), 2, (16, 16, 4), POINTWISE, 64),
    ((64, 64, 32), (4, 4, 4), 1, (16, 16, 4), POINTWISE_STRIDE_1, 64),
    ((64, 64, 16), (4, 4, 2), 2, (16, 16, 4), PREFETCHED, 64),
    ((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), ODD_C, 32),
    ((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), GENERAL, 32),
    ((64, 32, 16), (2, 2, 2), 2, (16, 16, 4), POINTWISE, 32),
    ((64, 64, 32), (4, 4, 4), 4, (16, 16, 4), POINTWISE_STRIDE_1, 32),
    ((64, 64, 16), (4, 4, 2), 4, (16, 16, 4), PREFETCHED, 32),
)
TILES_I8 = (
    ((32, 32, 32), (1, 1, 1), 1, (16, 16, 32), ODD_C, 64),
    ((64, 32, 64), (4, 4, 1), 2, (16, 16, 32), GENERAL, 64),
    ((128, 64, 64), (16, 16, 16), 4, (16, 16, 32), GENERAL, 64),
    ((64, 64, 64), (8, 8, 8), 2, (16, 16, 32), POINTWISE_STRIDE_1, 64),
    ((64, 64, 64), (16, 16, 8), 2, (16, 16, 32), PREFETCHED, 64),
    ((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), ODD_C, 32),
    ((64, 32, 32), (4, 4, 1), 2, (16, 16, 16), GENERAL, 32),
    ((64, 64, 64), (16, 16, 8), 4, (16, 16, 16), PREFETCHED, 32),
)
TILES_F8_MIXED = (
    ((32, 32, 32), (1, 1, 1), 1, (16, 16, 32), ODD_C, 64),
    ((64, 32, 64), (8, 8, 4), 2, (16, 16, 32), GENERAL, 64),
    ((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), ODD_C, 32),
    ((64, 32, 32), (8, 8, 4), 2, (16, 16, 16), GENERAL, 32),
)
TILES_F8 = (
    *TILES_F8_MIXED,
    ((64, 64, 64), (16, 16, 8), 2, (16, 16, 32), PREFETCHED, 64),
    ((64, 64, 64), (16, 16, 8), 4, (16, 16, 16), PREFETCHED, 32),
)

# Translation unit, of each wave size -> the types that it holds -> their tiles.
GROUPS: dict[str, dict[str, tuple[Row, ...]]] = {
    "f32": {"f32": TILES_32},
    "f16": {"f16": TILES_16},
    "bf16": {"bf16": TILES_16},
    "i8": {"i8": TILES_I8},
    **{
        f8: {
            f8: TILES_F8,
            **dict.fromkeys(
                (f"b{f8}", f"b{f8}_b{f8}_{f8}", f"{f8}_b{f8}_{f8}", f"b{f8}_{f8}_{f8}", f"f16_ct{f8}"), TILES_F8_MIXED
            ),
        }
        for f8 in ("f8ocp", "f8fnuz")
    },
}


def _instance(
    group: str,
    dtypes: str,
    tile: Triple,
    vector: Triple,
    waves: int,
    fragment: Triple,
    special: str,
    wave: int,
) -> Instance:
    suffix = "_w32" if wave == 32 else ""
    return Instance(
        name="{}_{}x{}x{}_a{}b{}c{}".format(dtypes, *tile, *vector) + special + suffix,
        group=f"grouped_fwd_{group}{suffix}",
        dtypes=(dtypes,),
        layouts=ANY_LAYOUT,
        ndims=(1, 2, 3),
        accumulation=I32_ACCUMULATION if dtypes == "i8" else F32_ACCUMULATION,
        tile=tile,
        vector=vector,
        block_size=waves * wave,
        wave_size=wave,
        fragment=fragment,
        operations=("fwd",),
    )


def specialisation(instance: Instance) -> str:
    """What the instance takes for granted, by the ending of its name."""
    name = instance.name.removesuffix("_w32").removesuffix(PREFETCHED)
    return next((special for special in PATHS if special and name.endswith(special)), GENERAL)


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if problem.direction is not Pass.FWD:
        return Refusal("operation", f"only fwd, not {problem.direction}")
    seen = channels_last(problem)
    if seen.refusal:
        return seen.refusal
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    if problem.in_op.name != "pass" or problem.wei_op.name != "pass":
        return Refusal("op", f"operations on the operands: in {problem.in_op.name}, wei {problem.wei_op.name}")
    if problem.split_k not in (1, -1):
        return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")
    if refusal := _broken_assertion(problem, specialisation(instance)):
        return refusal
    vector_a, vector_b, vector_c = instance.vector or (1, 1, 1)
    for vector in (vector_a, vector_b):
        if problem.c % vector:
            return Refusal("c_vector", f"C = {problem.c} is not a multiple of {vector}")
    if problem.k % vector_c:
        return Refusal("k_vector", f"K = {problem.k} is not a multiple of {vector_c}")
    for name, vector in (("in", vector_a), ("wei", vector_b), ("out", vector_c)):
        if not is_aligned(seen.tensors[name], vector):
            return Refusal("alignment", f"vectors of {vector} elements in {name} {seen.tensors[name].strides}")
    return _index_range(problem, instance, split_n(problem, options))


def _broken_assertion(problem: ConvProblem, special: str) -> Refusal | None:
    """1x1 means every filter length (not C, as in CK#1038); pad 0 means both sides."""
    if special in (POINTWISE, POINTWISE_STRIDE_1):
        if set(problem.filter) != {1}:
            return Refusal("filter_1x1", f"a filter of {problem.filter}")
        if any(problem.left_pad) or any(problem.right_pad):
            return Refusal("pad_0", f"pads of {problem.left_pad} and {problem.right_pad}")
    if special == POINTWISE_STRIDE_1 and set(problem.stride) != {1}:
        return Refusal("stride_1", f"strides of {problem.stride}")
    return None


def _index_range(problem: ConvProblem, instance: Instance, chunks: int) -> Refusal | None:
    padded = [sum(axis) for axis in zip(problem.input, problem.left_pad, problem.right_pad, strict=True)]
    terms = problem.c * prod(problem.filter)
    largest = max(*padded, *problem.stride, *problem.dilation, problem.n, problem.k, terms)
    if largest > MAX_COORDINATE:
        return Refusal("index_range", f"a coordinate or a reduction of {largest} is over 2^30")
    if problem.g > MAX_GRID_YZ or chunks > MAX_GRID_YZ:
        return Refusal("index_range", f"{problem.g} groups, {chunks} chunks: more than a grid has")
    tile_m, tile_n, _ = instance.tile or (1, 1, 1)
    rows = problem.n // chunks * prod(problem.output)
    threads = -(-rows // tile_m) * -(-problem.k // tile_n) * instance.block_size
    if threads > MAX_GRID_THREADS:
        return Refusal("index_range", f"a grid of {threads} threads is over 2^32")
    return None


def split_n(problem: ConvProblem, options: Mapping[str, str]) -> int:
    """Chunks of images."""
    return image_chunks(problem, int(options.get("split_n_bytes", PRODUCTION_SPLIT)))


PRODUCTION_SPLIT = str(2**31)
OPTIONS = (
    Option(
        "split_n_bytes",
        ANY_INTEGER,
        PRODUCTION_SPLIT,
        "split-N: images are taken in equal chunks, as few as keep a chunk's input and output within this many bytes.",
    ),
)


def steps(problem: ConvProblem, instance: Instance) -> int:
    """Steps of each tile's reduction: of taps and channels together for odd_c, else of each tap's channels."""
    tile_k = (instance.tile or (1, 1, 1))[2]
    taps = prod(problem.filter)
    if specialisation(instance) == ODD_C:
        return -(-taps * problem.c // tile_k)
    return taps * -(-problem.c // tile_k)


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch for all chunks; every cell of y is written, so nothing is cleared first."""
    return Dispatch(
        path=PATHS[specialisation(instance)],
        launches=1,
        transposes=len(channels_last(problem).copies),
        workspace_bytes=channels_last(problem).workspace_bytes,
        facts={
            "gemms_count": 1,
            "buckets": 1,
            "split_n": split_n(problem, options),
            "split_k": 1,
            "main_loop": "all" if steps(problem, instance) > 1 else "none",
        },
    )


FAMILY = KernelFamily(
    name="grouped_fwd",
    operations=("fwd",),
    sources=(
        "library.hip.cpp",
        *(f"grouped_fwd_{group}{wave}.hip.cpp" for group in GROUPS for wave in ("", "_w32")),
    ),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=tuple(
        _instance(group, dtypes, *row)
        for group, types in GROUPS.items()
        for dtypes, rows in types.items()
        for row in rows
    ),
    options=OPTIONS,
    supports=supports,
    dispatch=dispatch,
)
