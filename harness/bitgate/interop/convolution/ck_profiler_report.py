"""What ckProfiler prints of a convolution: its tensors, a line for each instance and split-K, the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitgate.interop.measured import TimedKernel, fastest, perf_words
from bitgate.model.diagnostics import tensor_line
from bitgate.ops.convolution.problem import Pass

_WIDTH = 10
_TENSORS = {
    Pass.FWD: {"input": "in", "weight": "wei", "output": "out"},
    Pass.BWD_DATA: {"out": "out", "wei": "wei", "in": "in"},
    Pass.BWD_WEIGHT: {"input": "in", "weight": "wei", "output": "out"},
}
"""What they are called, in the order in which they are printed."""
_FOUND = {Pass.FWD: "ckProfiler found {} instances", Pass.BWD_WEIGHT: "found {} instances"}


def report(measured: Sequence[TimedKernel]) -> Iterator[str]:
    """The problems of one command line (one for each split-K) on all kernels."""
    problem = measured[0].problem
    for label, role in _TENSORS[problem.direction].items():
        yield tensor_line(label, problem.tensors[role].lengths, problem.tensors[role].strides)
    kernels = list(dict.fromkeys(one.kernel for one in measured))
    if problem.direction in _FOUND:
        yield _FOUND[problem.direction].format(len(kernels))
    for one in sorted(measured, key=lambda one: kernels.index(one.kernel)):
        yield _line(one)
    if problem.direction is Pass.BWD_WEIGHT:
        yield f"valids: {sum(not one.refused for one in measured)}"
    best = fastest(measured)
    if best is None:
        yield "Best configuration parameters: none, no instance was timed"
        return
    yield "Best configuration parameters:"
    yield f"name: {best.kernel}"
    yield f"avg_time: {best.milliseconds:g}"
    yield f"tflops: {best.tflops:g}"
    yield f"GB/s: {best.gigabytes:g}{_split_k(best)}"


def _line(one: TimedKernel) -> str:
    if one.refused:
        return f"{one.kernel} does not support this problem"
    if not one.seconds:
        return f"{one.kernel}{_split_k(one)}: {one.reason}"
    return f"{perf_words(one, _WIDTH)}, {one.kernel}{_split_k(one)}"


def _split_k(one: TimedKernel) -> str:
    return "" if one.problem.direction is Pass.FWD else f", SplitK {one.problem.split_k}"
