"""Grouped convolution in 1 to 3 dimensions: forward, backward data, backward weight."""

from bitgate.ops.convolution.decomposition import (
    BUCKET,
    AxisClass,
    SubGemm,
    axis_classes,
    axis_tildes,
    gemms_count,
    never_written_fraction,
    owner_of,
    reached_cells,
    sub_gemm_rows,
    sub_gemms,
    tildes,
    written_cells,
)
from bitgate.ops.convolution.layout import default_layout, default_weight_layout
from bitgate.ops.convolution.operation import OPERATIONS
from bitgate.ops.convolution.problem import CONVOLUTIONS, ConvProblem, Pass

__all__ = [
    "BUCKET",
    "CONVOLUTIONS",
    "OPERATIONS",
    "AxisClass",
    "ConvProblem",
    "Pass",
    "SubGemm",
    "axis_classes",
    "axis_tildes",
    "default_layout",
    "default_weight_layout",
    "gemms_count",
    "never_written_fraction",
    "owner_of",
    "reached_cells",
    "sub_gemm_rows",
    "sub_gemms",
    "tildes",
    "written_cells",
]
