"""What MIOpenDriver prints of a convolution that it has timed: of each pass the fastest kernel.

Bytes read and written are those of the operands and of the result, in all passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitgate.interop.measured import TimedKernel, by_problem, fastest
from bitgate.ops.convolution.problem import ConvProblem, Pass

_PASSES = {
    Pass.FWD: ("Forward Conv.", "fwd-conv", "Forward Convolution"),
    Pass.BWD_DATA: ("Backward Data Conv.", "bwdd-conv", "Backward Convolution Data"),
    Pass.BWD_WEIGHT: ("Backward Weights Conv.", "bwdw-conv", "Backward Convolution Weights"),
}
IMPLICIT_GEMM = 5
"""MIOpen's number of the algorithm that all instances are of."""
_HEADS = {
    2: "stats: name, n, c, ho, wo, y, x, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs",
    3: "stats: name  , n, c, do, ho, wo, z, y, x, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs",
}


def report(measured: Sequence[TimedKernel]) -> Iterator[str]:
    for problem, group in by_problem(measured):
        title, _, verified = _PASSES[problem.direction]
        best = fastest(group)
        if best is None:
            reasons = dict.fromkeys(one.reason for one in group if not one.refused)
            yield f"MIOpen {title} not timed: {'; '.join(reasons) or 'no kernel takes it'}"
            continue
        yield f"MIOpen {title} Algorithm: {IMPLICIT_GEMM}, Solution: {best.kernel}"
        yield f"GPU Kernel Time {title} Elapsed: {best.milliseconds:f} ms (average)"
        yield _HEADS[problem.ndim]
        yield _stats(best)
        if best.verified:
            yield f"{verified} Verifies OK on {best.verified} reference (0)"


def _stats(best: TimedKernel) -> str:
    problem: ConvProblem = best.problem
    sizes = {name: tensor.elements * tensor.dtype.bytes for name, tensor in problem.tensors.items()}
    written = sizes.pop(problem.result)
    read = sum(sizes.values())
    _, name, _ = _PASSES[problem.direction]
    label = f"{name}{'x'.join(map(str, problem.filter))}u{problem.stride[0]}"
    numbers = [problem.n, problem.g * problem.c, *problem.output, *problem.filter, problem.g * problem.k]
    gigaflops, gigabytes = problem.flops / best.milliseconds / 1e6, (read + written) / best.milliseconds / 1e6
    return (
        f"stats: {label}, {', '.join(map(str, numbers))},  {problem.flops}, {read}, {written},"
        f" {gigaflops:.0f}, {gigabytes:.0f}, {best.milliseconds:f}"
    )
