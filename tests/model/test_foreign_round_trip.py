"""A problem in the words of each program that can say it reads back as the same case id; and the FLOP and byte counts
are CK's."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.model.strategies import problems

from bitgate.interop import parse_foreign
from bitgate.model import ELEMENTWISE, DtypeSet, case_id, foreign_line
from bitgate.ops.convolution import ConvProblem, Pass

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i32": 4}
LAYOUTS = {
    "gnhwc": {1: "gnwc", 2: "gnhwc", 3: "gndhwc"},
    "nhwgc": {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"},
    "ngchw": {1: "ngcw", 2: "ngchw", 3: "ngcdhw"},
    "gkyxc": {1: "gkxc", 2: "gkyxc", 3: "gkzyxc"},
    "gkcyx": {1: "gkcx", 2: "gkcyx", 3: "gkczyx"},
}


def plain(problem: ConvProblem, dtypes: str, layout: str, wei_layout: str, **changes: Any) -> ConvProblem:
    """The sizes of a problem, in types and layouts that lines have names for."""
    none = ELEMENTWISE["pass"]
    changed = problem.changed(
        dtypes=DtypeSet.parse(dtypes),
        layout=LAYOUTS[layout][problem.ndim],
        wei_layout=LAYOUTS[wei_layout][problem.ndim],
        op=none,
        in_op=none,
        wei_op=none,
        gap=False,
        **({"split_k": 1} | changes),
    )
    return replace(changed, gaps=())


def reads_back(problem: ConvProblem, line: str) -> bool:
    return [case_id(read) for read in parse_foreign(line)] == [case_id(problem)]


SPATIAL = ("filter", "input", "stride", "dilation", "left_pad", "right_pad")


def sizes(problem: ConvProblem) -> str:
    spatial = [number for field in SPATIAL for number in getattr(problem, field)]
    return " ".join(map(str, (problem.ndim, problem.g, problem.n, problem.k, problem.c, *spatial)))


@given(problems(), st.sampled_from(["f32", "f16", "bf16"]), st.sampled_from(["gnhwc", "nhwgc", "ngchw"]))
def test_ck_profiler(problem, dtype, layout):
    """None in dimensions and layouts that ckProfiler has no instance in; the optimiser's own choice of a split-K means
    all of them to its backward data."""
    problem = plain(problem, dtype, layout, "gkyxc", split_k=problem.split_k if problem.direction != "fwd" else 1)
    line = foreign_line(problem)
    assert line is None or reads_back(problem, line)
    if problem.ndim == 2 and layout == "nhwgc" and (problem.direction, problem.split_k) != ("bwd_data", -1):
        assert line is not None


@given(
    problems(), st.sampled_from([("fp64", "f64"), ("fp32", "f32"), ("fp16", "f16"), ("bf16", "bf16"), ("int8", "i8")])
)
def test_a_ck_example(problem, types):
    word, dtype = types
    assume((problem.direction, word) != (Pass.BWD_WEIGHT, "bf16"))  # its weights are f32
    problem = plain(problem, dtype, "gnhwc", "gkyxc")
    name = {"fwd": "convnd_fwd", "bwd_data": "convnd_bwd_data", "bwd_weight": "grouped_conv_bwd_weight"}
    assert reads_back(problem, f"./bin/example_{name[problem.direction.value]}_xdl_{word} 1 1 0 {sizes(problem)}")


DRIVEN = {"f32": "conv", "f16": "convfp16", "bf16": "convbfp16", "f8fnuz": "convfp8", "bf8fnuz": "convbfp8"}


@given(
    problems(), st.sampled_from(sorted(DRIVEN)), st.sampled_from(["NCHW", "NHWC"]), st.sampled_from(["NCHW", "NHWC"])
)
def test_miopen_driver(problem, dtype, images, weights):
    """It has one pad an axis and no 1D; channels are those of all groups."""
    assume(problem.ndim > 1)
    layout = {"NCHW": "ngchw", "NHWC": "nhwgc"}[images]
    pads = {"right_pad": problem.left_pad}
    window = (
        (f - 1) * d + 1 - 2 * p for f, d, p in zip(problem.filter, problem.dilation, problem.left_pad, strict=True)
    )
    assume(all(cells <= length for cells, length in zip(window, problem.input, strict=True)))
    problem = plain(problem, dtype, layout, {"NCHW": "gkcyx", "NHWC": "gkyxc"}[weights], **pads)
    three = problem.ndim == 3
    spelled = {name: name.replace("H", "DH") if three else name for name in ("NCHW", "NHWC")}
    options = {"-F": {"fwd": 1, "bwd_data": 2, "bwd_weight": 4}[problem.direction.value], "--spatial_dim": problem.ndim}
    options |= {"-n": problem.n, "-c": problem.c * problem.g, "-k": problem.k * problem.g, "-g": problem.g}
    options |= {"-I": spelled[images], "--out_layout": spelled[images], "-f": spelled[weights]}
    letters = {"input": "!HW", "filter": "@yx", "stride": "#uv", "left_pad": "$pq", "dilation": "^lj"}
    for field, axes in letters.items():
        options |= dict(
            zip((f"-{letter}" for letter in axes[3 - problem.ndim :]), getattr(problem, field), strict=True)
        )
    line = " ".join(f"{name} {value}" for name, value in options.items())
    assert reads_back(problem, f"MIOPEN_LOG_LEVEL=5 ./bin/MIOpenDriver {DRIVEN[dtype]} {line} -t 1 -V 0")


@given(problems(), st.sampled_from([("f64", "f64"), ("f16", "f16"), ("s8:s8:s32", "i8_i8_i32"), ("f8_e5m2", "bf8ocp")]))
def test_benchdnn(problem, types):
    """Channels are those of all groups, dilation counts from 0. The right pad follows from the output, so that pads
    which no window reaches cannot be said."""
    word, dtype = types
    axes = tuple(zip(problem.input, problem.output, problem.filter, problem.stride, problem.dilation, strict=True))
    reached = [(o - 1) * s + (f - 1) * d + 1 for _, o, f, s, d in axes]
    pads = [max(r - i - p, 0) for r, i, p in zip(reached, problem.input, problem.left_pad, strict=True)]
    problem = plain(problem, dtype, "nhwgc", "gkyxc", right_pad=tuple(pads))
    names = "dhw"[3 - problem.ndim :]
    words = [f"mb{problem.n}_g{problem.g}ic{problem.g * problem.c}oc{problem.g * problem.k}"]
    for name, (i, o, f, s, d), pad in zip(names, axes, problem.left_pad, strict=True):
        words.append(f"i{name}{i}o{name}{o}k{name}{f}s{name}{s}d{name}{d - 1}p{name}{pad}")
    direction = {"fwd": "FWD_D", "bwd_data": "BWD_D", "bwd_weight": "BWD_W"}[problem.direction.value]
    assert reads_back(problem, f'benchdnn --conv --dir={direction} --dt={word} --stag=axb {"_".join(words)}n"any name"')


@given(problems())
def test_operations_and_bytes_are_counted_as_ck_counts_them(problem):
    """2 G N K C prod(O) prod(F), the same in all passes; of each tensor its elements once, in its own type."""
    problem = plain(problem, "bf16_f32_f64", "nhwgc", "gkyxc")
    g, n, k, c = problem.g, problem.n, problem.k, problem.c
    taps, outputs, inputs = prod(problem.filter), prod(problem.output), prod(problem.input)
    assert problem.flops == 2 * g * n * k * c * outputs * taps
    moved = BYTES["bf16"] * g * n * c * inputs + BYTES["f32"] * g * k * c * taps + BYTES["f64"] * g * n * k * outputs
    assert problem.bytes == moved
    if problem.direction is Pass.FWD:
        biased = problem.changed(op=ELEMENTWISE["bias"])
        assert (biased.flops, biased.bytes) == (problem.flops, moved + BYTES["f64"] * g * k)
