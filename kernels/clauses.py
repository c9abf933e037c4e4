"""Clauses that several families test: each None, or the refusal in the words of the declaration.

Written from what an instance asserts about a problem, not from the C++: where a library disagrees, one of the two is
wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bitgate.kernel import Instance, Refusal
from bitgate.operation import ConvProblem, Tensor

from .alignment import CHANNEL, is_aligned
from .limits import MAX_GRID_THREADS
from .shape import POINTWISE, POINTWISE_STRIDE_1

D_TYPES = ("f32", "f16", "bf16")
"""The types that D may have besides the result's."""


@dataclass(frozen=True)
class VectorAccess:
    """A tensor that threads move in vectors, and its dimension along which they lie: ``letter`` names it."""

    tensor: str
    letter: str
    length: int
    along: int = CHANNEL


@lru_cache(maxsize=1024)
def channel_access(problem: ConvProblem, *tensors: str) -> tuple[VectorAccess, ...]:
    """Tensors of a convolution, moved in vectors of their channels: K of the output, C of the others."""
    letters = [("k", problem.k) if tensor == "out" else ("c", problem.c) for tensor in tensors]
    return tuple(VectorAccess(tensor, *letter) for tensor, letter in zip(tensors, letters, strict=True))


def wrong_types(problem: ConvProblem, instance: Instance) -> Refusal | None:
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    own = problem.d_form.dtype
    return Refusal("dtypes", f"D of {own}") if own is not None and own.name not in D_TYPES else None


def operand_operations(problem: ConvProblem) -> Refusal | None:
    if problem.in_op.name == problem.wei_op.name == "pass":
        return None
    return Refusal("op", f"operations on the operands: in {problem.in_op.name}, wei {problem.wei_op.name}")


def split(problem: ConvProblem) -> Refusal | None:
    if problem.split_k in (1, -1):
        return None
    return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")


def broken_vectors(
    tensors: Mapping[str, Tensor], accesses: Sequence[VectorAccess], instance: Instance
) -> Refusal | None:
    """Each length in whole vectors, then each vector at a multiple of its size; of A, B and C in the order given."""
    each = list(zip(accesses, instance.vector or (1, 1, 1), strict=True))
    for one, vector in each:
        if one.length % vector:
            return Refusal(f"{one.letter}_vector", f"{one.letter.upper()} = {one.length} is not a multiple of {vector}")
    for one, vector in each:
        if not is_aligned(tensors[one.tensor], vector, one.along):
            strides = tensors[one.tensor].strides
            return Refusal("alignment", f"vectors of {vector} elements in {one.tensor} {strides}")
    return None


def broken_assertion(problem: ConvProblem, instance: Instance) -> Refusal | None:
    """1x1 means every filter length (not C, as in CK#1038); pad 0 means both sides."""
    special = instance.traits["special"]
    if special not in (POINTWISE, POINTWISE_STRIDE_1):
        return None
    if set(problem.filter) != {1}:
        return Refusal("filter_1x1", f"a filter of {problem.filter}")
    if any(problem.left_pad) or any(problem.right_pad):
        return Refusal("pad_0", f"pads of {problem.left_pad} and {problem.right_pad}")
    if special == POINTWISE_STRIDE_1 and set(problem.stride) != {1}:
        return Refusal("stride_1", f"strides of {problem.stride}")
    return None


def grid_blocks(rows: int, columns: int, instance: Instance) -> int:
    """Tiles of a GEMM."""
    tile_m, tile_n, _ = instance.tile or (1, 1, 1)
    return -(-rows // tile_m) * -(-columns // tile_n)


def too_many_threads(blocks: int, instance: Instance) -> Refusal | None:
    threads = blocks * instance.block_size
    if threads > MAX_GRID_THREADS:
        return Refusal("index_range", f"a grid of {threads} threads is over 2^32")
    return None
