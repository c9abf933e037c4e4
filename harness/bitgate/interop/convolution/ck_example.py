"""CK's examples: ``example_convnd_bwd_data_xdl_fp16 1 1 0 2 1 128 256 128 3 3 71 71 2 2 1 1 1 1 1 1``.

After the three controls come ndim and the problem: G N K C, filter, input, strides, dilations, left and right pads. The
examples of one group have an older form without G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bitgate.interop.controls import Controls
from bitgate.interop.convolution.parameters import PASSES, SPATIAL_FIELDS, ck_problem, number_of_dimensions
from bitgate.interop.dialect import Dialect
from bitgate.interop.numbers import integer, integers
from bitgate.interop.perf_request import PerfRequest, of_controls
from bitgate.interop.program import Program, Variant
from bitgate.model import ProblemError
from bitgate.ops.convolution.problem import ConvProblem, Pass

CONTROLS = 3
"""verify, init, time. A line has none of them, all, or all and the problem."""
CHANNELS_LAST = ("gnhwc", "gkyxc")


@dataclass(frozen=True)
class Example:
    """CK example. ``default`` is a line's problem without one; ``times``: whether no arguments means timing."""

    direction: Pass
    default: tuple[int, ...]
    layouts: tuple[str, str] = CHANNELS_LAST
    times: bool = False
    without_g: bool = False
    takes_split_k: bool = False


EXAMPLES: dict[str, Example] = {
    "convnd_fwd": Example(Pass.FWD, (2, 1, 128, 256, 192, 3, 3, 71, 71, 2, 2, 1, 1, 1, 1, 1, 1), without_g=True),
    "convnd_bwd_data": Example(
        Pass.BWD_DATA, (2, 1, 128, 256, 128, 3, 3, 71, 71, 2, 2, 1, 1, 1, 1, 1, 1), without_g=True
    ),
    # Its tensors hold the groups next to the channels.
    "grouped_conv_fwd": Example(
        Pass.FWD, (2, 32, 2, 256, 192, 3, 3, 71, 71, 2, 2, 1, 1, 1, 1, 1, 1), ("nhwgc", "gkyxc"), times=True
    ),
    "grouped_conv_bwd_weight": Example(
        Pass.BWD_WEIGHT, (2, 4, 1, 128, 256, 3, 3, 14, 14, 1, 1, 1, 1, 1, 1, 1, 1), takes_split_k=True
    ),
    "grouped_conv_bwd_data": Example(Pass.BWD_DATA, (2, 32, 4, 192, 192, 3, 3, 28, 28, 1, 1, 1, 1, 1, 1, 1, 1)),
    "grouped_conv3d_bwd_data": Example(
        Pass.BWD_DATA, (3, 4, 4, 128, 128, 3, 3, 3, 14, 14, 14, *[1] * 12), ("nhwgc", "gkyxc")
    ),
}
"""By what a name begins with after ``example_``."""

DTYPES = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "bf16": "bf16", "int8": "i8"}
DEFAULT_DTYPE = "fp16"
"""An example whose name says no type (``example_convnd_bwd_data_xdl``) is the fp16 one."""
FLOAT8S = {
    ("fp8",): "f8fnuz",
    ("bf8",): "bf8fnuz_bf8fnuz_f8fnuz",
    ("fp8", "bf8"): "f8fnuz_bf8fnuz_f8fnuz",
    ("bf8", "fp8"): "bf8fnuz_f8fnuz_f8fnuz",
}
"""Of forward examples, by the words of the name: input, weights; the output is fp8."""
MIXED = {(Pass.BWD_WEIGHT, "bf16"): "bf16_f32_bf16"}
"""The bf16 example of bwd_weight keeps its weights in f32."""

LANES = {"xdl": 64, "wmma": 32}
KINDS = ("wavelet",)
SAYS_NOTHING = ("dl", "v3", "v4")
"""Implementations of CK's that have no counterpart here."""


