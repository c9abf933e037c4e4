"""Grouped convolution, forward, multiple D: one implicit GEMM, with CK's specialisations and split-N.

``supports`` and ``dispatch`` follow what an instance asserts about a problem, not the C++: where the two disagree, one
is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path

from bitgate.kernel.declaration import ANY_INTEGER, Dispatch, Instance, KernelFamily, Option, Refusal
from bitgate.problem import ConvProblem, Pass, Tensor
from bitgate.problem.accumulation import F32_ACCUMULATION

PROMISED_ALIGNMENT = 16
MAX_COORDINATE = 2**30
MAX_GROUPS = MAX_CHUNKS = 65535
MAX_GRID_THREADS = 2**32 - 1

GENERAL, ODD_C, POINTWISE, POINTWISE_STRIDE_1 = "", "_odd_c", "_1x1p0", "_1x1s1p0"
PATHS = {
    GENERAL: "default",
    ODD_C: "odd_c",
    POINTWISE: "filter1x1_pad0",
    POINTWISE_STRIDE_1: "filter1x1_stride1_pad0",
}
"""Ending of an instance's name -> the path that it always takes."""

# tile, vectors (x, w, y), waves, fragment, specialisation, lanes of a wave. odd_c takes any K and C.
TILES_16 = (
    ((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), ODD_C, 64),
    ((64, 64, 32), (4, 4, 1), 2, (32, 32, 8), GENERAL, 64),
    ((64, 32, 32), (8, 8, 4), 1, (32, 32, 8), GENERAL, 64),
    ((128, 64, 64), (8, 8, 8), 4, (32, 32, 8), GENERAL, 64),
    ((64, 64, 32), (8, 8, 8), 2, (32, 32, 8), POINTWISE, 64),
    ((64, 64, 64), (8, 8, 8), 1, (32, 32, 8), POINTWISE_STRIDE_1, 64),
    ((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), ODD_C, 32),
    ((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), GENERAL, 32),
    ((64, 32, 32), (4, 4, 4), 2, (16, 16, 16), POINTWISE, 32),
    ((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), POINTWISE_STRIDE_1, 32),
)
TILES_32 = (
    ((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), ODD_C, 64),
    ((64, 64, 16), (2, 2, 1), 2, (16, 16, 4), GENERAL, 64),
    ((64, 32, 16), (4, 4, 2), 1, (16, 16, 4), GENERAL, 64),
    ((128, 64, 32), (4, 4, 4), 4, (16, 16, 4), GENERAL, 64),
    ((64, 64, 16), (4, 4, 4), 2, (16, 16, 4), POINTWISE, 64),
    ((64, 64, 32), (4, 4, 4), 1, (16, 16, 4), POINTWISE_STRIDE_1, 64),
    ((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), ODD_C, 32),
    ((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), GENERAL, 32),
    ((64, 32, 16), (2, 2, 2), 2, (16, 16, 4), POINTWISE, 32),
    ((64, 64, 32), (4, 4, 4), 4, (16, 16, 4), POINTWISE_STRIDE_1, 32),
)
TILES = {"f32": TILES_32, "f16": TILES_16, "bf16": TILES_16}


def _instance(
    dtype: str,
    tile: tuple[int, int, int],
    vector: tuple[int, int, int],
    waves: int,
    fragment: tuple[int, int, int],
    special: str,
    wave: int,
) -> Instance:
    suffix = "_w32" if wave == 32 else ""
    return Instance(
        name="{}_{}x{}x{}_a{}b{}c{}".format(dtype, *tile, *vector) + special + suffix,
        group=f"grouped_fwd_{dtype}{suffix}",
        dtypes=(dtype,),
        layouts=("nwgc", "gnwc", "nhwgc", "gnhwc", "ndhwgc", "gndhwc"),
        ndims=(1, 2, 3),
        accumulation=F32_ACCUMULATION,
        tile=tile,
        vector=vector,
        block_size=waves * wave,
        wave_size=wave,
        fragment=fragment,
    )


