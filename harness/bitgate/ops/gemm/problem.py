"""Batched GEMM, multiple D: C[b,m,n] = op( sum_k A[b,m,k] * B[b,k,n], d[b,m,n] )."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from bitgate.model import (
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
from bitgate.model.contraction import Contraction
from bitgate.model.d_form import PLAIN, DForm
from bitgate.model.gap import Gaps, elements_after, settle_gaps, strides_of

GEMM_LAYOUTS = ("rcr", "rrr", "crr", "ccr")
"""The layouts of A, B and C: r row-major, c column-major."""

_NAMES = {"in": "a", "wei": "b", "out": "c", "d0": "d"}


@dataclass(frozen=True)
class GemmProblem(Contraction):
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
        self.settle_dtypes()
        self.settle_d_form()
        settle_gaps(self)

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
        a, b, c = (self.layout[i] == "r" for i in range(3))
        lengths = {"b": self.batch, "m": self.m, "n": self.n, "k": self.k}
        spec = {
            "in": (self.dtypes.inp, "bmk" if a else "bkm", "bmk"),
            "wei": (self.dtypes.wei, "bkn" if b else "bnk", "bnk"),
            "out": (self.dtypes.out, "bmn" if c else "bnm", "bmn"),
        }

        def after_row(role: str, order: str) -> dict[str, int]:
            return elements_after(self.gaps, self.tensor_name(role), order[-1], GAP if self.gap else 0)

        def strides(role: str, order: str, letters: str) -> tuple[int, ...]:
            found = strides_of(order, lengths, after_row(role, order))
            return tuple(found[letter] for letter in letters)

        tensors = {
            role: Tensor(role, dtype, order, tuple(map(lengths.__getitem__, letters)), strides(role, order, letters))
            for role, (dtype, order, letters) in spec.items()
        }
        if self.op.num_d:
            own = partial(strides_of, lengths=lengths, after_row=after_row("d0", self._d_order))
            tensors["d0"] = self.d_tensor(tensors["out"], 2, "gk", own)
        return tensors

    @property
    def d_layouts(self) -> Mapping[str, str]:
        """Row-major, as every C is so far, or column-major."""
        names = {"r": "bmn", "c": "bnm"}
        return {name: names[name] for name in (self.layout[2], *names)}

    def tensor_name(self, role: str) -> str:
        return _NAMES[role]

    @property
    def attributes(self) -> dict[str, int | float | str | tuple[int, ...]]:
        return self.product_attributes

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
    gaps: Gaps = (),
    d_form: DForm = PLAIN,
) -> GemmProblem:
    """Return the problem; ProblemError names the size or layout that cannot be."""
    return GemmProblem(
        layout,
        batch,
        m,
        n,
        k,
        dtypes=dtypes,
        op=op,
        in_op=in_op,
        wei_op=wei_op,
        gap=gap,
        split_k=split_k,
        gaps=gaps,
        d_form=d_form,
    )
