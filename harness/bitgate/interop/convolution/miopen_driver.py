"""MIOpenDriver lines: ``MIOpenDriver convfp16 -n 4 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -u 3 -v 3 -F 2``.

-c and -k count the channels of all groups together. int8 is summed and written as int32, and exists forward only.
One dash takes one letter: the driver reads ``-batchsize 4`` as ``-b 4``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bitgate.interop.convolution.parameters import PASSES
from bitgate.interop.dialect import Dialect
from bitgate.interop.numbers import integer
from bitgate.interop.perf_request import UNVERIFIED, PerfRequest
from bitgate.interop.program import Program
from bitgate.model import DtypeSet, ProblemError
from bitgate.ops.convolution.problem import ConvProblem, Pass

DTYPES = {
    "conv": "f32",
    "convfp16": "f16",
    "convbfp16": "bf16",
    "convint8": "i8_i8_i32",
    "convfp8": "f8fnuz",
    "convbfp8": "bf8fnuz",
    "convfp32": "f32",
}
DIRECTIONS = {1: Pass.FWD, 2: Pass.BWD_DATA, 4: Pass.BWD_WEIGHT}
ALL_PASSES = 7
FORWARD_ONLY = ("convint8",)

# (short, long, default), slowest axis first; 1D problems do not exist here.
_FIELDS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "input": (("!", "in_d", 32), ("H", "in_h", 32), ("W", "in_w", 32)),
    "filter": (("@", "fil_d", 3), ("y", "fil_h", 3), ("x", "fil_w", 3)),
    "stride": (("#", "conv_stride_d", 1), ("u", "conv_stride_h", 1), ("v", "conv_stride_w", 1)),
    "pad": (("$", "pad_d", 0), ("p", "pad_h", 0), ("q", "pad_w", 0)),
    "dilation": (("^", "dilation_d", 1), ("l", "dilation_h", 1), ("j", "dilation_w", 1)),
}
_COUNTS = {
    "n": ("batchsize", 100),
    "c": ("in_channels", 3),
    "k": ("out_channels", 32),
    "g": ("group_count", 1),
    "_": ("spatial_dim", 2),
    "F": ("forw", 0),
}
# How often and with which clock it runs; said of no problem either.
_RUNS = {"i": ("iter", 10), "t": ("time", 0), "w": ("wall", 0), "V": ("verify", 1)}
MOST_ITERATIONS = 1_000_000
_WORDS = {
    "I": "in_layout",
    "O": "out_layout",
    "f": "fil_layout",
    "m": "mode",
    "z": "pad_mode",
    "S": "solution",
    "d": "in_data",
    "e": "weights",
    "D": "dout_data",
}
_DATA_FILES = ("in_data", "weights", "dout_data")
# Said of how it runs, not of the problem; the letter of use_hip_graph has changed.
_IGNORED = {
    "s": "search",
    "P": "printconv",
    "o": "dump_output",
    "a": "in_bias",
    "C": "verification_cache",
    "G": "gpualloc",
    "N": "init_output_nan",
    "&": "tuning_policy",
    "~": "gpubuffer_check",
    "J": "use_hip_graph",
    "Q": "use_hip_graph",
    "%": "trans_output_pad_d",
    "Y": "trans_output_pad_h",
    "X": "trans_output_pad_w",
}
# (short, long, the value that changes nothing, what any other means)
_NEUTRAL = (
    ("b", "bias", "0", "a bias is not understood"),
    ("r", "pad_val", "0", "pads other than zeros are not understood"),
    ("Z", "tensor_vect", "0", "vectorised layouts are not understood"),
    ("L", "vector_length", "1", "vectorised layouts are not understood"),
    ("U", "in_cast_type", "-1", "compute types are not understood"),
    ("R", "wei_cast_type", "-1", "compute types are not understood"),
    ("T", "out_cast_type", "-1", "compute types are not understood"),
    ("M", "math_type", "1", "products in tf32 are not understood"),
)
# MIOpen's NCHW and NHWC hold the groups in their channel axis: that is NGCHW and NHWGC.
_LAYOUTS = {"nchw": "ngchw", "nhwc": "nhwgc", "ncdhw": "ngcdhw", "ndhwc": "ndhwgc"}
_WEIGHT_LAYOUTS = {"nchw": "gkcyx", "nhwc": "gkyxc", "ncdhw": "gkczyx", "ndhwc": "gkzyxc"}
_SHORT = (
    {short: long for short, (long, _) in (_COUNTS | _RUNS).items()}
    | _WORDS
    | {short: long for field in _FIELDS.values() for short, long, _ in field}
    | {short: long for short, long, _, _ in _NEUTRAL}
    | _IGNORED
)
_LONG = frozenset(_SHORT.values())


def parse(words: Sequence[str]) -> tuple[ConvProblem, ...]:
    """Return one problem per pass that -F names; all that its type has if it names none."""
    command = words[1] if len(words) > 1 else ""
    if command not in DTYPES:
        raise ProblemError(f"MIOpenDriver command '{command}' is not understood: {', '.join(DTYPES)} are")
    values = _values(words[2:])
    if values.get("mode", "conv") != "conv":
        raise ProblemError(f"--mode {values['mode']}: conv is understood, transposed convolutions (trans) are not")
    for _, long, neutral, meaning in _NEUTRAL:
        if values.get(long, neutral) != neutral:
            raise ProblemError(f"--{long} {values[long]}: {meaning}")
    numbers = {long: integer(values.get(long, str(default)), f"--{long}") for long, default in _COUNTS.values()}
    ndim, groups = numbers["spatial_dim"], max(numbers["group_count"], 1)
    if ndim not in (2, 3):
        raise ProblemError(f"--spatial_dim {ndim}: MIOpen has 2 and 3")
    for long in ("in_channels", "out_channels"):
        if numbers[long] % groups:
            raise ProblemError(f"--{long} {numbers[long]} does not divide into {groups} groups")
    spatial = {
        field: tuple(integer(values.get(long, str(default)), f"--{long}") for _, long, default in axes[3 - ndim :])
        for field, axes in _FIELDS.items()
    }
    pad = _pads(values.get("pad_mode", "default"), spatial)
    layout, wei_layout = _layouts(values, ndim)
    all_passes = 1 if command in FORWARD_ONLY else ALL_PASSES
    chosen = numbers["forw"] or all_passes
    if command in FORWARD_ONLY and chosen != 1:
        raise ProblemError(f"--forw {chosen}: MIOpen has int8 forward only, that is 1")
    if not 1 <= chosen <= ALL_PASSES:
        raise ProblemError(f"--forw {chosen}: 1 fwd, 2 bwd data, 4 bwd weights, or their sum")
    return tuple(
        ConvProblem(
            direction=direction,
            dtypes=DtypeSet.parse(DTYPES[command]),
            layout=layout,
            wei_layout=wei_layout,
            g=groups,
            n=numbers["batchsize"],
            k=numbers["out_channels"] // groups,
            c=numbers["in_channels"] // groups,
            filter=spatial["filter"],
            input=spatial["input"],
            stride=spatial["stride"],
            dilation=spatial["dilation"],
            left_pad=pad,
            right_pad=pad,
        )
        for bit, direction in DIRECTIONS.items()
        if chosen & bit
    )


def _pads(mode: str, spatial: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the pads that a pad mode results in.

    Modes ``same`` and ``valid`` hold for filters that are not dilated; with any other the pads stay. Strides of 0 are
    left to the problem to refuse.
    """
    filters, strides = spatial["filter"], spatial["stride"]
    spread = set(spatial["dilation"]) != {1} and set(filters) != {1}
    if mode not in ("same", "valid") or spread or not all(strides):
        return spatial["pad"]
    if mode == "valid":
        return (0,) * len(filters)
    axes = zip(filters, spatial["input"], strides, strict=True)
    return tuple(max(taps - (length % stride or stride), 0) // 2 for taps, length, stride in axes)


def perf(words: Sequence[str]) -> PerfRequest:
    """Return how a line that ``parse`` understands wants to be timed. Without ``-t`` it does not forbid timing."""
    values = _values(words[2:])
    runs = {long: integer(values.get(long, str(default)), f"--{long}") for long, default in _RUNS.values()}
    if "time" in values and not runs["time"]:
        return PerfRequest(refusal="--time is 0: the line asks for no timing, bitgate verify runs it")
    if not 1 <= runs["iter"] <= MOST_ITERATIONS:
        raise ProblemError(f"--iter {runs['iter']}: 1 to {MOST_ITERATIONS} launches can be timed")
    request = PerfRequest(launches=runs["iter"] if "iter" in values else None)
    if not runs["verify"]:
        request = request.noting(UNVERIFIED)
    if not values.get("solution", "-1").startswith("-"):
        request = request.noting("a solution is chosen by its number in MIOpen (--solution): here all are timed")
    if files := [f"--{name}" for name in _DATA_FILES if values.get(name)]:
        request = request.noting(f"files of data ({', '.join(files)}) are not read: the data are bitgate's own")
    if runs["wall"]:
        request = request.noting("wall-clock times (--wall) are not printed: what is timed is the device")
    return request


def _values(words: Sequence[str]) -> dict[str, str]:
    """{long name: word} of ``-x value``, ``--name value`` and ``--name=value``."""
    values: dict[str, str] = {}
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            raise ProblemError(f"'{word}' is not an option")
        if word.startswith("--"):
            long, equals, value = word[2:].partition("=")
        else:
            long, equals, value = _SHORT.get(word[1:2], ""), "", ""
            if len(word) > 2:
                read = f", {word[:2]} (--{long}) is what MIOpenDriver reads" if long else ""
                raise ProblemError(f"option '{word}': one dash takes one letter{read}; a name has two dashes")
        if long not in _LONG:
            raise ProblemError(f"option '{word}' is not understood")
        if not equals:
            if not words:
                raise ProblemError(f"option '{word}' has no value")
            value = words.pop(0)
        values[long] = value
    return values


def _layouts(values: dict[str, str], ndim: int) -> tuple[str, str]:
    default = {2: "nchw", 3: "ncdhw"}[ndim]
    spelled = {name: values.get(name, default).lower() for name in ("in_layout", "out_layout", "fil_layout")}
    for name, layout in spelled.items():
        if re.fullmatch(r"(nchw|chwn)c\d+", layout):
            raise ProblemError(f"vectorised layouts (--{name} {values[name]}) are not understood")
        if layout not in _LAYOUTS or len(layout) != ndim + 2:
            raise ProblemError(f"--{name} {layout} is not understood: {', '.join(_LAYOUTS)} are")
    if spelled["in_layout"] != spelled["out_layout"]:
        raise ProblemError("input and output in different layouts are not understood")
    return _LAYOUTS[spelled["in_layout"]], _WEIGHT_LAYOUTS[spelled["fil_layout"]]


DIALECT = Dialect(PASSES, {"MIOpenDriver": Program(parse, perf=perf)})
