"""CK's examples: ``example_convnd_bwd_data_xdl_fp16 1 1 0 2 1 128 256 128 3 3 71 71 2 2 1 1 1 1 1 1``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bitgate.operation import ProblemError
from bitgate.operation.foreign.controls import Controls
from bitgate.operation.foreign.numbers import integer, integers
from bitgate.operations.convolution.foreign.parameters import SPATIAL_FIELDS, ck_problem
from bitgate.operations.convolution.problem import ConvProblem, Pass

CONTROLS = 3
"""verify, init, time. A line has none of them, all, or all and the problem."""

# Start of the name -> pass and parameters without arguments. The examples' tensors are GNHWC, GKYXC, GNHWK.
DEFAULTS: dict[str, tuple[Pass, tuple[int, ...]]] = {
    "example_convnd_fwd": (Pass.FWD, (2, 1, 128, 256, 192, 3, 3, 71, 71, 2, 2, 1, 1, 1, 1, 1, 1)),
    "example_convnd_bwd_data": (Pass.BWD_DATA, (2, 1, 128, 256, 128, 3, 3, 71, 71, 2, 2, 1, 1, 1, 1, 1, 1)),
    "example_grouped_conv_bwd_weight": (
        Pass.BWD_WEIGHT,
        (2, 4, 1, 128, 256, 3, 3, 14, 14, 1, 1, 1, 1, 1, 1, 1, 1),
    ),
}
LAYOUTS = ("gnhwc", "gkyxc")
DTYPES = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "bf16": "bf16", "int8": "i8"}
DEFAULT_DTYPE = "fp16"
"""An example whose name says no type (``example_convnd_bwd_data_xdl``) is the fp16 one."""
MIXED = {(Pass.BWD_WEIGHT, "bf16"): "bf16_f32_bf16"}
"""The bf16 example of bwd_weight keeps its weights in f32."""


def parse(words: Sequence[str]) -> tuple[ConvProblem, ...]:
    """The problem of a line (words from the example's name on)."""
    name, arguments = words[0], list(words[1:])
    start = next((start for start in DEFAULTS if name.startswith(start)), None)
    if start is None:
        raise ProblemError(f"example '{name}' is not understood: {', '.join(DEFAULTS)} are")
    direction, default = DEFAULTS[start]
    if "_comp_" in name:
        raise ProblemError(f"example '{name}': its compute types are not understood")
    found = re.search("|".join(DTYPES), name)
    dtypes = DTYPES[found.group(0) if found else DEFAULT_DTYPE]
    dtypes = MIXED.get((direction, dtypes), dtypes)
    if len(arguments) <= CONTROLS:
        return (ck_problem(direction, dtypes, LAYOUTS, default),)
    ndim = integer(arguments[CONTROLS], "the number of spatial dimensions")
    end = CONTROLS + 5 + SPATIAL_FIELDS * ndim
    split_k = 1
    if direction is Pass.BWD_WEIGHT and len(arguments) == end + 1:
        split_k = integer(arguments.pop(), "split-K")
    return (ck_problem(direction, dtypes, LAYOUTS, integers(arguments[CONTROLS:], "the problem"), split_k),)


def controls(words: Sequence[str]) -> Controls:
    """How the line wants to be run; without arguments the examples verify integers on the CPU."""
    arguments = words[1 : 1 + CONTROLS]
    if 0 < len(arguments) < CONTROLS:
        raise ProblemError(f"{len(arguments)} arguments: give verify, init and time, or none of them")
    return Controls.parse(arguments) if arguments else Controls()
