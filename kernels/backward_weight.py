"""What the families of backward weight declare alike: instances, which problems they take, and how these are cut.

Written from the maths, not from the C++: where a library disagrees, one of the two is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from bitgate.kernel.declaration import ANY_INTEGER, Dispatch, Instance, Option, Refusal
from bitgate.operation import DTYPES, Accumulation, DtypeSet
from bitgate.operations.convolution import ConvProblem, Pass

from .alignment import is_aligned
from .channels_last import ANY_LAYOUT, channels_last
from .limits import MAX_COORDINATE, MAX_GRID_THREADS, MAX_GRID_YZ

MOST_AUTOMATIC = 128

GENERAL, POINTWISE, POINTWISE_STRIDE_1 = "", "_1x1p0", "_1x1s1p0"

OPTIONS = (
    Option(
        "cu_count",
        ANY_INTEGER,
        "0",
        "compute units that an automatic split-K fills; 0: those of the device",
    ),
    Option(
        "occupancy",
        ANY_INTEGER,
        "0",
        "blocks of a compute unit that an automatic split-K counts on; 0: as the runtime says",
    ),
)


@dataclass(frozen=True)
class Shape:
    """How one variant cuts its GEMM: the row of a family's table."""

    tile: tuple[int, int, int]
    vector: tuple[int, int, int]
    waves: int
    fragment: tuple[int, int, int]
    wave: int
    special: str = GENERAL
    merge: int = 1
    depth: int = 1

    def name(self, dtypes: str) -> str:
        parts = ["{}_{}x{}x{}_a{}b{}c{}".format(dtypes, *self.tile, *self.vector), self.special]
        parts += [f"_m{self.merge}" * (self.merge > 1), "_d2" * (self.depth == 2), "_w32" * (self.wave == 32)]
        return "".join(parts)


# What most families have of a type, as in kernels/include/bitgate/implicit_gemm/bwd_weight/variants.hpp: tile, vectors
# (dy, x, dw), waves, fragment, lanes of a wave. The first of each wave size takes any K and C.
PAIR_16 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), 64),
    Shape((128, 64, 32), (8, 8, 8), 4, (32, 32, 8), 64, depth=2),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    Shape((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32, depth=2),
)
PAIR_32 = (
    Shape((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), 64),
    Shape((128, 64, 16), (4, 4, 4), 4, (16, 16, 4), 64, depth=2),
    Shape((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), 32),
    Shape((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), 32, depth=2),
)
# dw in f32: four of its cells are 16 bytes.
PAIR_MIXED = tuple(replace(shape, vector=(*shape.vector[:2], min(shape.vector[2], 4))) for shape in PAIR_16)


def instance(family: str, group: str, dtypes: str, shape: Shape, *, atomics: bool, by_wave: bool = True) -> Instance:
    """``atomics``: slices of a split reduction meet in dw, in dw's own type. ``by_wave``: waves of 32 lanes have a
    translation unit of their own."""
    integers = not DtypeSet.parse(dtypes).inp.is_float
    return Instance(
        name=shape.name(dtypes),
        group=f"{family}_{group}" + ("_w32" if by_wave and shape.wave == 32 else ""),
        dtypes=(dtypes,),
        layouts=ANY_LAYOUT,
        ndims=(1, 2, 3),
        accumulation=Accumulation(DTYPES["i32" if integers else "f32"]),
        tile=shape.tile,
        vector=shape.vector,
        block_size=shape.waves * shape.wave,
        wave_size=shape.wave,
        fragment=shape.fragment,
        rounds_slices=atomics,
    )


def supports(
    problem: ConvProblem, instance: Instance, *, atomics: bool, operations: bool, threads: int | None = None
) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the libraries test them.

    ``operations``: dw takes an element-wise operation and D tensors. ``threads`` of a block, if they are not the
    instance's block size.
    """
    if problem.operation.name != Pass.BWD_WEIGHT:
        return Refusal("operation", f"only bwd_weight, not {problem.operation}")
    seen = channels_last(problem)
    if seen.refusal:
        return seen.refusal
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    if problem.in_op.name != "pass" or (problem.op.name != "pass" and not operations):
        return Refusal("op", f"operations {problem.in_op.name} on x and {problem.op.name} on dw")
    if problem.split_k > MAX_GRID_YZ or (atomics and problem.split_k > 1 and not problem.dtypes.wei.is_float):
        return Refusal("split_k", f"split_k = {problem.split_k} of {problem.dtypes.wei} sums")
    merge = merged_groups(instance)
    if merge > 1 and (refusal := _cannot_merge(problem, merge)):
        return refusal
    if refusal := broken_assertion(problem, specialisation(instance)):
        return refusal
    if merge == 1 and (refusal := _broken_vectors(problem, instance)):
        return refusal
    return _index_range(problem, instance, merge, threads or instance.block_size)


def specialisation(instance: Instance) -> str:
    """What the instance takes for granted, by its name."""
    words = instance.name.split("_")
    return next((special for special in (POINTWISE, POINTWISE_STRIDE_1) if special[1:] in words), GENERAL)


def merged_groups(instance: Instance) -> int:
    """Groups that make one GEMM, by the instance's name."""
    return next((int(word[1:]) for word in instance.name.split("_") if word[0] == "m" and word[1:].isdigit()), 1)


