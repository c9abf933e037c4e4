"""Grouped convolution, backward weight, multiple D: scale, bilinear ... of dw, applied once, after the reduction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.operations.convolution import ConvProblem

from .. import backward_weight as common
from ..backward_weight import PAIR_16, PAIR_32, PAIR_MIXED

ROWS = (
    ("f32", "f32", PAIR_32),
    ("f16", "f16", PAIR_16),
    ("bf16", "bf16", PAIR_16),
    ("bf16_f32", "bf16_f32_bf16", PAIR_MIXED),
)

INSTANCES = tuple(
    common.instance("bwd_weight_multiple_d", group, dtypes, shape, atomics=False)
    for group, dtypes, shapes in ROWS
    for shape in shapes
)
GENERATED = common.generated("bwd_weight_multiple_d", INSTANCES, partial(common.shared_table, "Pair"))


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails."""
    return common.supports(problem, instance, atomics=False, operations=True)


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """The GEMM into the workspace, then one thread a cell of dw."""
    return common.dispatch(problem, instance, options, path="multiple_d", stages=2)


FAMILY = KernelFamily(
    name="bwd_weight_multiple_d",
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
