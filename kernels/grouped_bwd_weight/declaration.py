"""Grouped convolution, backward weight, in one stage: slices of a split reduction add up in dw, in dw's own type."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.operations.convolution import ConvProblem

from .. import backward_weight as common
from ..backward_weight import PAIR_16, PAIR_32, PAIR_MIXED
from ..shape import POINTWISE, POINTWISE_STRIDE_1, Shape

SHAPES_16 = (
    *PAIR_16,
    Shape((64, 32, 32), (4, 4, 4), 1, (32, 32, 8), 64),
    Shape((64, 64, 32), (8, 8, 8), 2, (32, 32, 8), 64, POINTWISE),
    Shape((64, 64, 64), (8, 8, 8), 2, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((16, 16, 32), (1, 1, 1), 1, (16, 16, 16), 64, merge=8),
    Shape((64, 32, 32), (4, 4, 4), 2, (16, 16, 16), 32, POINTWISE_STRIDE_1),
    Shape((16, 16, 32), (1, 1, 1), 1, (16, 16, 16), 32, merge=8),
)
SHAPES_32 = (
    *PAIR_32,
    Shape((64, 32, 16), (2, 2, 2), 1, (16, 16, 4), 64),
    Shape((64, 64, 16), (4, 4, 4), 2, (16, 16, 4), 64, POINTWISE),
    Shape((64, 64, 32), (4, 4, 4), 2, (16, 16, 4), 64, POINTWISE_STRIDE_1),
    Shape((16, 16, 16), (1, 1, 1), 1, (16, 16, 4), 64, merge=8),
    Shape((64, 32, 16), (2, 2, 2), 2, (16, 16, 4), 32, POINTWISE_STRIDE_1),
    Shape((16, 16, 16), (1, 1, 1), 1, (16, 16, 4), 32, merge=8),
)
PAIR_8 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 32), 64),
    Shape((64, 64, 64), (8, 8, 8), 2, (16, 16, 32), 64),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    Shape((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), 32),
)
ROWS = (
    ("f32", "f32", SHAPES_32),
    ("f16", "f16", SHAPES_16),
    ("bf16", "bf16", SHAPES_16),
    ("bf16_f32", "bf16_f32_bf16", PAIR_MIXED),
    ("i8", "i8", PAIR_8),
    *(("f16_ct8", f"f16_ct{factor}", PAIR_8) for factor in ("f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz")),
)

INSTANCES = tuple(
    common.instance("grouped_bwd_weight", group, dtypes, shape, atomics=True, by_wave=shapes is not PAIR_8)
    for group, dtypes, shapes in ROWS
    for shape in shapes
)
WHOLE = ("f32", "f16", "bf16")
"""Types that have all variants; the others have a pair."""
GENERATED = common.generated(
    "grouped_bwd_weight",
    INSTANCES,
    lambda dtypes, wave: common.shared_table("Variants" if dtypes in WHOLE else "Pair", dtypes, wave),
)


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails."""
    return common.supports(problem, instance, atomics=True, operations=False)


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch; dw is cleared first where slices add up in it."""
    return common.dispatch(problem, instance, options, path="one_stage", stages=1)


FAMILY = KernelFamily(
    name="grouped_bwd_weight",
    operations=("bwd_weight",),
    sources=("library.hip.cpp", *GENERATED),
    generated=GENERATED,
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=INSTANCES,
    options=common.OPTIONS,
    supports=supports,
    dispatch=dispatch,
)
