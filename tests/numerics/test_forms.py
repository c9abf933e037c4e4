"""What an operation states faster or tighter is what follows from its form; and a form alone is enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bounded import bounded_reference
from tests.numerics.small_convolutions import convolutions, inputs_of
from tests.numerics.small_gemms import gemms
from tests.oracle import exact_sums

from bitgate.core.errors import UsageError
from bitgate.model import (
    DTYPES,
    ELEMENTWISE,
    F32_ACCUMULATION,
    Accumulation,
    Dtype,
    Operation,
    Problem,
    ProblemError,
    Tensor,
)
from bitgate.model.fill import CORE_FILLS, Fill
from bitgate.model.form import Array, Form
from bitgate.model.numerics import Numerics
from bitgate.numerics.certificate import certify, certify_plan, measure_bound
from bitgate.numerics.checksum import why_not
from bitgate.numerics.digest import digest
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.one_hot import ones
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.ordered import sums as f64_sums
from bitgate.numerics.reference import exact_reference
from bitgate.numerics.rounding import factors, rounded
from bitgate.ops.convolution import ConvProblem

TYPES = ("f64", "f32", "f16", "bf16", "i8")
CONTRACTIONS = st.one_of(convolutions(TYPES), gemms(TYPES))
PASS = ELEMENTWISE["pass"]


def form_of(problem: Problem) -> Form:
    form = problem.operation.numerics.form(problem)
    assert form is not None
    return form


@given(CONTRACTIONS, st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_the_exact_reference_is_the_form_in_whole_numbers(problem: Problem, seed: int) -> None:
    inputs = inputs_of(problem, seed=seed)
    cells = {n: host.logical.astype(np.float64).astype(np.int64) for n, host in factors(problem, inputs).items()}
    defined = problem.operation.reference(problem, cells)[problem.result].astype(np.float64)
    dtype = problem.tensors[problem.result].dtype
    assert np.array_equal(exact_reference(problem, inputs).bits, rounded(defined, dtype).view(dtype.bits))


@given(convolutions(("f32",)))
@settings(max_examples=40, deadline=None)
def test_the_form_of_a_convolution_is_the_formula(problem: ConvProblem) -> None:
    plain = problem.changed(op=PASS, in_op=PASS, wei_op=PASS)
    inputs = inputs_of(plain)
    cells = {name: host.logical.astype(np.int64) for name, host in inputs.items()}
    assert np.array_equal(form_of(plain).apply(cells), exact_sums(plain, inputs))


@given(CONTRACTIONS)
@settings(max_examples=80, deadline=None)
def test_terms_are_those_of_ones_or_more(problem: Problem) -> None:
    """A fill may plan for more than there are: pads may cut off a product of every cell."""
    numerics = problem.operation.numerics
    derived = form_of(problem).terms({role: tensor.lengths for role, tensor in problem.tensors.items()})
    assert numerics.terms(problem) >= derived
    assert numerics.has_products(problem) == (derived > 0)
    if problem.ndim == 0:
        assert numerics.terms(problem) == derived


@given(CONTRACTIONS, st.sampled_from(["exact", "probe", "decimal"]), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_the_bound_is_not_below_the_form_of_magnitudes(problem: Problem, fill: str, seed: int) -> None:
    multiplied = factors(problem, inputs_of(problem, fill, seed))
    cells = {name: host.logical for name, host in multiplied.items()}
    sums = form_of(problem).largest_sum(cells)
    op = problem.operation.numerics.epilogue(problem)
    beside = abs(op.d_factor) * float(np.abs(cells["d0"].astype(np.float64)).max()) if op.num_d else 0.0
    assert measure_bound(problem, multiplied).value >= op.unit * (abs(op.alpha) * sums + beside) - 1e-9 * sums


@given(CONTRACTIONS, st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_sums_in_f64_are_the_form_but_for_the_order(problem: Problem, seed: int) -> None:
    cells = {name: host.logical.astype(np.float64) for name, host in inputs_of(problem, "decimal", seed).items()}
    form, terms = form_of(problem), problem.operation.numerics.terms(problem)
    off = np.abs(f64_sums(problem, cells) - form.apply(cells))
    assert np.all(off <= 2 * terms * 2.0**-53 * form.apply({name: np.abs(v) for name, v in cells.items()}))


# ---- operations of a few lines


class OfForm(Numerics):
    def __init__(self, form: Form) -> None:
        self._form = form

    def form(self, problem: Problem) -> Form:
        return self._form


class RowSum(Form):
    """y[r] = sum over c of x[r,c]: one operand."""

    @property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        return {"x": ("r", "c"), "y": ("r",)}

    @property
    def result(self) -> str:
        return "y"

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        return np.asarray(arrays["x"].sum(axis=1, dtype=arrays["x"].dtype))


class Outer(RowSum):
    """y[r,c] = sum over t of x[r,t] * w[t] * v[t,c]: three operands."""

    @property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        return {"x": ("r", "t"), "w": ("t",), "v": ("t", "c"), "y": ("r", "c")}

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        return np.asarray(np.einsum("rt,t,tc->rc", arrays["x"], arrays["w"], arrays["v"]))


class Toy(Operation):
    """An operation outside the checkout."""

    name = "toy"

    def __init__(self, numerics: Numerics) -> None:
        self._own = numerics

    def parse(self, text: str, words: list[str]) -> Problem:
        raise ProblemError(text)

    def spell(self, problem: Problem) -> str:
        return "toy"

    def human(self, problem: Problem) -> str:
        return "toy"

    @cached_property
    def numerics(self) -> Numerics:
        return self._own


@dataclass(frozen=True)
class Lengths:
    operation: Operation
    sizes: tuple[tuple[str, tuple[int, ...]], ...]
    dtype: Dtype
    result: str = "y"
    outputs: tuple[str, ...] = ("y",)
    layout: str = "rc"
    ndim: int = 0
    in_place: tuple[str, ...] = ()
    result_letters: str = "r"
    flops: int = 0
    bytes: int = 0

    def called(self) -> str:
        return f"{len(self.sizes)}_tensors_{self.dtype}"

    @property
    def dtypes(self) -> str:
        return self.dtype.name

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        return {
            role: Tensor(role, self.dtype, "", sizes, tuple(int(np.prod(sizes[i + 1 :])) for i in range(len(sizes))))
            for role, sizes in self.sizes
        }


def row_sums(dtype: str = "f32", columns: int = 300) -> Any:
    return Lengths(Toy(OfForm(RowSum())), (("x", (4, columns)), ("y", (4,))), DTYPES[dtype])


def outers(dtype: str = "f32") -> Any:
    sizes = (("x", (3, 20)), ("w", (20,)), ("v", (20, 5)), ("y", (3, 5)))
    return Lengths(Toy(OfForm(Outer())), sizes, DTYPES[dtype])


@pytest.mark.parametrize(
    "problem", [row_sums(), row_sums("bf16"), row_sums("i8"), outers(), outers("f16")], ids=Lengths.called
)
@pytest.mark.parametrize("partial", [None, DTYPES["bf16"]])
def test_a_form_alone_gives_data_that_hold_and_their_result(problem: Any, partial: Dtype | None) -> None:
    accumulation = Accumulation(DTYPES["f32"], partial)
    plan = plan_fill(problem, accumulation)
    inputs = make_inputs(problem, plan)
    certificate = certify(problem, plan, inputs, accumulation)
    assert certificate.holds, certificate
    assert certificate.bound <= accumulation.exact_range
    cells = {name: host.logical.astype(np.float64) for name, host in inputs.items()}
    defined = rounded(form_of(problem).apply(cells), problem.dtype)
    assert np.array_equal(exact_reference(problem, inputs).logical, defined)
    assert digest(exact_reference(problem, inputs)).startswith("bg1:")


def test_the_plans_guarantee_follows_from_terms_and_ranges() -> None:
    problem = row_sums()
    plan = plan_fill(problem, F32_ACCUMULATION)
    assert certify_plan(problem, plan, F32_ACCUMULATION).bound == 300 * plan.of("x").range
    assert why_not(problem, 5) == "toy states no identity"


@pytest.mark.parametrize("problem", [row_sums(), outers()], ids=Lengths.called)
def test_real_numbers_are_held_to_the_derived_bound(problem: Any) -> None:
    plan = plan_fill(problem, F32_ACCUMULATION, "decimal")
    inputs = make_inputs(problem, plan)
    _, bounds = bounded_reference(problem, inputs, F32_ACCUMULATION)
    narrow = form_of(problem).apply({name: host.logical for name, host in inputs.items()})
    assert not bounds.outside(narrow.astype(np.float32)).any()
    assert bounds.outside((narrow * 1.001).astype(np.float32)).any()
    assert not certify(problem, plan, inputs, F32_ACCUMULATION).holds
    with pytest.raises(UsageError, match="toy states no order of summation"):
        ordered_reference(problem, inputs)


@pytest.mark.parametrize("fill", [fill.name for fill in CORE_FILLS])
@pytest.mark.parametrize("problem", [row_sums(), row_sums("f16"), outers()], ids=Lengths.called)
def test_every_fill_of_the_core_is_made_from_a_form(problem: Any, fill: str) -> None:
    plan = plan_fill(problem, F32_ACCUMULATION, fill, seed=1)
    inputs = make_inputs(problem, plan)
    assert certify(problem, plan, inputs, F32_ACCUMULATION).holds == (fill in ("exact", "probe"))
    reference, bounds = bounded_reference(problem, inputs, F32_ACCUMULATION)
    assert not bounds.outside(reference.logical).any()


def test_integers_wrap_to_the_same_bits_in_any_order() -> None:
    sizes = (("x", (2, 70000)), ("y", (2,)))
    problem: Any = Lengths(Toy(OfForm(RowSum())), sizes, DTYPES["i32"])
    inputs = make_inputs(problem, plan_fill(problem, Accumulation(DTYPES["i32"]), "codes"))
    wrapped = inputs["x"].logical.sum(axis=1, dtype=np.int32)
    assert np.array_equal(ordered_reference(problem, inputs).logical, wrapped)


def test_a_probe_of_one_operand_puts_a_one_into_each_row() -> None:
    problem = row_sums()
    plan = plan_fill(problem, F32_ACCUMULATION, "probe", seed=3)
    assert [index[0] for index in ones(problem, "x", 3)] == [0, 1, 2, 3]
    assert np.array_equal(exact_reference(problem, make_inputs(problem, plan)).logical, np.ones(4, np.float32))


# ---- what is not multilinear


def ramp(problem: Any, seed: int) -> Mapping[str, Array]:
    return {"x": np.arange(4 * 300).reshape(4, 300) % 97 + seed}


class MaxExactness(Numerics):
    own_fills = ("ramp",)

    def fills(self, problem: Problem) -> tuple[Fill, ...]:
        return (Fill("ramp", "a maximum moves bits", ramp, exact=True),)


class Max(Toy):
    name = "max"

    def reference(self, problem: Problem, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        return {"y": inputs["x"].max(axis=1)}


def test_without_a_form_fill_reason_and_reference_decide() -> None:
    problem: Any = Lengths(Max(MaxExactness()), (("x", (4, 300)), ("y", (4,))), DTYPES["bf16"])
    plan = plan_fill(problem, F32_ACCUMULATION, "ramp", 2)
    inputs = make_inputs(problem, plan)
    certificate = certify(problem, plan, inputs, F32_ACCUMULATION)
    assert (certificate.holds, certificate.note) == (True, "a maximum moves bits; 0 of 8 sampled elements show if lost")
    assert certificate.density == np.count_nonzero(inputs["x"].logical) / 1200
    assert certificate.sensitivity == 0  # each row has its maximum three times at least: no loss shows alone
    assert exact_reference(problem, inputs).logical.tolist() == [98] * 4
    with pytest.raises(UsageError, match=r"unknown fill 'exact': known are ramp"):
        plan_fill(problem, F32_ACCUMULATION, "exact")
    with pytest.raises(UsageError, match="no bound stated: max does not state"):
        bounded_reference(problem, inputs, F32_ACCUMULATION)