def specialisation(instance: Instance) -> str:
    """What the instance takes for granted, by the ending of its name."""
    name = instance.name.removesuffix("_w32")
    return next((special for special in PATHS if special and name.endswith(special)), GENERAL)


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if problem.direction is not Pass.FWD:
        return Refusal("operation", f"only fwd, not {problem.direction}")
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    if problem.in_op.name != "pass" or problem.wei_op.name != "pass":
        return Refusal("op", f"operations on the operands: in {problem.in_op.name}, wei {problem.wei_op.name}")
    if problem.split_k not in (1, -1):
        return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")
    tensors = problem.tensors
    for name in ("in", "wei", "out"):
        if tensors[name].strides[2] != 1:
            return Refusal("layout", f"channels of {name} are {tensors[name].strides[2]} elements apart, not 1")
    if refusal := _broken_assertion(problem, specialisation(instance)):
        return refusal
    vector_a, vector_b, vector_c = instance.vector or (1, 1, 1)
    for vector in (vector_a, vector_b):
        if problem.c % vector:
            return Refusal("c_vector", f"C = {problem.c} is not a multiple of {vector}")
    if problem.k % vector_c:
        return Refusal("k_vector", f"K = {problem.k} is not a multiple of {vector_c}")
    for name, vector in (("in", vector_a), ("wei", vector_b), ("out", vector_c)):
        if not _is_aligned(tensors[name], vector):
            return Refusal("alignment", f"vectors of {vector} elements in {name} {tensors[name].strides}")
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


def _is_aligned(tensor: Tensor, vector: int) -> bool:
    """Every vector along the channels (dimension 2) starts at a multiple of its size."""
    outer = [s for i, (n, s) in enumerate(zip(tensor.lengths, tensor.strides, strict=True)) if i != 2 and n > 1]
    return PROMISED_ALIGNMENT % (vector * tensor.dtype.bytes) == 0 and all(stride % vector == 0 for stride in outer)


def _index_range(problem: ConvProblem, instance: Instance, chunks: int) -> Refusal | None:
    padded = [sum(axis) for axis in zip(problem.input, problem.left_pad, problem.right_pad, strict=True)]
    terms = problem.c * prod(problem.filter)
    largest = max(*padded, *problem.stride, *problem.dilation, problem.n, problem.k, terms)
    if largest > MAX_COORDINATE:
        return Refusal("index_range", f"a coordinate or a reduction of {largest} is over 2^30")
    if problem.g > MAX_GROUPS or chunks > MAX_CHUNKS:
        return Refusal("index_range", f"{problem.g} groups, {chunks} chunks: more than a grid has")
    tile_m, tile_n, _ = instance.tile or (1, 1, 1)
    rows = problem.n // chunks * prod(problem.output)
    threads = -(-rows // tile_m) * -(-problem.k // tile_n) * instance.block_size
    if threads > MAX_GRID_THREADS:
        return Refusal("index_range", f"a grid of {threads} threads is over 2^32")
    return None


def split_n(problem: ConvProblem, options: Mapping[str, str]) -> int:
    """Chunks of images: the least divisor of N that brings a chunk's input and output to the threshold. N if even
    single images are larger."""
    threshold = int(options.get("split_n_bytes", PRODUCTION_SPLIT))
    chunks = (count for count in range(1, problem.n) if problem.n % count == 0)
    return next((count for count in chunks if _largest_span(problem, problem.n // count) <= threshold), problem.n)


def _largest_span(problem: ConvProblem, images: int) -> int:
    """Bytes of x or y between the first and the last cell of some images of one group, whatever lies between."""
    spans = []
    for tensor in (problem.tensors["in"], problem.tensors["out"]):
        lengths = (images, *tensor.lengths[2:])
        corner = sum((n - 1) * stride for n, stride in zip(lengths, tensor.strides[1:], strict=True))
        spans.append((corner + 1) * tensor.dtype.bytes)
    return max(spans)


PRODUCTION_SPLIT = str(2**31)
OPTIONS = (
    Option(
        "split_n_bytes",
        ANY_INTEGER,
        PRODUCTION_SPLIT,
        "split-N: images are taken in equal chunks, as few as keep a chunk's input and output within this many bytes.",
    ),
)


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch for all chunks; every cell of y is written, so nothing is cleared first."""
    path = PATHS[specialisation(instance)]
    chunks = split_n(problem, options)
    return Dispatch(path=path, gemms_count=1, launches=1, buckets=1, zero_fill=False, split_n=chunks)


FAMILY = KernelFamily(
    name="grouped_fwd",
    operations=(Pass.FWD,),
    sources=(
        "library.hip.cpp",
        *(f"grouped_fwd_{dtype}{wave}.hip.cpp" for dtype in TILES for wave in ("", "_w32")),
    ),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=tuple(_instance(dtype, *row) for dtype, rows in TILES.items() for row in rows),
    options=OPTIONS,
    supports=supports,
    dispatch=dispatch,
    factors=("gemm_m", "gemm_n", "gemm_k", "main_loop", "numd", "split_n"),
)
