"""Grouped convolution, backward weight, wave-specialised: load waves and math waves in one workgroup (wavelet)."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel import Instance
from bitgate.operation import ConvProblem

from ..backward_weight import Way, family, resolved_split_k
from ..backward_weight_threads import BackwardWeightMap
from ..cpp_names import types
from ..shape import POINTWISE_STRIDE_1, Shape
from ..thread_maps import TileThreads

LOAD_THREADS = 256

# tile, vectors (dy, x, dw), math waves, fragment, lanes of a wave. 256 threads load; 256 or 128 multiply. Vectors of 4
# take K in fours, such as the 36 channels of a detector's boxes.
SHAPES = (
    Shape((128, 128, 32), (8, 8, 8), 4, (32, 32, 8), 64),
    Shape((64, 64, 32), (1, 1, 1), 4, (32, 32, 8), 64),
    Shape((128, 64, 32), (8, 8, 8), 4, (32, 32, 8), 64),
    Shape((64, 128, 32), (8, 8, 8), 4, (32, 32, 8), 64),
    Shape((128, 128, 32), (8, 8, 8), 4, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((64, 64, 32), (8, 8, 8), 4, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((128, 64, 32), (8, 8, 8), 4, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((64, 128, 32), (8, 8, 8), 4, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((64, 64, 32), (4, 8, 8), 2, (32, 32, 8), 64),
    Shape((128, 64, 32), (8, 8, 8), 2, (32, 32, 8), 64),
    Shape((64, 128, 32), (4, 8, 8), 2, (32, 32, 8), 64),
    Shape((64, 64, 32), (8, 8, 8), 2, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((128, 64, 32), (8, 8, 8), 2, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((64, 128, 32), (8, 8, 8), 2, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((64, 64, 32), (1, 1, 1), 8, (16, 16, 16), 32),
    Shape((128, 128, 32), (8, 8, 8), 8, (16, 16, 16), 32),
    Shape((128, 64, 32), (8, 8, 8), 8, (16, 16, 16), 32),
    Shape((64, 64, 32), (8, 8, 8), 8, (16, 16, 16), 32, POINTWISE_STRIDE_1),
    Shape((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32),
    Shape((64, 128, 32), (4, 8, 8), 4, (16, 16, 16), 32),
)


def _instance(dtype: str, shape: Shape) -> Instance:
    """The workgroup is larger than the math waves, and the name says both."""
    return shape.instance(
        f"bwd_weight_wavelet_{dtype}{shape.end}",
        dtype,
        name=shape.name(dtype, f"_l{LOAD_THREADS}m{shape.waves * shape.wave}"),
        more_threads=LOAD_THREADS,
        rounds_slices=True,
    )


def thread_map(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> BackwardWeightMap | None:
    """The threads that load come first in the block, and write nothing."""
    slices = resolved_split_k(problem, instance, options)
    if slices is None:
        return None
    threads = TileThreads.of(instance, first=LOAD_THREADS)
    return BackwardWeightMap(problem, instance, threads, slices, kernel="kernel_wavelet", finishes=False)


FAMILY = family(
    __file__,
    Way("wavelet", stages=1, atomics=True),
    tuple(_instance(dtype, shape) for dtype in ("f16", "bf16") for shape in SHAPES),
    lambda dtypes, wave: f"InstancesWave{wave}<{types(dtypes)}>",
    thread_map=thread_map,
)
