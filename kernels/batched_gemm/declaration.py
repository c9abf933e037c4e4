"""Batched GEMM, multiple D: C = op(A * B, D) for each matrix of a batch, in the layouts rcr, rrr, crr and ccr.

``supports`` and ``dispatch`` follow what an instance asserts about a problem, not the C++: where the two disagree, one
is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.operation import F32_ACCUMULATION
from bitgate.operations.convolution import ConvProblem
from bitgate.operations.gemm import GEMM_LAYOUTS, GemmProblem

from ..alignment import is_aligned
from ..limits import MAX_COORDINATE, MAX_GRID_THREADS, MAX_GRID_YZ

# tile, vectors (A, B, C), waves, fragment, lanes of a wave: each in all four layouts. The first takes any sizes.
TILES_16 = (
    ((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), 64),
    ((128, 64, 64), (8, 8, 8), 4, (32, 32, 8), 64),
    ((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    ((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32),
)
TILES_32 = (
    ((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), 64),
    ((128, 64, 32), (4, 4, 4), 4, (16, 16, 4), 64),
    ((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), 32),
    ((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), 32),
)
TILES = {"f32": TILES_32, "f16": TILES_16, "bf16": TILES_16}


def _instance(
    dtype: str,
    layout: str,
    tile: tuple[int, int, int],
    vector: tuple[int, int, int],
    waves: int,
    fragment: tuple[int, int, int],
    wave: int,
) -> Instance:
    suffix = "_w32" if wave == 32 else ""
    return Instance(
        name="{}_{}_{}x{}x{}_a{}b{}c{}".format(dtype, layout, *tile, *vector) + suffix,
        group=f"batched_gemm_{dtype}{suffix}",
        dtypes=(dtype,),
        layouts=(layout,),
        ndims=(0,),
        accumulation=F32_ACCUMULATION,
        tile=tile,
        vector=vector,
        block_size=waves * wave,
        wave_size=wave,
        fragment=fragment,
        rounds_slices=True,
    )


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if not isinstance(problem, GemmProblem):
        return Refusal("operation", f"only gemm, not {problem.operation}")
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    if problem.in_op.name != "pass" or problem.wei_op.name != "pass":
        return Refusal("op", f"operations on the operands: A {problem.in_op.name}, B {problem.wei_op.name}")
    if problem.split_k > 1 and (problem.op.name != "pass" or problem.split_k > MAX_GRID_YZ):
        return Refusal("split_k", f"split_k = {problem.split_k} with operation {problem.op.name}")
    a, b, _ = tuple(instance.layouts[0])
    m, n, k = problem.sizes
    # What lies contiguous in A, B and C, how long it is, and its place in the logical shape.
    contiguous = (
        ("in", *(("k", k, 2) if a == "r" else ("m", m, 1))),
        ("wei", *(("n", n, 1) if b == "r" else ("k", k, 2))),
        ("out", "n", n, 2),
    )
    tensors = problem.tensors
    for name, letter, _, along in contiguous:
        if tensors[name].strides[along] != 1:
            return Refusal("layout", f"{letter} of {name} is not contiguous: strides {tensors[name].strides}")
    vectors = instance.vector or (1, 1, 1)
    for (_, letter, length, _), vector in zip(contiguous, vectors, strict=True):
        if length % vector:
            return Refusal(f"{letter}_vector", f"{letter.upper()} = {length} is not a multiple of {vector}")
    for (name, _, _, along), vector in zip(contiguous, vectors, strict=True):
        if not is_aligned(tensors[name], vector, along):
            return Refusal("alignment", f"vectors of {vector} elements in {name} {tensors[name].strides}")
    return _index_range(problem, instance)


def _index_range(problem: GemmProblem, instance: Instance) -> Refusal | None:
    m, n, _ = problem.sizes
    if max(problem.sizes) > MAX_COORDINATE:
        return Refusal("index_range", f"a length of {max(problem.sizes)} is over 2^30")
    if problem.batch > MAX_GRID_YZ:
        return Refusal("index_range", f"a batch of {problem.batch} is over {MAX_GRID_YZ}")
    tile_m, tile_n, _ = instance.tile or (1, 1, 1)
    threads = -(-m // tile_m) * -(-n // tile_n) * instance.block_size
    if threads > MAX_GRID_THREADS:
        return Refusal("index_range", f"a grid of {threads} threads is over 2^32")
    return None


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch for the batch; C is cleared first where slices add up in it."""
    slices = max(1, problem.split_k)
    facts = {"gemms_count": 1, "buckets": 1, "split_k": slices}
    return Dispatch(path="batched", launches=1, zero_fill=slices > 1, facts=facts)


FAMILY = KernelFamily(
    name="batched_gemm",
    operations=("gemm",),
    sources=(
        "library.hip.cpp",
        *(f"batched_gemm_{dtype}{wave}.hip.cpp" for dtype in TILES for wave in ("", "_w32")),
    ),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=tuple(
        _instance(dtype, layout, *row) for dtype, rows in TILES.items() for layout in GEMM_LAYOUTS for row in rows
    ),
    options=(),
    supports=supports,
    dispatch=dispatch,
)
