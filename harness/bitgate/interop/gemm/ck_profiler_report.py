"""What ckProfiler prints of a matrix product: its matrices, a line for each instance, the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitgate.interop.measured import TimedKernel, fastest, perf_words
from bitgate.model import Tensor
from bitgate.model.diagnostics import tensor_line
from bitgate.ops.gemm.problem import GemmProblem

_WIDTH = 10
_MATRICES = {"a_m_k": ("in", (1, 2)), "b_k_n": ("wei", (2, 1)), "c_m_n": ("out", (1, 2))}
"""By what they are called: the tensor and its axes, rows first."""
_MAJOR = {"r": "RowMajor", "c": "ColumnMajor"}


def report(measured: Sequence[TimedKernel]) -> Iterator[str]:
    problem: GemmProblem = measured[0].problem
    batched = problem.batch > 1
    for label, (role, axes) in _MATRICES.items():
        tensor: Tensor = problem.tensors[role]
        of = (0, *axes) if batched else axes
        lengths, strides = ([numbers[axis] for axis in of] for numbers in (tensor.lengths, tensor.strides))
        yield tensor_line(label.replace("_", "_g_", 1) if batched else label, lengths, strides)
    yield f"found {len(measured)} instances"
    for one in measured:
        yield _line(one)
    best = fastest(measured)
    if best is None:
        yield "Best Perf: none, no instance was timed"
        return
    said = f"{perf_words(best).removeprefix('Perf: ')}, {best.kernel}"
    yield f"Best Perf: {said}" if batched else f"Best Perf for {_of(problem)} : {said}"


def _line(one: TimedKernel) -> str:
    if one.refused:
        return f"{one.kernel} does not support this problem"
    if not one.seconds:
        return f"{one.kernel}: {one.reason}"
    split = f", KBatch {one.problem.split_k}" if one.problem.is_split else ""
    return f"{perf_words(one, _WIDTH)}, {one.kernel}{split}"


def _of(problem: GemmProblem) -> str:
    """``datatype = f16 ALayout =  RowMajor BLayout = ..``, with its two blanks."""
    a, b, _ = (_MAJOR[letter] for letter in problem.layout)
    strides = [max(problem.tensors[role].strides[1:]) for role in ("in", "wei", "out")]
    named = zip(("M", "N", "K", "StrideA", "StrideB", "StrideC"), (*problem.sizes, *strides), strict=True)
    sizes = " ".join(f"{name} = {number}" for name, number in named)
    dtype = problem.dtypes.out.name.replace("i8", "int8")
    split = f" KBatch = {problem.split_k}" if problem.is_split else ""
    return f"datatype = {dtype} ALayout =  {a} BLayout =  {b} {sizes}{split}"