def broken_assertion(problem: ConvProblem, special: str) -> Refusal | None:
    """1x1 means every filter length (not C, as in CK#1038); pad 0 means both sides."""
    if special == GENERAL:
        return None
    if set(problem.filter) != {1}:
        return Refusal("filter_1x1", f"a filter of {problem.filter}")
    if any(problem.left_pad) or any(problem.right_pad):
        return Refusal("pad_0", f"pads of {problem.left_pad} and {problem.right_pad}")
    if special == POINTWISE_STRIDE_1 and set(problem.stride) != {1}:
        return Refusal("stride_1", f"strides of {problem.stride}")
    return None


def _cannot_merge(problem: ConvProblem, merge: int) -> Refusal | None:
    if (problem.c, problem.k) != (1, 1):
        return Refusal("merge_depthwise", f"C = {problem.c}, K = {problem.k}")
    if problem.g % merge:
        return Refusal("merge_groups", f"{problem.g} groups are no multiple of {merge}")
    tensors = channels_last(problem).tensors
    if (tensors["out"].strides[0], tensors["in"].strides[0]) != (1, 1):
        return Refusal("merge_layout", "groups are not neighbours in memory")
    return None


def _broken_vectors(problem: ConvProblem, instance: Instance) -> Refusal | None:
    vector_a, vector_b, vector_c = instance.vector or (1, 1, 1)
    if problem.k % vector_a:
        return Refusal("k_vector", f"K = {problem.k} is not a multiple of {vector_a}")
    for vector in (vector_b, vector_c):
        if problem.c % vector:
            return Refusal("c_vector", f"C = {problem.c} is not a multiple of {vector}")
    for name, vector in (("out", vector_a), ("in", vector_b), ("wei", vector_c)):
        tensor = channels_last(problem).tensors[name]
        if not is_aligned(tensor, vector):
            return Refusal("alignment", f"vectors of {vector} elements in {name} {tensor.strides}")
    return None


def _index_range(problem: ConvProblem, instance: Instance, merge: int, threads: int) -> Refusal | None:
    padded = [sum(axis) for axis in zip(problem.input, problem.left_pad, problem.right_pad, strict=True)]
    columns = problem.c * merge * prod(problem.filter)
    largest = max(*padded, *problem.stride, *problem.dilation, problem.k, columns, problem.reduction)
    if largest > MAX_COORDINATE:
        return Refusal("index_range", f"a length, coordinate or product of {largest} is over 2^30")
    if problem.g // merge > MAX_GRID_YZ:
        return Refusal("index_range", f"{problem.g} groups: more than a grid has")
    if grid_blocks(problem, instance) * threads > MAX_GRID_THREADS:
        return Refusal("index_range", "a grid of over 2^32 threads")
    return None


def grid_blocks(problem: ConvProblem, instance: Instance) -> int:
    """Tiles of the GEMM of one group, or of one set of merged groups."""
    merge = merged_groups(instance)
    rows, columns = (merge, merge) if merge > 1 else (problem.k, problem.c)
    tile_m, tile_n, _ = instance.tile or (1, 1, 1)
    return -(-rows // tile_m) * -(-(columns * prod(problem.filter)) // tile_n)


def resolved_split_k(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> int | None:
    """Slices of the reduction; None where only the device knows: an automatic split without both options."""
    if problem.split_k != -1:
        return problem.split_k
    if not problem.dtypes.wei.is_float:
        return 1
    capacity = int(options.get("cu_count", "0")) * int(options.get("occupancy", "0"))
    if capacity == 0:
        return None
    grid = grid_blocks(problem, instance) * (problem.g // merged_groups(instance))
    tile_k = (instance.tile or (1, 1, 1))[2]
    return max(1, min(capacity // grid, -(-(problem.reduction - 1) // tile_k), MOST_AUTOMATIC))


def dispatch(
    problem: ConvProblem, instance: Instance, options: Mapping[str, str], *, path: str, stages: int
) -> Dispatch | None:
    """One launch a stage. Of one stage, dw is cleared first where slices add up in it; two have a workspace of floats,
    one a cell of dw, behind the copies of tensors whose channels do not lie last."""
    slices = resolved_split_k(problem, instance, options)
    if slices is None:
        return None
    seen = channels_last(problem)
    partials = 4 * problem.tensors["wei"].elements if stages == 2 else 0
    return Dispatch(
        path=path,
        launches=stages,
        zero_fill=stages == 1 and slices > 1,
        transposes=len(seen.copies),
        workspace_bytes=seen.workspace_bytes + partials,
        facts={
            "gemms_count": 1,
            "buckets": 1,
            "split_k": slices,
            "split_n": 1,
            "main_loop": _main_loop(-(-problem.reduction // (instance.tile or (1, 1, 1))[2]), slices),
        },
    )


def _main_loop(steps: int, slices: int) -> str:
    """Do all slices of ``steps`` have more than one step, none, or some? Slices are equal but for the last ones."""
    length = -(-steps // slices)
    counts = {max(0, min(length, steps - length * index)) for index in range(slices)} - {0}
    loops = {count > 1 for count in counts}
    return "mixed" if len(loops) == 2 else "all" if True in loops else "none"
