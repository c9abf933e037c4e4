"""How results of a reduction are judged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from bitgate.model import Dtype
from bitgate.model.fill import CORE_FILLS, Fill
from bitgate.model.form import Array, Form
from bitgate.model.numerics import Numerics
from bitgate.ops.reduction.fills import EDGES, MAXIMA, WRAP
from bitgate.ops.reduction.problem import Kind, ReductionProblem
from bitgate.ops.reduction.reference import ordered_maxima, ordered_sums


class SumForm(Form):
    """y[o,i] = sum over l of x[o,l,i]."""

    axes = MappingProxyType({"x": ("o", "l", "i"), "y": ("o", "i")})
    result = "y"

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        return np.asarray(arrays["x"].sum(axis=1))


_FORM = SumForm()
_BY_NAME = {fill.name: fill for fill in CORE_FILLS}
_OF_INTEGERS = tuple(_BY_NAME[name] for name in ("exact", "probe"))
_OF_FLOATS = tuple(_BY_NAME[name] for name in ("exact", "decimal", "special", "probe"))


class ReductionNumerics(Numerics):
    """A sum is linear, and all follows from its form. A maximum moves bits: any data are exact, and fills differ in
    what they show."""

    own_fills = tuple(fill.name for fill in (*MAXIMA, EDGES, WRAP) if fill.name not in _BY_NAME)
    states_order = True

    def form(self, problem: ReductionProblem) -> Form | None:
        return _FORM if problem.kind is Kind.SUM else None

    def fills(self, problem: ReductionProblem) -> tuple[Fill, ...]:
        is_float = problem.dtypes.inp.is_float
        if problem.kind is Kind.SUM:
            wraps = (WRAP,) if problem.dtypes.inp.name == "i32" else ()
            return _OF_FLOATS if is_float else (*_OF_INTEGERS, *wraps)
        return (*MAXIMA, EDGES) if is_float else MAXIMA

    def operands(self, problem: ReductionProblem) -> tuple[str, ...]:
        return ("x",)

    def terms(self, problem: ReductionProblem) -> int:
        return problem.length

    def slices(self, problem: ReductionProblem) -> int:
        return problem.split_k

    def ordered_sums(
        self, problem: ReductionProblem, arrays: Mapping[str, Array], accumulator: Dtype, threads: int
    ) -> Array:
        in_order = ordered_sums if problem.kind is Kind.SUM else ordered_maxima
        return in_order(arrays["x"], accumulator)
