"""Grouped convolution, backward data, multiple D: implicit GEMMs on a flat path (one) and a grouped path (many).

``supports`` and ``dispatch`` follow the maths of the decomposition, not the C++: where the two disagree, one is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from bitgate.kernel import ANY_INTEGER, Dispatch, Instance, Option, Refusal, Registered, units
from bitgate.operation import DTYPES, ConvProblem, Pass, SubGemm, gemms_count, sub_gemm_rows, sub_gemms

from ..backward_data import BackwardDataMap, LaunchedGemms, in_buckets, too_large
from ..channels_last import channels_last
from ..clauses import broken_vectors, channel_access, grid_blocks, operand_operations, too_many_threads, wrong_types
from ..cpp_names import BWD_DATA, F16_WEI_F8_OUT_BF8, WAVES, types
from ..image_chunks import SPLIT_N, split_n
from ..library_family import library_family
from ..limits import MAX_GRID_YZ
from ..shape import Shape

MAX_SPLIT_K = 128

# tile, vectors (dy, w, dx), waves, fragment, lanes of a wave, depth. The first of each wave size takes any K and C.
TILES_16 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), 64),
    Shape((64, 64, 32), (8, 1, 1), 2, (32, 32, 8), 64),
    Shape((64, 32, 32), (4, 4, 4), 1, (32, 32, 8), 64),
    Shape((64, 64, 64), (8, 8, 8), 1, (32, 32, 8), 64),
    Shape((128, 64, 64), (8, 8, 8), 4, (32, 32, 8), 64),
    Shape((64, 64, 32), (8, 4, 4), 2, (32, 32, 8), 64, depth=2),
    Shape((128, 128, 32), (8, 8, 8), 4, (32, 32, 8), 64, depth=3),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    Shape((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32),
    Shape((64, 64, 32), (8, 4, 4), 4, (16, 16, 16), 32, depth=2),
    Shape((128, 128, 32), (8, 8, 8), 4, (16, 16, 16), 32, depth=3),
    Shape((128, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32, depth=3),
    Shape((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), 32, depth=3),
    Shape((128, 16, 32), (8, 1, 1), 4, (16, 16, 16), 32, depth=2),
)
TILES_32 = (
    Shape((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), 64),
    Shape((64, 64, 16), (4, 1, 1), 2, (16, 16, 4), 64),
    Shape((64, 32, 32), (2, 2, 2), 1, (16, 16, 4), 64),
    Shape((64, 64, 32), (4, 4, 4), 1, (16, 16, 4), 64),
    Shape((128, 64, 32), (4, 4, 4), 4, (16, 16, 4), 64),
    Shape((64, 64, 16), (4, 2, 2), 2, (16, 16, 4), 64, depth=2),
    Shape((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), 32),
    Shape((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), 32),
    Shape((64, 32, 16), (4, 2, 2), 4, (16, 16, 4), 32, depth=2),
)
TILES_8 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 32), 64),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
)
TILES = {"f32": TILES_32, "f16": TILES_16, "bf16": TILES_16}
ROUNDED = tuple(f"f16_ct{factor}" for factor in ("f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz"))
"""f16 tensors that are multiplied in 8 bits."""
ROUNDED_GROUP, APART_GROUP = "grouped_bwd_data_f16_ct8", "grouped_bwd_data_f16_ct_bf8_f8"


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if problem.direction is not Pass.BWD_DATA:
        return Refusal("operation", f"only bwd_data, not {problem.direction}")
    seen = channels_last(problem)
    if seen.refusal:
        return seen.refusal
    if refusal := wrong_types(problem, instance) or operand_operations(problem):
        return refusal
    if problem.split_k > MAX_SPLIT_K:
        return Refusal("split_k", f"split_k = {problem.split_k} is over {MAX_SPLIT_K}")
    if problem.split_k > 1 and problem.op.name != "pass":
        return Refusal("split_k_op", f"{problem.op.name} would act on each of {problem.split_k} slices by itself")
    accesses = channel_access(problem, "out", "wei", "in")
    return broken_vectors(seen.tensors, accesses, instance) or _index_range(problem, instance, options)


def _index_range(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    if refusal := too_large(problem):
        return refusal
    chunks = split_n(problem, options)
    parts = chunks * split_k(problem)
    if problem.g > MAX_GRID_YZ or parts > MAX_GRID_YZ:
        return Refusal("index_range", f"{problem.g} groups, {parts} chunks and slices: more than a grid has")
    blocks = grid_blocks(sub_gemm_rows(problem) // chunks, problem.c, instance)
    return too_many_threads(blocks * int(PRODUCTION_BUCKET), instance)


def split_k(problem: ConvProblem) -> int:
    """Slices of each reduction; auto is 1."""
    return max(1, problem.split_k)


def takes_flat_path(problem: ConvProblem, options: Mapping[str, str]) -> bool:
    """One sub-GEMM, 2D, no groups, no D tensor, nothing split, and K in whole 16 bytes (AK1). With the gate off, or a
    launch for each, however many sub-GEMMs."""
    chunk = 16 // problem.tensors["out"].dtype.bytes
    one_gemm = gemms_count(problem) == 1 or options.get("flat_path_gate") in ("launch_each", "off")
    return (
        one_gemm
        and problem.ndim == 2
        and problem.g == 1
        and problem.op.num_d == 0
        and split_k(problem) == 1
        and split_n(problem, options) == 1
        and problem.k % chunk == 0
    )


def main_loop(problem: ConvProblem, instance: Instance) -> str:
    """Does every tile of every sub-GEMM take more than one step, or none, or some? A step is one Tile K of channels of
    one tap; a slice has as many as the others, the last one the rest."""
    lengths = [length for gemm in sub_gemms(problem) for length in _slices(gemm, problem, instance)]
    loops = [length > 1 for length in lengths]
    return "all" if all(loops) else "mixed" if any(loops) else "none"


def _slices(gemm: SubGemm, problem: ConvProblem, instance: Instance) -> list[int]:
    """The lengths of a reduction's slices, longest and last; empty slices do nothing."""
    tile_k = (instance.tile or (1, 1, 1))[2]
    steps = prod(gemm.taps) * -(-problem.k // tile_k)
    length = -(-steps // split_k(problem))
    return [length, steps % length or length]


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """dx is cleared (or filled with op(0, d)) first, unless D lies in it; each bucket of sub-GEMMs is one launch, and
    on the flat path with a launch for each, each sub-GEMM."""
    count = gemms_count(problem)
    is_flat = takes_flat_path(problem, options)
    launches_each = is_flat and options.get("flat_path_gate") == "launch_each"
    buckets = count if launches_each else -(-count // int(options.get("bucket_size", PRODUCTION_BUCKET)))
    return Dispatch(
        path="flat" if is_flat else "grouped",
        launches=buckets,
        # A copy of dx in the workspace is not the D tensor any more.
        zero_fill=not problem.op.in_place or any(copy.name == "in" for copy in channels_last(problem).copies),
        transposes=len(channels_last(problem).copies),
        workspace_bytes=channels_last(problem).workspace_bytes,
        facts={
            "gemms_count": count,
            "buckets": buckets,
            "split_n": split_n(problem, options),
            "split_k": split_k(problem),
            "main_loop": main_loop(problem, instance),
        },
    )


def thread_map(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> BackwardDataMap:
    """Each launch takes a bucket; with the gate off the flat path takes one sub-GEMM of each bucket, the n-th of all
    in the n-th launch."""
    count, size = gemms_count(problem), int(options.get("bucket_size", PRODUCTION_BUCKET))
    buckets = in_buckets(count, size)
    if not takes_flat_path(problem, options):
        return BackwardDataMap(
            problem,
            instance,
            LaunchedGemms("kernel_grouped", buckets),
            chunks=split_n(problem, options),
            slices=split_k(problem),
        )
    launches = count if options.get("flat_path_gate") == "launch_each" else len(buckets)
    return BackwardDataMap(problem, instance, LaunchedGemms("kernel_flat", in_buckets(launches, 1)))


PRODUCTION_BUCKET = "32"
OPTIONS = (
    Option(
        "flat_path_gate",
        ("gemms_count", "launch_each", "off"),
        "gemms_count",
        "gemms_count: the flat path takes problems of one sub-GEMM. launch_each: it takes any 2D problem with G = 1 and"
        " no D tensor, a launch for each sub-GEMM. off: the same problems, as before ROCm/rocm-libraries#7732: it"
        " launches one sub-GEMM of each bucket.",
        drawn=("launch_each",),
    ),
    Option(
        "bucket_size",
        ANY_INTEGER,
        PRODUCTION_BUCKET,
        "sub-GEMMs that one grouped launch takes (1 to 32)",
        drawn=("1", "2", "3", "31"),
    ),
    SPLIT_N,
)


def _registered(dtypes: str, wave: int) -> Registered:
    bits = 8 * DTYPES[dtypes].bytes if dtypes in TILES else 8
    return Registered(f"Instances{bits}Wave{wave}<{types(dtypes, BWD_DATA)}>", (dtypes,), wave)


GENERATED = units(
    "grouped_bwd_data",
    {
        **{f"grouped_bwd_data_{dtype}{end}": [_registered(dtype, w)] for dtype in TILES for w, end in WAVES.items()},
        ROUNDED_GROUP: [_registered(dtypes, wave) for wave in WAVES for dtypes in ROUNDED],
        APART_GROUP: [_registered(dtypes, wave) for wave in WAVES for dtypes in F16_WEI_F8_OUT_BF8],
    },
)

FAMILY = library_family(
    __file__,
    ("bwd_data",),
    GENERATED,
    instances=(
        *(
            shape.instance(f"grouped_bwd_data_{dtype}{shape.end}", dtype, rounds_slices=True)
            for dtype, shapes in TILES.items()
            for shape in shapes
        ),
        *(shape.instance(ROUNDED_GROUP, dtypes, rounds_slices=True) for dtypes in ROUNDED for shape in TILES_8),
        *(
            shape.instance(APART_GROUP, dtypes, rounds_slices=True)
            for dtypes in F16_WEI_F8_OUT_BF8
            for shape in TILES_8
        ),
    ),
    options=OPTIONS,
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
)
