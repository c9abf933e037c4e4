"""Batched GEMM, multiple D: C[b,m,n] = op( sum_k A[b,m,k] * B[b,k,n], d[b,m,n] )."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from bitgate.operation import (
    ELEMENTWISE,
    GAP,
    MAX_LENGTH,
    DtypeSet,
    Elementwise,
    Operation,
    ProblemError,
    Tensor,
    operation_called,
)
from bitgate.operation.contraction import Contraction
from bitgate.operations.gemm.as_convolution import AsConvolution

GEMM_LAYOUTS = ("rcr", "rrr", "crr", "ccr")
"""Of A, B and C: r row-major, c column-major."""


@dataclass(frozen=True)
class GemmProblem(AsConvolution, Contraction):
    """Logical shapes: A (batch, M, K), B (batch, N, K), C and D (batch, M, N). ``in`` is A, ``wei`` is B, ``out`` is C:
    names and shapes of its tensors are the salts of its data. ProblemError names the size or layout that cannot be."""

    layout: str
    batch: int
    m: int
    n: int
    k: int

    __hash__ = Contraction.__hash__

    def __post_init__(self) -> None:
        if self.layout not in GEMM_LAYOUTS:
            raise ProblemError(f"layout '{self.layout}' is not one of {', '.join(GEMM_LAYOUTS)} (GEMM)")
        for name, value in (("b", self.batch), ("m", self.m), ("n", self.n), ("k", self.k)):
            if not 1 <= value <= MAX_LENGTH:
                raise ProblemError(f"{name} = {value} is outside 1..{MAX_LENGTH}")
        self.check_operations()

    @property
    def operation(self) -> Operation:
        return operation_called("gemm")

    @property
    def ndim(self) -> int:
        return 0

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(M, N, K)."""
        return self.m, self.n, self.k

    @property
    def result(self) -> str:
        return "out"

    @property
    def result_letters(self) -> str:
        return "bmn"

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        batch, (m, n, k) = self.batch, self.sizes
        a, b, c = (self.layout[i] == "r" for i in range(3))
        tensors = {
            "in": self._matrices("in", "bmk" if a else "bkm", (batch, m, k), last_is_fastest=a),
            "wei": self._matrices("wei", "bkn" if b else "bnk", (batch, n, k), last_is_fastest=not b),
            "out": self._matrices("out", "bmn" if c else "bnm", (batch, m, n), last_is_fastest=c),
        }
        if self.op.num_d:
            tensors["d0"] = self.d_tensor(tensors["out"], 2, "gk")
        return tensors

    @property
    def attributes(self) -> dict[str, int | float | str | tuple[int, ...]]:
        return self.product_attributes

    def _matrices(self, name: str, layout: str, lengths: tuple[int, int, int], last_is_fastest: bool) -> Tensor:
        """One matrix a batch; ``last_is_fastest``: the last logical dimension is contiguous, else the one before."""
        dtype = {"in": self.dtypes.inp, "wei": self.dtypes.wei, "out": self.dtypes.out}[name]
        _, rows, columns = lengths
        pitch = (columns if last_is_fastest else rows) + (GAP if self.gap else 0)
        strides = (pitch * rows, pitch, 1) if last_is_fastest else (pitch * columns, 1, pitch)
        return Tensor(name, dtype, layout, lengths, strides)

    @property
    def _called(self) -> str:
        return "gemm"


def gemm_problem(
    dtypes: DtypeSet,
    layout: str,
    batch: int,
    m: int,
    n: int,
    k: int,
    op: Elementwise = ELEMENTWISE["pass"],
    *,
    in_op: Elementwise = ELEMENTWISE["pass"],
    wei_op: Elementwise = ELEMENTWISE["pass"],
    gap: bool = False,
    split_k: int = 1,
) -> GemmProblem:
    """ProblemError names the size or layout that cannot be."""
    return GemmProblem(
        layout, batch, m, n, k, dtypes=dtypes, op=op, in_op=in_op, wei_op=wei_op, gap=gap, split_k=split_k
    )
