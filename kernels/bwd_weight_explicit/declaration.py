"""Grouped convolution, backward weight, 1x1 with stride 1 and no padding: a batched GEMM on the tensors as they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from bitgate.kernel import Dispatch, Instance, Refusal, element
from bitgate.operation import ConvProblem, Tensor

from ..backward_weight import Way, family, instances, resolved_split_k
from ..backward_weight_threads import BackwardWeightMap
from ..channels_last import channels_last
from ..shape import POINTWISE_STRIDE_1, Shape
from ..thread_maps import SUM_BYTES, TileThreads

# tile, vectors (dy, x, dw), waves, fragment, lanes of a wave. The first of each wave size takes any K and C.
SHAPES_16 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), 64, POINTWISE_STRIDE_1),
    Shape((128, 64, 32), (8, 8, 8), 4, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32, POINTWISE_STRIDE_1),
    Shape((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32, POINTWISE_STRIDE_1),
)
SHAPES_32 = (
    Shape((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), 64, POINTWISE_STRIDE_1),
    Shape((128, 64, 16), (4, 4, 4), 4, (16, 16, 4), 64, POINTWISE_STRIDE_1),
    Shape((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), 32, POINTWISE_STRIDE_1),
    Shape((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), 32, POINTWISE_STRIDE_1),
)
ROWS = (("f32", "f32", SHAPES_32), ("f16", "f16", SHAPES_16), ("bf16", "bf16", SHAPES_16))

WAY = Way("explicit", stages=1)


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails."""
    refusal = WAY.supports(problem, instance, options)
    if refusal is None and not all(_is_matrix(channels_last(problem).tensors[name]) for name in ("out", "in")):
        return Refusal("packed", "positions do not lie evenly in memory")
    return refusal


def _is_matrix(tensor: Tensor) -> bool:
    """Images and positions are evenly spaced rows: each outer stride is the inner one times its length."""
    rows = [(n, s) for n, s in zip(tensor.lengths[3:], tensor.strides[3:], strict=True)]
    rows = [(n, s) for n, s in [(tensor.lengths[1], tensor.strides[1]), *rows] if n > 1]
    return all(outer[1] == inner[0] * inner[1] for outer, inner in pairwise(rows))


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch; of a split reduction a second one, from the workspace to dw. Who may split has the workspace."""
    one, two = (way.dispatch(problem, instance, options) for way in (WAY, replace(WAY, stages=2)))
    if one is None or two is None:
        return None
    plain = replace(one, zero_fill=False)
    if problem.split_k != 1:
        plain = replace(plain, workspace_bytes=two.workspace_bytes)
    return replace(plain, launches=1 if plain.facts["split_k"] == 1 else 2)


def thread_map(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> BackwardWeightMap | None:
    """Slices meet in the workspace, whose vectors are of floats: 16 bytes at most."""
    slices = resolved_split_k(problem, instance, options)
    if slices is None or instance.vector is None:
        return None
    is_split = slices > 1
    threads = TileThreads.of(instance, vector=min(instance.vector[2], 16 // SUM_BYTES) if is_split else 0)
    return BackwardWeightMap(problem, instance, threads, slices, kernel="kernel_gemm", finishes=is_split)


FAMILY = family(
    __file__,
    WAY,
    instances(__file__, WAY, ROWS),
    lambda dtype, wave: f"InstancesWave{wave}<{element(dtype)}>",
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
)