def parse(words: Sequence[str]) -> tuple[ConvProblem, ...]:
    """Return the problem of a line (words from the example's name on)."""
    example, dtypes, _ = _named(words[0])
    arguments = list(words[1:])
    if len(arguments) <= CONTROLS:
        return (ck_problem(example.direction, dtypes, example.layouts, example.default),)
    ndim = number_of_dimensions(arguments[CONTROLS])
    rest = arguments[CONTROLS + 1 :]
    spatial = SPATIAL_FIELDS * ndim
    split_k = 1
    if example.takes_split_k and len(rest) == 4 + spatial + 1:
        split_k = integer(rest.pop(), "split-K")
    if example.without_g and len(rest) == 3 + spatial:
        rest.insert(0, "1")
    numbers = [ndim, *integers(rest, "the problem after ndim")]
    try:
        return (ck_problem(example.direction, dtypes, example.layouts, numbers, split_k),)
    except ProblemError as error:
        older = f", or {4 + spatial} without G" if example.without_g and len(rest) != 4 + spatial else ""
        raise ProblemError(f"{error}{older}") from None


def controls(words: Sequence[str]) -> Controls:
    """Return how the line wants to be run; without arguments the examples verify integers on the CPU."""
    example, _, _ = _named(words[0])
    arguments = words[1 : 1 + CONTROLS]
    if 0 < len(arguments) < CONTROLS:
        raise ProblemError(f"{len(arguments)} arguments: give verify, init and time, or none of them")
    return Controls.parse(arguments) if arguments else Controls(time=int(example.times))


def perf(words: Sequence[str]) -> PerfRequest:
    """Return how the line wants to be timed; one without arguments does not forbid it."""
    asked = controls(words)
    return of_controls(asked if len(words) > 1 else replace(asked, time=1), "the time switch (arg3)")


def variant(words: Sequence[str]) -> Variant:
    """Return which instances the example's name asks for."""
    return _named(words[0])[2]


def _named(name: str) -> tuple[Example, str, Variant]:
    """Return the example, its types and its variant. Words after the start of a name are types, waves and kinds."""
    text = name.removeprefix("example_")
    start = next((start for start in EXAMPLES if f"{text}_".startswith(f"{start}_")), None)
    if start is None:
        known = ", ".join(f"example_{start}" for start in EXAMPLES)
        raise ProblemError(f"example '{name}' is not understood: {known} are")
    rest = text.removeprefix(start).removeprefix("_multiple_d").split("_")
    example = EXAMPLES[start]
    float8s = ("fp8", "bf8") if example.direction is Pass.FWD else ()
    types, lanes, kind, ignored = list[str](), 0, "", []
    for word in filter(None, rest):
        if word == "comp" or word == "tf32":
            raise ProblemError(f"example '{name}': its compute types are not understood")
        if word in DTYPES or word in float8s:
            types.append(word)
        elif word in LANES:
            lanes = LANES[word]
        elif word in KINDS and example.direction is Pass.BWD_WEIGHT:
            kind = word
        elif word in SAYS_NOTHING:
            ignored.append(word)
        else:
            known = ", ".join([*DTYPES, *float8s, *LANES, *KINDS, *SAYS_NOTHING])
            raise ProblemError(f"example '{name}': '{word}' is not understood after {start}: {known} are")
    return example, _types(name, example, tuple(types or [DEFAULT_DTYPE])), Variant(start, lanes, kind, tuple(ignored))


def _types(name: str, example: Example, words: tuple[str, ...]) -> str:
    """Return the types that the words of an example's name stand for."""
    if words in FLOAT8S:
        return FLOAT8S[words]
    if len(words) > 1:
        raise ProblemError(f"example '{name}': types {', '.join(words)} together are not understood")
    dtype = DTYPES[words[0]]
    return MIXED.get((example.direction, dtype), dtype)


DIALECT = Dialect(PASSES, {"example_": Program(parse, controls, variant, perf)})
