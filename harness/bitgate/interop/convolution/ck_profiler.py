"""ckProfiler lines: ``ckProfiler grouped_conv_bwd_data dtype layout verify init log time ndim G N K C ...``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bitgate.interop.controls import Controls
from bitgate.interop.convolution.ck_profiler_operations import OPERATIONS, Profiled
from bitgate.interop.convolution.parameters import (
    PASSES,
    SPATIAL_FIELDS,
    ck_problem,
    in_dimensions,
    number_of_dimensions,
)
from bitgate.interop.dialect import Dialect
from bitgate.interop.numbers import integer, integers
from bitgate.interop.perf_request import PerfRequest, of_controls
from bitgate.interop.program import Program
from bitgate.model import ProblemError
from bitgate.ops.convolution.problem import ConvProblem, Pass

INDEX_TYPES = (0, 1)
"""32 and 64 bits: how a kernel counts, which is no part of the problem."""


@dataclass(frozen=True)
class _CommandLine:
    """Parts of a command line: ``controls`` after the layout, ``numbers`` from ndim on, and the ``rest`` after them."""

    operation: Profiled
    dtype: int
    layout: int
    controls: tuple[str, ...]
    numbers: tuple[int, ...]
    rest: tuple[str, ...]
    instance: bool


def parse(words: Sequence[str]) -> tuple[ConvProblem, ...]:
    """Return the problems of a line (words from ``ckProfiler`` on); several if it asks for several split-Ks."""
    line = _line(words)
    name, operation = words[1], line.operation
    dtypes = operation.types(line.dtype, name)
    layouts = operation.layout(line.layout, name)
    splits = operation.split_ks(line.rest[0]) if line.rest else (1,)
    return tuple(ck_problem(operation.direction, dtypes, layouts, line.numbers, split_k) for split_k in splits)


def controls(words: Sequence[str]) -> Controls:
    """Return how a line that ``parse`` understands wants to be run."""
    verify, init, log, time = _line(words).controls[-4:]
    return Controls.parse((verify, init, time, log))


def perf(words: Sequence[str]) -> PerfRequest:
    """Return how a line that ``parse`` understands wants to be timed: all instances, whichever it names."""
    line, asked = _line(words), controls(words)
    place = 3 + len(line.controls)
    request = of_controls(replace(asked, time=min(asked.time, 1)), f"the time switch (arg{place})")
    if len(line.rest) > 1 or line.instance:
        request = request.noting("an instance is chosen by its number in CK's list: here all are timed")
    return request


def ck_profiler_line(problem: ConvProblem) -> str | None:
    """Return the same problem as a line of ckProfiler.

    None where it has no number for the types, layout or operation, or no instance of them in that many dimensions.
    """
    elementwise = (problem.op, problem.in_op, problem.wei_op)
    if problem.gap or problem.gaps or any(op.name != "pass" for op in elementwise):
        return None
    name = f"grouped_conv_{problem.direction.value}"
    operation = OPERATIONS[name]
    layouts = (problem.layout, problem.wei_layout)
    layout = next((n for n, two in operation.layouts.items() if _in_dimensions(two, problem.ndim) == layouts), None)
    dtype = next((n for n, text in operation.dtypes.items() if text == str(problem.dtypes)), None)
    if dtype is None or dtype not in operation.built.get((problem.ndim, layout), ()):
        return None
    if problem.split_k != 1 and problem.split_k not in operation.stated_split_ks(problem.split_k):
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
    if operation.takes_split_k:
        numbers.append(problem.split_k)
    words = ["ckProfiler", name, str(dtype), str(layout), *operation.controls, *map(str, numbers)]
    return " ".join(words)


def _line(words: Sequence[str]) -> _CommandLine:
    """Split a line into its parts. ProblemError names the word that is wrong."""
    name = words[1]
    operation = OPERATIONS[name]
    arguments, instance = _positional(words[2:])
    first = 2 + len(operation.controls)
    if len(arguments) <= first:
        raise ProblemError(f"{len(arguments)} words after {name}: too few for a problem")
    dtype, layout = integer(arguments[0], "the data type"), integer(arguments[1], "the layout")
    if operation.direction is Pass.FWD and operation.groups:
        index = integer(arguments[2], "the index type")
        if index not in INDEX_TYPES:
            raise ProblemError(f"the index type is {index}: 0 (32 bits), 1 (64 bits) are understood")
    ndim = number_of_dimensions(arguments[first])
    rest = arguments[first + 1 :]
    length = 4 + SPATIAL_FIELDS * ndim
    numbers = (ndim, *integers(rest[:length], "the problem after ndim"))
    if operation.takes_split_k and len(rest) == length:
        raise ProblemError(f"a split-K follows the problem of {name}: one word too few (1: not split)")
    # bwd_weight may name one instance after its split-K; it chooses a kernel, not a problem.
    if len(rest) > length + operation.takes_split_k + (operation.direction is Pass.BWD_WEIGHT):
        raise ProblemError(f"words left over: {' '.join(rest[length:])}")
    if not operation.groups and len(numbers) > 1 and numbers[1] != 1:
        raise ProblemError(f"{name} has no groups: G is {numbers[1]}, grouped_{name} takes it")
    return _CommandLine(operation, dtype, layout, tuple(arguments[2:first]), numbers, tuple(rest[length:]), instance)


def _positional(words: Sequence[str]) -> tuple[list[str], bool]:
    """Return the words without options, and whether one of these chooses an instance."""
    kept: list[str] = []
    words, instance = list(words), False
    while words:
        word = words.pop(0)
        if word == "--instance" and words:
            instance = True
            integer(words.pop(0), "--instance")
        elif word.startswith("--instance="):
            instance = True
        elif word.startswith("--"):
            raise ProblemError(f"option '{word}' is not understood (bitgate kernels lists instances)")
        else:
            kept.append(word)
    return kept, instance


def _in_dimensions(layouts: tuple[str, str], ndim: int) -> tuple[str, str]:
    inp, wei = layouts
    return in_dimensions(inp, ndim), in_dimensions(wei, ndim)


DIALECT = Dialect(
    PASSES,
    {"ckProfiler": Program(parse, controls, perf=perf, commands=tuple(OPERATIONS))},
    line=ck_profiler_line,
)
