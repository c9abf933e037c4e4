"""ckProfiler lines: ``ckProfiler grouped_conv_bwd_data dtype layout verify init log time ndim G N K C ...``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from bitgate.operation import ProblemError
from bitgate.operation.foreign.controls import Controls
from bitgate.operation.foreign.numbers import integer, integers
from bitgate.operation.foreign.perf_request import PerfRequest, of_controls
from bitgate.operations.convolution.foreign.parameters import SPATIAL_FIELDS, ck_problem, in_dimensions
from bitgate.operations.convolution.problem import ConvProblem, Pass

Entry = TypeVar("Entry", str, tuple[str, str])

AUTO = -1
ALL_SPLIT_K = (AUTO, 1, 2, 4, 8, 16, 32, 64, 128)
"""What ``all`` stands for in bwd_weight."""


@dataclass(frozen=True)
class _Operation:
    """``dtypes`` and ``layouts`` (2D input and weight layout) by the number that ckProfiler gives them.

    ``controls`` counts the words between the layout and ndim; ``split_k`` says whether one may follow the problem.
    """

    direction: Pass
    dtypes: dict[int, str]
    layouts: dict[int, tuple[str, str]]
    controls: tuple[str, ...]
    split_k: bool


_LAYOUTS = {0: ("gnhwc", "gkyxc"), 1: ("nhwgc", "gkyxc"), 2: ("ngchw", "gkyxc"), 3: ("ngchw", "gkcyx")}
_CONTROLS = ("1", "1", "0", "0")  # verify, init (1: integers), log, time

OPERATIONS: dict[str, _Operation] = {
    "grouped_conv_fwd": _Operation(
        Pass.FWD,
        {
            0: "f32",
            1: "f16",
            2: "bf16",
            3: "i8",
            4: "f8fnuz",
            5: "bf8fnuz_bf8fnuz_f8fnuz",
            6: "f8fnuz_bf8fnuz_f8fnuz",
            7: "bf8fnuz_f8fnuz_f8fnuz",
        },
        _LAYOUTS,
        ("0", *_CONTROLS),  # the index type first: 0 is 32 bits
        False,
    ),
    "grouped_conv_bwd_data": _Operation(Pass.BWD_DATA, {0: "f32", 1: "f16", 2: "bf16"}, _LAYOUTS, _CONTROLS, True),
    "grouped_conv_bwd_weight": _Operation(
        Pass.BWD_WEIGHT,
        {0: "f32", 1: "f16", 2: "bf16_f32_bf16", 3: "f16_ctf8fnuz", 4: "i8", 5: "bf16"},
        {1: ("gnhwc", "gkyxc"), 2: ("nhwgc", "gkyxc"), 3: ("ngchw", "gkyxc"), 4: ("ngchw", "gkcyx")},
        _CONTROLS,
        True,
    ),
}


def parse(words: Sequence[str]) -> tuple[ConvProblem, ...]:
    """The problems of a line (words from ``ckProfiler`` on); several if split-K is ``all``."""
    name = words[1] if len(words) > 1 else ""
    operation = OPERATIONS.get(name)
    if operation is None:
        raise ProblemError(f"ckProfiler operation '{name}' is not understood: {', '.join(OPERATIONS)} are")
    arguments = _positional(words[2:])
    first = 2 + len(operation.controls)
    if len(arguments) <= first:
        raise ProblemError(f"{len(arguments)} words after {name}: too few for a problem")
    dtypes = _lookup(operation.dtypes, integer(arguments[0], "the data type"), "data type", name)
    layouts = _lookup(operation.layouts, integer(arguments[1], "the layout"), "layout", name)
    ndim = integer(arguments[first], "the number of spatial dimensions")
    length = 5 + SPATIAL_FIELDS * ndim
    numbers = integers(arguments[first : first + length], "the problem")
    rest = arguments[first + length :]
    splits = _splits(rest[0]) if rest and operation.split_k else (1,)
    # bwd_weight may name one instance behind its split-K; it chooses a kernel, not a problem.
    if len(rest) > (2 if operation.split_k else 0):
        raise ProblemError(f"words left over: {' '.join(rest)}")
    return tuple(ck_problem(operation.direction, dtypes, layouts, numbers, split_k) for split_k in splits)


def controls(words: Sequence[str]) -> Controls:
    """How a line that ``parse`` understands wants to be run."""
    end = 2 + 2 + len(OPERATIONS[words[1]].controls)
    verify, init, log, time = _positional(words[2:])[end - 6 : end - 2]
    return Controls.parse((verify, init, time, log))


def perf(words: Sequence[str]) -> PerfRequest:
    """How a line that ``parse`` understands wants to be timed: all instances, whichever it names."""
    asked = controls(words)
    place = 3 + len(OPERATIONS[words[1]].controls)
    request = of_controls(replace(asked, time=min(asked.time, 1)), f"the time switch (arg{place})")
    kept = _positional(words[2:])
    first = 2 + len(OPERATIONS[words[1]].controls)
    behind = len(kept) - first - 5 - SPATIAL_FIELDS * integer(kept[first], "the number of spatial dimensions")
    if behind > 1 or any(word.startswith("--instance") for word in words):
        request = request.noting("an instance is chosen by its number in CK's list: here all are timed")
    return request


def ck_profiler_line(problem: ConvProblem) -> str | None:
    """The same problem for ckProfiler, None where it has no number for the types, layout or operation."""
    elementwise = (problem.op, problem.in_op, problem.wei_op)
    if problem.gap or problem.gaps or any(op.name != "pass" for op in elementwise):
        return None
    name = next(n for n, operation in OPERATIONS.items() if operation.direction is problem.direction)
    operation = OPERATIONS[name]
    dtype = next((number for number, text in operation.dtypes.items() if text == str(problem.dtypes)), None)
    layout = next(
        (
            number
            for number, (inp, wei) in operation.layouts.items()
            if (in_dimensions(inp, problem.ndim), in_dimensions(wei, problem.ndim))
            == (problem.layout, problem.wei_layout)
        ),
        None,
    )
    if dtype is None or layout is None or (problem.split_k != 1 and not operation.split_k):
        return None
    spatial = (
        problem.filter,
        problem.input,
        problem.stride,
        problem.dilation,
        problem.left_pad,
        problem.right_pad,
    )
    numbers = [problem.ndim, problem.g, problem.n, problem.k, problem.c, *(v for field in spatial for v in field)]
    # bwd_weight always takes a split-K; bwd_data took none at first, so it is written only where it says something.
    if operation.split_k and (problem.split_k != 1 or problem.direction is Pass.BWD_WEIGHT):
        numbers.append(problem.split_k)
    words = ["ckProfiler", name, str(dtype), str(layout), *operation.controls, *map(str, numbers)]
    return " ".join(words)


def _positional(words: Sequence[str]) -> list[str]:
    """The words without ``--name [value]`` options, which choose instances."""
    kept: list[str] = []
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            kept.append(word)
        elif word == "--instance" and words:
            words.pop(0)
    return kept


def _splits(word: str) -> tuple[int, ...]:
    return ALL_SPLIT_K if word == "all" else (integer(word, "split-K"),)


def _lookup(table: dict[int, Entry], number: int, what: str, name: str) -> Entry:
    try:
        return table[number]
    except KeyError:
        known = ", ".join(
            f"{key} ({value if isinstance(value, str) else '/'.join(value)})" for key, value in table.items()
        )
        raise ProblemError(f"{name} {what} {number} is not understood: {known} are") from None
