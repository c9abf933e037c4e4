"""What the families of backward weight declare alike: instances, which problems they take, and how these are cut.

Written from the maths, not from the C++: where a library disagrees, one of the two is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from bitgate.kernel import ANY_INTEGER, Dispatch, Instance, KernelFamily, Option, Refusal, Registered, units
from bitgate.operation import ConvProblem, DtypeSet, Pass

from .backward_weight_threads import BackwardWeightMap
from .channels_last import channels_last
from .clauses import broken_assertion, broken_vectors, channel_access, grid_blocks, too_many_threads, wrong_types
from .cpp_names import BWD_WEIGHT, types
from .library_family import library_family
from .limits import MAX_COORDINATE, MAX_GRID_YZ
from .shape import Shape
from .thread_maps import TileThreads

MOST_AUTOMATIC = 128

OPTIONS = (
    Option(
        "cu_count",
        ANY_INTEGER,
        "0",
        "compute units that an automatic split-K fills; 0: those of the device",
        drawn=("1", "7", "32", "304"),
    ),
    Option(
        "occupancy",
        ANY_INTEGER,
        "0",
        "blocks of a compute unit that an automatic split-K counts on; 0: as the runtime says",
        drawn=("1", "4"),
    ),
)


# What most families have of a type, as in kernels/include/bitgate/implicit_gemm/bwd_weight/variants.hpp: tile, vectors
# (dy, x, dw), waves, fragment, lanes of a wave. The first of each wave size takes any K and C.
PAIR_16 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), 64),
    Shape((128, 64, 32), (8, 8, 8), 4, (32, 32, 8), 64, depth=2),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    Shape((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32, depth=2),
)
# Of 16 bits alone: three steps in a ring, and few channels c.
LARGE_16 = (
    Shape((128, 128, 32), (8, 8, 8), 4, (32, 32, 8), 64, depth=3),
    Shape((128, 128, 32), (8, 8, 8), 4, (16, 16, 16), 32, depth=3),
    Shape((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), 32, depth=3),
    Shape((64, 64, 32), (8, 1, 1), 8, (16, 16, 16), 32, depth=2),
)
PAIR_32 = (
    Shape((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), 64),
    Shape((128, 64, 16), (4, 4, 4), 4, (16, 16, 4), 64, depth=2),
    Shape((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), 32),
    Shape((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), 32, depth=2),
)
# dw in f32: four of its cells are 16 bytes.
PAIR_MIXED = tuple(replace(shape, vector=(*shape.vector[:2], min(shape.vector[2], 4))) for shape in PAIR_16)


Row: TypeAlias = tuple[str, str, Sequence[Shape]]
"""Instance group, types, shapes."""


@dataclass(frozen=True)
class Way:
    """How a family computes dw. ``atomics``: slices of a split reduction meet in dw, in dw's own type.
    ``operations``: dw takes an element-wise operation and D tensors."""

    path: str
    stages: int
    atomics: bool = False
    operations: bool = False

    def supports(self, problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
        return supports(problem, instance, atomics=self.atomics, operations=self.operations)

    def dispatch(self, problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
        return dispatch(problem, instance, options, path=self.path, stages=self.stages)

    def thread_map(
        self, problem: ConvProblem, instance: Instance, options: Mapping[str, str]
    ) -> BackwardWeightMap | None:
        slices = resolved_split_k(problem, instance, options)
        if slices is None:
            return None
        kernel = "kernel_to_workspace" if self.stages == 2 else "kernel_to_result"
        threads = TileThreads.of(instance)
        return BackwardWeightMap(problem, instance, threads, slices, kernel=kernel, finishes=self.stages == 2)


def instances(declaration: str, way: Way, rows: Sequence[Row]) -> tuple[Instance, ...]:
    """Return those of each row and shape. Waves of 32 lanes have a separate translation unit, but for 8-bit factors."""
    family = Path(declaration).parent.name
    return tuple(
        shape.instance(f"{family}_{group}{shape.end * (bits_of(dtypes) > 8)}", dtypes, rounds_slices=way.atomics)
        for group, dtypes, shapes in rows
        for shape in shapes
    )


def bits_of(dtypes: str) -> int:
    """Of the factors."""
    stated = DtypeSet.parse(dtypes)
    return 8 * min(stated.multiplicand(role).bytes for role in BWD_WEIGHT[:2])


def family(
    declaration: str,
    way: Way,
    instances: tuple[Instance, ...],
    table: Callable[[str, int], str],
    *,
    namespace: str = "",
    header: str = "instances.hpp",
    **stated: Any,
) -> KernelFamily:
    """``declaration`` is its ``__file__``; ``table(dtypes, wave)`` is the C++ type that registers those instances, in a
    namespace (the family's own) and a header."""
    texts = units(namespace or Path(declaration).parent.name, _groups(instances, table), header)
    functions = {"supports": way.supports, "dispatch": way.dispatch, "thread_map": way.thread_map, **stated}
    return library_family(declaration, ("bwd_weight",), texts, instances=instances, options=OPTIONS, **functions)


def shared_family(
    declaration: str,
    way: Way,
    rows: Sequence[Row],
    registrations: str,
    whole: Sequence[str] = (),
    large: Sequence[str] = (),
) -> KernelFamily:
    """A family of variants.hpp: ``registrations`` says how dw comes about. The types in ``whole`` have all variants,
    the others a pair; those in ``large`` have the large ones too."""

    def table(dtypes: str, wave: int) -> str:
        table = "Variants" if dtypes in whole else "Pair" if bits_of(dtypes) > 8 else "Pair8"
        held = f"{table}Wave{wave}<{registrations}, {types(dtypes, BWD_WEIGHT)}>"
        return f"Together<{held}, {held.replace(table, 'Large', 1)}>" if dtypes in large else held

    shared = "bitgate/implicit_gemm/bwd_weight"
    return family(
        declaration,
        way,
        instances(declaration, way, rows),
        table,
        namespace=shared.replace("/", "::"),
        header=f"{shared}/variants.hpp",
    )


def _groups(instances: Sequence[Instance], table: Callable[[str, int], str]) -> dict[str, list[Registered]]:
    held: dict[str, dict[Registered, None]] = {}
    for one in instances:
        registered = Registered(table(one.dtypes[0], one.wave_size), one.dtypes, one.wave_size)
        held.setdefault(one.group, {})[registered] = None
    return {group: list(registered) for group, registered in held.items()}


def supports(problem: ConvProblem, instance: Instance, *, atomics: bool, operations: bool) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the libraries test them.

    ``operations``: dw takes an element-wise operation and D tensors.
    """
    if problem.operation.name != Pass.BWD_WEIGHT:
        return Refusal("operation", f"only bwd_weight, not {problem.operation}")
    seen = channels_last(problem)
    if seen.refusal:
        return seen.refusal
    if refusal := wrong_types(problem, instance):
        return refusal
    if problem.in_op.name != "pass" or (problem.op.name != "pass" and not operations):
        return Refusal("op", f"operations {problem.in_op.name} on x and {problem.op.name} on dw")
    if problem.split_k > MAX_GRID_YZ or (atomics and problem.split_k > 1 and not problem.dtypes.wei.is_float):
        return Refusal("split_k", f"split_k = {problem.split_k} of {problem.dtypes.wei} sums")
    merge = merged_groups(instance)
    if merge > 1 and (refusal := _cannot_merge(problem, merge)):
        return refusal
    if refusal := broken_assertion(problem, instance):
        return refusal
    accesses = channel_access(problem, "out", "in", "wei")
    if merge == 1 and (refusal := broken_vectors(seen.tensors, accesses, instance)):
        return refusal
    return _index_range(problem, instance, merge)


def merged_groups(instance: Instance) -> int:
    """Groups that make one GEMM."""
    return int(instance.traits["merge"])


def _cannot_merge(problem: ConvProblem, merge: int) -> Refusal | None:
    if (problem.c, problem.k) != (1, 1):
        return Refusal("merge_depthwise", f"C = {problem.c}, K = {problem.k}")
    if problem.g % merge:
        return Refusal("merge_groups", f"{problem.g} groups are no multiple of {merge}")
    tensors = channels_last(problem).tensors
    if (tensors["out"].strides[0], tensors["in"].strides[0]) != (1, 1):
        return Refusal("merge_layout", "groups are not neighbours in memory")
    return None


def _index_range(problem: ConvProblem, instance: Instance, merge: int) -> Refusal | None:
    padded = [sum(axis) for axis in zip(problem.input, problem.left_pad, problem.right_pad, strict=True)]
    columns = problem.c * merge * prod(problem.filter)
    largest = max(*padded, *problem.stride, *problem.dilation, problem.k, columns, problem.reduction)
    if largest > MAX_COORDINATE:
        return Refusal("index_range", f"a length, coordinate or product of {largest} is over 2^30")
    if problem.g // merge > MAX_GRID_YZ:
        return Refusal("index_range", f"{problem.g} groups: more than a grid has")
    return too_many_threads(_blocks(problem, instance), instance)


def _blocks(problem: ConvProblem, instance: Instance) -> int:
    """Tiles of the GEMM of one group, or of one set of merged groups."""
    merge = merged_groups(instance)
    rows, channels = (merge, merge) if merge > 1 else (problem.k, problem.c)
    return grid_blocks(rows, channels * prod(problem.filter), instance)


def resolved_split_k(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> int | None:
    """Slices of the reduction; None where only the device knows: an automatic split without both options."""
    if problem.split_k != -1:
        return problem.split_k
    if not problem.dtypes.wei.is_float:
        return 1
    capacity = int(options.get("cu_count", "0")) * int(options.get("occupancy", "0"))
    if capacity == 0:
        return None
    grid = _blocks(problem, instance) * (problem.g // merged_groups(instance))
    tile_k = (instance.tile or (1, 1, 1))[2]
    return max(1, min(capacity // grid, -(-(problem.reduction - 1) // tile_k), MOST_AUTOMATIC))


def dispatch(
    problem: ConvProblem, instance: Instance, options: Mapping[str, str], *, path: str, stages: int
) -> Dispatch | None:
    """Return one launch a stage. Of one stage, dw is cleared first where slices add up in it. Two have a workspace of
    floats, one a cell of dw, after the copies of tensors whose channels do not lie last."""
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
