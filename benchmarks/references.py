"""How fast fills, references and comparison are: prints a table, checks that the results are right, gates nothing.

    python benchmarks/references.py [--threads N] [--repeat N]

First the ALMIOPEN-1959 shape: the exact reference beside one numpy sgemm of the same number of operations, both in
this run, and beside the ordered reference. Then 13 2D shapes of CK's bwd_data test, on which oneDNN's harness benchdnn
is said to spend 122 s with its naive and 5.2 s with its fast reference on 2 cores (given figures, not measured here):
for each list the seconds of fill, reference and comparison.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from timing import timed

from bitgate.core import paths
from bitgate.model import Accumulation, parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import matrix, native
from bitgate.numerics.certificate import certify
from bitgate.numerics.digest import digest
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.ordered import accumulator_of, ordered_reference
from bitgate.numerics.reference import exact_reference
from bitgate.ops.convolution import ConvProblem

ALMIOPEN_1959 = "g1n16k256c128_y5x5_h40x175_s2x2_p1x1"

SHAPES = {
    "A1": "g2n2k16c16_y3x3_h28x28_s2x2_p1x1",
    "A2": "g2n2k16c16_y3x3_h28x28_s6x6_p1x1",
    "A3": "g2n2k16c16_y6x6_h28x28_s6x6_p1x1",
    "A5": "g2n2k192c192_y3x3_h28x28_p1x1",
    "A6": "g2n2k128c256_y3x3_h14x14_p1x1",
    "A7": "g2n2k128c256_y1x1_h7x7_s2x2",
    "A9": "g2n2k32c32_y2x2_h12x12_s3x3",
    "A11": "g1n6k448c896_y1x1_h118x182_s2x2",
    "A12": "g1n1k1c32_y8x8_h16x16_p1x1",
    "A13": "g1n1k64c3_y8x8_h16x16_p1x1",
    "N1": ALMIOPEN_1959,
    "N2": "g1n4k128c64_y3x3_h28x28_s3x3_p1x1",
    "N3": "g1n2k64c64_y6x6_h28x28_s6x6_p1x1",
}
BENCHDNN_SECONDS = {"naive": 122.0, "fast": 5.2}


@dataclass(frozen=True)
class Parts:
    """Seconds of one shape."""

    fill: float
    certificate: float
    reference: float
    compare: float
    digest: float

    @property
    def total(self) -> float:
        """What benchdnn's figures cover: fill, reference, comparison."""
        return self.fill + self.reference + self.compare


@dataclass(frozen=True)
class Almiopen:
    """Seconds of the ALMIOPEN-1959 shape: the exact reference beside one numpy sgemm of as many operations, and beside
    the ordered reference."""

    flops: int
    exact: float
    sgemm: float
    ordered: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=paths.threads())
    parser.add_argument("--repeat", type=int, default=5, help="repetitions; the fastest of each part counts")
    options = parser.parse_args()
    os.environ["BITGATE_THREADS"] = str(options.threads)
    print(f"{options.threads} threads, fastest of {options.repeat}")
    for dtype in ("f32", "bf16"):
        tell(dtype, almiopen(dtype, options.threads, options.repeat))
    for dtype in ("f32", "bf16"):
        shape_list(dtype, options.repeat)


def almiopen(dtype: str, threads: int, repeat: int) -> Almiopen:
    """Interleaved, so that they see the same machine."""
    problem = bwd_data(dtype, ALMIOPEN_1959)
    inputs = make_inputs(problem, plan_fill(problem, Accumulation(accumulator_of(problem))))
    gemm = sgemm(problem.flops)
    exact, plain = [], []
    for _ in range(repeat):
        exact.append(timed(lambda: exact_reference(problem, inputs))[0])
        with matrix.blas_threads(threads):
            plain.append(timed(gemm)[0])
    ordered, summed = timed(lambda: ordered_reference(problem, inputs))
    found = native.differences(exact_reference(problem, inputs), summed)
    if found.count:
        raise SystemExit(f"exact and ordered reference differ in {found.count} cells, first at {found.first}")
    return Almiopen(problem.flops, min(exact), min(plain), ordered)


def tell(dtype: str, taken: Almiopen) -> None:
    print(
        f"ALMIOPEN-1959 {dtype}: {taken.flops / 1e9:.1f} GFlop, exact {taken.exact:.3f} s, sgemm {taken.sgemm:.3f} s,"
        f" ordered {taken.ordered:.3f} s: {100 * taken.sgemm / taken.exact:.0f} % of sgemm,"
        f" {taken.ordered / taken.exact:.1f} times as fast as the ordered reference"
    )


def torch_seconds(repeat: int) -> float:
    """PyTorch's own bwd_data of the ALMIOPEN-1959 shape in f32 on the CPU; 0 where it is not installed."""
    try:
        import torch
    except ImportError:
        return 0.0
    problem = bwd_data("f32", ALMIOPEN_1959)
    out, wei = (torch.ones(problem.tensors[name].lengths[1:]) for name in ("out", "wei"))
    size = problem.tensors["in"].lengths[1:]
    step, pad = problem.stride, problem.left_pad
    return min(timed(lambda: torch.nn.grad.conv2d_input(size, wei, out, step, pad))[0] for _ in range(repeat))


def shape_list(dtype: str, repeat: int) -> None:
    print(f"\n{dtype:4}  {'fill':>9} {'certify':>9} {'reference':>9} {'compare':>9} {'digest':>9}   ms")
    rows = {}
    for name, shape in SHAPES.items():
        runs = [measure(bwd_data(dtype, shape)) for _ in range(repeat)]
        rows[name] = Parts(*(min(getattr(run, part) for run in runs) for part in Parts.__dataclass_fields__))
        print(f"{name:4}  " + " ".join(f"{1e3 * v:9.2f}" for v in vars(rows[name]).values()))
    sums = [sum(getattr(row, part) for row in rows.values()) for part in Parts.__dataclass_fields__]
    print("sum   " + " ".join(f"{1e3 * v:9.2f}" for v in sums))
    total = sum(row.total for row in rows.values())
    known = ", ".join(f"{name} {seconds:g} s" for name, seconds in BENCHDNN_SECONDS.items())
    print(f"fill + reference + compare: {total:.2f} s (benchdnn, figures given, not measured here: {known})")


def measure(problem: ConvProblem) -> Parts:
    accumulation = Accumulation(accumulator_of(problem))
    plan = plan_fill(problem, accumulation)
    fill, inputs = timed(lambda: make_inputs(problem, plan))
    certificate, proof = timed(lambda: certify(problem, plan, inputs, accumulation))
    if not proof.holds:
        raise SystemExit(f"certificate does not hold: {proof.note}")
    reference, expected = timed(lambda: exact_reference(problem, inputs))
    result = HostTensor(expected.tensor, expected.storage.copy())
    compare, found = timed(lambda: native.count_differences(result, expected))
    # A comparison that finds nothing must be able to find something.
    result.storage.view(expected.tensor.dtype.bits)[-1] ^= 1
    if found or native.count_differences(result, expected) != 1:
        raise SystemExit("the comparison is wrong")
    return Parts(fill, certificate, reference, compare, timed(lambda: digest(expected))[0])


def bwd_data(dtype: str, shape: str) -> ConvProblem:
    return parse_case_id(f"bwd_data_{dtype}_nhwgc_{shape}")


def sgemm(flops: int, size: int = 2048) -> Callable[[], object]:
    """One square-ish numpy sgemm of that many operations."""
    rows = round(flops / 2 / size / size)
    a, b = np.ones((rows, size), np.float32), np.ones((size, size), np.float32)
    out = np.empty((rows, size), np.float32)
    return lambda: np.matmul(a, b, out=out)


if __name__ == "__main__":
    main()
